//! The storage hosts: their disks, their boxes, and the programs on them.

pub mod boxes;
pub mod cfw;
pub mod disk;
pub mod host;
pub mod worker;
