//! The setting for the clocks of leaders. The journal and the owners use it.

use std::time::Duration;

use reelyard_core::settings;

settings! {
    /// The clocks of the nodes.
    pub struct ClusterClockConfig [restart, node] {
        /// Largest distance of a node's wall clock from the median of all voters. A node whose clock is
        /// further away does not stand for election, and hands over if it leads.
        clock_bound: Duration = Default "1s",
    }
}
