//! `reelyard box`.

pub(in crate::cli) mod box_run;
pub(in crate::cli) mod box_tables;
pub(in crate::cli) mod boxes;
mod lease_options;
mod option_values;
pub(in crate::cli) mod pools;
