//! Entries of the log that no owner applies, because an operator said so. A program that cannot apply a committed entry
//! would end at each start. A file beside sled names them, in a line of JSON and a line with its CRC-32C.
//!
//! A backup does not contain the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checked_line;

const FILE: &str = "skipped";

/// One entry that is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedEntry {
    /// Its index in the log.
    pub index: u64,
    /// CRC-32C of the entry. It contains the term, too.
    pub checksum: u32,
    /// The reason of the operator.
    pub reason: String,
}

/// The versions of the stored form.
#[derive(Serialize, Deserialize)]
#[serde(tag = "version")]
enum StoredSkips {
    #[serde(rename = "1")]
    V1 { entries: Vec<SkippedEntry> },
}

/// All entries that are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SkippedEntries(Vec<SkippedEntry>);

/// The file names an entry, and the log has another one at its index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the file `{FILE}` names another entry: remove the file, and run \"reelyard store skip\" again"
)]
pub(crate) struct AnotherEntry;

impl SkippedEntry {
    /// The entry with these stored bytes.
    pub(crate) fn of(index: u64, stored: &[u8], reason: &str) -> Self {
        SkippedEntry { index, checksum: crc32c::crc32c(stored), reason: reason.to_owned() }
    }
}

impl SkippedEntries {
    /// Removes the file of the store in `dir`, if there is one.
    pub(crate) fn remove(dir: &Path) -> io::Result<()> {
        match fs::remove_file(dir.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the file of the store in `dir`.
    ///
    /// # Errors
    /// The file is damaged, or of a later version.
    pub(crate) fn read(dir: &Path) -> io::Result<Self> {
        let bytes = match fs::read(dir.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let line = checked_line::read(&bytes);
        let stored = line.and_then(|line| serde_json::from_str(line).ok());
        let Some(StoredSkips::V1 { entries }) = stored else {
            let why = "the file `skipped` is damaged or of a later version: start the version of reelyard that wrote it";
            return Err(io::Error::other(why));
        };
        Ok(SkippedEntries(entries))
    }

    /// Adds an entry, and writes the file durably.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn add(mut self, dir: &Path, entry: SkippedEntry) -> io::Result<()> {
        self.0.retain(|known| known.index != entry.index);
        self.0.push(entry);
        let line = serde_json::to_string(&StoredSkips::V1 { entries: self.0 })?;
        let partial = dir.join("skipped.partial");
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).truncate(true).write(true).mode(0o600).open(&partial)?;
        file.write_all(checked_line::write(&line).as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, dir.join(FILE))?;
        File::open(dir)?.sync_all()
    }

    /// Whether the entry with these stored bytes is skipped. They are made only if the index is named.
    ///
    /// # Errors
    /// Another entry of this index is skipped.
    pub(crate) fn contains(
        &self,
        index: u64,
        stored: impl FnOnce() -> Vec<u8>,
    ) -> Result<bool, AnotherEntry> {
        let Some(skipped) = self.0.iter().find(|skipped| skipped.index == index) else {
            return Ok(false);
        };
        if crc32c::crc32c(&stored()) == skipped.checksum { Ok(true) } else { Err(AnotherEntry) }
    }

    /// Index and checksum of this many of them, the highest indices first.
    pub(crate) fn newest(&self, most: usize) -> Vec<(u64, u32)> {
        let mut entries: Vec<_> =
            self.0.iter().map(|entry| (entry.index, entry.checksum)).collect();
        entries.sort_unstable_by(|one, other| other.cmp(one));
        entries.truncate(most);
        entries
    }

    /// The entries, in the order in which they were added.
    pub(crate) fn into_entries(self) -> Vec<SkippedEntry> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_entry_is_known_by_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(SkippedEntries::read(dir.path()).unwrap(), SkippedEntries::default());
        let entry = SkippedEntry::of(7, b"an entry", "apply panics");
        SkippedEntries::default().add(dir.path(), entry.clone()).unwrap();
        let read = SkippedEntries::read(dir.path()).unwrap();
        let contains = |index, bytes: &[u8]| read.contains(index, || bytes.to_vec());
        assert_eq!(contains(7, b"an entry"), Ok(true));
        assert_eq!(contains(7, b"another"), Err(AnotherEntry));
        assert_eq!(contains(8, b"an entry"), Ok(false));
        assert_eq!(read.newest(9), [(7, entry.checksum)]);
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        let kept = r#"{"version":"1","entries":[{"index":7,"checksum":3364057014,"reason":"apply panics"}]}"#;
        assert_eq!(text.lines().next(), Some(kept), "give it another version");
        fs::write(dir.path().join(FILE), text.replace("7", "9")).unwrap();
        assert!(SkippedEntries::read(dir.path()).is_err());
    }
}
