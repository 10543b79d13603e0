//! The directory a destination keeps its copies in, held open: every name is looked up relative
//! to the handle and never followed, so that none can lead out of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags, Stat, fallocate,
    flock, fstatvfs, fsync, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::cfw_worker::{Deleted, DiskFigures};
use crate::clock::Millis;
use crate::names::FileName;
use crate::wire::worker::TaskId;

/// Where copies under way stand, inside the base directory (spec 2.5).
pub const TEMP_DIR: &str = "temp.downloaded";

/// An open base directory, and the directory of its temporary files.
#[derive(Debug)]
pub struct BaseDir {
    dir: OwnedFd,
    temp: OwnedFd,
}

/// One entry of a base directory: a file, or anything else that is not a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: FileName,
    /// Its size in bytes.
    pub size: u64,
    /// When its contents last changed.
    pub modified: Millis,
}

/// A temporary file of one task. Dropped without [`TempFile::publish`], it is removed.
#[derive(Debug)]
pub struct TempFile<'dir> {
    base: &'dir BaseDir,
    file: File,
    /// The task's number and nothing else: a master's name may be 255 bytes long already.
    name: String,
    published: bool,
}

impl BaseDir {
    /// Opens the directory at `path`, makes its `temp.downloaded` if there is none, and removes
    /// the files that an earlier run left there. One worker a directory: another would take the
    /// first one's temporary files for such.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, path, flags, Mode::empty())?;
        match mkdirat(&dir, TEMP_DIR, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // A symlink here would carry every temporary file to wherever it points.
        let temp = openat(&dir, TEMP_DIR, flags | OFlags::NOFOLLOW, Mode::empty())?;
        lock(&temp)?;
        let base = BaseDir { dir, temp };
        base.remove_stale_temp_files()?;
        Ok(base)
    }

    fn remove_stale_temp_files(&self) -> io::Result<()> {
        for name in names_of_files(&self.temp)? {
            unlinkat(&self.temp, name.as_bytes(), AtFlags::empty())?;
        }
        Ok(())
    }

    /// The names `GET /files` lists: everything that is not a directory by lstat, hidden files
    /// and symlinks included, sorted by their bytes (spec 2.2).
    pub fn names(&self) -> io::Result<Vec<FileName>> {
        names_of_files(&self.dir)
    }

    /// What [`BaseDir::names`] lists, with size and time of each. A file that vanishes meanwhile
    /// is left out.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for name in self.names()? {
            entries.extend(self.entry(&name)?);
        }
        Ok(entries)
    }

    /// What stands at `name`; none when there is nothing, or a directory.
    pub fn entry(&self, name: &FileName) -> io::Result<Option<Entry>> {
        match self.lstat(name) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Ok(None),
            Ok(stat) => Ok(Some(Entry {
                name: name.clone(),
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified_at(&stat),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The open directory, to be watched.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    fn lstat(&self, name: &FileName) -> Result<Stat, Errno> {
        statat(&self.dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Removes `name` and answers as cfw does: a symlink is removed itself, unless it points to a
    /// directory (spec 2.2).
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
            Ok(()) => Ok(Deleted::Removed),
            Err(Errno::NOENT) => Ok(Deleted::Absent),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens `name` for reading if it is a regular file.
    pub fn open_file(&self, name: &FileName) -> io::Result<File> {
        open_regular(&self.dir, name)
    }

    /// The disk the directory is on.
    pub fn disk(&self) -> io::Result<DiskFigures> {
        let figures = fstatvfs(&self.dir)?;
        let bytes = |blocks: u64| blocks.saturating_mul(figures.f_frsize);
        Ok(disk_figures(bytes(figures.f_blocks), bytes(figures.f_bfree), bytes(figures.f_bavail)))
    }

    /// Makes the temporary file of `task`, empty; one that stands there from an earlier attempt is
    /// replaced.
    pub fn create_temp(&self, task: TaskId) -> io::Result<TempFile<'_>> {
        self.remove_temp(task)?;
        let name = task.to_string();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.temp, &name, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o644))?;
        Ok(TempFile { base: self, file: File::from(file), name, published: false })
    }

    /// Removes the temporary file of `task`, if there is one.
    pub fn remove_temp(&self, task: TaskId) -> io::Result<()> {
        match unlinkat(&self.temp, task.to_string(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes over what another program wrote as the temporary file of `task`, for reading.
    pub fn adopt_temp(&self, task: TaskId) -> io::Result<TempFile<'_>> {
        let name = task.to_string();
        let file = open_regular_at(&self.temp, name.as_bytes())?;
        Ok(TempFile { base: self, file, name, published: false })
    }
}

impl TempFile<'_> {
    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Sets `size` bytes of the disk aside, so that a copy that cannot fit fails before its first
    /// byte. File systems that cannot do this are left to fail later.
    pub fn preallocate(&self, size: u64) -> io::Result<()> {
        if size == 0 {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::empty(), 0, size) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the bytes durable, puts the file into place under `name` (over whatever file is
    /// there) and makes that durable too.
    pub fn publish(mut self, name: &FileName) -> io::Result<()> {
        self.file.sync_all()?;
        renameat(&self.base.temp, self.name.as_bytes(), &self.base.dir, name.as_bytes())?;
        self.published = true;
        fsync(&self.base.dir)?;
        Ok(())
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.published {
            // What cannot be removed now is removed at the next start.
            let _ = unlinkat(&self.base.temp, self.name.as_bytes(), AtFlags::empty());
        }
    }
}

/// Opens `name` in `dir` for reading, if it is a regular file. Symlinks are not followed, and a
/// FIFO does not block.
pub fn open_regular(dir: impl AsFd, name: &FileName) -> io::Result<File> {
    open_regular_at(dir, name.as_bytes())
}

fn open_regular_at(dir: impl AsFd, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(dir, name, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// The disk figures from sizes in bytes, rounded as cfw rounds them: half a percent up (spec 2.2).
pub fn disk_figures(total: u64, free: u64, avail: u64) -> DiskFigures {
    let used = total.saturating_sub(free);
    let capacity = u128::from(used) + u128::from(avail);
    // floor(100 * used / capacity + 1/2), in whole numbers.
    let percent = (200 * u128::from(used) + capacity).checked_div(2 * capacity).unwrap_or(0);
    let used_percent = u32::try_from(percent).unwrap_or(100);
    DiskFigures { total, used, avail, free, used_percent }
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
        // The kernel hands out only names that are file names; `.` and `..` were directories.
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
    let held = |_| io::Error::other("another worker uses it: each needs a directory of its own");
    flock(temp, FlockOperation::NonBlockingLockExclusive).map_err(held)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(bytes: &[u8]) -> FileName {
        FileName::new(bytes).unwrap()
    }

    #[test]
    fn a_copy_of_any_name_is_published_listed_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let base = BaseDir::open(place.path()).unwrap();
        let longest = [b'x'; 255];
        let mut names: Vec<&[u8]> =
            vec![b"a#b.mpg", b"c?d.mpg", b"%411.mpg", b" sp ace ", b"\xff\xfe", b"n\nl", &longest];
        for (number, bytes) in names.iter().enumerate() {
            let temp = base.create_temp(TaskId(number as i64)).unwrap();
            temp.preallocate(3).unwrap();
            temp.file().write_all(b"abc").unwrap();
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
        let base = BaseDir::open(place.path()).unwrap();
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
    fn temporary_files_go_when_dropped_and_at_start() {
        let place = tempfile::tempdir().unwrap();
        let temp_dir = place.path().join(TEMP_DIR);
        let base = BaseDir::open(place.path()).unwrap();
        drop(base.create_temp(TaskId(1)).unwrap());
        assert_eq!(std::fs::read_dir(&temp_dir).unwrap().count(), 0);
        std::fs::write(temp_dir.join("left behind"), b"x").unwrap();
        drop(base);
        BaseDir::open(place.path()).unwrap();
        assert_eq!(std::fs::read_dir(&temp_dir).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_has_one_worker() {
        let place = tempfile::tempdir().unwrap();
        let base = BaseDir::open(place.path()).unwrap();
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

    #[test]
    fn percent_is_rounded_half_up_and_zero_for_an_empty_disk() {
        // The figures of spec 2.2.
        let figures = disk_figures(314_913_513_472, 113_976_459_264, 97_956_167_680);
        assert_eq!(figures.used, 200_937_054_208);
        assert_eq!(figures.used_percent, 67);
        assert_eq!(disk_figures(200, 199, 199).used_percent, 1);
        assert_eq!(disk_figures(1000, 996, 996).used_percent, 0);
        assert_eq!(disk_figures(0, 0, 0).used_percent, 0);
    }
}
