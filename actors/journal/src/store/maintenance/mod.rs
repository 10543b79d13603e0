//! Work on a whole store: backup, check, rewrite and repair.

pub(crate) mod backup;
#[cfg(test)]
mod backup_tests;
pub(crate) mod new_database;
pub(crate) mod report;
pub(crate) mod rewrite;
pub(crate) mod upkeep;
