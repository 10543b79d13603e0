//! Decisions, and the state in memory that they need. Pure: callers pass the table, the time and the
//! source of ids.

pub(in crate::box_lease) mod acquiring;
pub(in crate::box_lease) mod cleaning;
pub(in crate::box_lease) mod decision_context;
pub(in crate::box_lease) mod granting;
pub(in crate::box_lease) mod hooks;
pub(in crate::box_lease) mod hosts;
pub(in crate::box_lease) mod leading;
pub(in crate::box_lease) mod leases;
pub(in crate::box_lease) mod memory;
pub(in crate::box_lease) mod obstacle;
pub(in crate::box_lease) mod preparing;
pub(in crate::box_lease) mod upkeep;
