//! Times of elections. Owners use them too, because they bound how long an earlier leader may still
//! act.

use std::time::Duration;

use reelyard_core::settings;

settings! {
    /// Elections of a leader.
    pub struct ElectionConfig [restart, node] {
        /// Interval between two heartbeats of the leader.
        heartbeat: Duration = Default "100ms",
        /// Shortest time without a heartbeat before an election.
        election_min: Duration = Default "250ms",
        /// Longest time without a heartbeat before an election. Each node uses a random time
        /// between election_min and election_max.
        election_max: Duration = Default "500ms",
    }
}
