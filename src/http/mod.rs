//! What is reached over HTTP.

pub mod worker;
