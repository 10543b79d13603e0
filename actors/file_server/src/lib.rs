//! HTTP/1.1 file serving by `sendfile`: one server for the data port of workers and for share links.

pub mod certificate;
mod connection;
pub mod data_port;
pub mod file_fingerprint;
pub mod http;
pub mod open_regular;
pub mod server;
pub mod thread_memory;
pub mod ticket;
pub mod tree_hash;

pub use connection::client_stream::{ClientStream, DetachedStream};
pub use connection::handshake::{TLS_NEEDED, is_plain_http};
pub use connection::limiter::{ConnectionLimits, ConnectionSlot};
pub use connection::sending::{FileBody, SendFailure, SendLimits, Sending};
pub use connection::watch::{CHECK_EVERY, SendWatch};
