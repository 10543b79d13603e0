//! Room on destinations for hot files: the requests of the planner, and the rooms that the
//! Remover has made.

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

/// A hot file for which no destination has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantsRoom {
    /// Number of the file in the name table.
    pub file: FileId,
    /// Its size in bytes.
    pub size: u64,
    /// Its rising hits.
    pub hits: u32,
    /// Its rank, 1 = best; 0 without a grade.
    pub grade: u32,
    /// Whether old hosts can carry its name.
    pub old_hosts_carry: bool,
}

/// Room that is being made, or was, for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomMade {
    /// For which file.
    pub file: FileId,
    /// Its size in bytes.
    pub size: u64,
    /// The end of the reservation for the file.
    pub until: Millis,
    /// Bytes that were already removed for it.
    pub freed: u64,
}
