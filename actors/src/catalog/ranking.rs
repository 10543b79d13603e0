//! The ranking: which files there are, best first, and what hitcount.history says of them.
//! Pure; spec 1.1 and 1.2.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::names::FileId;

/// grade.info and hitcount.history, joined. Immutable once built; shared by `Arc`.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    files: Vec<FileId>,
    ranks: HashMap<FileId, u32>,
    sizes: HashMap<FileId, u64>,
    listed_on: HashMap<FileId, Vec<IpAddr>>,
}

impl Ranking {
    /// Every graded file, best first: the file at index `i` has rank `i + 1`... unless it is named
    /// again further down.
    pub fn files(&self) -> &[FileId] {
        &self.files
    }

    /// The rank of a file, 1 = best.
    pub fn rank(&self, file: FileId) -> Option<u32> {
        self.ranks.get(&file).copied()
    }

    /// The size that hitcount.history tells, in bytes. A hint: the master's own size decides.
    pub fn size(&self, file: FileId) -> Option<u64> {
        self.sizes.get(&file).copied()
    }

    /// The destinations' IPs that hitcount.history lists for the file, each once.
    pub fn listed_on(&self, file: FileId) -> &[IpAddr] {
        self.listed_on.get(&file).map_or(&[], Vec::as_slice)
    }
}
