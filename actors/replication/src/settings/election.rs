//! Times of elections. Owners use them too, because they bound how long an earlier leader may still
//! act.

use std::time::Duration;

use reelyard_core::settings;

settings! {
    /// Elections of a leader.
    pub struct ElectionConfig [restart, node] {
        /// Interval between two heartbeats of the leader.
        heartbeat: Duration = Default "100ms",
        /// Shortest time from one attempt of a node to be elected to its next one.
        election_min: Duration = Default "250ms",
        /// Time without a leader after which the nodes elect one. Each node waits longer by a random time, up to the
        /// difference to election_min, so that one of them is the first.
        election_max: Duration = Default "500ms",
    }
}
