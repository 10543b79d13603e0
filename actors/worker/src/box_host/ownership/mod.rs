//! Claims of pools on the boxes of a worker.

pub(crate) mod box_claim;
pub(super) mod claims;
