//! The load of hosts' links. Reelyard workers measure it themselves; on other hosts it is read from the
//! operator's node_exporter.
//!
//! Other programs serve most of the traffic of a storage host, so counting requests would not help. The
//! kernel's own counters are read twice, some seconds apart.

mod byte_count;
pub mod meter;

pub use byte_count::ByteCount;

use serde::{Deserialize, Serialize};

use crate::host::BitsPerSecond;

/// Bytes in each direction since some beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficBytes {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// Rates in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Rates {
    /// Sent, in bits per second.
    pub sends: BitsPerSecond,
    /// Received, in bits per second.
    pub receives: BitsPerSecond,
}

/// The load of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Traffic {
    /// The network interface.
    pub interface: String,
    /// Capacity in either direction, in bits per second. Missing if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<BitsPerSecond>,
    /// All traffic, copies included.
    #[serde(flatten)]
    pub all: Rates,
    /// The part of it that Reelyard's copies cause. Missing if it is not measured apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Rates>,
    /// The length of the measurement in milliseconds, up to the request.
    pub over_ms: u64,
}

impl Default for Rates {
    /// No traffic in either direction.
    fn default() -> Self {
        Rates { sends: BitsPerSecond(0), receives: BitsPerSecond(0) }
    }
}

impl Rates {
    /// This without `part`. `part` may be larger if the two were not measured in the same way.
    pub fn without(self, part: Rates) -> Rates {
        let less =
            |all: BitsPerSecond, part: BitsPerSecond| BitsPerSecond(all.0.saturating_sub(part.0));
        Rates { sends: less(self.sends, part.sends), receives: less(self.receives, part.receives) }
    }
}
