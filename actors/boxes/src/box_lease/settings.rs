//! How the BoxLeaseActor is set up.

use std::num::NonZeroU64;
use std::time::Duration;

use reelyard_core::settings;

settings! {
    /// The memory of leases and boxes.
    pub struct BoxLeaseSettings {
        /// The node remembers for this long how a lease ended. Late holders and repeated requests
        /// get the right answer in this time.
        keep_ended: Duration = Default "7d",
        /// Largest number of ended leases that the node remembers.
        keep_ended_most: NonZeroU64 = Default "100000",
        /// The node remembers for this long which hooks ran for a box, their output, and who
        /// quarantined it.
        log_retention: Duration = Default "30d",
        /// Largest number of lines of that memory.
        log_retention_count: NonZeroU64 = Default "20000",
    }
}
