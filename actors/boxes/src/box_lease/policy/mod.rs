//! Decisions, and what the actor keeps in memory for them. Pure: callers hand in the time.

pub(in crate::box_lease) mod allocator;
pub(in crate::box_lease) mod decide;
pub(in crate::box_lease) mod obstacle;
pub(in crate::box_lease) mod queue;
pub(in crate::box_lease) mod schedule;
pub(in crate::box_lease) mod terms;
pub(in crate::box_lease) mod waiters;
