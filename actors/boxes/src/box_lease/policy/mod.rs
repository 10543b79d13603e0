//! Decisions, and what the actor keeps in memory for them. Pure: callers hand in the time.

pub(in crate::box_lease) mod allocator;
pub(crate) mod box_key;
pub(in crate::box_lease) mod decide;
pub(crate) mod hook_calls;
pub(crate) mod host_probes;
pub(in crate::box_lease) mod obstacle;
pub(crate) mod preparing_groups;
pub(in crate::box_lease) mod queue;
pub(in crate::box_lease) mod schedule;
pub(in crate::box_lease) mod terms;
pub(in crate::box_lease) mod waiters;
