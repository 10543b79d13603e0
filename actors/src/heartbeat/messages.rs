//! The face of the HeartbeatSupervisor.

use actix::Message;
use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::host::HostAddr;

/// What is known of a host's health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Not asked yet, or not often enough to say.
    #[default]
    Unknown,
    /// It answers.
    Up,
    /// It missed a probe or more: it gets nothing new, what it has under way goes on.
    Suspect,
    /// It missed so many that what it has under way is given up.
    Down,
}

/// Told to whoever subscribed when a host's health changes.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct HealthChanged {
    /// The host.
    pub host: HostAddr,
    /// Its health before.
    pub from: Health,
    /// Its health now.
    pub to: Health,
    /// When the probe that decided it ended.
    pub at: Millis,
}
