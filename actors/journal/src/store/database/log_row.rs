//! One row of the log: its key, and its possible faults.

use crate::store::StoreError;

/// The index of the entry in the row with this key.
pub(crate) fn index_of(key: &[u8]) -> Result<u64, StoreError> {
    key.try_into()
        .map(u64::from_be_bytes)
        .map_err(|_| StoreError::damaged("a key of the log", format!("it has {} bytes", key.len())))
}

/// The row of entry `index` is damaged.
pub(crate) fn damaged(index: u64, why: impl ToString) -> StoreError {
    StoreError::damaged(&format!("log entry {index}"), why)
}
