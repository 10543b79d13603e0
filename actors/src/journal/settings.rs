//! What a journal is opened with, and why it may not open.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How a node's journal is kept.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// The directory of the store; created when missing. One process at a time.
    pub dir: PathBuf,
    /// This node's id. Never reused for another store: a reused id can split a cluster.
    pub node: u64,
    /// The voters of a new cluster, with the addresses at which they reach each other. Used only
    /// when the store is empty. All founders must be given the same map; an empty one waits to be
    /// taken in by others.
    pub founders: BTreeMap<u64, String>,
    /// How long a commit waits before it is told that its outcome is unknown.
    pub commit_timeout: Duration,
    /// How often a leader makes itself heard. Also the time-out of one append call between nodes:
    /// below 100 ms, slow first connections are mistaken for lost ones.
    pub heartbeat: Duration,
    /// A follower that hears nothing stands for election after a random time between these.
    pub election: (Duration, Duration),
    /// A snapshot is taken once the log behind the last one has grown to this many bytes and to
    /// the size of that snapshot.
    pub snapshot_log_bytes: u64,
    /// How many entries before a snapshot are kept, so that a follower that is a little behind
    /// needs no snapshot.
    pub keep_entries: u64,
    /// Opens a store that lost entries it once had: a decision for an operator, on a node that is
    /// alone.
    pub accept_loss: bool,
}

impl JournalSettings {
    /// The settings of a node that runs alone, in `dir`.
    pub fn alone(dir: impl Into<PathBuf>, node: u64) -> Self {
        JournalSettings {
            dir: dir.into(),
            node,
            founders: BTreeMap::from([(node, String::new())]),
            commit_timeout: Duration::from_secs(5),
            heartbeat: Duration::from_millis(150),
            election: (Duration::from_millis(500), Duration::from_millis(1000)),
            snapshot_log_bytes: 64 << 20,
            keep_entries: 1000,
            accept_loss: false,
        }
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
    #[error("{} is the store of node {found}, not of node {asked}: node ids and stores are never exchanged", .dir.display())]
    AnotherNode {
        /// The store's directory.
        dir: PathBuf,
        /// Whose store it is.
        found: u64,
        /// Who asked.
        asked: u64,
    },
    /// The store cannot be read.
    #[error("the store in {} is damaged: {why}; restore it from a backup, or let this node start anew under a new id and take its state from the others", .dir.display())]
    Damaged {
        /// The store's directory.
        dir: PathBuf,
        /// What was found.
        why: String,
    },
    /// The store is whole, but ends before what was known to be durable.
    #[error("the store in {} has lost its last {missing} entries, most likely to a damaged disk: restore it from a backup, take this node's state from the others under a new id, or accept the loss", .dir.display())]
    Lost {
        /// The store's directory.
        dir: PathBuf,
        /// How many entries are missing.
        missing: u64,
    },
    /// The file system refused.
    #[error("cannot open the store in {}: {why}", .dir.display())]
    Io {
        /// The store's directory.
        dir: PathBuf,
        /// What it said.
        why: String,
    },
    /// Settings that cannot work together.
    #[error("the journal's settings are wrong: {0}")]
    Settings(String),
}
