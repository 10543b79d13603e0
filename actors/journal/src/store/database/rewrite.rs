//! Rewrites a store that has grown far beyond its content: sled never returns the space of deleted data.
//!
//! The live content is copied into `sled.new` and synced. Then `sled` becomes `sled.old`, `sled.new`
//! becomes `sled`, and `sled.old` is removed. After a crash in between, the next start completes the
//! rewrite ([`finish`]). `sled` is missing only if `sled.new` is complete.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Instant;

use bytesize::ByteSize;

use super::new_database::{NewDatabase, each_item, remove_tree};
use crate::store::StoreError;
use crate::store::database::sled_database::SLED;
use crate::store::database::sled_database::guarded;
use crate::store::database::trees::{Trees, inspect};
use crate::store::disk::disk_space;

const NEW: &str = "sled.new";
const OLD: &str = "sled.old";

/// How many times larger than its content a database may be.
const TIMES: u64 = 8;
/// A rewrite of a smaller database is not useful.
pub(crate) const LEAST: u64 = 64 << 20;

/// Completes a rewrite that a crash interrupted.
pub(crate) fn finish(dir: &Path) -> io::Result<()> {
    if !dir.join(SLED).exists() && dir.join(NEW).exists() && dir.join(OLD).exists() {
        fs::rename(dir.join(NEW), dir.join(SLED))?;
        File::open(dir)?.sync_all()?;
    }
    remove_tree(&dir.join(NEW))?;
    remove_tree(&dir.join(OLD))
}

/// Rewrites the store in `dir` if it has at least `least` bytes and the rewrite frees enough, and opens
/// it again.
pub(crate) fn if_too_large(
    dir: &Path,
    trees: Trees,
    log_file: File,
    least: u64,
) -> Result<(Trees, File), StoreError> {
    let (size, live) = (size(dir)?, trees.live_bytes());
    if size < least || size / TIMES < live {
        return Ok((trees, log_file));
    }
    let began = Instant::now();
    if disk_space::free(dir)?
        < 4 * live + crate::store::database::sled_database::SEGMENT_BYTES as u64
    {
        tracing::warn!(size, live, "there is no room to rewrite the journal's store");
        return Ok((trees, log_file));
    }
    match copy(dir, &trees) {
        Ok(()) => {}
        Err(StoreError::Full(why)) => {
            tracing::warn!(why, "there is no room to rewrite the journal's store");
            remove_tree(&dir.join(NEW))?;
            return Ok((trees, log_file));
        }
        Err(error) => return Err(error),
    }
    let head = trees.head();
    drop(log_file);
    guarded(|| {
        drop(trees);
        Ok(())
    })?;
    swap(dir)?;
    let (seen, log_file) = inspect(&dir.join(SLED))?;
    if let Some(fault) = seen.fault {
        return Err(fault);
    }
    // This start has changed these only in memory.
    seen.trees.change_head(|written| *written = head);
    let size_now = self::size(dir)?;
    tracing::info!(
        before = %ByteSize::b(size),
        now = %ByteSize::b(size_now),
        took = ?began.elapsed(),
        "the journal's store was rewritten"
    );
    Ok((seen.trees, log_file))
}

fn copy(dir: &Path, trees: &Trees) -> Result<(), StoreError> {
    let mut fresh = NewDatabase::create(&dir.join(NEW))?;
    each_item(trees, |item| fresh.add(item))?;
    let mut head = trees.head();
    head.log = Some(trees.log.log_end());
    fresh.finish(&head)
}

fn swap(dir: &Path) -> io::Result<()> {
    fs::rename(dir.join(SLED), dir.join(OLD))?;
    fs::rename(dir.join(NEW), dir.join(SLED))?;
    File::open(dir)?.sync_all()?;
    remove_tree(&dir.join(OLD))
}

/// Bytes of sled's data file in the store in `dir`.
pub(crate) fn size(dir: &Path) -> io::Result<u64> {
    match fs::metadata(dir.join(SLED).join("db")) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::head::Purged;

    const ROWS: u64 = 3000;

    /// A store that holds far less than it once did, as a stopped node leaves it.
    fn grown(dir: &Path) -> (Trees, File) {
        let (seen, log_file) = inspect(&dir.join(SLED)).unwrap();
        let trees = seen.trees;
        for first in (0..ROWS).step_by(100) {
            let rows: Vec<_> =
                (first..first + 100).map(|index| (index, vec![index as u8; 4000])).collect();
            trees.log.append(&rows).unwrap();
            trees.seal().unwrap();
            trees.db.flush().unwrap();
        }
        trees.change_head(|head| {
            head.node = Some(7);
            head.purged = Some(Purged { index: ROWS - 10, log_id: Vec::new() });
        });
        trees.seal().unwrap();
        trees.log.purge(2200).unwrap();
        // As after the next start: rows of the last segment that are purged are still there.
        trees.db.flush().unwrap();
        log_file.sync_data().unwrap();
        (trees, log_file)
    }

    fn rows(trees: &Trees) -> Vec<(u64, Vec<u8>)> {
        trees.log.read(ROWS - 9..ROWS).unwrap()
    }

    #[test]
    fn an_oversized_store_is_rewritten_to_a_small_one() {
        let dir = tempfile::tempdir().unwrap();
        let (trees, log_file) = grown(dir.path());
        let (before, head, held) = (size(dir.path()).unwrap(), trees.head(), rows(&trees));
        // As large as this it is left alone.
        let (trees, log_file) = if_too_large(dir.path(), trees, log_file, before + 1).unwrap();
        assert_eq!(size(dir.path()).unwrap(), before);
        // Cut down so that it is worth it.
        trees.truncate(ROWS - 1).unwrap();
        trees
            .change_head(|head| head.purged = Some(Purged { index: ROWS - 2, log_id: Vec::new() }));
        trees.log.purge(ROWS - 2).unwrap();
        trees.log.append(&[(ROWS - 1, held[8].1.clone())]).unwrap();
        trees.seal().unwrap();
        let (trees, _) = if_too_large(dir.path(), trees, log_file, 1).unwrap();
        let after = size(dir.path()).unwrap();
        assert!(after < before, "{after} bytes of {before}");
        assert_eq!(trees.head().node, head.node);
        assert!(trees.head().sequence > head.sequence);
        assert_eq!(trees.log.last().unwrap().unwrap(), held[8]);
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        drop(trees);
        let (again, _) = inspect(&dir.path().join(SLED)).unwrap();
        assert!(again.fault.is_none());
    }

    #[test]
    fn a_rewrite_that_a_crash_interrupted_is_finished_or_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let (trees, log_file) = grown(dir.path());
        let held = rows(&trees);
        copy(dir.path(), &trees).unwrap();
        drop((trees, log_file));
        let path = |name: &str| dir.path().join(name);
        let check = |when: &str| {
            finish(dir.path()).unwrap();
            let (seen, _) = inspect(&path(SLED)).unwrap();
            assert!(seen.fault.is_none(), "{when}");
            assert_eq!(rows(&seen.trees), held, "{when}");
            assert!(!path(NEW).exists() && !path(OLD).exists(), "{when}");
        };
        let keep = tempfile::tempdir().unwrap();
        let new = keep.path().join("new");
        fs::rename(path(NEW), &new).unwrap();

        fs::create_dir(path(NEW)).unwrap();
        fs::write(path(NEW).join("db"), b"half").unwrap();
        check("while it was copied");
        fs::rename(path(SLED), path(OLD)).unwrap();
        fs::rename(&new, path(NEW)).unwrap();
        check("between the renames");
        fs::create_dir(path(OLD)).unwrap();
        check("before the former one was removed");
    }
}
