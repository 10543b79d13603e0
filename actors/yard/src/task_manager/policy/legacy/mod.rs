//! Decisions that only cfm's interface asks for.

pub(in crate::task_manager) mod cfm_changes;
