//! The facts of the page Boxes.

use crate::parts::boxes::{BoxCondition, GridBox};
use crate::parts::dialog::AskDialog;
use crate::parts::table::RowPage;
use crate::viewer::Moment;

/// A pool with its grid.
#[derive(Clone, Debug, Default)]
pub struct PoolPanel {
    /// As the configuration has it. It is part of the id of the panel.
    pub name: String,
    /// Host of the boxes, if it is set.
    pub host: Option<String>,
    /// Usual term of a lease in seconds.
    pub ttl: u64,
    /// The first boxes in the order of their numbers. A large pool has more.
    pub boxes: Vec<GridBox>,
    /// Boxes by state.
    pub counts: Vec<(BoxCondition, u64)>,
    /// Requests in the queue.
    pub queue: u64,
    /// Longest queue of the setting.
    pub queue_most: u64,
}

impl PoolPanel {
    /// All boxes of the pool.
    pub fn size(&self) -> u64 {
        self.counts.iter().map(|(_, boxes)| boxes).sum()
    }
}

/// A request in the queue.
#[derive(Clone, Debug, Default)]
pub struct QueueLine {
    /// Place, from 1.
    pub place: u64,
    /// The person or program that asks for boxes.
    pub holder: String,
    /// From -100 to 100. A step upwards is worth some time of waiting.
    pub priority: i64,
    /// Boxes wanted.
    pub count: u64,
    /// Since when it waits.
    pub since: Moment,
}

/// A row of the table of leases.
#[derive(Clone, Debug, Default)]
pub struct LeaseLine {
    /// Number of the lease.
    pub id: String,
    /// Box.
    pub number: u64,
    /// The person or program that uses the box.
    pub holder: String,
    /// Fence token.
    pub token: u64,
    /// End.
    pub ends: Moment,
    /// Begin.
    pub granted: Moment,
}

/// A box in quarantine, with the evidence.
#[derive(Clone, Debug, Default)]
pub struct QuarantineLine {
    /// Name of the pool that the box belongs to.
    pub pool: String,
    /// Box.
    pub number: u64,
    /// Since when.
    pub since: Moment,
    /// The person who asked for it, if one did.
    pub by: Option<String>,
    /// Failed cleanings before it, if the log of the box still has them.
    pub failures: Option<u64>,
    /// Output of the last cleaning, or the reason of the person.
    pub output: String,
}

/// The facts of one box, for its panel.
#[derive(Clone, Debug)]
pub struct OneBox {
    /// Name of the pool that the box belongs to.
    pub pool: String,
    /// Number within the pool.
    pub number: u64,
    /// State.
    pub condition: BoxCondition,
    /// Since when.
    pub since: Moment,
    /// Its lease, if it has one.
    pub lease: Option<LeaseLine>,
    /// Failed cleanings.
    pub failures: u64,
    /// Slot, if it has one.
    pub slot: Option<u64>,
    /// Output of the last cleaning.
    pub output: String,
}

/// Sums over all pools of the node.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllPools {
    /// Their number.
    pub pools: u64,
    /// Boxes of them.
    pub boxes: u64,
    /// Requests in their queues.
    pub waiting: u64,
    /// The longest wait in seconds, if all of these requests are known.
    pub longest_wait: Option<u64>,
    /// Boxes in quarantine.
    pub quarantined: u64,
}

/// Positions of the lists of the page.
#[derive(Clone, Debug, Default)]
pub struct BoxListPages {
    /// Among all pools.
    pub pools: RowPage,
    /// The boxes in the grid of the chosen pool.
    pub boxes: RowPage,
    /// Among the requests for it.
    pub queue: RowPage,
    /// Among those of the chosen pool.
    pub leases: RowPage,
    /// The boxes in quarantine.
    pub quarantine: RowPage,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct BoxesPageModel {
    /// Sums over all pools, shown or not.
    pub totals: AllPools,
    /// The pools of this page, each with its grid.
    pub pools: Vec<PoolPanel>,
    /// Where in its lists the page is.
    pub pages: BoxListPages,
    /// The pool whose queue and leases are shown.
    pub chosen: String,
    /// Its queue, first in line first.
    pub queue: Vec<QueueLine>,
    /// Its leases, soonest to end first.
    pub leases: Vec<LeaseLine>,
    /// Boxes in quarantine, of all pools.
    pub quarantine: Vec<QuarantineLine>,
    /// The box whose panel is open.
    pub one: Option<OneBox>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}
