//! The disk of a store: its free space, its lock, and the mark of durable writes.

pub(super) mod disk_space;
pub(super) mod durability_mark;
pub(super) mod lock;
