//! Ids that are secrets: 128 random bits, 22 characters as text.
//!
//! Each kind of id is a separate type, declared by the macro `secret_id!`. `Display` and serde write the
//! whole id: base64url without padding in text, and 16 bytes in postcard. `Debug`, which logs use, writes
//! only the first characters.

mod id_source;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub use id_source::{IdSource, NoRandomness};

/// The length of an id as text.
pub const ID_TEXT: usize = 22;

/// How many characters logs contain of a secret id.
pub const HINT: usize = 6;

/// An id as text, without allocating.
pub fn with_text<T>(id: u128, f: impl FnOnce(&str) -> T) -> T {
    let mut text = [0; ID_TEXT];
    let written = URL_SAFE_NO_PAD.encode_slice(id.to_be_bytes(), &mut text).unwrap_or(0);
    f(std::str::from_utf8(&text[..written]).unwrap_or_default())
}

/// The id in this text; none if the text is not exactly one id.
pub fn read(text: &str) -> Option<u128> {
    if text.len() != ID_TEXT {
        return None;
    }
    // Some decoders need more room than the text contains.
    let mut bytes = [0; 18];
    match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
        Ok(16) => {
            let mut id = [0; 16];
            id.copy_from_slice(&bytes[..16]);
            Some(u128::from_be_bytes(id))
        }
        _ => None,
    }
}

/// Declares a kind of id, and the error of a text that is none:
///
/// ```text
/// secret_id! {
///     /// The id of a share.
///     ShareId,
///     /// A text that is no id of a share.
///     BadShareId = "a share"
/// }
/// ```
#[macro_export]
macro_rules! secret_id {
    (
        $(#[doc = $doc:literal])+
        $name:ident,
        $(#[doc = $bad_doc:literal])+
        $bad:ident = $what:literal
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u128);

        $(#[doc = $bad_doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error("this is not the id of {}: expected 22 letters, digits, \"-\" and \"_\"", $what)]
        pub struct $bad;

        impl $name {
            /// A new id from the random numbers of the system, so that it cannot be guessed.
            pub fn random() -> Result<Self, $crate::secret_id::NoRandomness> {
                Self::draw(&mut $crate::secret_id::IdSource::system())
            }

            /// The next one of `ids`. Fails if the system provides no random numbers.
            pub fn draw(
                ids: &mut $crate::secret_id::IdSource,
            ) -> Result<Self, $crate::secret_id::NoRandomness> {
                ids.draw().map($name)
            }

            /// Its first characters: enough to recognize it in a log, not enough to use it.
            pub fn hint(self) -> String {
                $crate::secret_id::with_text(self.0, |text| {
                    text[..$crate::secret_id::HINT.min(text.len())].to_owned()
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::secret_id::with_text(self.0, |text| f.pad(text))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({}..)"), self.hint())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $bad;

            fn from_str(text: &str) -> Result<Self, $bad> {
                $crate::secret_id::read(text).map($name).ok_or($bad)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    $crate::secret_id::with_text(self.0, |text| serializer.serialize_str(text))
                } else {
                    serde::Serialize::serialize(&self.0.to_be_bytes(), serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                    text.parse().map_err(serde::de::Error::custom)
                } else {
                    let bytes = <[u8; 16] as serde::Deserialize>::deserialize(deserializer)?;
                    Ok($name(u128::from_be_bytes(bytes)))
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <String as utoipa::PartialSchema>::schema()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    secret_id! {
        /// The name of the id, for the tests.
        Secret,
        /// The error for a text that is no id.
        NoSecret = "a secret"
    }

    #[test]
    fn an_id_is_22_characters_and_comes_back_from_them() {
        for id in [Secret(0), Secret(u128::MAX), Secret::random().unwrap()] {
            let text = id.to_string();
            assert_eq!((text.len(), text.parse()), (ID_TEXT, Ok(id)));
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Secret>(&format!("\"{text}\"")).unwrap(), id);
            let bytes = postcard::to_stdvec(&id).unwrap();
            assert_eq!((bytes.len(), postcard::from_bytes::<Secret>(&bytes)), (16, Ok(id)));
        }
        assert_eq!(Secret(0).to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
    }

    #[test]
    fn none_is_drawn_that_looks_like_an_option_and_such_are_read() {
        let looks_so = Secret(id_source::HYPHEN << 122);
        assert!(looks_so.to_string().starts_with('-'));
        assert_eq!(looks_so.to_string().parse(), Ok(looks_so));
        for _ in 0..5000 {
            let id = Secret::random().unwrap().to_string();
            assert!(!id.starts_with('-'), "{id}");
        }
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
            assert_eq!(bad.parse::<Secret>(), Err(NoSecret), "{bad}");
        }
        assert!(
            NoSecret.to_string().starts_with("this is not the id of a secret: expected 22 letters")
        );
    }

    #[test]
    fn a_log_shows_six_characters_of_it() {
        let id = Secret(u128::MAX / 3);
        let text = id.to_string();
        let shown = format!("{id:?}");
        assert!(shown.contains(&text[..6]) && !shown.contains(&text[..7]), "{shown}");
        assert_eq!(format!("{:?}", Secret(0)), "Secret(AAAAAA..)");
    }
}
