//! One peer, for `cluster status`.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_protocol::cluster::{FormatLevels, RefusalKind, SettingsDigest};

/// A refused connection between this node and a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRefusal {
    /// Wall clock of this node at the refusal.
    pub at: Millis,
    /// The reason.
    pub kind: RefusalKind,
    /// The reason in words.
    pub why: String,
    /// Whether this node refused. Otherwise the peer did.
    pub is_ours: bool,
}

/// A peer and the connections with it since the start of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerView {
    /// The number that the cluster gave it.
    pub number: u64,
    /// Time since the last message of it. None before the first one.
    pub since_contact: Option<Duration>,
    /// Time of a small message there and back, without the work there. An average of the last ones.
    pub round_trip: Option<Duration>,
    /// How far its wall clock is ahead of the one here, in milliseconds.
    pub clock_skew_ms: Option<i64>,
    /// Version of its program.
    pub program: Option<String>,
    /// Format levels of its program.
    pub levels: Option<FormatLevels>,
    /// Its settings of the cluster.
    pub settings: Option<SettingsDigest>,
    /// Whether it and this node skip different entries of the log, by its last hello.
    pub skips_others: bool,
    /// Why the last attempt to connect failed. None after a success, and some seconds after the failure.
    pub unreachable: Option<String>,
    /// The last refused connection.
    pub last_refusal: Option<PeerRefusal>,
    /// Number of refused connections by reason.
    pub refusals: BTreeMap<RefusalKind, u64>,
    /// Bytes sent to it.
    pub sent: u64,
    /// Bytes received from it.
    pub received: u64,
    /// Open connections in both directions.
    pub connections: u64,
}
