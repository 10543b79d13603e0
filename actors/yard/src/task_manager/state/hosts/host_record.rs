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
    /// Whether the configuration names it. One that was added at run time it does not.
    pub configured: bool,
    /// Since when it does not answer; none while it does, and in maintenance.
    pub silent_since: Option<Millis>,
    /// Whether it was silent for so long that it is presumed lost. Only an answer ends that.
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

    /// Whether new copies may be placed on it, as far as is on record.
    pub fn takes_copies(&self) -> bool {
        self.role.is_destination() && self.mode == HostMode::Active && !self.lost
    }

    /// Whether anything may be asked of it.
    pub fn is_asked(&self) -> bool {
        self.mode != HostMode::Maintenance
    }
}
