//! Files and limits of the operating system.

pub mod bounded_read;
pub mod mounts;
pub mod open_files;
pub mod private_dir;
pub mod task_threads;
