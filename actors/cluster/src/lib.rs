//! The network between the nodes of a cluster.
//!
//! **Invariant:** this crate has no actor, and knows neither openraft nor the journal. It carries bytes for the
//! journal, and streams for forwarded requests.

mod settings;
mod transport;

pub use settings::{ClusterConfig, ClusterTlsConfig};
pub use transport::{
    BadClusterTls, ClusterListener, ClusterService, ClusterTls, ClusterTransport, JoinFailed,
    LinkSecurity, ListenError, ListenerLimits, LocalMember, LocalNode, LogLimit, NodeStream,
    PeerRefusal, PeerView, certificate_names, join_cluster,
};
