//! What an operator can set of removals.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::ranking::CopiesWanted;
use crate::remover::state::reason::KeptBy;

/// Whether copies are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemovalMode {
    /// Copies are removed.
    #[default]
    On,
    /// Everything is decided and reported, but no copy is removed.
    DryRun,
    /// Nothing is decided.
    Off,
}

impl fmt::Display for RemovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RemovalMode::On => "on",
            RemovalMode::DryRun => "dry-run",
            RemovalMode::Off => "off",
        })
    }
}

/// Everything that can be set of the Remover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoverSettings {
    /// Whether copies are removed.
    pub mode: RemovalMode,
    /// How often a round runs.
    pub interval: Duration,
    /// The rule that selects the copies to keep.
    pub keep: KeptBy,
    /// Names that begin with one of these are never touched (advertisements).
    pub ignore_prefixes: Vec<Vec<u8>>,
    /// How much of a destination's disk may be in use, in percent.
    pub storage_limit_percent: u32,
    /// Down to how much a disk over its limit is brought, in percent.
    pub low_water_percent: u32,
    /// How many copies of a file there should be.
    pub copies: CopiesWanted,
    /// How long a copy is safe from making room after it arrived.
    pub spare_copied_within: Duration,
    /// Room is made for a file that fits on no destination when it has at least this many rising hits.
    pub make_room_hits: u32,
    /// How much of a disk is given up for one such file, in percent; 0 for nothing.
    pub make_room_percent: u32,
    /// How long a copy that came because its file was hot is safe from making room.
    pub spare_hot_within: Duration,
    /// How long room that was made is kept for its file.
    pub keep_room_for: Duration,
    /// How many copies one round removes from one host at most.
    pub most_per_host: usize,
    /// How many files with surplus copies one round examines, at most.
    pub most_duplicates: usize,
    /// How long after its election this node removes nothing from old cfws, because these cannot
    /// distinguish a call of a former leader. It is the longest election time plus five seconds.
    pub old_host_quiet: Duration,
    /// How long a copy is in doubt after a call that came to no clear end.
    pub doubt: Duration,
    /// How many ended removals are remembered.
    pub keep_history: u64,
}

impl Default for RemoverSettings {
    fn default() -> Self {
        RemoverSettings {
            mode: RemovalMode::On,
            interval: Duration::from_secs(10),
            keep: KeptBy::Room,
            ignore_prefixes: Vec::new(),
            storage_limit_percent: 90,
            low_water_percent: 85,
            copies: CopiesWanted::default(),
            spare_copied_within: Duration::from_secs(10 * 60),
            make_room_hits: 6,
            make_room_percent: 10,
            spare_hot_within: Duration::from_secs(24 * 60 * 60),
            keep_room_for: Duration::from_secs(60 * 60),
            most_per_host: 64,
            most_duplicates: 1024,
            old_host_quiet: Duration::from_secs(6),
            doubt: Duration::from_secs(10 * 60),
            keep_history: 10_000,
        }
    }
}
