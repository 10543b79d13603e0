//! The parts of a worker that its data port uses: hashes of the served files, and the copies.

use std::fs::File;
use std::time::Duration;
use std::{fmt, io};

use reelyard_core::names::FileName;
use reelyard_protocol::worker::ContentHash;

use crate::file_fingerprint::FileFingerprint;

/// The result of hashing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hashed {
    /// The hash of all bytes.
    Known(ContentHash),
    /// It is not known yet: ask again.
    UnderWay,
    /// It was changed while it was read.
    Changed,
    /// It could not be read.
    Failed(String),
}

/// Hashes of the served files.
pub trait FileHashes: Send + Sync {
    /// The hash of `file`. Waits for it up to `patience`.
    fn hash_of(&self, file: &File, identity: FileFingerprint, patience: Duration) -> Hashed;

    /// The hash of a file, if it is known.
    fn known(&self, identity: &FileFingerprint) -> Option<ContentHash>;

    /// Begins to hash `file` while it is sent. None if the hash is known or no hashing can begin.
    fn start_hashing(
        &self,
        file: &File,
        identity: FileFingerprint,
    ) -> Option<Box<dyn SendProgress>>;

    /// Ends all hashing, and every wait for a hash. Returns when no thread hashes.
    fn stop(&self);
}

/// Gets the sent position of a file until it is dropped.
pub trait SendProgress: Send + Sync {
    /// All bytes before `position` were sent.
    fn sent(&self, position: u64);
}

/// The copies of a worker.
pub trait CopyDirectory: fmt::Debug + Send + Sync {
    /// Opens a copy for reading. Fails if it is no regular file.
    fn open_file(&self, name: &FileName) -> io::Result<File>;
}
