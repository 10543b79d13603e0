//! The decisions on requests, one a file. Pure.

pub(in crate::share_expiry) mod changing;
pub(in crate::share_expiry) mod creating;
#[cfg(test)]
mod decide_clock_tests;
#[cfg(test)]
mod decide_tests;
pub(in crate::share_expiry) mod downloads;
pub(in crate::share_expiry) mod moves;
