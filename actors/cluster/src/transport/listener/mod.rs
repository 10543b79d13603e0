//! Connections that other nodes make to this one.

mod accepting;
mod admission;
mod call_server;
mod certificate_watch;
mod cluster_listener;
mod connection_slots;
mod service;

pub use cluster_listener::{ClusterListener, ListenError};
pub use connection_slots::ListenerLimits;
pub(super) use connection_slots::MemberSlot;
pub use service::ClusterService;
