//! Claims of pools on the boxes of a worker.

pub(super) mod claims;
