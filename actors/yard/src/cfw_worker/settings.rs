//! How hosts are called.

use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::token::SharedToken;
use reelyard_protocol::inventory::listing::ListLimits;

use super::agent::Agents;
use super::circuit_breaker::CircuitBreakerSettings;

/// How CfwWorkers call their hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct CfwWorkerSettings {
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How long `/info`, `/df` and `DELETE` may take as a whole.
    pub call_timeout: Duration,
    /// How long a list of files may take as a whole. Old cfws cut theirs after 5 s themselves.
    pub list_timeout: Duration,
    /// How often a destination is asked for everything it holds if it cannot report changes: an old cfw,
    /// or a worker whose file system reports none.
    pub inventory_interval: Duration,
    /// How often one that can is asked for what changed.
    pub changes_interval: Duration,
    /// How often a host that reports changes is asked for everything.
    pub full_inventory_interval: Duration,
    /// How often a destination is asked for its disk.
    pub disk_interval: Duration,
    /// How often the load of a host's link is read, from our worker or from node_exporter.
    pub traffic_interval: Duration,
    /// The node_exporters, by host.
    pub agents: Agents,
    /// Shared with our workers: calls to them are signed with it. It is never sent.
    pub token: Option<SharedToken>,
    /// How many files a host may list; a longer list is refused as a whole. Also how many new names its
    /// lists may add within an hour.
    pub max_files: u64,
    /// Calls to one host at the same time; probes and looks not counted.
    pub open_calls: usize,
    /// Calls that may wait for their turn beyond those.
    pub waiting_calls: usize,
    /// When calls to a host that keep failing are given up for a while.
    pub breaker: CircuitBreakerSettings,
}

/// Figures of a link are dropped when they are this many intervals old: the load is unknown then.
const TRAFFIC_KEPT_FOR_INTERVALS: u32 = 4;

impl CfwWorkerSettings {
    /// The age at which the figures of a link become unknown.
    pub fn traffic_fresh_for(&self) -> Duration {
        self.traffic_interval * TRAFFIC_KEPT_FOR_INTERVALS
    }

    /// How much one list may hold.
    pub fn list_limits(&self) -> ListLimits {
        ListLimits::of(self.max_files)
    }
}

impl Default for CfwWorkerSettings {
    fn default() -> Self {
        CfwWorkerSettings {
            connect_timeout: Duration::from_secs(2),
            call_timeout: Duration::from_secs(5),
            list_timeout: Duration::from_secs(30),
            inventory_interval: Duration::from_secs(60),
            changes_interval: Duration::from_secs(10),
            full_inventory_interval: Duration::from_secs(1800),
            disk_interval: Duration::from_secs(30),
            traffic_interval: Duration::from_secs(10),
            agents: Agents::default(),
            token: None,
            max_files: 200_000,
            open_calls: 4,
            waiting_calls: 64,
            breaker: CircuitBreakerSettings {
                open_after: 3,
                cool_down: ExponentialBackoff {
                    base: Duration::from_secs(10),
                    cap: Duration::from_secs(300),
                },
            },
        }
    }
}
