//! The read view of the BoxLeaseActor, in addition to the table itself.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_protocol::boxes::PoolName;

use crate::box_lease::policy::memory::counters::PoolQueueCounts;

/// The observable state of the actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxView {
    /// When the actor made this view.
    pub at: Millis,
    /// The epoch this node leads in; none on a follower.
    pub epoch: Option<Epoch>,
    /// How many requests wait for boxes of any pool, or for a running grant.
    pub waiters: u64,
    /// The pools as this node sees them while it leads.
    pub queues: BTreeMap<PoolName, PoolQueueView>,
    /// Commits without an outcome, since the process started.
    pub uncommitted: u64,
}

/// The queue of one pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolQueueView {
    /// How many requests wait.
    pub waiting: u64,
    /// The number of boxes that they want together.
    pub wanted: u64,
    /// Boxes that can be granted at once.
    pub available: u64,
    /// The mean of recent hold times.
    pub mean_hold: Option<Duration>,
    /// Why the host of the pool does not answer. None after its next answer.
    pub silence: Option<String>,
    /// Counters since this node leads.
    pub counts: PoolQueueCounts,
}
