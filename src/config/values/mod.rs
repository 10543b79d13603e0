//! Types of setting values, and how each is read and shown.

pub(crate) mod address;
pub(crate) mod source_dirs;
pub(crate) mod table_entry;
pub(crate) mod token_file;
