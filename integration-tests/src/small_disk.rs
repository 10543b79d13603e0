//! A disk that can really be filled: a small tmpfs, mounted as root or by sudo.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

fn as_root(program: &str) -> Command {
    if rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    // A question for a password would wait for ever.
    command.args(["--non-interactive", program]);
    command
}

/// A mounted tmpfs; unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of `mebibytes` on the directory `place`.
    ///
    /// # Panics
    /// When it cannot be mounted.
    pub fn mount(place: &Path, mebibytes: u64) -> Self {
        let mounted = as_root("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=1777"), "tmpfs"])
            .arg(place)
            .status();
        let mounted = mounted.is_ok_and(|status| status.success());
        assert!(mounted, "a tmpfs cannot be mounted: root or sudo is needed");
        SmallDisk(place.to_owned())
    }

    /// Fills it to the last byte, as another program would.
    ///
    /// # Panics
    /// When writing fails for another reason than want of room.
    pub fn fill(&self) {
        fill(&self.0);
    }

    /// Makes room again.
    pub fn clear(&self) {
        let _ = fs::remove_file(self.0.join(FILLER));
    }
}

const FILLER: &str = "filler";

/// Fills the file system of `dir` to the last byte.
///
/// # Panics
/// When writing fails for another reason than want of room.
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
        // Lazily: what is under test may not have let go of it when the test fails.
        let unmounted = as_root("umount").arg("--lazy").arg(&self.0).status();
        assert!(unmounted.is_ok() || std::thread::panicking());
    }
}
