//! Masters in the source directories.

pub mod master_sizes;
pub mod masters;
pub(in crate::catalog) mod source_dirs;
