//! The disk of a store: its free space, its lock, its identity, and the mark of durable writes.

pub(super) mod disk_space;
pub(super) mod durability_mark;
pub(super) mod identity_file;
pub(super) mod lock;
