//! The read view, and its answers about credentials.

pub(in crate::access) mod access_view;
pub(in crate::access) mod refusals;
#[cfg(test)]
mod view_tests;
