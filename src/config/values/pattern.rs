//! Regular expressions.

use regex::bytes::Regex;
use toml::Value;

use super::value::{Read, SettingValue, quoted, text, wrong};

/// A regular expression that is searched for in the output of a program.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// The compiled expression.
    pub fn regex(&self) -> &Regex {
        &self.0
    }
}

impl SettingValue for Pattern {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "a regular expression")? {
            "" => wrong("an empty regular expression matches everything"),
            pattern => Regex::new(pattern).map(Pattern).or_else(|error| {
                // A syntax error has several lines; the last one has the cause.
                let error = error.to_string();
                let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                wrong(format!("expected a regular expression, not {}: {why}", quoted(value)))
            }),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.as_str().to_owned()))
    }
}
