//! The answer of a look at a master about its size.

use reelyard_core::clock::Millis;

/// The answer of a look at a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookedSize {
    /// The size in bytes.
    Bytes(u64),
    /// There is no master.
    NoMaster,
    /// The look had no answer.
    Unknown {
        /// The time of the next look.
        again: Millis,
    },
}
