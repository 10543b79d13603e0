//! The messages of the HeartbeatSupervisor.

use std::sync::Arc;

use actix::{Message, Recipient};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;

use super::health::Health;
use super::views::HostBeats;
use crate::cfw_worker::ProbeHeartbeat;

/// Sent to the subscribers when a host's health changes.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct HealthChanged {
    /// The host whose health changed.
    pub host: HostAddr,
    /// Its health before.
    pub from: Health,
    /// Its health now.
    pub to: Health,
    /// When the probe that decided it ended.
    pub at: Millis,
}

/// Watches one more host from now on. If it is already watched, it gets the given probe, and its health
/// starts again as unknown.
#[derive(Clone, Message)]
#[rtype(result = "()")]
pub struct WatchHost {
    /// The host to watch.
    pub host: HostAddr,
    /// The CfwWorker that sends the probes.
    pub probe: Recipient<ProbeHeartbeat>,
    /// Whether it is in maintenance. Then it gets no probes until the maintenance ends.
    pub in_maintenance: bool,
}

/// Stops the probes of a host until maintenance ends, and then probes it at once. In maintenance a host's
/// health is unknown, and a running probe is ignored.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SetHeartbeatMaintenance {
    /// The host whose maintenance begins or ends.
    pub host: HostAddr,
    /// Whether it is in maintenance.
    pub on: bool,
}

/// Stops watching a host. A running probe of it is ignored.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct UnwatchHost {
    /// The host that is no longer watched.
    pub host: HostAddr,
}

/// Reports to `to` every change of health from now on. First it reports each host whose health is known
/// already, as a change from unknown.
#[derive(Clone, Message)]
#[rtype(result = "()")]
pub struct SubscribeToHealth {
    /// Receiver of the changes.
    pub to: Recipient<HealthChanged>,
}

/// Probes a host now, before other due probes, and answers its state after the probe. A host with a running probe is
/// not probed twice: the answer is that of the running one.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Arc<HostBeats>, NotProbed>")]
pub struct ProbeNow {
    /// The host to probe.
    pub host: HostAddr,
}

/// Why a host was not probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotProbed {
    /// No such host is watched.
    #[error("it is not a host of this yard")]
    NotWatched,
    /// Its silence would not count: an operator works on it.
    #[error("it is in maintenance, and gets no probes: activate it first")]
    InMaintenance,
    /// The node has no file descriptor for the probe, or the host left the schedule meanwhile.
    #[error("the probe was not carried out: try again in a moment")]
    GivenUp,
}

/// Begins due probes. The supervisor sends itself this by its timer; tests send it after they moved the
/// clock. Answers how many probes began.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "usize")]
pub struct ProbeDue;
