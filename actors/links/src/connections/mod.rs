//! Connections of visitors: accepted, limited, and closed so that the last answer arrives.

pub(crate) mod begin;
pub(crate) mod client_address;
pub(crate) mod client_stream;
pub(crate) mod connection_limiter;
pub(crate) mod lingering_close;
pub(crate) mod socket;
