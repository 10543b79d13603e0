//! Making files durable, one by one or many at once.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::fs::{fstatfs, fsync, syncfs};
use rustix::system::{Uname, uname};

use crate::downloader::group_sync::GroupSync;

/// From so many files at a time on the file system is synced as a whole: each sync of a file alone
/// ends with a flush of the disk, which then is the larger part of its cost.
const COMPANY: usize = 4;

/// File systems whose sync as a whole makes every file as durable as its own sync would: ext4, XFS,
/// btrfs. A FUSE file system is told nothing by it.
const KNOWN: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// The syncs of files in one file system.
///
/// A sync as a whole tells an error to the first who asks, whichever file it was of. So an error is
/// noted, and each file that was there before asks for itself.
#[derive(Debug)]
pub(super) struct FileSyncs {
    /// A handle on the file system, which sees each of its errors once. None where files are only
    /// synced one by one.
    whole: Option<OwnedFd>,
    /// Files that are being made durable.
    waiting: AtomicUsize,
    together: GroupSync,
    /// Syncs of the directory alone.
    renames: GroupSync,
    /// How often the file system has told an error.
    errors: AtomicU64,
}

/// How many errors were told before a file was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorsBefore(u64);

impl FileSyncs {
    /// The syncs of the file system that `dir` is on.
    pub(super) fn of(dir: impl AsFd) -> io::Result<Self> {
        let kind = u64::try_from(fstatfs(&dir)?.f_type).unwrap_or_default();
        let told = KNOWN.contains(&kind) && tells_errors(&uname());
        let whole = told.then(|| dir.as_fd().try_clone_to_owned()).transpose()?;
        let (waiting, errors) = (AtomicUsize::new(0), AtomicU64::new(0));
        let (together, renames) = (GroupSync::default(), GroupSync::default());
        Ok(FileSyncs { whole, waiting, together, renames, errors })
    }

    /// To be asked before a file is opened, or renamed, that is to be made durable.
    pub(super) fn errors_before(&self) -> ErrorsBefore {
        ErrorsBefore(self.errors.load(Ordering::Acquire))
    }

    /// Returns when all of `file` is durable.
    pub(super) fn make_durable(&self, file: &File, before: ErrorsBefore) -> io::Result<()> {
        let company = self.waiting.fetch_add(1, Ordering::Relaxed);
        let synced = match &self.whole {
            Some(whole) if company >= COMPANY => self.sync_together(whole, file, before),
            _ => file.sync_all(),
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        synced
    }

    /// Returns when what was renamed in `dir` is durable. In company the sync of the file system
    /// that others wait for with their bytes does it too: one flush of the disk for all.
    pub(super) fn make_rename_durable(
        &self,
        dir: impl AsFd,
        before: ErrorsBefore,
    ) -> io::Result<()> {
        let company = self.waiting.fetch_add(1, Ordering::Relaxed);
        let is_done = match &self.whole {
            Some(whole) if company >= COMPANY => {
                self.sync_whole(whole).is_ok() && self.had_no_errors_since(before)
            }
            _ => false,
        };
        let synced = if is_done {
            Ok(())
        } else {
            self.renames.wait_or(|| fsync(dir.as_fd())).map_err(Into::into)
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        synced
    }

    fn sync_whole(&self, whole: &OwnedFd) -> io::Result<()> {
        self.together.wait_or(|| {
            Ok(syncfs(whole).inspect_err(|_| {
                self.errors.fetch_add(1, Ordering::Release);
            })?)
        })
    }

    fn had_no_errors_since(&self, before: ErrorsBefore) -> bool {
        self.errors.load(Ordering::Acquire) == before.0
    }

    fn sync_together(&self, whole: &OwnedFd, file: &File, before: ErrorsBefore) -> io::Result<()> {
        let synced = self.sync_whole(whole);
        if synced.is_err() || !self.had_no_errors_since(before) {
            return file.sync_all();
        }
        Ok(())
    }
}

/// Whether a sync of a file system as a whole tells its errors: Linux does from 5.8 on.
fn tells_errors(system: &Uname) -> bool {
    system.release().to_str().is_ok_and(|release| release_of(release) >= (5, 8))
}

/// The first two numbers of a kernel's release.
fn release_of(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_apart() {
        assert_eq!(release_of("5.4.0-150-generic"), (5, 4));
        assert_eq!(release_of("6.12-rc1"), (6, 12));
        assert_eq!(release_of("whatever"), (0, 0));
    }

    #[test]
    fn many_files_at_a_time_are_synced_and_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let syncs = FileSyncs::of(File::open(dir.path()).unwrap()).unwrap();
        std::thread::scope(|scope| {
            for number in 0..4 * COMPANY {
                let (syncs, dir) = (&syncs, dir.path());
                scope.spawn(move || {
                    let before = syncs.errors_before();
                    let file = File::create(dir.join(number.to_string())).unwrap();
                    syncs.make_durable(&file, before).unwrap();
                    let before = syncs.errors_before();
                    let (from, to) = (number.to_string(), format!("{number}.mpg"));
                    std::fs::rename(dir.join(from), dir.join(to)).unwrap();
                    let dir = File::open(dir).unwrap();
                    syncs.make_rename_durable(&dir, before).unwrap();
                });
            }
        });
        assert_eq!(syncs.waiting.load(Ordering::Relaxed), 0);
    }
}
