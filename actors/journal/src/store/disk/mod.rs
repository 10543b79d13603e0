//! The disk of a store: its free space, its lock, its identity, and the mark of durable writes.

pub(crate) mod disk_space;
pub(crate) mod durability_mark;
pub(crate) mod identity_file;
pub(crate) mod lock;
