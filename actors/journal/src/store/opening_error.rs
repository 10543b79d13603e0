//! The reasons why a store cannot open.

use std::path::{Path, PathBuf};

use super::error::StoreError;

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
    pub(crate) fn of_store(dir: &Path, error: StoreError) -> Self {
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
