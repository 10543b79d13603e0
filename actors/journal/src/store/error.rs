//! Why an operation of the store failed.

use std::io;

use crate::store::disk::identity_file::BadIdentity;

/// Why an operation of the store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the store failed: {0}")]
    Io(String),
    #[error("the store has no room: {0}")]
    Full(String),
    /// Written bytes could not be synced. The kernel reports that once and then treats them as
    /// clean, so a later successful sync proves nothing. Only a restart, which reads the disk,
    /// shows what is there.
    #[error(
        "a write to the store could not be synced: {0}. It is not known how much of it reached the disk: \
         check the disk, then start again"
    )]
    Unsynced(String),
    #[error("the store is damaged: {what}: {why}")]
    Damaged { what: String, why: String },
    #[error("the store is in use by another process")]
    InUse,
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn damaged(what: &str, why: impl ToString) -> Self {
        StoreError::Damaged { what: what.to_owned(), why: why.to_string() }
    }
}

impl From<BadIdentity> for StoreError {
    fn from(error: BadIdentity) -> Self {
        match error {
            BadIdentity::Io(error) => error.into(),
            bad => StoreError::damaged("the identity", bad),
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        if is_full(&error) {
            StoreError::Full(error.to_string())
        } else {
            StoreError::Io(error.to_string())
        }
    }
}

impl From<sled::Error> for StoreError {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => error.into(),
            sled::Error::Corruption { .. } | sled::Error::ReportableBug(_) => {
                StoreError::damaged("sled", error)
            }
            error => StoreError::Io(error.to_string()),
        }
    }
}

/// A failed sync is never tried again, also if the reason is lack of room.
pub(super) fn unsynced(error: io::Error) -> StoreError {
    StoreError::Unsynced(error.to_string())
}

/// Whether the error means that the disk is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}
