//! The hello: the identity of a node, and what both sides of a connection must have in common.

use std::fmt;

use reelyard_core::clock::Millis;
use reelyard_core::cluster_id::{ClusterId, StoreId};
use serde::{Deserialize, Serialize};

/// The purpose of a connection. Each purpose has connections of its own, so a large message of one delays no
/// message of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConnectionUse {
    /// Votes and heartbeats.
    Vote,
    /// Entries of the log.
    Log,
    /// Parts of snapshots.
    Snapshot,
    /// Requests to the API that another node received.
    Forward,
    /// One request of a node that is no member yet.
    Join,
}

impl fmt::Display for ConnectionUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConnectionUse::Vote => "votes",
            ConnectionUse::Log => "log",
            ConnectionUse::Snapshot => "snapshots",
            ConnectionUse::Forward => "forwarded requests",
            ConnectionUse::Join => "joining",
        })
    }
}

/// The sender of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloNode {
    /// The cluster in its store.
    pub cluster: ClusterId,
    /// The number that the cluster gave it.
    pub number: u64,
    /// Differs after the disk was emptied.
    pub store: StoreId,
}

/// The node that a caller expects at the address that it called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressedNode {
    /// The number that the cluster gave it.
    pub number: u64,
    /// None if the record of the member has none.
    pub store: Option<StoreId>,
}

/// The format levels that a program reads, from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatLevels {
    /// The lowest level.
    pub min: u16,
    /// The highest level, which it writes if all members read it.
    pub max: u16,
}

impl FormatLevels {
    /// Whether both programs read a common level.
    pub fn overlap(self, other: FormatLevels) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

impl fmt::Display for FormatLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// The times of elections, in milliseconds, and how far a clock may be wrong. Leases depend on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectionTimes {
    /// Interval between two heartbeats.
    pub heartbeat_ms: u32,
    /// Shortest time without a heartbeat before an election.
    pub election_min_ms: u32,
    /// Longest time without a heartbeat before an election.
    pub election_max_ms: u32,
    /// Largest distance of a wall clock from the median of the voters.
    pub clock_bound_ms: u32,
}

impl fmt::Display for ElectionTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ElectionTimes { heartbeat_ms, election_min_ms, election_max_ms, clock_bound_ms } = self;
        write!(
            f,
            "heartbeat {heartbeat_ms} ms, election {election_min_ms} to {election_max_ms} ms, clock bound \
             {clock_bound_ms} ms"
        )
    }
}

/// Digest of the settings that all nodes of a cluster share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsDigest(pub [u8; 32]);

/// The log of a node, and the entries whose events it does not apply because its operator said so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloSkips {
    /// The first entry of its log, and one past the last.
    pub log: (u64, u64),
    /// Index and CRC-32C of each skipped entry.
    pub skipped: Vec<(u64, u32)>,
}

impl HelloSkips {
    /// Whether one of both nodes skips an entry that the other one has and does not skip. Earlier entries do not count: a
    /// node that has them only by a snapshot knows nothing of them.
    pub fn conflict(&self, other: &HelloSkips) -> bool {
        self.applies_one_of(other) || other.applies_one_of(self)
    }

    fn applies_one_of(&self, other: &HelloSkips) -> bool {
        let (first, end) = self.log;
        let is_here = |entry: &&(u64, u32)| (first..end).contains(&entry.0);
        other.skipped.iter().filter(is_here).any(|entry| !self.skipped.contains(entry))
    }
}

/// The first message of each side of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeHello {
    /// The purpose of the connection, as the caller wishes it.
    pub purpose: ConnectionUse,
    /// The sender. None if it is no member of a cluster yet.
    pub sender: Option<HelloNode>,
    /// The node that the caller expects. None in the answer, and of a caller that wants to join.
    pub expected: Option<AddressedNode>,
    /// Version of the sender's program, for people.
    pub program: String,
    /// The format levels of the sender's program.
    pub levels: FormatLevels,
    /// The election times of the sender.
    pub times: ElectionTimes,
    /// The sender's settings of the cluster.
    pub settings: SettingsDigest,
    /// Wall clock of the sender.
    pub clock: Millis,
    /// The entries that the sender skips. They follow the other members from version 8 on.
    #[serde(skip)]
    pub skips: HelloSkips,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_entries_conflict_with_a_log_that_has_and_applies_them() {
        let node = |log, skipped: &[(u64, u32)]| HelloSkips { log, skipped: skipped.to_vec() };
        let skips = node((5, 20), &[(7, 1)]);
        for (other, expected) in [
            (node((5, 20), &[]), true),
            (node((5, 20), &[(7, 1)]), false),
            (node((5, 20), &[(7, 2)]), true),
            (node((5, 20), &[(7, 1), (9, 3)]), true),
            (node((8, 20), &[]), false),
            (HelloSkips::default(), false),
        ] {
            assert_eq!((skips.conflict(&other), other.conflict(&skips)), (expected, expected));
        }
    }
}
