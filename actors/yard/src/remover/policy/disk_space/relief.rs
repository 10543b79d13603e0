//! The removals of a round for one full disk.

use serde::{Deserialize, Serialize};

/// A disk whose use is reduced to its low-water mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Relief {
    /// Bytes in use, without those of removals under way.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// The target in bytes.
    pub low_water: u64,
    /// Bytes that this round removes, if their sizes are known.
    pub goes: u64,
    /// Whether the allowed removals are not enough.
    pub falls_short: bool,
}
