//! The lead of the cluster: elections, and the transfer to another node.

mod call_back;
mod clock_watch;
pub(super) mod confirmation;
mod disk_watch;
mod election_gate;
mod hand_over;
mod quorum;

use std::time::Duration;

pub(super) use clock_watch::ClockWatch;
pub use hand_over::HandOverError;

/// Pause after a leader gave the lead away for its disk or its connections. Such a fault can come and go.
const AFTER_HAND_OVER: Duration = Duration::from_secs(60);

/// Time limit for a new connection to the leader.
const CONNECT_TIME: Duration = Duration::from_secs(1);
