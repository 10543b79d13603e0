//! sled for this store: opened so that its values are durable, each with its version and a checksum.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::kept_state::group_sync::GroupSync;
use crate::kept_state::state_store_error::StateStoreError;

/// Version of the encoding of every value. A value with other fields raises it; [`decode`] then reads both.
const VERSION: u8 = 1;

/// How long another process may take to release the store.
const PATIENCE: Duration = Duration::from_secs(1);

/// An open sled database and the handle to sync it.
pub(super) struct OpenStateStore {
    pub(super) db: sled::Db,
    /// sled's own file, opened a second time, to be synced.
    file: File,
    syncs: GroupSync,
}

impl OpenStateStore {
    pub(super) fn open(dir: &Path) -> Result<Self, StateStoreError> {
        let db = open_patiently(dir)?;
        let file = File::open(dir.join("db"))?;
        let opened = OpenStateStore { db, file, syncs: GroupSync::default() };
        opened.sync()?;
        Ok(opened)
    }

    pub(super) fn sync(&self) -> Result<(), StateStoreError> {
        self.syncs.wait_or(|| {
            self.db.flush()?;
            Ok(self.file.sync_data()?)
        })
    }

    /// Whether the key had no value before.
    pub(super) fn put(&self, key: &[u8], value: &impl Serialize) -> Result<bool, StateStoreError> {
        Ok(self.db.insert(key, encode(value)?)?.is_none())
    }

    pub(super) fn get<T: DeserializeOwned>(
        &self,
        key: &[u8],
    ) -> Result<Option<T>, StateStoreError> {
        self.db.get(key)?.map(|value| decode(&value)).transpose()
    }

    /// Removes the value of the key, if there is one, because sled would also log the removal of a missing
    /// value.
    pub(super) fn remove(&self, key: &[u8]) -> Result<(), StateStoreError> {
        if self.db.contains_key(key)? {
            self.db.remove(key)?;
        }
        Ok(())
    }
}

/// Opens sled with settings that keep its values durable: no value becomes a blob file, and only
/// [`StateStore::sync`] flushes.
fn open_patiently(dir: &Path) -> Result<sled::Db, StateStoreError> {
    let config = sled::Config::new()
        .path(dir)
        .segment_size(4 << 20)
        .cache_capacity(16 << 20)
        .flush_every_ms(None);
    let started = Instant::now();
    loop {
        // sled panics on some kinds of damage.
        let opening = config.clone();
        let opened = std::thread::spawn(move || opening.open()).join();
        match opened {
            Ok(Ok(db)) => return Ok(db),
            // sled has no error kind for a lock that is held, only a text.
            Ok(Err(sled::Error::Io(error))) if error.to_string().contains("acquire lock") => {}
            Ok(Err(sled::Error::Corruption { .. })) => {
                return Err(StateStoreError::Damaged("its checksums do not match".into()));
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_panic) => return Err(StateStoreError::Damaged("it cannot be opened".into())),
        }
        if started.elapsed() > PATIENCE {
            return Err(StateStoreError::InUse(dir.display().to_string()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Version, value in postcard, crc32c over both.
pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>, StateStoreError> {
    let mut bytes = postcard::to_extend(value, vec![VERSION]).map_err(unencodable)?;
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StateStoreError> {
    let damaged = |why: &str| StateStoreError::Damaged(why.to_owned());
    let (value, checksum) =
        bytes.split_last_chunk::<4>().ok_or_else(|| damaged("a value is too short"))?;
    if crc32c::crc32c(value) != u32::from_le_bytes(*checksum) {
        return Err(damaged("a value's checksum does not match"));
    }
    match value.split_first() {
        Some((&VERSION, value)) => postcard::from_bytes(value).map_err(unreadable),
        Some((&version, _)) => Err(StateStoreError::Version(version)),
        None => Err(damaged("a value is too short")),
    }
}

pub(super) fn unreadable(error: impl std::fmt::Display) -> StateStoreError {
    StateStoreError::Damaged(error.to_string())
}

/// No value of this program fails to encode. If one did, it would be reported like a failing disk.
pub(super) fn unencodable(error: impl std::fmt::Display) -> StateStoreError {
    StateStoreError::Io(std::io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use reelyard_core::event::Epoch;

    use super::*;

    #[test]
    fn a_value_of_another_version_is_refused_with_an_advice() {
        let mut bytes = vec![9, 4];
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        let error = decode::<Epoch>(&bytes).unwrap_err().to_string();
        assert!(error.contains("version 9,") && error.contains("Start the version"), "{error}");
    }

    #[test]
    fn a_flipped_bit_is_reported() {
        let mut bytes = encode(&Epoch(4)).unwrap();
        bytes[1] ^= 1;
        assert!(matches!(decode::<Epoch>(&bytes), Err(StateStoreError::Damaged(_))));
    }
}
