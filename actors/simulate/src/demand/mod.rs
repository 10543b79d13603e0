//! Requests of viewers: invented or recorded.

pub(crate) mod catalogue;
pub(crate) mod file_request;
pub(crate) mod popularity;
pub(crate) mod ranks;
pub(crate) mod recorded;
pub(crate) mod stream;
pub(crate) mod synthetic;
pub mod trace;
