//! Which node leads: when this node stands for election, and how it hands the lead over.

mod clock_watch;
mod election_gate;
mod hand_over;

pub(super) use clock_watch::ClockWatch;
pub use hand_over::HandOverError;
