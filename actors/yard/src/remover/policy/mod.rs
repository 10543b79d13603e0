//! Decisions, and the state in memory that they need. Pure: callers pass the time.

pub(in crate::remover) mod arrivals;
pub(crate) mod counters;
pub(in crate::remover) mod decision_context;
pub(in crate::remover) mod disk_space;
pub(in crate::remover) mod duplicates;
pub(in crate::remover) mod explain;
pub(in crate::remover) mod holders;
pub(in crate::remover) mod looked_size;
pub(in crate::remover) mod memory;
pub(in crate::remover) mod repeated_files;
pub(in crate::remover) mod round;
