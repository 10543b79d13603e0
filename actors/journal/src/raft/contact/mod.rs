//! How old the knowledge of this node can be: the time since the leader was in contact, or the leader with a quorum.
//!
//! A call that arrives now is not always new. It may have waited in a buffer while this node was paused. So each answer
//! carries a mark of this node's clock, and the leader returns the last one with its next call. That call was
//! sent after the mark. All times are of a clock that also counts while the machine is suspended.

mod clock_skew;
mod leader_contact;
mod quorum_contact;

pub(super) use leader_contact::LeaderContact;
pub(super) use quorum_contact::QuorumContact;

use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

/// A clock that was not heard for this time does not count.
const RECENT: Duration = Duration::from_secs(5);

/// A moment of the clock of one process, which only that process understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContactMark {
    /// A random number of the process.
    pub(super) process: u64,
    /// Microseconds.
    pub(super) at_us: u64,
    /// The wall clock of the process then.
    pub(super) wall: Millis,
}

/// Sent by a leader with each call that appends entries, also with heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeaderNews {
    /// The last mark of the receiver.
    pub(super) mark: ContactMark,
    /// How long before this call a quorum followed the leader, in microseconds. Zero while its lease is valid.
    pub(super) age_us: u64,
    /// One past the last entry that is applied there. The leader has acknowledged nothing later.
    pub(super) applied: u64,
    /// Whether the leader refuses commits because its disk is full.
    pub(super) disk_full: bool,
    /// The wall clock of the leader, never behind an earlier leader. None while it is too far from the median.
    pub(super) wall: Option<Millis>,
    /// How far the clock of the receiver is ahead of the median, in milliseconds.
    pub(super) ahead_ms: i64,
}
