//! A host, as the API shows it.

use serde::{Deserialize, Serialize};

use crate::cfw_worker::DiskFigures;
use crate::clock::Millis;
use crate::heartbeat::Health;
use crate::host::{BitsPerSecond, HostAddr, HostKind, HostRole};

/// A host and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    /// Its identity.
    pub host: HostAddr,
    /// What it is for.
    pub role: HostRole,
    /// What program answers there.
    pub kind: HostKind,
    /// Whether it is well.
    pub health: Health,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_since: Option<Millis>,
    /// How long its last good probe took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Why it could not be asked, the last time it could not, while that still holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How many files it holds. Missing while that is not known, and for a pure source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskFigures>,
    /// How many bytes it may still take before it reaches its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u64>,
    /// When `files` and `disk` were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Millis>,
    /// Copies under way from it.
    pub serving: u32,
    /// Copies under way to it.
    pub fetching: u32,
    /// The most it may send now in all copies together, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_below: Option<BitsPerSecond>,
    /// The most it may receive now, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives_below: Option<BitsPerSecond>,
    /// That it is left alone for now, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
}

/// How long something is left alone after failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackOffView {
    /// Until when.
    pub until: Millis,
    /// How many failures in a row led to it.
    pub failures: u32,
    /// The last of them.
    pub reason: String,
}
