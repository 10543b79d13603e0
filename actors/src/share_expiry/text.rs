//! Texts that many shares have in common: one pointer each, the bytes once.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A shared text. Cloning it shares the bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Text(Arc<Bytes>);

/// The bytes behind a thin pointer.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bytes(Box<str>);

impl Text {
    /// A text of its own.
    pub(super) fn new(text: impl Into<Box<str>>) -> Self {
        Text(Arc::new(Bytes(text.into())))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::new(text)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::borrow::Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}
