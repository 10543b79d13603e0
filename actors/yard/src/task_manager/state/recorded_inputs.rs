//! The inputs of the leader that planned last, as the journal keeps them. Pure.

use reelyard_core::clock::Millis;

use super::event::RecordedInputs;

/// The last record of a leader, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsOnRecord {
    /// When they were recorded.
    pub at: Millis,
    /// The inputs of the leader at that time.
    pub inputs: RecordedInputs,
}
