//! Settings of removals.

use std::time::Duration;

use reelyard_replication::ElectionConfig;

use crate::settings::YardConfig;
use crate::settings::copies::CopiesWanted;
use crate::settings::popularity::{DailyBudget, KeepFactor, PopularityConfig};
use crate::settings::remover::KeptBy;
pub use crate::settings::remover::RemovalMode;

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
    /// The target for a disk over its limit, in percent.
    pub low_water_percent: u32,
    /// The wanted number of copies of a file.
    pub copies: CopiesWanted,
    /// How long a copy is safe from making room after it arrived.
    pub spare_copied_within: Duration,
    /// Room is made for a file that fits on no destination if it has at least this many rising hits.
    pub make_room_hits: u32,
    /// The largest part of a disk that is removed for one such file, in percent; 0 for nothing.
    pub make_room_percent: u32,
    /// How long a copy of a hot file is not removed to make room for others.
    pub spare_hot_within: Duration,
    /// How long room that was made is kept for its file.
    pub keep_room_for: Duration,
    /// The largest number of copies that one round removes from one host.
    pub most_per_host: usize,
    /// The largest number of files with surplus copies that one round examines.
    pub most_duplicates: usize,
    /// How long after its election this node removes nothing from old cfws, because these cannot
    /// distinguish calls of an earlier leader. It is the longest election time plus five seconds.
    pub old_host_quiet: Duration,
    /// How long a copy is in doubt after a call without a clear result.
    pub doubt: Duration,
    /// How many ended removals are remembered.
    pub keep_history: u64,
    /// The rules of exchanges. They apply while the order of demand is in force.
    pub exchange: ExchangeRules,
}

/// The rules of exchanges in a full yard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeRules {
    /// A file replaces copies only if its demand for each byte is at least this many times theirs.
    pub keep: KeepFactor,
    /// The largest amount of data that exchanges remove in 24 hours.
    pub daily_budget: DailyBudget,
    /// How long a copy stays before an exchange can remove it.
    pub min_stay: Duration,
}

impl ExchangeRules {
    fn of(config: &PopularityConfig) -> Self {
        let PopularityConfig { keep, daily_budget, min_stay, .. } = *config;
        ExchangeRules { keep, daily_budget, min_stay }
    }
}

/// How long room that was made is kept for its file.
const KEEP_ROOM_FOR: Duration = Duration::from_secs(60 * 60);

/// Most copies that one round removes from one host, and most files with surplus copies in it.
const MOST_PER_HOST: usize = 64;
const MOST_DUPLICATES: usize = 1024;

/// How long a call of a deposed leader may take to reach an old cfw.
const OLD_CALLS_LAST: Duration = Duration::from_secs(5);

/// How long a copy is in doubt after a call without a clear result.
const DOUBT: Duration = Duration::from_secs(10 * 60);

impl RemoverSettings {
    /// The settings of an operator.
    pub fn of(config: &YardConfig, elections: &ElectionConfig) -> Self {
        let remover = &config.remover;
        RemoverSettings {
            mode: remover.mode,
            interval: remover.interval,
            keep: remover.keep,
            ignore_prefixes: config.ignored_prefixes(),
            storage_limit_percent: config.storage.limit_percent.get(),
            low_water_percent: config.storage.low_water(),
            copies: config.copies_wanted(),
            spare_copied_within: config.storage.spare_copied_within,
            make_room_hits: config.make_room_hits(),
            make_room_percent: if remover.make_room { remover.make_room_percent.get() } else { 0 },
            spare_hot_within: remover.spare_hot_within,
            keep_room_for: KEEP_ROOM_FOR,
            most_per_host: MOST_PER_HOST,
            most_duplicates: MOST_DUPLICATES,
            old_host_quiet: elections.election_max + OLD_CALLS_LAST,
            doubt: DOUBT,
            keep_history: config.history.keep.get(),
            exchange: ExchangeRules::of(&config.popularity),
        }
    }
}

impl Default for RemoverSettings {
    fn default() -> Self {
        RemoverSettings::of(&YardConfig::default(), &ElectionConfig::default())
    }
}
