//! What a worker keeps over a restart: reports that no node has taken yet, the highest epoch it
//! has seen, and the hashes of files it has read. A small sled of its own.
//!
//! sled's `flush` is not durable on Linux: each durable write ends with `sync_data` on its file.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::downloader::file_identity::FileIdentity;
use crate::event::Epoch;
use crate::wire::worker::{ContentHash, Report, TaskId};

/// The first byte of each key. The numbers are on disk: one is never given a second meaning.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Report = 1,
    Epoch = 2,
    Hash = 3,
}

/// Version of the encoding of every value.
const VERSION: u8 = 1;

/// How long another process may take to let go of the store.
const PATIENCE: Duration = Duration::from_secs(1);

/// The store of one worker. All calls block on the disk.
pub struct StateStore {
    db: sled::Db,
    /// sled's own file, opened a second time, to be synced.
    file: Mutex<File>,
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateStoreError {
    /// sled refused it.
    #[error("the worker's state store: {0}")]
    Sled(#[from] sled::Error),
    /// The file system refused it.
    #[error("the worker's state store: {0}")]
    Io(#[from] std::io::Error),
    /// Another process has it open.
    #[error("the state directory {0} is in use by another process; give each worker its own")]
    InUse(String),
    /// It cannot be read.
    #[error(
        "the worker's state store is damaged ({0}); stop the worker, remove its state directory and start again: only reports not yet taken are lost"
    )]
    Damaged(String),
}

impl StateStore {
    /// Opens the store in `dir`, which is made if it is not there.
    pub fn open(dir: &Path) -> Result<Self, StateStoreError> {
        std::fs::create_dir_all(dir)?;
        let db = open_patiently(dir)?;
        let file = File::open(dir.join("db"))?;
        let store = StateStore { db, file: Mutex::new(file) };
        store.sync()?;
        // What cannot be read is told now, while there is somebody to tell.
        store.reports()?;
        // The entries of sled's files in their directory must be durable too.
        File::open(dir)?.sync_all()?;
        Ok(store)
    }

    /// Keeps `report` until [`StateStore::forget_report`]. Durable when this returns.
    pub fn keep_report(&self, report: &Report) -> Result<(), StateStoreError> {
        // As JSON, as it goes over the wire: postcard cannot read a tagged enum back.
        let json = serde_json::to_vec(report).map_err(unencodable)?;
        self.put(&report_key(report.task), &json)?;
        self.sync()
    }

    /// Forgets the report on `task`. Not synced: a report that comes back after a crash is sent
    /// once more, which is harmless.
    pub fn forget_report(&self, task: TaskId) -> Result<(), StateStoreError> {
        self.db.remove(report_key(task))?;
        Ok(())
    }

    /// Every report kept, by the number of its task.
    pub fn reports(&self) -> Result<Vec<Report>, StateStoreError> {
        let rows = self.db.scan_prefix([Kind::Report as u8]);
        let read = |json: Vec<u8>| serde_json::from_slice(&json).map_err(unreadable);
        rows.values().map(|value| read(decode(&value?)?)).collect()
    }

    /// The highest epoch seen.
    pub fn epoch(&self) -> Result<Epoch, StateStoreError> {
        Ok(self.get(&[Kind::Epoch as u8])?.unwrap_or_default())
    }

    /// Remembers that `epoch` was seen, durably.
    pub fn raise_epoch(&self, epoch: Epoch) -> Result<(), StateStoreError> {
        self.put(&[Kind::Epoch as u8], &epoch)?;
        self.sync()
    }

    /// The hash of the file that is `identity`, if it was read before.
    pub fn hash(&self, identity: &FileIdentity) -> Result<Option<ContentHash>, StateStoreError> {
        let found: Option<(FileIdentity, ContentHash)> = self.get(&hash_key(identity))?;
        Ok(found.filter(|(of, _)| of == identity).map(|(_, hash)| hash))
    }

    /// Remembers a hash, in the place of what the same inode held before. Not synced: what a
    /// crash forgets is read again.
    pub fn remember_hash(
        &self,
        identity: &FileIdentity,
        hash: ContentHash,
    ) -> Result<(), StateStoreError> {
        self.put(&hash_key(identity), &(*identity, hash))
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<(), StateStoreError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.db.flush()?;
        Ok(file.sync_data()?)
    }

    fn put(&self, key: &[u8], value: &impl Serialize) -> Result<(), StateStoreError> {
        self.db.insert(key, encode(value)?)?;
        Ok(())
    }

    fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, StateStoreError> {
        self.db.get(key)?.map(|value| decode(&value)).transpose()
    }
}

/// Opens sled with the settings that keep its values durable: no value becomes a blob file, and
/// nothing is flushed but by [`StateStore::sync`].
fn open_patiently(dir: &Path) -> Result<sled::Db, StateStoreError> {
    let config = sled::Config::new()
        .path(dir)
        .segment_size(4 << 20)
        .cache_capacity(16 << 20)
        .flush_every_ms(None);
    let started = std::time::Instant::now();
    loop {
        // sled panics on some kinds of damage.
        let opening = config.clone();
        let opened = std::thread::spawn(move || opening.open()).join();
        match opened {
            Ok(Ok(db)) => return Ok(db),
            // sled has no kind for a lock that is taken, only words.
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

fn report_key(task: TaskId) -> [u8; 9] {
    let mut key = [Kind::Report as u8; 9];
    key[1..].copy_from_slice(&task.0.cast_unsigned().to_be_bytes());
    key
}

fn hash_key(identity: &FileIdentity) -> [u8; 17] {
    let mut key = [Kind::Hash as u8; 17];
    key[1..9].copy_from_slice(&identity.device.to_be_bytes());
    key[9..].copy_from_slice(&identity.inode.to_be_bytes());
    key
}

/// Version, value in postcard, crc32c over both.
fn encode(value: &impl Serialize) -> Result<Vec<u8>, StateStoreError> {
    let mut bytes = postcard::to_extend(value, vec![VERSION]).map_err(unencodable)?;
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StateStoreError> {
    let damaged = |why: &str| StateStoreError::Damaged(why.to_owned());
    let (value, checksum) =
        bytes.split_last_chunk::<4>().ok_or_else(|| damaged("a value is too short"))?;
    if crc32c::crc32c(value) != u32::from_le_bytes(*checksum) {
        return Err(damaged("a value's checksum does not match"));
    }
    match value.split_first() {
        Some((&VERSION, value)) => postcard::from_bytes(value).map_err(unreadable),
        _ => Err(damaged("a value is of a newer version")),
    }
}

fn unreadable(error: impl std::fmt::Display) -> StateStoreError {
    StateStoreError::Damaged(error.to_string())
}

/// No value of ours fails to encode; should one ever, it is told like a disk that refuses it.
fn unencodable(error: impl std::fmt::Display) -> StateStoreError {
    StateStoreError::Io(std::io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::names::FileName;
    use crate::wire::worker::{Blame, Said};

    fn failed(task: i64) -> Report {
        Report {
            task: TaskId(task),
            name: FileName::new(b"\xff\n.mpg").unwrap(),
            at: Millis(7),
            said: Said::Failed { blame: Blame::Source, reason: "it broke off".into() },
        }
    }

    #[test]
    fn reports_epoch_and_hashes_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, b"x").unwrap();
        let identity = FileIdentity::from(&std::fs::metadata(&file).unwrap());
        let done = Report { said: Said::Done { size: 1, hash: ContentHash([3; 32]) }, ..failed(2) };
        {
            let store = StateStore::open(&dir.path().join("state")).unwrap();
            store.keep_report(&failed(1)).unwrap();
            store.keep_report(&done).unwrap();
            store.keep_report(&failed(3)).unwrap();
            store.forget_report(TaskId(3)).unwrap();
            store.raise_epoch(Epoch(9)).unwrap();
            store.remember_hash(&identity, ContentHash([5; 32])).unwrap();
            store.sync().unwrap();
        }
        let store = StateStore::open(&dir.path().join("state")).unwrap();
        assert_eq!(store.reports().unwrap(), vec![failed(1), done]);
        assert_eq!(store.epoch().unwrap(), Epoch(9));
        assert_eq!(store.hash(&identity).unwrap(), Some(ContentHash([5; 32])));
        let touched = FileIdentity { changed: (identity.changed.0 + 1, 0), ..identity };
        assert_eq!(store.hash(&touched).unwrap(), None);
    }

    #[test]
    fn a_flipped_bit_is_told() {
        let mut bytes = encode(&Epoch(4)).unwrap();
        bytes[1] ^= 1;
        assert!(matches!(decode::<Epoch>(&bytes), Err(StateStoreError::Damaged(_))));
    }

    #[test]
    fn a_second_owner_is_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let _first = StateStore::open(dir.path()).unwrap();
        let second = StateStore::open(dir.path()).err().unwrap().to_string();
        assert!(second.contains("in use by another process"), "{second}");
    }
}
