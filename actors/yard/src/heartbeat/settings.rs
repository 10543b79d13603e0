//! What an operator can set for the HeartbeatSupervisor.

use std::time::Duration;

use super::health::{Rhythm, Thresholds};

/// How the HeartbeatSupervisor works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeartbeatSettings {
    /// How often a host is probed.
    pub rhythm: Rhythm,
    /// How long one probe waits for its answer.
    pub timeout: Duration,
    /// How many answers or misses in a row change a host's health.
    pub thresholds: Thresholds,
    /// The limit of open probes: each takes a file descriptor. If more are due, the longest overdue
    /// hosts go first.
    pub probes_at_once: usize,
}

impl Default for HeartbeatSettings {
    fn default() -> Self {
        HeartbeatSettings {
            rhythm: Rhythm { interval: Duration::from_secs(5), jitter: 0.1 },
            timeout: Duration::from_secs(2),
            thresholds: Thresholds::default(),
            probes_at_once: 1024,
        }
    }
}
