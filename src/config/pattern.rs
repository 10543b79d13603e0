//! Regular expressions.

use regex::bytes::Regex;
use toml::Value;

use super::value::{Read, SettingValue, quoted, text, wrong};

/// A regular expression, which is looked for anywhere in what a program says.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// The expression, ready to search with.
    pub fn regex(&self) -> &Regex {
        &self.0
    }
}

impl SettingValue for Pattern {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "a regular expression")? {
            "" => wrong("an empty regular expression matches everything"),
            pattern => Regex::new(pattern).map(Pattern).or_else(|error| {
                // The error of a syntax is several lines, the last of which says what it is.
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
