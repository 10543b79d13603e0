//! The directory for the copies of a destination. It stays open. Every name is looked up relative to the
//! handle without following links, so that no name can lead out of it.

mod file_syncs;
mod temp_file;

pub use super::base_dir::temp_file::{ALIGNMENT, TempFile};

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::names::FileName;
use reelyard_file_server::data_port::CopyDirectory;
use reelyard_file_server::open_regular::open_regular;
use reelyard_protocol::legacy::cfw::{Deleted, DiskFigures};
use reelyard_protocol::worker::TaskId;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstatvfs, mkdirat,
    openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::base_dir::file_syncs::FileSyncs;
use crate::downloader::disk::room::{Capacity, Ledger, NoRoom, Reservation, disk_figures};

/// The directory of unfinished copies, inside the base directory.
pub const TEMP_DIR: &str = "temp.downloaded";

/// An open base directory, and the directory of its temporary files.
#[derive(Debug)]
pub struct BaseDir {
    dir: OwnedFd,
    temp: OwnedFd,
    capacity: LiveSetting<Capacity>,
    ledger: Ledger,
    /// Makes files durable before they get their final names.
    syncs: FileSyncs,
    /// Running tasks. Only they may use their temporary files.
    at_work: Mutex<BTreeSet<TaskId>>,
}

/// Protects the temporary files of a task from collection, while it lives.
#[derive(Debug)]
pub struct TempFileGuard {
    base: Arc<BaseDir>,
    task: TaskId,
}

/// One entry of a base directory: a file, or anything else that is not a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseDirEntry {
    /// File name within the base directory.
    pub name: FileName,
    /// Its size in bytes.
    pub size: u64,
    /// When its contents last changed.
    pub modified: Millis,
}

impl BaseDir {
    /// Opens the directory at `path`, and creates its `temp.downloaded` if it is missing. Only one worker
    /// per directory: another would treat the temporary files of the first one as leftovers.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, path, flags, Mode::empty())?;
        match mkdirat(&dir, TEMP_DIR, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // If this is a symlink, every temporary file would be written to its target.
        let temp = openat(&dir, TEMP_DIR, flags | OFlags::NOFOLLOW, Mode::empty())?;
        lock(&temp)?;
        let syncs = FileSyncs::of(&temp)?;
        Ok(BaseDir {
            dir,
            temp,
            capacity: LiveSetting::default(),
            ledger: Ledger::default(),
            syncs,
            at_work: Mutex::default(),
        })
    }

    /// The same, with the size in `capacity`.
    pub fn with_capacity(self, capacity: impl Into<LiveSetting<Capacity>>) -> Self {
        BaseDir { capacity: capacity.into(), ..self }
    }

    /// The names `GET /files` lists: everything that is not a directory by lstat, hidden files
    /// and symlinks included, sorted by their bytes.
    pub fn names(&self) -> io::Result<Vec<FileName>> {
        names_of_files(&self.dir)
    }

    /// The files of [`BaseDir::names`] with size and time of each. A file that vanishes meanwhile is left
    /// out.
    pub fn entries(&self) -> io::Result<Vec<BaseDirEntry>> {
        entries_of(&self.dir)
    }

    /// The temporary files, from any program.
    pub fn temp_entries(&self) -> io::Result<Vec<BaseDirEntry>> {
        entries_of(&self.temp)
    }

    /// The entry at `name`; none if there is no entry, or a directory.
    pub fn entry(&self, name: &FileName) -> io::Result<Option<BaseDirEntry>> {
        match self.lstat(name) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Ok(None),
            Ok(stat) => Ok(Some(BaseDirEntry {
                name: name.clone(),
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified_at(&stat),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The open directory, for a watch.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    fn lstat(&self, name: &FileName) -> Result<Stat, Errno> {
        statat(&self.dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether there is no entry at `name`.
    pub fn is_absent(&self, name: &FileName) -> io::Result<bool> {
        match self.lstat(name) {
            Ok(_) => Ok(false),
            Err(Errno::NOENT) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes `name` and answers as cfw does: a symlink is removed itself, unless it points to a
    /// directory.
    pub fn unlink(&self, name: &FileName) -> io::Result<Deleted> {
        let lstat = match self.lstat(name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Deleted::Absent),
            Err(error) => return Err(error.into()),
        };
        let is_directory = match FileType::from_raw_mode(lstat.st_mode) {
            FileType::Directory => true,
            FileType::Symlink => statat(&self.dir, name.as_bytes(), AtFlags::empty())
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            _ => false,
        };
        if is_directory {
            return Ok(Deleted::Directory);
        }
        match unlinkat(&self.dir, name.as_bytes(), AtFlags::empty()) {
            Ok(()) => {
                self.ledger.recount();
                Ok(Deleted::Removed)
            }
            Err(Errno::NOENT) => Ok(Deleted::Absent),
            Err(error) => Err(error.into()),
        }
    }

    /// The figures of the disk of the directory, or of its quota.
    pub fn disk(&self) -> io::Result<DiskFigures> {
        self.ledger.figures(*self.capacity.now(), self.file_system()?, || self.count())
    }

    /// Reserves room for a copy, before its first byte.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, NoRoom> {
        self.ledger.reserve(bytes, *self.capacity.now(), self.file_system()?, || self.count())
    }

    fn file_system(&self) -> io::Result<DiskFigures> {
        let figures = fstatvfs(&self.dir)?;
        let bytes = |blocks: u64| blocks.saturating_mul(figures.f_frsize);
        Ok(disk_figures(bytes(figures.f_blocks), bytes(figures.f_bfree), bytes(figures.f_bavail)))
    }

    /// Bytes of all files in the directory, temporary ones included.
    fn count(&self) -> io::Result<u64> {
        let entries = self.entries()?.into_iter().chain(self.temp_entries()?);
        Ok(entries.map(|entry| entry.size).fold(0, u64::saturating_add))
    }

    /// Records that `task` runs. None if it already runs.
    pub fn begin_work(self: &Arc<Self>, task: TaskId) -> Option<TempFileGuard> {
        self.at_work().insert(task).then(|| TempFileGuard { base: Arc::clone(self), task })
    }

    /// Whether `task` is at work.
    pub fn is_at_work(&self, task: TaskId) -> bool {
        self.at_work().contains(&task)
    }

    fn at_work(&self) -> MutexGuard<'_, BTreeSet<TaskId>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the temporary file of `task`, if there is one.
    pub fn remove_temp(&self, task: TaskId) -> io::Result<()> {
        self.remove_temp_named(task.to_string().as_bytes()).map(|_| ())
    }

    /// Removes a temporary file from any program. Answers whether it existed.
    pub fn remove_temp_named(&self, name: &[u8]) -> io::Result<bool> {
        match unlinkat(&self.temp, name, AtFlags::empty()) {
            Ok(()) => {
                self.ledger.recount();
                Ok(true)
            }
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for TempFileGuard {
    fn drop(&mut self) {
        self.base.at_work().remove(&self.task);
    }
}

impl CopyDirectory for BaseDir {
    fn open_file(&self, name: &FileName) -> io::Result<File> {
        open_regular(&self.dir, name)
    }
}

fn entries_of(dir: &OwnedFd) -> io::Result<Vec<BaseDirEntry>> {
    let mut entries = Vec::new();
    for name in names_of_files(dir)? {
        match statat(dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => entries.push(BaseDirEntry {
                name,
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified_at(&stat),
            }),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(entries)
}

fn names_of_files(dir: &OwnedFd) -> io::Result<Vec<FileName>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let file_type = match entry.file_type() {
            FileType::Unknown => match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            },
            known => known,
        };
        if file_type == FileType::Directory {
            continue;
        }
        // The kernel returns only valid file names; `.` and `..` were directories.
        if let Ok(name) = FileName::new(name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn modified_at(stat: &Stat) -> Millis {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Millis(stat.st_mtime.saturating_mul(1000).saturating_add(nanos / 1_000_000))
}

/// Locks the directory until its handle is closed. A worker that is just ending gets a moment.
fn lock(temp: &OwnedFd) -> io::Result<()> {
    const TRIES: u32 = 20;
    for _ in 1..TRIES {
        match flock(temp, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(50)),
            other => return Ok(other?),
        }
    }
    let held = |_| io::Error::other("another worker uses it: give each worker its own directory");
    flock(temp, FlockOperation::NonBlockingLockExclusive).map_err(held)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(bytes: &[u8]) -> FileName {
        FileName::new(bytes).unwrap()
    }

    #[test]
    fn a_copy_of_any_name_is_published_listed_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let base = Arc::new(BaseDir::open(place.path()).unwrap());
        let longest = [b'x'; 255];
        let mut names: Vec<&[u8]> =
            vec![b"a#b.mpg", b"c?d.mpg", b"%411.mpg", b" sp ace ", b"\xff\xfe", b"n\nl", &longest];
        for (number, bytes) in names.iter().enumerate() {
            let temp = base.create_temp(TaskId(number as i64)).unwrap();
            temp.write_at(b"abc", 0).unwrap();
            temp.publish(&name(bytes)).unwrap();
        }
        names.sort_unstable();
        let listed = base.entries().unwrap();
        assert!(listed.iter().map(|entry| entry.name.as_bytes()).eq(names.iter().copied()));
        assert!(listed.iter().all(|entry| entry.size == 3 && entry.modified > Millis(0)));
        for bytes in names {
            assert_eq!(base.unlink(&name(bytes)).unwrap(), Deleted::Removed);
            assert_eq!(base.unlink(&name(bytes)).unwrap(), Deleted::Absent);
        }
        assert_eq!(base.names().unwrap(), vec![]);
    }

    #[test]
    fn symlinks_are_removed_themselves_and_never_read_through() {
        let place = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        std::fs::write(&secret, b"s").unwrap();
        let base = Arc::new(BaseDir::open(place.path()).unwrap());
        symlink(&secret, place.path().join("to-file")).unwrap();
        symlink(outside.path(), place.path().join("to-dir")).unwrap();
        std::fs::create_dir(place.path().join("dir")).unwrap();

        assert_eq!(base.names().unwrap(), vec![name(b"to-dir"), name(b"to-file")]);
        assert!(base.open_file(&name(b"to-file")).is_err());
        assert!(base.open_file(&name(b"dir")).is_err());
        assert_eq!(base.unlink(&name(b"to-dir")).unwrap(), Deleted::Directory);
        assert_eq!(base.unlink(&name(b"dir")).unwrap(), Deleted::Directory);
        assert_eq!(base.unlink(&name(b"to-file")).unwrap(), Deleted::Removed);
        assert!(secret.exists());
    }

    #[test]
    fn a_temporary_file_goes_when_it_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let base = Arc::new(BaseDir::open(place.path()).unwrap());
        drop(base.create_temp(TaskId(1)).unwrap());
        assert_eq!(base.temp_entries().unwrap(), []);
    }

    #[test]
    fn a_quota_counts_copies_and_temporary_files() {
        let place = tempfile::tempdir().unwrap();
        let quota = Capacity::Quota(1000);
        let base = Arc::new(BaseDir::open(place.path()).unwrap().with_capacity(quota));
        std::fs::write(place.path().join("copy"), [0; 300]).unwrap();
        std::fs::write(place.path().join(TEMP_DIR).join("x.mpg.7"), [0; 200]).unwrap();
        let disk = base.disk().unwrap();
        assert_eq!((disk.total, disk.used, disk.avail, disk.used_percent), (1000, 500, 500, 50));
        let temp = base.create_temp(TaskId(1)).unwrap();
        temp.preallocate(400, base.reserve(400).unwrap()).unwrap();
        assert!(base.reserve(101).is_err());
        drop(temp);
        assert!(base.reserve(500).is_ok());
        assert_eq!(base.unlink(&name(b"copy")).unwrap(), Deleted::Removed);
        assert!(base.reserve(800).is_ok());
    }

    #[test]
    fn a_directory_has_one_worker() {
        let place = tempfile::tempdir().unwrap();
        let base = Arc::new(BaseDir::open(place.path()).unwrap());
        std::fs::write(place.path().join(TEMP_DIR).join("7"), b"under way").unwrap();
        let refused = BaseDir::open(place.path()).unwrap_err();
        assert!(refused.to_string().contains("another worker"), "{refused}");
        assert!(place.path().join(TEMP_DIR).join("7").exists());
        drop(base);
    }

    #[test]
    fn a_temp_dir_that_is_a_symlink_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), place.path().join(TEMP_DIR)).unwrap();
        assert!(BaseDir::open(place.path()).is_err());
    }
}
