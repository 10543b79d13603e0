//! Rising hits: requests of the watch window that no destination could serve. Pure; spec 1.3.

use crate::names::FileId;

/// The hot files of one moment, most hits first, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RisingHits {
    hot: Vec<(FileId, u32)>,
}

impl RisingHits {
    /// The hot files with their hits, most first.
    pub fn hot(&self) -> &[(FileId, u32)] {
        &self.hot
    }
}
