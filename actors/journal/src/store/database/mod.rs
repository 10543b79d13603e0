//! The sled database of a store: its log, its snapshots, and its head.

pub(super) mod head;
pub(super) mod log;
mod log_row;
mod log_verifier;
pub(super) mod sled_database;
pub(super) mod snapshot_chunks;
pub(super) mod snapshot_manifest;
pub(super) mod trees;
