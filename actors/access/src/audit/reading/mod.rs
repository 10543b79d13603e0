//! Reads a log: pages of rows, and the check that it is whole.

pub(in crate::audit) mod filter;
pub(in crate::audit) mod reader;
pub(in crate::audit) mod verification;
