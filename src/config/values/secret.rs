//! The shared token as a setting: it is read and stored, but never shown.

use reelyard_core::token::SharedToken;
use toml::Value;

use super::value::{Read, SettingValue, wrong};

impl SettingValue for SharedToken {
    const SECRET: bool = true;

    fn from_toml(value: &Value) -> Read<Self> {
        match value {
            Value::String(text) => SharedToken::new(text).or_else(|bad| wrong(bad.to_string())),
            _ => wrong("expected a token, in quotes"),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.reveal().to_owned()))
    }
}
