//! x

pub mod http;
pub mod worker;
