//! The stored form of a log: chained rows in segments, and the head.

pub(in crate::audit) mod chain;
pub(in crate::audit) mod head;
pub(in crate::audit) mod row;
#[cfg(test)]
mod row_tests;
pub(in crate::audit) mod segment;
