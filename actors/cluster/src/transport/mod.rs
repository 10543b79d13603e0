//! Connections between nodes: the calls of the journal, forwarded requests, and requests to join.

mod caller;
mod certificate_fields;
mod framing;
mod hello_check;
mod listener;
mod local_node;
mod log_limit;
mod peers;
mod security;
mod socket;
mod stream;
#[cfg(test)]
mod tests;

pub use caller::{ClusterTransport, JoinFailed, join_cluster};
pub use listener::{ClusterListener, ClusterService, ListenError, ListenerLimits};
pub use local_node::{LocalMember, LocalNode};
pub use log_limit::LogLimit;
pub use peers::{PeerRefusal, PeerView};
pub use security::{BadClusterTls, ClusterTls, LinkSecurity, certificate_names};
pub use stream::NodeStream;
