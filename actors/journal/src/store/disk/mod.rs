//! The disk of a store: its free space, its lock, its identity, skipped entries, and the mark of durable writes.

mod checked_line;
pub(crate) mod disk_space;
pub(crate) mod durability_mark;
pub(crate) mod identity_file;
pub(crate) mod lock;
pub(crate) mod skipped_entries;
