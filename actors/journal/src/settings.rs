//! The parameters of a journal, and the reasons why it cannot open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::clock::Clock;
use reelyard_core::cluster_time::ClusterTime;
use reelyard_core::settings;
use reelyard_replication::{ClusterClockConfig, ElectionConfig, MemberRecord};

use crate::store::{StoreError, StoreObserver};

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

/// Why a journal did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the store open.
    #[error("{} is in use by another process: stop it, or give this one another data directory", .dir.display())]
    InUse {
        /// The store's directory.
        dir: PathBuf,
    },
    /// The store belongs to a node of another id.
    #[error("{} is the store of node {found}, not of node {asked}: start node {found} on this directory, \
        or give node {asked} its own", .dir.display())]
    AnotherNode {
        /// The store's directory.
        dir: PathBuf,
        /// Id of the node that owns the store.
        found: u64,
        /// Id of the node that tried to open it.
        asked: u64,
    },
    /// The node has asked to join a cluster, and has no number yet.
    #[error("the store in {} belongs to a node that has not joined its cluster yet: run `reelyard cluster join` \
        again", .dir.display())]
    NotJoined {
        /// The store's directory.
        dir: PathBuf,
    },
    /// The store cannot be read.
    #[error("the store in {} is damaged: {why}; run `reelyard store check` to see how much of it. Restore \
        it from a backup. A node that is one of several joins again with an empty directory and copies its \
        state from the others", .dir.display())]
    Damaged {
        /// The store's directory.
        dir: PathBuf,
        /// The damage, in words.
        why: String,
    },
    /// The store is whole, but older than what was known to be durable.
    #[error("the store in {} has lost data, most likely because of a damaged disk: {what}. Restore it \
        from a backup. A node that is one of several joins again with an empty directory and copies its \
        state from the others. To continue with the remaining data, run `reelyard store check --accept-loss`",
        .dir.display())]
    Lost {
        /// The store's directory.
        dir: PathBuf,
        /// How many log entries are missing.
        missing: u64,
        /// The missing part, in words.
        what: String,
    },
    /// The file that says how far the store is durable cannot be read.
    #[error("the file `mark` of the store in {} is missing or damaged, so it is not known whether the \
        store is complete. Restore it from a backup. To continue with the existing data, run `reelyard \
        store check --accept-loss`", .dir.display())]
    NoMark {
        /// The store's directory.
        dir: PathBuf,
    },
    /// There is no room for the bytes that opening a store writes.
    #[error("the disk of {} is full and the store cannot be opened without free space ({why}). Make room \
        for at least 16 MiB there and start again; no data is lost", .dir.display())]
    Full {
        /// The store's directory.
        dir: PathBuf,
        /// The error of the file system.
        why: String,
    },
    /// The file system refused.
    #[error("cannot open the store in {}: {why}", .dir.display())]
    Io {
        /// The store's directory.
        dir: PathBuf,
        /// The error of the file system.
        why: String,
    },
    /// Settings that cannot work together.
    #[error("the journal's settings are invalid: {0}")]
    Settings(String),
}

impl OpenError {
    /// Converts an error of the store in `dir` into the reason why it cannot open.
    pub(super) fn of_store(dir: &Path, error: StoreError) -> Self {
        let dir = dir.to_owned();
        match error {
            StoreError::InUse => OpenError::InUse { dir },
            StoreError::Full(why) => OpenError::Full { dir, why },
            StoreError::Io(why) | StoreError::Unsynced(why) => OpenError::Io { dir, why },
            StoreError::Damaged { what, why } => {
                OpenError::Damaged { dir, why: format!("{what}: {why}") }
            }
            StoreError::Closed => OpenError::Io { dir, why: "it was closed".to_owned() },
        }
    }
}
