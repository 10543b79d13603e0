//! Settings of the HeartbeatSupervisor.

use std::time::Duration;

use super::health::{ProbeSchedule, Thresholds};
use crate::settings::heartbeat::HeartbeatConfig;

/// How the HeartbeatSupervisor works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeartbeatSettings {
    /// How often a host is probed.
    pub probe_schedule: ProbeSchedule,
    /// How long one probe waits for its answer.
    pub timeout: Duration,
    /// How many answers or misses in a row change a host's health.
    pub thresholds: Thresholds,
    /// The limit of open probes, because each needs a file descriptor. If more are due, the most
    /// overdue hosts come first.
    pub probes_at_once: usize,
}

/// Largest number of concurrent probes of a process.
pub const MOST_PROBES: usize = 1024;

impl HeartbeatSettings {
    /// The settings of an operator, with the number of probes that this process may have open.
    pub fn of(config: &HeartbeatConfig, probes_at_once: usize) -> Self {
        HeartbeatSettings {
            probe_schedule: ProbeSchedule {
                interval: config.interval,
                jitter: config.jitter.get(),
            },
            timeout: config.timeout,
            thresholds: Thresholds::of(config),
            probes_at_once,
        }
    }
}

impl Default for HeartbeatSettings {
    fn default() -> Self {
        HeartbeatSettings::of(&HeartbeatConfig::default(), MOST_PROBES)
    }
}
