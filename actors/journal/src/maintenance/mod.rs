//! Work on a whole store without its journal: found, check, back up and repair it.

pub(crate) mod backup;
#[cfg(test)]
mod backup_tests;
pub(crate) mod identify;
pub(crate) mod report;
pub(crate) mod skipping;
pub(crate) mod upkeep;
