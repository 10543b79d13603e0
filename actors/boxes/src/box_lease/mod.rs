#![doc = include_str!("README.md")]

mod actor;
mod messages;
mod policy;
#[cfg(test)]
mod samples;
mod settings;
mod state;
mod views;

pub use crate::host_link::{BoxLink, BoxLinkSettings, LONGEST_CALL};
pub use actor::BoxLease;
pub use actor::acquisition::{AcquireRoutes, Acquisition};
pub use messages::*;
pub use policy::leading::TERMS_AT_ONCE;
pub use policy::leases::PriorAcquire;
pub use policy::memory::allocator::{HolderDemand, MeanHoldTime, PoolAllocator, SlotRests};
pub use policy::memory::counters::PoolQueueCounts;
pub use policy::memory::queue::{LeaseQueue, LeaseQueuePosition, WaiterId};
pub use policy::memory::schedule::KeyedDeadlines;
pub use policy::memory::terms::{HoldLimit, LeaseTerms};
pub use settings::BoxLeaseSettings;
pub use state::audit::{AuditCursor, AuditEntry, AuditFilter, BadAuditCursor};
pub use state::box_table::{BoxTable, DroppedPool, FoundLease, GrantedRequest, SharedTable};
pub use state::event::{BoxEvent, BoxLogEntry, BoxLogEvent, BoxOutcome, BoxRefusal, NewGrant};
pub use state::leases::lease::{EndedLease, Lease, LeaseEnd};
pub use state::leases::lease_answer::LeaseAnswer;
pub use state::pools::pool::{
    BoxCounts, BoxPhase, BoxRecord, BoxState, Draining, Pool, PoolTotals,
};
pub use state::pools::slots::Slots;
pub use state::pools::spec::{
    BadSpec, LARGEST_POOL, MOST_AT_ONCE, MOST_SLOTS, PoolSpec, SlotRange,
};
pub use views::box_change::{BoxChange, LeaseOf};
pub use views::box_lease_view::{BoxView, PoolQueueView};
pub use views::view_handle::{BoxStatus, BoxViewHandle, LARGEST_PAGE, ListPage, PoolStatus};
