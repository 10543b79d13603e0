//! The queue of hooks: one runs at a time for each box, in turn with other pools.

pub(crate) mod box_key;
pub(super) mod fair_queue;
pub(super) mod job_queue;
