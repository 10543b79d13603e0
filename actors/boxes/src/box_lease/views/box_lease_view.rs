//! The read view of the BoxLeaseActor, beside the table itself.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::durations::Durations;
use reelyard_core::event::Epoch;
use reelyard_protocol::boxes::PoolName;

/// The observable state of the actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxView {
    /// When the actor made this view.
    pub at: Millis,
    /// The epoch this node leads in; none on a follower.
    pub epoch: Option<Epoch>,
    /// How many requests wait for boxes of any pool, or for a grant under way.
    pub waiters: u64,
    /// The pools as this node sees them while it leads.
    pub lines: BTreeMap<PoolName, PoolQueueView>,
    /// Commits without an outcome, since the process started.
    pub uncommitted: u64,
}

/// The queue of one pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolQueueView {
    /// How many requests wait.
    pub waiting: u64,
    /// How many boxes they want together.
    pub wanted: u64,
    /// Boxes that can be granted at once.
    pub available: u64,
    /// How long boxes were held lately.
    pub mean_hold: Option<Duration>,
    /// Why the pool's host does not answer, for as long as it has answered nothing since.
    pub silence: Option<String>,
    /// Counters since this node leads.
    pub counts: PoolQueueCounts,
}

/// Counters of one pool while this node leads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolQueueCounts {
    /// Requests that got their boxes.
    pub served: u64,
    /// Requests that waited long enough.
    pub timed_out: u64,
    /// Requests whose callers went away.
    pub left: u64,
    /// Requests that a full queue refused.
    pub queue_full: u64,
    /// Requests that were refused for other reasons.
    pub refused: u64,
    /// How long those waited that were served.
    pub waits: Durations,
    /// How long boxes were held.
    pub holds: Durations,
    /// How long it took to make boxes ready, or to find that it fails.
    pub inits: Durations,
    /// How long cleaning took, or finding that it fails.
    pub cleanups: Durations,
    /// The number of failed hooks.
    pub hook_failures: u64,
    /// Calls about leases with a token that is not the lease's own.
    pub wrong_tokens: u64,
    /// Calls that the host did not answer.
    pub silences: u64,
}
