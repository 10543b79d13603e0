//! Room on the store's disk: it detects in time that little is left, and keeps a reserve.
//!
//! sled cannot continue after a write that found no room: the database must be opened again, and
//! that writes too. So a reserve file is kept beside the database. The journal refuses new commits
//! while little room is left; commits in progress still fit. If another program takes the rest of
//! the room first, the reserve is released. It is created again once there is room.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use tokio::sync::watch;

const FILE: &str = "reserve";
/// How often the disk is checked while the store is written.
const INTERVAL: Duration = Duration::from_millis(100);
/// The pause before a reserve is tried again that could not be created.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Free space below which no commits are accepted, if there is no reserve.
const LEAST: u64 = 1 << 20;

/// The room that a store has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskSpace {
    /// Free bytes on its disk, at the last check.
    pub(crate) free: u64,
    /// Bytes that are kept in reserve.
    pub(crate) reserve: u64,
    /// The wanted size of the reserve.
    pub(crate) wanted: u64,
    /// Why no commits are accepted until there is room again, and what to do.
    pub(crate) full: Option<String>,
}

/// Watches the room of one store.
pub(crate) struct DiskSpaceMonitor {
    dir: PathBuf,
    /// The wanted size of the reserve.
    wanted: u64,
    state: watch::Sender<DiskSpace>,
    looked: Instant,
    /// The time of a failed creation of a reserve, if none succeeded since.
    refused: Option<Instant>,
}

impl DiskSpaceMonitor {
    /// Checks the room of the store in `dir`, and keeps `wanted` bytes of it in reserve.
    pub(crate) fn keep(dir: &Path, wanted: u64) -> io::Result<DiskSpaceMonitor> {
        let state =
            watch::Sender::new(DiskSpace { reserve: held(dir)?, wanted, ..DiskSpace::default() });
        let looked = Instant::now();
        let mut room =
            DiskSpaceMonitor { dir: dir.to_owned(), wanted, state, looked, refused: None };
        if is_released(dir)? {
            let now = DiskSpace { free: free(dir)?, wanted, ..DiskSpace::default() };
            let full = Some(room.words(&now));
            room.state.send_replace(DiskSpace { full, ..now });
        }
        room.look()?;
        Ok(room)
    }

    /// The state of the room, as a channel to watch.
    pub(crate) fn state(&self) -> watch::Receiver<DiskSpace> {
        self.state.subscribe()
    }

    /// Whether no commits are accepted until there is room again.
    pub(crate) fn is_full(&self) -> bool {
        self.state.borrow().full.is_some()
    }

    /// Measures the free room if the interval is over.
    pub(crate) fn look_if_due(&mut self) -> io::Result<()> {
        if self.looked.elapsed() >= INTERVAL { self.look() } else { Ok(()) }
    }

    /// Checks the free room, and acts on it.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        self.looked = Instant::now();
        let before = self.state.borrow().clone();
        let mut now = DiskSpace { free: free(&self.dir)?, ..before.clone() };
        let (low, missing) = (self.low(), self.wanted.saturating_sub(now.reserve));
        let may_try = self.refused.is_none_or(|at| at.elapsed() >= TRY_AGAIN_AFTER);
        if missing > 0 && now.free >= missing + 2 * low && may_try {
            now.reserve = self.make_reserve();
            now.free = free(&self.dir)?;
        }
        if now.free < low {
            now.full = Some(self.words(&now));
        } else if before.full.is_some() {
            // A released reserve is created again first. Without it the next full disk would be
            // worse.
            let enough = now.free >= 2 * low && now.reserve >= self.wanted;
            now.full = if enough { None } else { Some(self.words(&now)) };
        }
        match (&before.full, &now.full) {
            (None, Some(why)) => {
                tracing::error!(why, "the disk is full: the journal refuses changes")
            }
            (Some(_), None) => {
                tracing::info!(free = %ByteSize::b(now.free), "the journal has room again");
            }
            _ => {}
        }
        self.state.send_if_modified(|state| {
            // Small changes by other programs are not reported.
            let news = state.full != now.full || state.reserve != now.reserve;
            *state = now;
            news
        });
        Ok(())
    }

    /// Extends the reserve to the wanted size. Answers its size.
    fn make_reserve(&mut self) -> u64 {
        match reserve(&self.dir.join(FILE), self.wanted) {
            Ok(()) => {
                self.refused = None;
                self.wanted
            }
            Err(error) => {
                if self.refused.replace(Instant::now()).is_none() {
                    tracing::warn!(%error, "the disk reserve of the journal cannot be created");
                }
                0
            }
        }
    }

    /// A write found no room: empties the reserve. Answers whether there was one. The empty file stays, so that a
    /// restart creates the reserve first, too.
    pub(crate) fn give_up_reserve(&mut self) -> io::Result<bool> {
        let given_up = held(&self.dir)? > 0;
        if given_up {
            File::create(self.dir.join(FILE))?;
        }
        let mut now =
            DiskSpace { free: free(&self.dir)?, reserve: 0, wanted: self.wanted, full: None };
        now.full = Some(self.words(&now));
        if given_up {
            let why = now.full.as_deref();
            tracing::error!(why, "no disk space is left for the journal: its reserve is released");
        }
        self.state.send_replace(now);
        Ok(given_up)
    }

    /// If less than this is free, no commits are accepted.
    fn low(&self) -> u64 {
        (self.wanted / 4).max(LEAST)
    }

    /// The fault with its remedy. It names the changes that may use the reserve.
    fn words(&self, now: &DiskSpace) -> String {
        let needed = 2 * self.low() + self.wanted.saturating_sub(now.reserve);
        format!(
            "the disk of {} is full, {} are free: make room for at least {} there. Until then everything \
             can be read, and people can sign in and out. Links and tokens can be revoked, and users \
             disabled or removed. Nothing else can be changed",
            self.dir.display(),
            ByteSize::b(now.free),
            ByteSize::b(needed),
        )
    }
}

/// Bytes that can still be written to the file system of `dir`.
pub(crate) fn free(dir: &Path) -> io::Result<u64> {
    let seen = statvfs(dir)?;
    Ok(seen.f_bavail.saturating_mul(seen.f_frsize))
}

/// The size of the reserve of the store in `dir`.
pub(crate) fn held(dir: &Path) -> io::Result<u64> {
    match fs::metadata(dir.join(FILE)) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Whether the reserve of the store in `dir` was released, and not created again.
fn is_released(dir: &Path) -> io::Result<bool> {
    Ok(dir.join(FILE).is_file() && held(dir)? == 0)
}

/// Creates a reserve of `bytes` from allocated blocks, or none at all.
fn reserve(path: &Path, bytes: u64) -> io::Result<()> {
    let was_released = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
    let made = File::create(path).and_then(|file| allocate(&file, bytes));
    made.inspect_err(|_| {
        let undone = match was_released {
            true => File::create(path).map(|_| ()),
            false => fs::remove_file(path),
        };
        match undone {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "a part of the journal's disk reserve could not be removed");
            }
            _ => {}
        }
    })
}

fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            let zeros = vec![0; 1 << 20];
            let mut at = 0;
            while at < bytes {
                let length = usize::try_from(bytes - at).unwrap_or(zeros.len()).min(zeros.len());
                file.write_all_at(&zeros[..length], at)?;
                at += length as u64;
            }
            file.sync_data()
        }
        allocated => Ok(allocated?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_kept_and_given_up_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut room = DiskSpaceMonitor::keep(dir.path(), 1 << 20).unwrap();
        assert_eq!(room.state().borrow().reserve, 1 << 20);
        assert_eq!(room.state().borrow().full, None);
        assert!(room.give_up_reserve().unwrap());
        assert!(!room.give_up_reserve().unwrap());
        assert!(room.state().borrow().full.is_some());
        assert_eq!(held(dir.path()).unwrap(), 0);
        room.look().unwrap();
        assert_eq!(room.state().borrow().full, None);
        assert_eq!(held(dir.path()).unwrap(), 1 << 20);
    }

    #[test]
    fn a_reserve_that_cannot_be_made_is_tried_again_later() {
        let dir = tempfile::tempdir().unwrap();
        let in_the_way = dir.path().join(FILE);
        fs::create_dir(&in_the_way).unwrap();
        let mut room = DiskSpaceMonitor::keep(dir.path(), 1 << 20).unwrap();
        assert_eq!(room.state().borrow().reserve, 0);
        let refused = room.refused.unwrap();
        fs::remove_dir(&in_the_way).unwrap();
        room.look().unwrap();
        assert_eq!((held(dir.path()).unwrap(), room.refused), (0, Some(refused)));
        room.refused = refused.checked_sub(TRY_AGAIN_AFTER);
        room.look().unwrap();
        assert_eq!((held(dir.path()).unwrap(), room.refused), (1 << 20, None));
    }

    #[test]
    fn a_disk_with_less_than_is_wanted_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let room = DiskSpaceMonitor::keep(dir.path(), 1 << 60).unwrap();
        let state = room.state().borrow().clone();
        let why = state.full.unwrap_or_default();
        let allowed =
            "Links and tokens can be revoked, and users disabled or removed. Nothing else can";
        assert!(why.contains("make room") && why.contains(allowed), "{why}");
        assert_eq!(state.reserve, 0);
    }
}
