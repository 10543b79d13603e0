//! The node of a store, before it is opened.

use std::path::Path;

use reelyard_core::private_dir;
use reelyard_replication::NodeIdentity;

use crate::maintenance::upkeep;
use crate::store::database::sled_database::{LOCK_PATIENCE, SLED};
use crate::store::database::trees::inspect;
use crate::store::disk::identity_file::StoreIdentity;
use crate::store::disk::lock::DirectoryLock;
use crate::store::{OpenError, StoreError};

/// The identity of the store in `dir`; none if it has none yet.
///
/// # Errors
/// The identity is damaged, or cannot be read.
pub fn stored_identity(dir: &Path) -> Result<Option<StoreIdentity>, OpenError> {
    StoreIdentity::read(dir).map_err(|error| OpenError::of_store(dir, error.into()))
}

/// Whether `dir` has a store or an identity.
pub fn has_store(dir: &Path) -> bool {
    upkeep::is_store(dir) || matches!(StoreIdentity::read(dir), Ok(Some(_)) | Err(_))
}

/// Gives the store in `dir` the identity of a node that founds a cluster, and answers it. An existing identity
/// stays. Creates the directory if it is missing.
///
/// # Errors
/// The directory cannot be written, or the node has not joined its cluster yet.
pub fn found_cluster(dir: &Path, number: u64) -> Result<NodeIdentity, OpenError> {
    let failed = |error: StoreError| OpenError::of_store(dir, error);
    private_dir::create(dir).map_err(|error| failed(error.into()))?;
    let identity = match stored_identity(dir)? {
        Some(identity) => identity,
        None => {
            let number = number_of(dir)?.unwrap_or(number);
            let founder = StoreIdentity::founder(number)
                .map_err(|error| failed(StoreError::Io(error.to_string())))?;
            founder.write(dir).map_err(|error| failed(error.into()))?;
            founder
        }
    };
    identity.node().ok_or_else(|| OpenError::NotJoined { dir: dir.to_owned() })
}

/// The number in a store of an earlier version, which has no identity. None without a store.
fn number_of(dir: &Path) -> Result<Option<u64>, OpenError> {
    if !upkeep::is_store(dir) {
        return Ok(None);
    }
    let _lock = DirectoryLock::acquire(dir, LOCK_PATIENCE)?;
    let (seen, _) = inspect(&dir.join(SLED)).map_err(|error| OpenError::of_store(dir, error))?;
    Ok(seen.trees.head().node)
}

/// Keeps the identity of a node that joins a cluster, before its store is opened for the first time.
///
/// # Errors
/// The directory cannot be written.
pub fn keep_joiner(dir: &Path, joiner: &StoreIdentity) -> Result<(), OpenError> {
    let failed = |error: std::io::Error| OpenError::of_store(dir, error.into());
    private_dir::create(dir).map_err(failed)?;
    joiner.write(dir).map_err(failed)
}
