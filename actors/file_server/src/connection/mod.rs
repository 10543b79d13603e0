//! Connections of clients: limited, read, written to, and closed so that the last answer arrives.

pub(crate) mod client_stream;
pub(crate) mod handshake;
pub(crate) mod limiter;
pub(crate) mod lingering_close;
pub(crate) mod request_reader;
pub(crate) mod sending;
pub(crate) mod watch;
