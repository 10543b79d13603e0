//! The read view of the HeartbeatSupervisor.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use serde::Serialize;

use super::health::{Beat, Health};

/// The published state of the HeartbeatSupervisor.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HeartbeatView {
    /// Every watched host, by address.
    #[serde(skip)]
    pub hosts: Vec<Arc<HostBeats>>,
    /// Probes sent since the start.
    pub probes: u64,
    /// How many of them were missed.
    pub misses: u64,
}

/// The health of one host, for people and metrics.
#[derive(Clone, Debug, Serialize)]
pub struct HostBeats {
    /// Address of the host, which is its identity.
    pub host: HostAddr,
    /// Its health after the last probe.
    pub health: Health,
    /// Whether it is in maintenance: then it is not probed.
    pub in_maintenance: bool,
    /// When that last changed; none while it never did.
    pub changed: Option<Millis>,
    /// When the last probe ended; none before the first.
    pub checked: Option<Millis>,
    /// When the host last answered.
    pub last_answer: Option<Millis>,
    /// The duration of the last probe, in milliseconds; none if it was missed.
    pub latency_ms: Option<u64>,
    /// Misses since the last answer.
    pub misses_in_a_row: u32,
    /// Why the last missed probe was missed.
    pub last_miss: Option<String>,
    /// The latest probes, oldest first.
    pub beats: Vec<Beat>,
}

impl HeartbeatView {
    /// The health of one host. None if it is not watched.
    pub fn of(&self, host: HostAddr) -> Option<&Arc<HostBeats>> {
        let place = self.hosts.binary_search_by_key(&host, |beats| beats.host).ok()?;
        self.hosts.get(place)
    }

    /// Whether a watched host missed too many probes.
    pub fn is_down(&self, host: HostAddr) -> bool {
        self.of(host).is_some_and(|beats| beats.health == Health::Down)
    }
}
