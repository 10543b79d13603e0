//! The sled database of a store: its log, its snapshots, and its head.

pub(crate) mod head;
pub(crate) mod log;
mod log_row;
mod log_verifier;
pub(crate) mod new_database;
pub(crate) mod rewrite;
pub(crate) mod sled_database;
pub(crate) mod snapshot_chunks;
pub(crate) mod snapshot_manifest;
pub(crate) mod trees;
