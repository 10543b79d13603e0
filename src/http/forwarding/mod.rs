//! Requests that only the leader can answer, on their way from another node.
//!
//! The node that received a request opens a stream to the leader, names the address of the client in its first line,
//! and then speaks HTTP/1.1 on it. The leader serves the stream like a connection of that client. A request makes at
//! most one such hop.

mod accepted_stream;
mod hop;
mod leader_routes;

pub use accepted_stream::{ForwardedBy, accept};
pub use hop::to_leader;
