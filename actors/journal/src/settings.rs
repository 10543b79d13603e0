//! The parameters of a journal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::clock::Clock;
use reelyard_core::cluster_time::ClusterTime;
use reelyard_core::settings;
use reelyard_replication::{ClusterClockConfig, ElectionConfig, MemberRecord};

use crate::store::StoreObserver;

/// How a node's journal is kept.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// The directory of the store; created when missing. One process at a time.
    pub dir: PathBuf,
    /// This node's id. Never reused for another store: a reused id can split a cluster.
    pub node: u64,
    /// The voters of a new cluster, with their records. Used only when
    /// the store is empty. All founders must be given the same map; a node with an empty map waits
    /// until others add it.
    pub founders: BTreeMap<u64, MemberRecord>,
    /// How long a commit waits before its outcome is reported as unknown.
    pub commit_timeout: Duration,
    /// The interval of a leader's heartbeats. A node that is alone sends none, and uses the same value, so that
    /// other nodes can join it while it runs.
    pub heartbeat: Duration,
    /// The least time between two attempts of a node to be elected, and the time without a leader before the first one.
    /// A node waits longer by a random part of their difference.
    pub election: (Duration, Duration),
    /// A snapshot is taken once the log behind the last one is larger than this, in bytes, and larger
    /// than that snapshot.
    pub snapshot_log_bytes: u64,
    /// After this time without a write, a snapshot is taken at 1/16 of that size already. The log must
    /// also be larger than an eighth of the last snapshot. The snapshot disturbs no client then. The log
    /// takes no memory afterwards, and the next start has fewer entries to apply.
    pub snapshot_when_quiet: Duration,
    /// How many entries before a snapshot are kept, so that a follower that is slightly behind needs no
    /// snapshot. Each entry takes up to 32 KiB of memory until the next snapshot. A node that is alone keeps
    /// none, because it has no follower.
    pub keep_entries: u64,
    /// Bytes of the disk that are kept in reserve. If less than a quarter of that is free, no commits
    /// are accepted.
    pub reserve: u64,
    /// The clock of this machine.
    pub clock: Clock,
    /// A voter whose clock is further from the median of all voters does not stand for election.
    pub clock_bound: Duration,
    /// Learns the time that the leader and the applied entries have reached.
    pub cluster_time: ClusterTime,
    /// Receives notice of all durable writes.
    pub observer: Option<Arc<dyn StoreObserver>>,
}

settings! {
    /// The replicated log. Every durable change is written here before it is answered.
    pub struct JournalConfig [restart] {
        /// A commit that takes longer is answered as "outcome unknown".
        commit_timeout: Duration = Default "5s",
        /// Size of the log that triggers a snapshot. In quiet times a snapshot is taken earlier.
        snapshot_log_bytes: ByteSize = Default "16MiB" [node],
        /// Space of the disk under `data_dir` that is kept free. Below a quarter of it the node
        /// refuses changes; it uses the rest to finish running work.
        reserve: ByteSize = Default "64MiB" [node],
    }
    parts {
        /// Times of elections and heartbeats.
        election: ElectionConfig,
    }
}

/// Time without a write after which a snapshot is taken early, and entries that stay before one.
const SNAPSHOT_WHEN_QUIET: Duration = Duration::from_secs(5);
const KEEP_ENTRIES: u64 = 100;

impl JournalOptions {
    /// The journal of a node that runs alone, in `dir`, with the settings of an operator.
    pub fn of(config: &JournalConfig, dir: impl Into<PathBuf>, node: u64) -> Self {
        let JournalConfig { commit_timeout, snapshot_log_bytes, reserve, election } =
            config.clone();
        JournalOptions {
            dir: dir.into(),
            node,
            founders: BTreeMap::from([(node, MemberRecord::default())]),
            commit_timeout,
            heartbeat: election.heartbeat,
            election: (election.election_min, election.election_max),
            snapshot_log_bytes: snapshot_log_bytes.as_u64(),
            snapshot_when_quiet: SNAPSHOT_WHEN_QUIET,
            keep_entries: KEEP_ENTRIES,
            reserve: reserve.as_u64(),
            clock: Clock::system(),
            clock_bound: ClusterClockConfig::default().clock_bound,
            cluster_time: ClusterTime::default(),
            observer: None,
        }
    }

    /// The same with all defaults.
    pub fn alone(dir: impl Into<PathBuf>, node: u64) -> Self {
        JournalOptions::of(&JournalConfig::default(), dir, node)
    }
}
