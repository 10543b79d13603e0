//! The piece, and how events change it. Deterministic: no clock, no I/O, no randomness, no actor.

pub(in crate::task_manager) mod apply;
pub(in crate::task_manager) mod backoff;
pub(in crate::task_manager) mod copy_history;
pub(crate) mod copy_record;
pub(in crate::task_manager) mod ended_index;
pub(in crate::task_manager) mod event;
pub(in crate::task_manager) mod hosts;
pub(in crate::task_manager) mod recorded_inputs;
pub(in crate::task_manager) mod snapshot;
pub(in crate::task_manager) mod stored;
#[cfg(test)]
mod stored_shapes;
pub(crate) mod task;
pub(in crate::task_manager) mod task_book;
