//! Treatment of commits while the disk is full.

/// Treatment of a commit while the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnFullDisk {
    /// The commit is refused with `DiskFull`.
    Refuse,
    /// The commit is accepted while more than half of the reserve is left.
    UseHalfOfReserve,
    /// The commit is accepted while the rest of the reserve has room.
    UseReserve,
}
