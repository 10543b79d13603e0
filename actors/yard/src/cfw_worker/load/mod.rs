//! The load of the network link of a host.

pub(super) mod agent_meter;
pub(super) mod traffic_watch;
