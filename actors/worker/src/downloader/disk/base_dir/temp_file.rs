//! One temporary file: written in large aligned pieces, if possible without the page cache, then synced, and
//! renamed to its final name.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reelyard_core::names::FileName;
use reelyard_file_server::open_regular::open_regular_at;
use reelyard_protocol::worker::TaskId;
use rustix::fs::{
    AtFlags, FallocateFlags, Mode, OFlags, fallocate, fcntl_getfl, fcntl_setfl, fsync, ftruncate,
    openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::BaseDir;
use super::file_syncs::ErrorsBefore;
use crate::downloader::disk::room::Reservation;

/// The alignment of direct writes in the file and in memory: a multiple of every sector size.
pub const ALIGNMENT: usize = 4096;

/// Bytes written into the page cache at once. For larger pieces the kernel uses larger runs of memory. A
/// virtual machine may have returned these to the host. Getting them again took ten times as long as copying
/// into them.
const CACHED_PIECE: usize = 16 << 10;

/// A temporary file of one task. Dropped without [`TempFile::publish`] or [`TempFile::keep`], it
/// is removed.
#[derive(Debug)]
pub struct TempFile {
    pub(super) base: Arc<BaseDir>,
    pub(super) file: File,
    /// The name is only the number of the task, because a master's name may already be 255 bytes long.
    pub(super) name: String,
    pub(super) stays: bool,
    errors_before: ErrorsBefore,
    /// Whether writes bypass the page cache.
    pub(super) direct: AtomicBool,
}

impl TempFile {
    pub(super) fn new(
        base: Arc<BaseDir>,
        file: File,
        name: String,
        errors_before: ErrorsBefore,
    ) -> Self {
        let direct = AtomicBool::new(false);
        TempFile { base, file, name, stays: false, errors_before, direct }
    }

    /// The open file, for reads and writes.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Allocates disk space up to `size` bytes, out of the reservation, so that a copy that cannot fit
    /// fails before its first byte. On file systems that cannot do this the reservation is returned. The
    /// caller must hold it while the file is written.
    pub fn preallocate(
        &self,
        size: u64,
        reservation: Reservation,
    ) -> io::Result<Option<Reservation>> {
        let allocated = match size {
            0 => Ok(()),
            _ => fallocate(&self.file, FallocateFlags::empty(), 0, size),
        };
        match allocated {
            Ok(()) => {
                reservation.consume();
                Ok(None)
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Some(reservation)),
            Err(error) => Err(error.into()),
        }
    }

    /// Aligned writes bypass the page cache from here on. A file that is copied once would only evict files
    /// that are being watched, and cost a second pass over the memory. If a file system does not support
    /// this, it is written as usual.
    pub fn write_directly(&self) {
        self.direct.store(self.set_direct(true).is_ok(), Ordering::Relaxed);
    }

    fn set_direct(&self, direct: bool) -> io::Result<()> {
        let flags = fcntl_getfl(&self.file)?;
        let flags = if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
        Ok(fcntl_setfl(&self.file, flags)?)
    }

    /// Writes all of `bytes` at `position`. Directly, if both are aligned and direct writes were requested.
    pub fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        if !self.direct.load(Ordering::Relaxed) {
            return self.write_into_cache(bytes, position);
        }
        let aligned = bytes.len() - bytes.len() % ALIGNMENT;
        let (first, tail) = bytes.split_at(aligned);
        match self.file.write_all_at(first, position) {
            // The file system accepts the flag, but not the write.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                self.write_through_cache(bytes, position)
            }
            Err(error) => Err(error),
            Ok(()) if tail.is_empty() => Ok(()),
            Ok(()) => self.write_through_cache(tail, position + aligned as u64),
        }
    }

    fn write_through_cache(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.set_direct(false)?;
        self.direct.store(false, Ordering::Relaxed);
        self.write_into_cache(bytes, position)
    }

    fn write_into_cache(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        let mut pieces = bytes.chunks(CACHED_PIECE).zip((position..).step_by(CACHED_PIECE));
        pieces.try_for_each(|(piece, at)| self.file.write_all_at(piece, at))
    }

    /// Makes the written bytes durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Cuts the file to its first `length` bytes, and releases the reserved room behind them.
    pub fn cut(&self, length: u64) -> io::Result<()> {
        ftruncate(&self.file, length)?;
        self.base.ledger.recount();
        Ok(())
    }

    /// Leaves the file for a later attempt, cut to its first `length` bytes.
    pub fn keep(mut self, length: u64) -> io::Result<()> {
        self.cut(length)?;
        self.stays = true;
        Ok(())
    }

    /// Renames the file to `name`, over an existing file. Its content is durable; the caller must make the
    /// new name durable too.
    fn rename_to(mut self, name: &FileName) -> io::Result<()> {
        renameat(&self.base.temp, self.name.as_bytes(), &self.base.dir, name.as_bytes())?;
        self.stays = true;
        Ok(())
    }

    /// Makes the bytes durable, renames the file to `name` (over an existing file), and makes the name
    /// durable too.
    pub fn publish(self, name: &FileName) -> io::Result<()> {
        let base = Arc::clone(&self.base);
        base.publish(vec![(self, name.clone())]).into_iter().collect()
    }
}

impl BaseDir {
    /// Creates the empty temporary file of `task`. A file from an earlier attempt is replaced.
    pub fn create_temp(self: &Arc<Self>, task: TaskId) -> io::Result<TempFile> {
        let errors_before = self.syncs.errors_before();
        let name = task.to_string();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let create =
            || openat(&self.temp, &name, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o644));
        let file = match create() {
            Err(Errno::EXIST) => {
                self.remove_temp(task)?;
                create()?
            }
            created => created?,
        };
        Ok(TempFile::new(Arc::clone(self), File::from(file), name, errors_before))
    }

    /// Opens the kept temporary file of `task`, for further writes.
    pub fn open_temp(self: &Arc<Self>, task: TaskId) -> io::Result<TempFile> {
        let errors_before = self.syncs.errors_before();
        let name = task.to_string();
        let file = open_regular_at(&self.temp, name.as_bytes(), OFlags::WRONLY)?;
        Ok(TempFile::new(Arc::clone(self), file, name, errors_before))
    }

    /// Adopts a file of another program as the temporary file of `task`, for reading.
    pub fn adopt_temp(self: &Arc<Self>, task: TaskId) -> io::Result<TempFile> {
        let errors_before = self.syncs.errors_before();
        let name = task.to_string();
        let file = open_regular_at(&self.temp, name.as_bytes(), OFlags::RDONLY)?;
        Ok(TempFile::new(Arc::clone(self), file, name, errors_before))
    }

    /// Publishes many files, each as [`TempFile::publish`] does, with as few syncs as possible. Answers in
    /// their order.
    pub fn publish(&self, files: Vec<(TempFile, FileName)>) -> Vec<io::Result<()>> {
        let written = files.iter().map(|(temp, _)| (&temp.file, temp.errors_before));
        let synced = self.syncs.make_durable(&written.collect::<Vec<_>>());
        let files = files.into_iter().zip(synced);
        let place = files.map(|((temp, name), synced)| synced.and_then(|()| temp.rename_to(&name)));
        let placed: Vec<_> = place.collect();
        match fsync(&self.dir) {
            Ok(()) => placed,
            Err(error) => placed.into_iter().map(|placed| placed.and(Err(error.into()))).collect(),
        }
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.stays {
            // If the file stays now, the next start removes it.
            let _ = unlinkat(&self.base.temp, self.name.as_bytes(), AtFlags::empty());
            self.base.ledger.recount();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use reelyard_protocol::worker::TaskId;

    use super::*;
    use crate::downloader::disk::base_dir::TEMP_DIR;

    /// Aligned memory of `size` bytes that begin at some number.
    fn aligned(size: usize) -> (Vec<u8>, usize) {
        let mut space: Vec<u8> = (0..size + ALIGNMENT).map(|byte| (byte % 251) as u8).collect();
        let offset = space.as_ptr().align_offset(ALIGNMENT);
        space.truncate(offset + size);
        (space, offset)
    }

    fn written_directly(place: &Path, size: usize) {
        let base = Arc::new(BaseDir::open(place).unwrap());
        let (space, offset) = aligned(size);
        let temp = base.create_temp(TaskId(1)).unwrap();
        let reservation = base.reserve(size as u64).unwrap();
        temp.preallocate(size as u64, reservation).unwrap();
        temp.write_directly();
        for (number, piece) in space[offset..].chunks(4 * ALIGNMENT).enumerate() {
            temp.write_at(piece, (number * 4 * ALIGNMENT) as u64).unwrap();
        }
        temp.publish(&FileName::new("x").unwrap()).unwrap();
        assert!(std::fs::read(place.join("x")).unwrap() == space[offset..], "{size}");
    }

    #[test]
    fn whatever_its_size_a_file_written_directly_has_its_bytes() {
        // Beside the sources, where the file system is a real one more often than in /tmp.
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for place in [tempfile::tempdir().unwrap(), tempfile::tempdir_in(here).unwrap()] {
            for size in [1, ALIGNMENT, 5 * ALIGNMENT, 8 * ALIGNMENT + 1, 11 * ALIGNMENT - 1] {
                written_directly(place.path(), size);
            }
        }
    }

    #[test]
    fn a_file_that_is_kept_gives_its_room_back() {
        let place = tempfile::tempdir().unwrap();
        let base = Arc::new(BaseDir::open(place.path()).unwrap());
        let temp = base.create_temp(TaskId(1)).unwrap();
        let reservation = base.reserve(1 << 20).unwrap();
        temp.preallocate(1 << 20, reservation).unwrap();
        temp.write_at(b"abc", 0).unwrap();
        temp.keep(2).unwrap();
        assert_eq!(std::fs::read(place.path().join(TEMP_DIR).join("1")).unwrap(), b"ab");
        let again = base.open_temp(TaskId(1)).unwrap();
        again.write_at(b"xyz", 2).unwrap();
        again.publish(&FileName::new("x").unwrap()).unwrap();
        assert_eq!(std::fs::read(place.path().join("x")).unwrap(), b"abxyz");
    }
}
