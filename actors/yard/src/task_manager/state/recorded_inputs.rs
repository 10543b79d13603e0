//! The inputs of the leader that planned last, as the journal keeps them. Pure.

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::ContentHash;
use serde::{Deserialize, Serialize};

/// An input file of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The hash of its bytes.
    pub digest: ContentHash,
    /// Its rows: lines that are not empty, without the header.
    pub rows: u64,
    /// When the file had been written.
    pub modified: Millis,
}

/// The inputs by which a leader planned and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedInputs {
    /// The number of the node that led.
    pub node: u64,
    /// grade.info; none if the node had none.
    pub grade_info: Option<RecordedFile>,
    /// hitcount.history; none if the node had none.
    pub hitcount_history: Option<RecordedFile>,
    /// Different names in its source directories.
    pub masters: u64,
}

/// The inputs on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsOnRecord {
    /// When they were recorded.
    pub at: Millis,
    /// The inputs of the leader at that time.
    pub inputs: RecordedInputs,
}
