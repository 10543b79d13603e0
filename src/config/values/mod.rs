//! Types of setting values, and how each is read and shown.

pub(crate) mod address;
pub(crate) mod pattern;
pub(crate) mod secret;
pub(crate) mod source_dirs;
pub(crate) mod table_entry;
pub(crate) mod token_file;
pub(crate) mod units;
pub(crate) mod value;
pub(crate) mod zone;
