//! The files of the access log in the data directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::private_dir;

const PREFIX: &str = "downloads-";
const SUFFIX: &str = ".jsonl";

/// A file gets no more lines beyond this size.
const LARGEST_FILE: u64 = 8 << 20;

/// A file gets no more lines after this time.
const LONGEST_FILE: Duration = Duration::from_secs(24 * 3600);

/// Largest number of files. The oldest one is removed for a new one.
const MOST_FILES: usize = 32;

/// The file of the log that was created at this time.
pub(super) fn path(dir: &Path, created: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{created:016}{SUFFIX}"))
}

/// The creation times of all files, oldest first.
///
/// # Errors
///
/// The directory cannot be read.
pub(super) fn list(dir: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut all = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let created = name.and_then(|name| name.strip_suffix(SUFFIX)?.parse::<u64>().ok());
        all.extend(created);
    }
    all.sort_unstable();
    Ok(all)
}

/// An open file of the log.
pub(super) struct OpenLog {
    file: File,
    bytes: u64,
    created: Millis,
}

impl OpenLog {
    /// Opens a file that another program rotates.
    pub(super) fn foreign(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(OpenLog { file, bytes: 0, created: Millis(0) })
    }

    /// Opens a new file in `dir`, and removes those that are older than `keep` or too many.
    pub(super) fn own(dir: &Path, keep: Duration, now: Millis) -> io::Result<Self> {
        private_dir::create(dir)?;
        let all = list(dir)?;
        let created = u64::try_from(now.0).unwrap_or(0);
        let oldest = u64::try_from(now.before(keep).0).unwrap_or(0);
        for (place, file) in all.iter().enumerate() {
            // Lines of a file are older than the next file.
            let next = all.get(place + 1).copied().unwrap_or(created);
            if next < oldest || all.len() - place >= MOST_FILES {
                fs::remove_file(path(dir, *file))?;
            }
        }
        let path = path(dir, created);
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(OpenLog { file, bytes, created: now })
    }

    /// Whether a file of the node must be replaced by a new one.
    pub(super) fn is_full(&self, keep: Duration, now: Millis) -> bool {
        let longest = (keep / 8).min(LONGEST_FILE);
        self.bytes >= LARGEST_FILE || now.since(self.created) >= longest
    }

    /// Appends lines.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines)?;
        self.bytes += lines.len() as u64;
        Ok(())
    }
}
