//! The text of a version.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A configuration file, or a part of one. It may hold secrets, so that `Debug` shows only its length.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SettingsText(Arc<str>);

impl From<String> for SettingsText {
    fn from(text: String) -> Self {
        SettingsText(text.into())
    }
}

impl From<&str> for SettingsText {
    fn from(text: &str) -> Self {
        SettingsText(text.into())
    }
}

impl From<SettingsText> for String {
    fn from(text: SettingsText) -> String {
        text.0.as_ref().to_owned()
    }
}

impl Deref for SettingsText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SettingsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_not_shown() {
        assert_eq!(format!("{:?}", SettingsText::from("secret")), "6 bytes");
    }
}
