//! Facts about the content of an input file. Pure.

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::ContentHash;

/// The content of an input file, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputContents {
    /// The hash of its bytes.
    pub digest: ContentHash,
    /// Its rows: lines that are not empty, without the header.
    pub rows: u64,
    /// When the file had been written.
    pub modified: Millis,
}

/// The files that make a ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankingFiles {
    /// grade.info; none if none is configured.
    pub grade_info: Option<InputContents>,
    /// hitcount.history; none if none is configured.
    pub hitcount_history: Option<InputContents>,
}
