//! Ids of shares: what makes a link secret.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The length of an id as text.
pub const ID_TEXT: usize = 22;

/// How many characters of an id are shown where it is not to be told.
const HINT: usize = 6;

/// The id of a share: 128 random bits. Whoever knows it has the link.
///
/// `Display` and serde tell all of it, base64url without padding in text and 16 bytes in postcard;
/// `Debug`, which is what logs show, tells the first six characters only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShareId(pub u128);

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the id of a share: 22 letters, digits, \"-\" and \"_\" are wanted")]
pub struct BadShareId;

/// The system has no random numbers to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers: {0}")]
pub struct NoRandomness(String);

impl ShareId {
    /// A new id, from the system's randomness: it is a secret.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
        Ok(ShareId(u128::from_be_bytes(bytes)))
    }

    /// The id as the text of its link, without allocating.
    fn with_text<T>(self, f: impl FnOnce(&str) -> T) -> T {
        let mut text = [0; ID_TEXT];
        let written = URL_SAFE_NO_PAD.encode_slice(self.0.to_be_bytes(), &mut text).unwrap_or(0);
        f(std::str::from_utf8(&text[..written]).unwrap_or_default())
    }

    /// Its first characters: enough to tell shares apart in a log, not enough to open one.
    pub fn hint(self) -> String {
        self.with_text(|text| text[..HINT.min(text.len())].to_owned())
    }
}

impl fmt::Display for ShareId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.pad(text))
    }
}

impl fmt::Debug for ShareId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShareId({}..)", self.hint())
    }
}

impl FromStr for ShareId {
    type Err = BadShareId;

    fn from_str(text: &str) -> Result<Self, BadShareId> {
        if text.len() != ID_TEXT {
            return Err(BadShareId);
        }
        // Some decoders want room for more than the text holds.
        let mut bytes = [0; 18];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(16) => {
                let mut id = [0; 16];
                id.copy_from_slice(&bytes[..16]);
                Ok(ShareId(u128::from_be_bytes(id)))
            }
            _ => Err(BadShareId),
        }
    }
}

impl Serialize for ShareId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.with_text(|text| serializer.serialize_str(text))
        } else {
            self.0.to_be_bytes().serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for ShareId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
            text.parse().map_err(de::Error::custom)
        } else {
            <[u8; 16]>::deserialize(deserializer).map(|bytes| ShareId(u128::from_be_bytes(bytes)))
        }
    }
}

impl utoipa::PartialSchema for ShareId {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for ShareId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_22_characters_and_comes_back_from_them() {
        for id in [ShareId(0), ShareId(u128::MAX), ShareId::random().unwrap()] {
            let text = id.to_string();
            assert_eq!(text.len(), ID_TEXT);
            assert_eq!(text.parse(), Ok(id));
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<ShareId>(&format!("\"{text}\"")).unwrap(), id);
            let bytes = postcard::to_stdvec(&id).unwrap();
            assert_eq!(bytes.len(), 16);
            assert_eq!(postcard::from_bytes::<ShareId>(&bytes).unwrap(), id);
        }
        assert_eq!(ShareId(0).to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
    }

    #[test]
    fn a_text_that_is_not_exactly_an_id_is_refused() {
        for bad in [
            "",
            "AAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAAAA",
            // Bits beyond the 128th.
            "AAAAAAAAAAAAAAAAAAAAAB",
            "AAAAAAAAAAAAAAAAAAAA+A",
            "AAAAAAAAAAAAAAAAAAAA==",
            "ÄAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(bad.parse::<ShareId>(), Err(BadShareId), "{bad}");
        }
    }

    #[test]
    fn a_log_shows_six_characters_of_it() {
        let id = ShareId(u128::MAX / 3);
        let text = id.to_string();
        let shown = format!("{id:?}");
        assert!(shown.contains(&text[..6]) && !shown.contains(&text[..7]), "{shown}");
    }
}
