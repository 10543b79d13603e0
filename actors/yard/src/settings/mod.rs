//! The settings of the yard, one file for each subject. The settings of the actors are made from them.
//!
//! **Invariant:** this module uses no actor, only types of their values.

pub mod bandwidth;
pub mod calls;
pub mod copies;
pub mod heartbeat;
pub mod hosts;
pub mod placement;
pub mod popularity;
pub mod ranking;
pub mod remover;
pub mod watched_servers;
pub mod zone;

use std::collections::BTreeMap;

use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::settings;

use bandwidth::BandwidthConfig;
use calls::CallConfig;
use copies::{CopiesWanted, CopyConfig, HistoryConfig, IgnoreConfig, StorageConfig, TaskConfig};
use heartbeat::HeartbeatConfig;
use hosts::HostConfig;
use placement::PlacementConfig;
use popularity::PopularityConfig;
use ranking::{CatalogConfig, EventLogConfig};
use remover::RemoverConfig;

settings! {
    /// All settings of the yard, by table.
    pub struct YardConfig {}
    groups {
        /// The hosts of the yard.
        hosts: HostConfig,
        /// Files that are never touched.
        ignore: IgnoreConfig,
        /// The ranking of the files.
        catalog: CatalogConfig,
        /// The log of the load balancer.
        event_log: EventLogConfig,
        /// Probes of the hosts.
        heartbeat: HeartbeatConfig,
        /// Calls to the hosts.
        calls: CallConfig,
        /// The life of a copy.
        task: TaskConfig,
        /// The hosts that copies come from and go to.
        placement: PlacementConfig,
        /// Rate limits of the hosts.
        bandwidth: BandwidthConfig,
        /// The disks of the destinations.
        storage: StorageConfig,
        /// The number of copies of a file.
        copies: CopyConfig,
        /// The removal of copies.
        remover: RemoverConfig,
        /// The remembered demand for files.
        popularity: PopularityConfig,
        /// The memory of ended copies and removals.
        history: HistoryConfig,
    }
}

/// Default distance of the low-water mark below the limit, in percentage points.
const HYSTERESIS_PERCENT: u32 = 5;

impl StorageConfig {
    /// The level down to which a disk over its limit is emptied, in percent.
    pub fn low_water(&self) -> u32 {
        let limit = self.limit_percent.get();
        match self.low_water_percent {
            Some(percent) => percent.get(),
            None => limit.saturating_sub(HYSTERESIS_PERCENT),
        }
    }
}

/// Default multiple of the hit base from which room is made. A file that is not hot has less than half
/// of these hits.
const TIMES_HOT: u32 = 2;

impl YardConfig {
    /// Number of rising hits from which room is made for a file.
    pub fn make_room_hits(&self) -> u32 {
        match self.remover.make_room_hits {
            Some(hits) => hits.get(),
            None => self.event_log.hit_base.get().saturating_mul(TIMES_HOT),
        }
    }

    /// Wanted number of copies of a file.
    pub fn copies_wanted(&self) -> CopiesWanted {
        CopiesWanted { by_grade_info: self.copies.by_grade_info, most: self.copies.most.get() }
    }

    /// Prefixes of the names that are never touched.
    pub fn ignored_prefixes(&self) -> Vec<Vec<u8>> {
        self.ignore.prefixes.iter().map(|prefix| prefix.as_bytes().to_vec()).collect()
    }
}

impl Default for CopiesWanted {
    fn default() -> Self {
        YardConfig::default().copies_wanted()
    }
}

impl HostConfig {
    /// Every host with its role, sorted by address.
    pub fn with_roles(&self) -> Vec<(HostAddr, HostRole)> {
        let sources = self.sources.iter().map(|host| (*host, HostRole::Source));
        let destinations = self.destinations.iter().map(|host| (*host, HostRole::Destination));
        let mut yard = BTreeMap::new();
        for (host, role) in sources.chain(destinations) {
            let stored = yard.entry(host).or_insert(role);
            if *stored != role {
                *stored = HostRole::Both;
            }
        }
        yard.into_iter().collect()
    }
}
