//! The confirmed time across restarts of the process, until the machine reboots.
//!
//! A file has the boot, and the difference between the confirmed time and the machine's uptime. A process
//! that starts in the same boot gets the confirmed time from it, even if the wall clock was set. After
//! another boot the file is useless. So it need not survive a power failure, and is never synced.
//!
//! The file has two words. Another form gets another number of words: a program ignores a file that it does
//! not know, as it ignores one of another boot.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;

/// A note with a smaller error than this is kept, in milliseconds.
const GOOD_ENOUGH: i64 = 100;

/// The file, and its current content.
#[derive(Debug)]
pub struct Anchor {
    path: PathBuf,
    boot: BootId,
    /// How many milliseconds the confirmed time is ahead of the uptime.
    ahead: Option<i64>,
}

impl Anchor {
    /// The content of the file at `path`, if it is of this boot. Reads two small files.
    ///
    /// # Errors
    /// When the kernel does not say which boot this is.
    pub fn open(path: &Path) -> io::Result<Self> {
        let boot = BootId::of_this_machine()?;
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let ahead = match text.split_whitespace().collect::<Vec<_>>().as_slice() {
            [of, ahead] if *of == boot.to_string() => ahead.parse().ok(),
            _ => None,
        };
        Ok(Anchor { path: path.to_owned(), boot, ahead })
    }

    /// The confirmed time by this file; none if the file is from another boot.
    pub fn time(&self, uptime: Duration) -> Option<Millis> {
        self.ahead.map(|ahead| Millis(ahead).after(uptime))
    }

    /// The note to write, if the confirmed time differs from the file.
    pub fn update(&mut self, now: Millis, uptime: Duration) -> Option<AnchorUpdate> {
        let ahead = now.before(uptime).0;
        let is_same = self.ahead.is_some_and(|last| (last - ahead).abs() < GOOD_ENOUGH);
        if is_same {
            return None;
        }
        self.ahead = Some(ahead);
        let text = format!("{} {ahead}\n", self.boot);
        Some(AnchorUpdate { path: self.path.clone(), text })
    }
}

/// A new content of the anchor file.
#[derive(Debug)]
pub struct AnchorUpdate {
    path: PathBuf,
    text: String,
}

impl AnchorUpdate {
    /// Writes the file, which only its owner may read. Blocking.
    pub fn write(self) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(self.text.as_bytes())?;
        std::fs::rename(beside, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_continues_within_a_boot_and_is_unknown_in_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("share-clock");
        let seconds = Duration::from_secs;
        let mut anchor = Anchor::open(&path).unwrap();
        assert_eq!(anchor.time(seconds(5)), None);
        anchor.update(Millis(1_000_000), seconds(10)).unwrap().write().unwrap();
        assert!(anchor.update(Millis(1_005_050), seconds(15)).is_none(), "near enough");
        let mut again = Anchor::open(&path).unwrap();
        assert_eq!(again.time(seconds(60)), Some(Millis(1_050_000)));
        again.boot = BootId::from(7);
        again.update(Millis(9), seconds(1)).unwrap().write().unwrap();
        assert_eq!(Anchor::open(&path).unwrap().time(seconds(60)), None);
        let later = format!("{} 1 2", BootId::of_this_machine().unwrap());
        for unknown in ["", "x", "a b c", "\0\0\0", &later] {
            std::fs::write(&path, unknown).unwrap();
            assert_eq!(Anchor::open(&path).unwrap().time(seconds(60)), None);
        }
    }

    #[test]
    fn stored_bytes_of_the_anchor_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("share-clock");
        let mut anchor = Anchor::open(&path).unwrap();
        let boot = anchor.boot.to_string();
        anchor.update(Millis(1_000_000), Duration::from_secs(10)).unwrap().write().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{boot} 990000\n"));
    }
}
