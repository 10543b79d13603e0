//! Texts that many shares have in common: one pointer each, the bytes once.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A text that many shares have in common. Cloning it shares the bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::share_expiry) struct SharedText(Arc<SharedTextBytes>);

/// The bytes behind a thin pointer.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SharedTextBytes(Box<str>);

impl SharedText {
    /// A text that is not shared yet.
    pub(in crate::share_expiry) fn new(text: impl Into<Box<str>>) -> Self {
        SharedText(Arc::new(SharedTextBytes(text.into())))
    }

    pub(in crate::share_expiry) fn as_str(&self) -> &str {
        &self.0.0
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        SharedText::new(text)
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::borrow::Borrow<str> for SharedText {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}
