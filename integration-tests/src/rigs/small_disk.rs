//! A small disk that a test can fill: a tmpfs, mounted as root or with sudo.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

fn as_root(program: &str) -> Command {
    if rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    // A password prompt would block the test.
    command.args(["--non-interactive", program]);
    command
}

/// A mounted tmpfs. Dropping it unmounts it.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a tmpfs of `mebibytes` on the directory `place`.
    ///
    /// # Panics
    /// Panics when the mount fails.
    pub fn mount(place: &Path, mebibytes: u64) -> Self {
        let mounted = SmallDisk::try_mount(place, mebibytes);
        mounted.unwrap_or_else(|| panic!("a tmpfs cannot be mounted: root or sudo is needed"))
    }

    /// The same. None when the mount fails, because this needs root or sudo.
    pub fn try_mount(place: &Path, mebibytes: u64) -> Option<Self> {
        let mounted = as_root("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=1777"), "tmpfs"])
            .arg(place)
            .status();
        let mounted = mounted.is_ok_and(|status| status.success());
        mounted.then(|| SmallDisk(place.to_owned()))
    }

    /// Fills the disk to the last byte, as another program does.
    ///
    /// # Panics
    /// Panics when a write fails for another reason than a full disk.
    pub fn fill(&self) {
        fill(&self.0);
    }

    /// Removes the file of [`SmallDisk::fill`].
    pub fn clear(&self) {
        let _ = fs::remove_file(self.0.join(FILLER));
    }
}

const FILLER: &str = "filler";

/// Fills the file system of `dir` to the last byte.
///
/// # Panics
/// Panics when a write fails for another reason than a full disk.
pub fn fill(dir: &Path) {
    let filler = File::options().create(true).append(true).open(dir.join(FILLER));
    let mut filler = filler.unwrap_or_else(|error| panic!("{dir:?}: {error}"));
    let mut block = vec![7; 1 << 20];
    while !block.is_empty() {
        match filler.write(&block) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                block.truncate(block.len() / 2);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A lazy unmount: after a failed test the program may still have open files there.
        let unmounted = as_root("umount").arg("--lazy").arg(&self.0).status();
        assert!(unmounted.is_ok() || std::thread::panicking());
    }
}
