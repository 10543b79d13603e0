//! Making files durable, one by one or many at once.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::fs::{fstatfs, syncfs};

use crate::downloader::group_sync::GroupSync;

/// From so many files at a time on the file system is synced as a whole: each sync of a file alone
/// ends with a flush of the disk, which then is the larger part of its cost.
const COMPANY: usize = 4;

/// File systems whose sync as a whole makes every file as durable as its own sync would: ext4, XFS,
/// btrfs. A FUSE file system is told nothing by it.
const KNOWN: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// The syncs of files in one file system.
///
/// A sync as a whole tells an error to the first who asks, whichever file it was of (and only
/// from Linux 5.8 on). So an error is noted, and each file that was there before asks for itself.
#[derive(Debug)]
pub(super) struct FileSyncs {
    /// A handle on the file system, which sees each of its errors once. None where files are only
    /// synced one by one.
    whole: Option<OwnedFd>,
    /// Files that are being made durable.
    waiting: AtomicUsize,
    together: GroupSync,
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
        let whole = KNOWN.contains(&kind).then(|| dir.as_fd().try_clone_to_owned()).transpose()?;
        let (waiting, errors) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(FileSyncs { whole, waiting, together: GroupSync::default(), errors })
    }

    /// To be asked before a file is opened that is to be made durable.
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

    fn sync_together(&self, whole: &OwnedFd, file: &File, before: ErrorsBefore) -> io::Result<()> {
        let synced = self.together.wait_or(|| {
            syncfs(whole).inspect_err(|_| {
                self.errors.fetch_add(1, Ordering::Release);
            })
        });
        if synced.is_err() || self.errors.load(Ordering::Acquire) != before.0 {
            return file.sync_all();
        }
        Ok(())
    }
}
