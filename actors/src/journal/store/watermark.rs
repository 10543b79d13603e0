//! How far the log is known to be durable, in a small file beside sled.
//!
//! sled answers damage by rolling back to an older state without a word. A voter that forgot
//! entries it acknowledged could let a majority forget them, so a store that ends before its
//! watermark is not opened.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const INDEX_BYTES: usize = 8;
const FILE_BYTES: usize = INDEX_BYTES + 4;
/// How far behind the mark may be while the log grows.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// The watermark's file. What it holds never exceeds what is durable in the log.
pub(super) struct Watermark {
    file: File,
    /// The log's end that it holds: one past the last entry.
    marked: u64,
    written: Instant,
}

impl Watermark {
    /// Opens or creates the file; [`Watermark::marked`] then tells what it held.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join("watermark");
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut bytes = [0; FILE_BYTES];
        let marked = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => decode(bytes).unwrap_or_else(|| {
                tracing::warn!(?dir, "the journal's watermark is damaged and is begun anew");
                0
            }),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(error),
        };
        Ok(Watermark { file, marked, written: Instant::now() })
    }

    /// The log's end that is marked: one past the last entry, 0 for none.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    /// The log is durable up to `end`. Marked now if it is time, else with a later call.
    pub(super) fn raise(&mut self, end: u64) -> io::Result<()> {
        if end > self.marked && self.written.elapsed() >= INTERVAL {
            self.set(end)?;
        }
        Ok(())
    }

    /// The log is about to end at `end`: the mark must not stand behind that.
    pub(super) fn lower(&mut self, end: u64) -> io::Result<()> {
        if end < self.marked { self.set(end) } else { Ok(()) }
    }

    /// Marks `end` now.
    pub(super) fn set(&mut self, end: u64) -> io::Result<()> {
        if end != self.marked {
            self.file.write_all_at(&encode(end), 0)?;
            self.file.sync_data()?;
            self.marked = end;
        }
        self.written = Instant::now();
        Ok(())
    }
}

fn encode(end: u64) -> [u8; FILE_BYTES] {
    let index = end.to_le_bytes();
    let mut bytes = [0; FILE_BYTES];
    bytes[..INDEX_BYTES].copy_from_slice(&index);
    bytes[INDEX_BYTES..].copy_from_slice(&crc32c::crc32c(&index).to_le_bytes());
    bytes
}

fn decode(bytes: [u8; FILE_BYTES]) -> Option<u64> {
    let index = *bytes.first_chunk::<INDEX_BYTES>()?;
    let end = u64::from_le_bytes(index);
    (encode(end) == bytes).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_kept_and_lowered_only_by_what_is_lower() {
        let dir = tempfile::tempdir().unwrap();
        let mut mark = Watermark::open(dir.path()).unwrap();
        assert_eq!(mark.marked(), 0);
        mark.set(70).unwrap();
        mark.lower(80).unwrap();
        assert_eq!(Watermark::open(dir.path()).unwrap().marked(), 70);
        mark.lower(60).unwrap();
        assert_eq!(Watermark::open(dir.path()).unwrap().marked(), 60);
    }

    #[test]
    fn a_damaged_mark_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        Watermark::open(dir.path()).unwrap().set(70).unwrap();
        let path = dir.path().join("watermark");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(Watermark::open(dir.path()).unwrap().marked(), 0);
    }
}
