//! The file of the checkpoint. Blocking: only jobs use it, never the actor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reelyard_core::names::NameTable;

use super::counted_demand::{CountedDemand, CountedLogs};
pub use super::stored_demand::CheckpointFault;
use super::stored_demand::{read, write};
use crate::catalog::popularity::demand_memory::DemandMemory;
use crate::catalog::popularity::half_lives::HalfLives;
use crate::catalog::popularity::served_requests::ServedRequests;

/// Where the checkpoint is, and whether it is to be written. Clones share both.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    is_requested: Arc<AtomicBool>,
    /// Whether another reader of the logs has taken over. A job that still runs then writes nothing more.
    is_replaced: Arc<AtomicBool>,
    /// Held during a write. Readers that take over share it.
    writing: Arc<Mutex<()>>,
}

impl CheckpointFile {
    /// The checkpoint at `path`. Nothing is read yet.
    pub fn new(path: &Path) -> Self {
        CheckpointFile {
            path: path.to_owned(),
            is_requested: Arc::default(),
            is_replaced: Arc::default(),
            writing: Arc::default(),
        }
    }

    /// The same checkpoint for another reader of the logs. The holders of this value write nothing more.
    pub fn hand_over(&self) -> Self {
        self.is_replaced.store(true, Ordering::Relaxed);
        CheckpointFile { writing: Arc::clone(&self.writing), ..CheckpointFile::new(&self.path) }
    }

    /// The path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Requests that the next look at the log writes it.
    pub fn request(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
    }

    /// Whether it was requested since the last call of this function.
    pub fn take_request(&self) -> bool {
        self.is_requested.swap(false, Ordering::Relaxed)
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn load(
        &self,
        names: &NameTable,
        half_lives: HalfLives,
    ) -> Result<CountedDemand, CheckpointFault> {
        let file = File::open(&self.path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => CheckpointFault::Missing,
            _ => CheckpointFault::Unreadable(error),
        })?;
        read(BufReader::with_capacity(1 << 16, file), names, half_lives)
    }

    /// Replaces it: the content is on disk before it gets the name. Only its owner can read it. Writes nothing after
    /// [`CheckpointFile::hand_over`].
    ///
    /// # Errors
    /// When it cannot be written. The earlier checkpoint is then unchanged.
    pub fn save(
        &self,
        memory: &mut DemandMemory,
        served: &ServedRequests,
        logs: &CountedLogs,
        names: &NameTable,
    ) -> io::Result<()> {
        // A panic under the lock leaves a file that the next write replaces.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_replaced.load(Ordering::Relaxed) {
            return Ok(());
        }
        let beside = self.path.with_extension("new");
        let written = write_file(&beside, memory, served, logs, names)
            .and_then(|()| fs::rename(&beside, &self.path));
        if written.is_err() {
            // A full disk gets its space back. Without the file there is nothing to remove.
            let _ = fs::remove_file(&beside);
        }
        written?;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    }
}

fn write_file(
    path: &Path,
    memory: &mut DemandMemory,
    served: &ServedRequests,
    logs: &CountedLogs,
    names: &NameTable,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    write(BufWriter::with_capacity(1 << 16, &file), memory, served, logs, names)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::settings::popularity::HalfLife;

    #[test]
    fn only_the_owner_reads_it_and_a_failed_write_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = CheckpointFile::new(&dir.path().join("demand"));
        let half_lives = HalfLives::of(HalfLife::Auto);
        let names = NameTable::new();
        let fault = file.load(&names, half_lives).unwrap_err();
        assert!(matches!(fault, CheckpointFault::Missing));
        let save = |file: &CheckpointFile| {
            let mut memory = DemandMemory::new(half_lives);
            file.save(&mut memory, &ServedRequests::default(), &CountedLogs::new(), &names)
        };
        save(&file).unwrap();
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let names_in_dir = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(names_in_dir, 1, "nothing is left beside it");
        let after = file.hand_over();
        fs::remove_file(file.path()).unwrap();
        save(&file).unwrap();
        assert!(!file.path().exists(), "a reader that was replaced writes nothing");
        save(&after).unwrap();
        fs::create_dir(dir.path().join("demand.new")).unwrap();
        save(&after).unwrap_err();
        after.load(&names, half_lives).unwrap();
    }

    #[test]
    fn a_request_is_taken_once() {
        let file = CheckpointFile::new(Path::new("demand"));
        file.clone().request();
        assert_eq!([file.take_request(), file.take_request()], [true, false]);
    }
}
