//! How the BoxLeaseActor is set up.

use std::time::Duration;

/// The limits of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxLeaseSettings {
    /// How long an ended lease is remembered, so that a late caller learns how it ended, and a repeated
    /// request its result.
    pub keep_ended_for: Duration,
    /// How many ended leases are remembered at most.
    pub keep_ended: u64,
    /// How long the hook runs and outputs of boxes are remembered.
    pub keep_box_log_for: Duration,
    /// How many lines of that are remembered at most.
    pub keep_box_log: u64,
}

impl Default for BoxLeaseSettings {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        BoxLeaseSettings {
            keep_ended_for: 7 * day,
            keep_ended: 100_000,
            keep_box_log_for: 30 * day,
            keep_box_log: 20_000,
        }
    }
}
