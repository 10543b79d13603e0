//! How hosts are called.

use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::token::SharedToken;
use reelyard_protocol::inventory::limits::ListLimits;
use reelyard_protocol::tls::HostTls;

use super::breaker::circuit_breaker::CircuitBreakerSettings;
use crate::settings::YardConfig;
use crate::settings::hosts::Agents;

/// How CfwWorkers call their hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct CfwWorkerSettings {
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// The time limit of `/info`, `/df` and `DELETE` as a whole.
    pub call_timeout: Duration,
    /// The time limit of a whole list of files. Old cfws cut theirs after 5 s.
    pub list_timeout: Duration,
    /// The interval between complete lists of a destination that cannot report changes. That is an old cfw,
    /// or a worker whose file system reports none.
    pub inventory_interval: Duration,
    /// How often a host that can report changes is asked for changes.
    pub changes_interval: Duration,
    /// How often a host that reports changes is asked for a full list.
    pub full_inventory_interval: Duration,
    /// How often a destination is asked for the figures of its disk.
    pub disk_interval: Duration,
    /// How often the load of a host's link is read, from our worker or from node_exporter.
    pub traffic_interval: Duration,
    /// The node_exporters, by host.
    pub agents: Agents,
    /// The hosts that are called over TLS.
    pub tls: HostTls,
    /// Shared with our workers that have no token of their own: calls to them are signed with it. It is never sent.
    pub token: Option<SharedToken>,
    /// How many files a host may list; a longer list is refused as a whole. Also how many files its lists may
    /// add within an hour before the next list with additions is refused.
    pub max_files: u64,
    /// Calls to one host at the same time; probes and looks not counted.
    pub open_calls: usize,
    /// Calls that may wait in addition.
    pub waiting_calls: usize,
    /// When and how long a host with failing calls gets no calls.
    pub breaker: CircuitBreakerSettings,
}

impl CfwWorkerSettings {
    /// How much one list may hold.
    pub fn list_limits(&self) -> ListLimits {
        ListLimits::of(self.max_files)
    }
}

/// Calls to one host at the same time, and calls that may wait in addition.
const OPEN_CALLS: usize = 4;
const WAITING_CALLS: usize = 64;

impl CfwWorkerSettings {
    /// The settings of an operator.
    pub fn of(config: &YardConfig, token: Option<SharedToken>) -> Self {
        let calls = &config.calls;
        CfwWorkerSettings {
            connect_timeout: calls.connect_timeout,
            call_timeout: calls.timeout,
            list_timeout: calls.list_timeout,
            inventory_interval: calls.inventory_interval,
            changes_interval: calls.changes_interval,
            full_inventory_interval: calls.full_inventory_interval,
            disk_interval: calls.disk_interval,
            traffic_interval: calls.traffic_interval,
            agents: config.hosts.node_exporters.clone(),
            tls: calls.host_tls(),
            token,
            max_files: config.hosts.max_files.get(),
            open_calls: OPEN_CALLS,
            waiting_calls: WAITING_CALLS,
            breaker: CircuitBreakerSettings {
                open_after: calls.breaker_after.get(),
                cool_down: ExponentialBackoff { base: calls.breaker_base, cap: calls.breaker_cap },
            },
        }
    }
}

impl Default for CfwWorkerSettings {
    fn default() -> Self {
        CfwWorkerSettings::of(&YardConfig::default(), None)
    }
}
