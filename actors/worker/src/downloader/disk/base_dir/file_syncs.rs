//! Making files durable, one by one or many at once.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{fstatfs, syncfs};
use rustix::system::{Uname, uname};

/// From this many files at a time on, the whole file system is synced. A sync of one file ends with a flush
/// of the disk, which causes most of its cost.
const SYNC_WHOLE_FROM: usize = 4;

/// File systems whose `syncfs` makes every file as durable as its own sync would: ext4, XFS, btrfs. On a
/// FUSE file system it has no such effect.
const KNOWN: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// The syncs of files in one file system.
///
/// A sync of the whole file system reports an error of any file, and only to its first caller. So an error is
/// counted, and each file that was open before then syncs itself.
#[derive(Debug)]
pub(super) struct FileSyncs {
    /// A handle on the file system, which reports each of its errors once. None if files are only synced one
    /// by one. Locked, so that an error is recorded before another sync reports success.
    whole: Option<Mutex<OwnedFd>>,
    /// How often the file system has reported an error.
    errors: AtomicU64,
}

/// How many errors were reported before a file was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorsBefore(u64);

impl FileSyncs {
    /// The syncs of the file system that `dir` is on.
    pub(super) fn of(dir: impl AsFd) -> io::Result<Self> {
        let kind = u64::try_from(fstatfs(&dir)?.f_type).unwrap_or_default();
        let reports_errors = KNOWN.contains(&kind) && reports_sync_errors(&uname());
        let whole = reports_errors.then(|| dir.as_fd().try_clone_to_owned()).transpose()?;
        Ok(FileSyncs { whole: whole.map(Mutex::new), errors: AtomicU64::new(0) })
    }

    /// Call it before opening a file that will be made durable.
    pub(super) fn errors_before(&self) -> ErrorsBefore {
        ErrorsBefore(self.errors.load(Ordering::Acquire))
    }

    /// Makes all of each file durable. Answers in their order.
    pub(super) fn make_durable(&self, files: &[(&File, ErrorsBefore)]) -> Vec<io::Result<()>> {
        let together = files.len() >= SYNC_WHOLE_FROM && self.sync_whole();
        let synced = |(file, before): &(&File, ErrorsBefore)| {
            let had_no_errors = self.errors.load(Ordering::Acquire) == before.0;
            if together && had_no_errors { Ok(()) } else { file.sync_all() }
        };
        files.iter().map(synced).collect()
    }

    /// Syncs the whole file system, if that is possible. Answers whether it succeeded.
    fn sync_whole(&self) -> bool {
        let Some(whole) = &self.whole else { return false };
        let whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
        let succeeded = syncfs(&*whole).is_ok();
        if !succeeded {
            self.errors.fetch_add(1, Ordering::Release);
        }
        succeeded
    }
}

/// Whether `syncfs` reports errors: Linux does so from 5.8 on.
fn reports_sync_errors(system: &Uname) -> bool {
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
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn kernel_releases_are_parsed() {
        assert_eq!(release_of("5.4.0-150-generic"), (5, 4));
        assert_eq!(release_of("6.12-rc1"), (6, 12));
        assert_eq!(release_of("whatever"), (0, 0));
    }

    #[test]
    fn files_are_synced_together_and_one_by_one_after_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let syncs = FileSyncs::of(File::open(dir.path()).unwrap()).unwrap();
        let before = syncs.errors_before();
        let file = |number: usize| File::create(dir.path().join(number.to_string())).unwrap();
        let files: Vec<File> = (0..SYNC_WHOLE_FROM).map(file).collect();
        let files: Vec<_> = files.iter().map(|file| (file, before)).collect();
        assert!(syncs.make_durable(&files).iter().all(Result::is_ok));
        syncs.errors.fetch_add(1, Ordering::Release);
        assert!(syncs.make_durable(&files).iter().all(Result::is_ok));
        // A file that cannot be synced by itself shows who was asked.
        let (unsyncable, _other_end) = UnixStream::pair().unwrap();
        let unsyncable = File::from(OwnedFd::from(unsyncable));
        let with_it = [&files[..], &[(&unsyncable, before)]].concat();
        let synced = syncs.make_durable(&with_it);
        assert!(synced[..SYNC_WHOLE_FROM].iter().all(Result::is_ok));
        assert!(synced[SYNC_WHOLE_FROM].is_err());
    }
}
