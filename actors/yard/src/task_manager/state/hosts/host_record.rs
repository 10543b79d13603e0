//! The durable record of a host. Pure.

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostMode, HostRole};
use serde::Serialize;

/// The durable record of a host.
///
/// **Invariant:** a host in maintenance is not silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HostRecord {
    /// Whether it serves masters, takes copies, or both.
    pub role: HostRole,
    /// The mode that an operator set.
    pub mode: HostMode,
    /// Whether the configuration names it. Hosts that were added at run time are not in the
    /// configuration.
    pub configured: bool,
    /// Since when it does not answer. None while it answers, and in maintenance.
    pub silent_since: Option<Millis>,
    /// Whether it was silent for too long and is presumed lost. Only an answer ends this.
    pub lost: bool,
}

impl HostRecord {
    /// A host without further records.
    pub fn new(role: HostRole, configured: bool) -> Self {
        HostRecord { role, mode: HostMode::Active, configured, silent_since: None, lost: false }
    }

    /// Whether its copies count towards the number that a file should have. Copies on a draining or
    /// lost host do not count.
    pub fn counts(&self) -> bool {
        self.role.is_destination() && self.mode != HostMode::Draining && !self.lost
    }

    /// Whether new copies may be placed on it, by the record.
    pub fn takes_copies(&self) -> bool {
        self.role.is_destination() && self.mode == HostMode::Active && !self.lost
    }

    /// Whether the host may be called.
    pub fn is_asked(&self) -> bool {
        self.mode != HostMode::Maintenance
    }
}
