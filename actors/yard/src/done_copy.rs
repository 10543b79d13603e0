//! A copy that arrived.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

/// A copy that arrived on a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneCopy {
    /// The destination.
    pub host: HostAddr,
    /// The copied file, by its number in the name table.
    pub file: FileId,
    /// Its rising hits when the copy was planned.
    pub hits: u32,
    /// When it arrived.
    pub at: Millis,
}
