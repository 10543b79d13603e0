//! Counters of the requests and boxes of a pool.

use reelyard_core::durations::Durations;

/// Counters of one pool while this node leads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolQueueCounts {
    /// Requests that got their boxes.
    pub served: u64,
    /// Requests that waited long enough.
    pub timed_out: u64,
    /// Requests whose callers left.
    pub left: u64,
    /// Requests that a full queue refused.
    pub queue_full: u64,
    /// Requests that were refused for other reasons.
    pub refused: u64,
    /// The waits of the served requests.
    pub waits: Durations,
    /// How long boxes were held.
    pub holds: Durations,
    /// How long preparations took, including failed ones.
    pub inits: Durations,
    /// How long cleaning took, or finding that it fails.
    pub cleanups: Durations,
    /// The number of failed hooks.
    pub hook_failures: u64,
    /// Calls about leases with a token of another lease.
    pub wrong_tokens: u64,
    /// Calls that the host did not answer.
    pub silences: u64,
}
