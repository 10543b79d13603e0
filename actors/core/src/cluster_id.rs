//! The ids of a cluster and of a store. They are no secrets: a mistyped address shows itself by them.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::secret_id::{IdSource, NoRandomness};

/// How many hex digits an id has.
const DIGITS: usize = 32;

/// The 128 bits of an id, as 32 hex digits in texts and 16 bytes in stored forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bits(u128);

impl Bits {
    fn read(text: &str) -> Option<Self> {
        let are_digits = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if text.len() != DIGITS || !are_digits {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(Bits)
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for Bits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.to_be_bytes().serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u8; 16]>::deserialize(deserializer).map(|id| Bits(u128::from_be_bytes(id)));
        }
        let text = String::deserialize(deserializer)?;
        Bits::read(&text).ok_or_else(|| D::Error::custom(BadClusterId(text)))
    }
}

/// A text that is no id of a cluster or a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not the id of a cluster or a store: expected 32 hex digits")]
pub struct BadClusterId(pub String);

macro_rules! public_id {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Bits);

        impl $name {
            /// A new id from the random numbers of the system.
            ///
            /// # Errors
            /// When the system provides no random numbers.
            pub fn random() -> Result<Self, NoRandomness> {
                IdSource::system().draw().map(Self::from)
            }
        }

        impl From<u128> for $name {
            fn from(bits: u128) -> Self {
                $name(Bits(bits))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadClusterId;

            fn from_str(text: &str) -> Result<Self, BadClusterId> {
                Bits::read(text).map($name).ok_or_else(|| BadClusterId(text.to_owned()))
            }
        }
    };
}

public_id! {
    /// The id of a cluster. All its members have it in their stores, and calls of other clusters are refused.
    ClusterId
}

public_id! {
    /// The id of one store. A node whose disk was emptied has another one under the same number.
    StoreId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_digits_in_text_and_16_bytes_in_stores() {
        let id = StoreId::from(0xab);
        assert_eq!(id.to_string(), "000000000000000000000000000000ab");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(
            serde_json::from_str::<StoreId>(&serde_json::to_string(&id).unwrap()).unwrap(),
            id
        );
        let stored = postcard::to_stdvec(&id).unwrap();
        assert_eq!(stored, 0xab_u128.to_be_bytes());
        assert_eq!(postcard::from_bytes(&stored), Ok(id));
        assert_ne!(ClusterId::random(), ClusterId::random());
    }

    #[test]
    fn a_text_that_is_no_id_is_refused_with_it() {
        for text in
            ["", "ab", "+00000000000000000000000000000ab", "0000000000000000000000000000000g"]
        {
            let refused = text.parse::<ClusterId>().unwrap_err();
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }
}
