//! The table `[heartbeat]`.

use std::num::NonZeroU32;
use std::time::Duration;

use reelyard_core::settings;
use reelyard_core::settings::Fraction;

settings! {
    /// Probes that find out which hosts are up.
    pub struct HeartbeatConfig {
        /// Interval between two probes of a host. An old cfw closes a connection that is not used for 5 s.
        interval: Duration = Default "4s",
        /// A probe without an answer fails after this time.
        timeout: Duration = Default "2s",
        /// Part of the interval that varies at random, so that probes do not come in bursts. Not used with
        /// 256 hosts or fewer.
        jitter: Fraction = Default "0.1",
        /// After this number of failed probes in a row a host gets no new copies.
        suspect_after: NonZeroU32 = Default "1",
        /// After this number of failed probes in a row the node gives up the host's running copies.
        down_after: NonZeroU32 = Default "3",
        /// After this number of good probes in a row the host is up again.
        up_after: NonZeroU32 = Default "1",
    }
}
