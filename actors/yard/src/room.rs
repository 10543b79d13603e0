//! Room on destinations for hot files and for files with much demand: the requests of the planner, and
//! the rooms that the Remover has made.

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

/// A file for which no destination has room: a hot one, or one with much demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantsRoom {
    /// Number of the file in the name table.
    pub file: FileId,
    /// Its size in bytes.
    pub size: u64,
    /// Its rising hits; 0 if it is not hot. Then only an exchange makes room for it.
    pub hits: u32,
    /// Its rank, 1 = best; 0 without a grade.
    pub grade: u32,
    /// Whether old hosts can carry its name.
    pub old_hosts_carry: bool,
}

/// The room of a destination, as the planner counted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRoom {
    /// Free bytes below the limit, after all its open tasks have ended.
    pub bytes: u64,
    /// The time of the disk read that it was counted from.
    pub disk_read_at: Millis,
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
    /// Whether copies were exchanged for it. Otherwise the room is for a hot file.
    pub is_exchange: bool,
}

impl WantsRoom {
    /// Whether its hits rise now.
    pub fn is_hot(&self) -> bool {
        self.hits > 0
    }
}
