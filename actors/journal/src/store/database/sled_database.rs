//! sled itself, opened in a durable way. Panics and lack of room are separate errors.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::StoreError;
use crate::store::record::unframe;

/// Pages of up to a quarter of a segment stay in the log file; larger ones would become files
/// that are never synced.
pub(crate) const SEGMENT_BYTES: usize = 4 << 20;
const CACHE_BYTES: u64 = 64 << 20;
/// A store that was just closed keeps its lock for a moment.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// The directory of sled, within that of the store.
pub(crate) const SLED: &str = "sled";

/// Opens or creates the sled database in `path`. Blocks.
pub(crate) fn open_sled(path: &Path) -> Result<sled::Db, StoreError> {
    remove_half_written(path)?;
    let config = sled::Config::new()
        .path(path)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None);
    let started = Instant::now();
    loop {
        match guarded(|| Ok(config.open())) {
            Ok(Ok(db)) => return Ok(db),
            Ok(Err(sled::Error::Io(error))) if is_locked(&error) => {
                if started.elapsed() >= LOCK_PATIENCE {
                    return Err(StoreError::InUse);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // The version or the sizes in its settings file differ from this program's.
            Ok(Err(sled::Error::Unsupported(why))) => {
                return Err(StoreError::damaged("sled's settings", why));
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(error) => return Err(error),
        }
    }
}

/// Removes a file that sled had not finished when it was killed or had no room. Otherwise sled would take the
/// file for a complete one and call the store damaged. The earlier, complete file is still there.
fn remove_half_written(path: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Opens the handle that syncs sled's writes, because sled never syncs its log file itself. Syncs
/// the writes of its creation now.
pub(crate) fn open_log_file(path: &Path) -> io::Result<File> {
    // Without its settings file sled uses ours, but it refuses a half-written file.
    for created in [path.join("conf").as_path(), path] {
        File::open(created)?.sync_all()?;
    }
    File::open(path.join("db"))
}

/// Runs code that uses sled, which panics at some failures. These panics become normal errors.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let why = panic_text(&*panic);
        let full = ["StorageFull", "No space left", "QuotaExceeded"];
        if full.iter().any(|sign| why.contains(sign)) {
            Err(StoreError::Full(why))
        } else {
            Err(StoreError::damaged("a page", why))
        }
    })
}

/// The value of a key, outside of the log and the snapshots; none if there is none.
pub(crate) fn get<T: serde::de::DeserializeOwned>(
    db: &sled::Db,
    key: &str,
) -> Result<Option<T>, StoreError> {
    let damaged = |why: String| StoreError::damaged(&format!("the value {key}"), why);
    let Some(record) = db.get(key)? else {
        return Ok(None);
    };
    let body = unframe(&record).map_err(|error| damaged(error.to_string()))?;
    postcard::from_bytes(body).map(Some).map_err(|error| damaged(error.to_string()))
}

fn is_locked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.to_string().contains("could not acquire lock")
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "sled panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_sled_snapshot_does_not_damage_the_store() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        db.insert("key", "value").unwrap();
        db.flush().unwrap();
        drop(db);
        drop(open_sled(dir.path()).unwrap());
        let snapshot = fs::read_dir(dir.path()).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            path.file_name().unwrap().to_string_lossy().starts_with("snap.").then_some(path)
        });
        let half = format!("{}.generating", snapshot.unwrap().display());
        fs::write(half, b"half").unwrap();
        let db = open_sled(dir.path()).unwrap();
        assert_eq!(db.get("key").unwrap().unwrap(), "value");
    }
}
