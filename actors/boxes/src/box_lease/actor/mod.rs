//! The actor: its reactions to messages and to commands of the journal.

pub(in crate::box_lease) mod acquire;
pub(in crate::box_lease) mod acquisition;
pub(in crate::box_lease) mod box_hooks;
pub(in crate::box_lease) mod grants;
pub(in crate::box_lease) mod lease_requests;
pub(in crate::box_lease) mod on_applied;
pub(in crate::box_lease) mod pool_requests;
pub(in crate::box_lease) mod requests;
pub(in crate::box_lease) mod tick;

use std::time::Duration;

use actix::{Actor, Context};
use reelyard_core::clock::{Clock, ClockReading};
use reelyard_core::secret_id::IdSource;
use reelyard_protocol::boxes::BoxHosts;
use reelyard_replication::{ClusterClockConfig, LogHandle, OwnerCommands, OwnerTicks, Replicated};

use crate::box_lease::policy::decision_context::BoxDecisionContext;
use crate::box_lease::policy::memory::BoxMemory;
use crate::box_lease::{
    BoxChange, BoxLeaseSettings, BoxView, BoxViewHandle, PoolQueueView, SharedTable,
};

/// The actor that owns all boxes. Every node runs one: on the leader it decides, on followers it only
/// applies.
pub struct BoxLease {
    replica: Replicated<SharedTable, BoxView, BoxChange>,
    memory: BoxMemory,
    clock: Clock,
    /// The largest distance between the wall clocks of two leaders.
    clock_bound: Duration,
    view_handle: BoxViewHandle,
    hosts: BoxHosts,
    /// Whether the start of this node's leadership is being recorded.
    recording_led: bool,
    /// When old records were last checked for removal, and waiting callers last got their progress, by
    /// the monotonic clock.
    upkeep_at: Option<Duration>,
    progress_at: Option<Duration>,
}

impl BoxLease {
    /// A BoxLease. It registers itself with the journal when it starts.
    pub fn new(
        settings: BoxLeaseSettings,
        clock: Clock,
        journal: impl Into<LogHandle>,
        hosts: BoxHosts,
        view_handle: BoxViewHandle,
    ) -> Self {
        BoxLease {
            replica: Replicated::new(
                SharedTable::default(),
                journal,
                clock.clone(),
                view_handle.view_handle(),
            ),
            memory: BoxMemory::new(settings),
            clock,
            clock_bound: ClusterClockConfig::default().clock_bound,
            view_handle,
            hosts,
            recording_led: false,
            upkeep_at: None,
            progress_at: None,
        }
    }

    /// The wall clocks of two leaders may differ by this much.
    pub fn with_clock_bound(self, clock_bound: Duration) -> Self {
        BoxLease { clock_bound, ..self }
    }

    /// Both clocks; the wall clock holds small backward steps back.
    fn now(&self) -> ClockReading {
        ClockReading { wall: self.clock.now(), monotonic: self.clock.reading().monotonic }
    }

    /// The memory, and the state that a decision reads.
    fn at(&mut self) -> (&mut BoxMemory, BoxDecisionContext<'_>) {
        let now = self.now();
        let epoch = self.replica.epoch();
        let table = self.replica.piece().read();
        (&mut self.memory, BoxDecisionContext { table, epoch, now })
    }

    /// Decides with the memory and the state. The lock on the table ends with the decision.
    fn policy<T>(
        &mut self,
        decide: impl FnOnce(&mut BoxMemory, &BoxDecisionContext<'_>) -> T,
    ) -> T {
        let (memory, context) = self.at();
        decide(memory, &context)
    }

    /// As [`BoxLease::at`], with the source of ids.
    fn at_with_ids(&mut self) -> (&mut BoxMemory, BoxDecisionContext<'_>, &mut IdSource) {
        let now = self.now();
        let epoch = self.replica.epoch();
        let (table, ids) = self.replica.piece_and_ids();
        (&mut self.memory, BoxDecisionContext { table: table.read(), epoch, now }, ids)
    }

    /// The read view as it is now.
    fn view(&mut self) -> BoxView {
        let (memory, context) = self.at();
        memory.is_stale = false;
        let allocators = &memory.allocators;
        memory.counts.retain(|pool, _| allocators.contains_key(pool));
        let queues = allocators.iter().map(|(name, allocator)| {
            let view = PoolQueueView {
                waiting: allocator.queue.len() as u64,
                wanted: allocator.queue.wanted(),
                available: allocator.available() as u64,
                mean_hold: allocator.pace.mean(),
                silence: memory.silence_of(&context, name),
                counts: memory.counts.get(name).copied().unwrap_or_default(),
            };
            (name.clone(), view)
        });
        let view = BoxView {
            at: context.now.wall,
            epoch: context.epoch,
            waiters: memory.waiters.len() as u64,
            queues: queues.collect(),
            uncommitted: 0,
        };
        drop(context);
        let uncommitted = self.replica.uncommitted();
        BoxView { uncommitted, ..view }
    }
}

impl Actor for BoxLease {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
        self.soon(ctx);
    }
}
