//! Texts that name boxes and leases, each checked once. Pure.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest name of a pool or of a set of hooks, in bytes. Part of the event version.
pub const LONGEST_NAME: usize = 64;

/// The longest name of a holder, in bytes. Part of the event version.
pub const LONGEST_HOLDER: usize = 200;

/// The longest reason, in bytes. Part of the event version.
pub const LONGEST_REASON: usize = 500;

/// How much of a hook's output is kept, in bytes. Part of the event version.
pub const LONGEST_OUTPUT: usize = 1024;

/// A text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{what} is {wanted}")]
pub struct BadBoxText {
    /// The kind of text that was expected.
    pub what: String,
    /// The rule for this text.
    pub wanted: String,
}

/// Whether the text has only letters, digits, `.`, `_` and `-`, and begins with a letter or a digit. Names
/// are parts of API paths and arguments of hooks.
fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(fits)
}

fn is_line(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && !text.chars().any(char::is_control)
}

const NAME: &str =
    "1 to 64 letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit";
const HOLDER: &str = "a text of 1 to 200 bytes without control characters";
const REASON: &str = "a text of 1 to 500 bytes without control characters";

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $what:literal, $wanted:ident, $fits:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and keeps `text`.
            pub fn new(text: &str) -> Result<Self, BadBoxText> {
                let fits: fn(&str) -> bool = $fits;
                if fits(text) {
                    return Ok($name(text.into()));
                }
                Err(BadBoxText { what: $what.to_owned(), wanted: $wanted.to_owned() })
            }

            /// The value as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                $name::new(&text).map_err(de::Error::custom)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                String::schema()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

checked_text!(
    /// The name of a pool of boxes, as in API paths.
    PoolName,
    "the name of a pool",
    NAME,
    is_name
);
checked_text!(
    /// The name under which a worker's own configuration defines the hooks for boxes.
    HooksName,
    "the name of hooks",
    NAME,
    is_name
);
checked_text!(
    /// The holder of a lease, by its self-chosen name.
    Holder,
    "a holder",
    HOLDER,
    |text| is_line(text, LONGEST_HOLDER)
);
checked_text!(
    /// Why a lease was revoked, or a box taken out of use.
    Reason,
    "a reason",
    REASON,
    |text| is_line(text, LONGEST_REASON)
);

/// The beginning of a hook's output, or of the reason why it did not run. It is evidence for a person.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HookOutput(Arc<str>);

impl HookOutput {
    /// As much of `text` as is kept. Part of the event version.
    pub fn cut(text: &str) -> Self {
        let longest = text.len().min(LONGEST_OUTPUT);
        let end = (0..=longest).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0);
        HookOutput(text[..end].into())
    }

    /// The value as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HookOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for HookOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for HookOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(HookOutput::cut(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_stand_in_a_path_and_in_an_argument() {
        for good in ["a", "isolate-2.x", "0_b", &"x".repeat(64)] {
            assert_eq!(PoolName::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "-x", ".", "..", "a/b", "a b", "ä", "a\n", &"x".repeat(65)] {
            assert!(PoolName::new(bad).is_err() && HooksName::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_holder_is_a_line() {
        assert!(Holder::new("celery@judge-7 #12").is_ok() && Holder::new("ärger").is_ok());
        for bad in ["", "a\nb", "\u{7f}", &"x".repeat(201)] {
            assert!(Holder::new(bad).is_err(), "{bad:?}");
        }
        assert!(serde_json::from_str::<Holder>("\"\\u0000\"").is_err());
    }

    #[test]
    fn hook_output_is_cut_between_two_characters() {
        assert_eq!(HookOutput::cut("short").as_str(), "short");
        let long = format!("x{}", "ä".repeat(600));
        assert_eq!(HookOutput::cut(&long).as_str().len(), 1023);
        assert_eq!(HookOutput::cut(&"y".repeat(5000)).as_str().len(), 1024);
    }
}
