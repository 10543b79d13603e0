//! Writing a store anew that has grown far beyond what it holds: sled never gives back the room of
//! what was deleted.
//!
//! The live content is copied into `sled.new` and synced; then `sled` becomes `sled.old`,
//! `sled.new` becomes `sled`, and `sled.old` goes. A crash in between is brought to its end by the
//! next start ([`finish`]): `sled` is missing only when `sled.new` is whole.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Instant;

use bytesize::ByteSize;

use super::fresh::{Fresh, each_item, remove_tree};
use super::{SLED, StoreError, Trees, guarded, inspect, room};

const NEW: &str = "sled.new";
const OLD: &str = "sled.old";

/// How many times larger than its content a database may be.
const TIMES: u64 = 8;
/// A database below this is not worth the trouble.
pub(super) const LEAST: u64 = 64 << 20;

/// Brings a rewrite to its end that a crash interrupted.
pub(super) fn finish(dir: &Path) -> io::Result<()> {
    if !dir.join(SLED).exists() && dir.join(NEW).exists() && dir.join(OLD).exists() {
        fs::rename(dir.join(NEW), dir.join(SLED))?;
        File::open(dir)?.sync_all()?;
    }
    remove_tree(&dir.join(NEW))?;
    remove_tree(&dir.join(OLD))
}

/// Writes the store in `dir` anew if it is `least` bytes large and that is worth it, and opens it
/// again.
pub(super) fn if_too_large(
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
    if room::free(dir)? < 4 * live + super::database::SEGMENT_BYTES as u64 {
        tracing::warn!(size, live, "there is no room to write the journal's store anew");
        return Ok((trees, log_file));
    }
    match copy(dir, &trees) {
        Ok(()) => {}
        Err(StoreError::Full(why)) => {
            tracing::warn!(why, "there is no room to write the journal's store anew");
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
    // What this start changed in memory only.
    seen.trees.change_head(|written| *written = head);
    let size_now = self::size(dir)?;
    tracing::info!(
        before = %ByteSize::b(size),
        now = %ByteSize::b(size_now),
        took = ?began.elapsed(),
        "the journal's store was written anew"
    );
    Ok((seen.trees, log_file))
}

fn copy(dir: &Path, trees: &Trees) -> Result<(), StoreError> {
    let mut fresh = Fresh::create(&dir.join(NEW))?;
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
pub(super) fn size(dir: &Path) -> io::Result<u64> {
    match fs::metadata(dir.join(SLED).join("db")) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}
