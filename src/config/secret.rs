//! A text that never shows itself.

use std::fmt;

use toml::Value;

use super::value::{Read, SettingValue, wrong};

/// A shared token. Neither `Debug` nor `Display` nor a fault ever shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a text cannot be a token. Does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// Nothing, or blanks only.
    #[error("the token is empty")]
    Empty,
    /// It holds what an HTTP header cannot carry.
    #[error("a token can hold printable ASCII characters only, and no blanks")]
    NotPrintable,
}

impl Secret {
    /// Checks that an `Authorization` header can carry `text`.
    pub fn new(text: &str) -> Result<Self, BadSecret> {
        match text {
            "" => Err(BadSecret::Empty),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => Err(BadSecret::NotPrintable),
            _ => Ok(Secret(text.to_owned())),
        }
    }

    /// The text itself, to be sent or compared and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Secret {
    type Err = BadSecret;

    fn from_str(text: &str) -> Result<Self, BadSecret> {
        Secret::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl SettingValue for Secret {
    const SECRET: bool = true;

    fn from_toml(value: &Value) -> Read<Self> {
        match value {
            Value::String(text) => Secret::new(text).or_else(|bad| wrong(bad.to_string())),
            _ => wrong("a token is wanted, in quotes"),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}
