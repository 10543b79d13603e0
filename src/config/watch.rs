//! How changes of the inputs are noticed, as it is written in the configuration.

use reelyard_actors::catalog::WatchMode;
use toml::Value;

use super::value::{Read, SettingValue, quoted, wrong};

impl SettingValue for WatchMode {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_str() {
            Some("auto") => Ok(WatchMode::Auto),
            Some("poll") => Ok(WatchMode::Poll),
            _ => wrong(format!("\"auto\" or \"poll\" is wanted, not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let word = match self {
            WatchMode::Auto => "auto",
            WatchMode::Poll => "poll",
        };
        Some(Value::String(word.to_owned()))
    }
}
