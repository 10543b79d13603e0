//! Requests that only the leader can answer, on their way from another node.
//!
//! The node that received a request opens a stream to the leader. The first line of the stream names the address of the
//! client. HTTP/1.1 follows. The leader serves the stream like a connection of that client. A stream can carry more requests.
//! Then a header of each one names its client. A request makes at most one such hop.

mod accepted_stream;
mod followed_leader;
mod forwarded_request;
mod forwarded_waits;
mod hop;
mod idle_streams;
mod leader_routes;
mod passed_answer;

pub use accepted_stream::{ForwardedBy, accept};
pub use forwarded_waits::{ForwardedWaits, PLACES};
pub use hop::to_leader;
pub use idle_streams::MOST_IDLE;
pub use leader_routes::LeaderNeed;
