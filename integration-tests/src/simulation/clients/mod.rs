//! The clients of the yard: programs outside it that use the API.

pub mod job;
pub mod visitor;
