//! The lead of the cluster: elections, and the transfer to another node.

mod clock_watch;
pub(super) mod confirmation;
mod election_gate;
mod hand_over;
mod quorum;

pub(super) use clock_watch::ClockWatch;
pub use hand_over::HandOverError;
