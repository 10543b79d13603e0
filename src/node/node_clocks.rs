//! The clocks of a node: its own, and those that are never behind the cluster.

use std::sync::Arc;

use reelyard_core::clock::Clock;
use reelyard_core::cluster_time::ClusterTime;

/// One clock for each kind of deadline.
#[derive(Clone)]
pub struct NodeClocks {
    /// The clock of the machine.
    pub own: Clock,
    /// For shares: it is never behind the clock of the leader. Shares keep the time of their own entries.
    pub shares: Clock,
    /// For all other deadlines, as of leases and tokens: it is never behind the clock of the leader, and the last applied
    /// entry.
    pub cluster: Clock,
    /// Learns both from the journal.
    pub cluster_time: ClusterTime,
}

impl NodeClocks {
    /// The clocks of a node with this clock.
    pub fn new(own: Clock) -> Self {
        let cluster_time = ClusterTime::default();
        NodeClocks {
            shares: own.clone().in_cluster(Arc::new(cluster_time.by_leader())),
            cluster: own.clone().in_cluster(Arc::new(cluster_time.clone())),
            own,
            cluster_time,
        }
    }
}
