//! The disk of a worker: its copies, their room and their hashes.

pub mod base_dir;
pub mod hash_cache;
pub mod inventory;
pub mod room;
