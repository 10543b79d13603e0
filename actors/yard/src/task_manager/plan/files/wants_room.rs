//! Hot files for which no destination has room: the Remover may make room for them. Pure.

use reelyard_core::names::FileId;

/// How many such files a round names, hottest first.
pub(in crate::task_manager::plan) const MOST_NAMED: usize = 16;

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
