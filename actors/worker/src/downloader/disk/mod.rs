//! The disk of a worker: its copies, their room and hashes, and the worker's own state.

pub mod base_dir;
pub mod group_sync;
pub mod hash_cache;
pub mod inventory;
pub(crate) mod partial;
pub mod room;
pub mod state_store;
pub mod state_store_error;
