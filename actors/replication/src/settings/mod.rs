//! Settings that the journal and the owners share.

pub mod clocks;
pub mod election;
