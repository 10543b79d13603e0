//! The models of Raft and of the proposer of entries.

pub mod proposer;
pub mod replica;
