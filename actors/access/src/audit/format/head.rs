//! The head of a log: a small file that says where the log begins and ends, so that a removed end is noticed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::chain::AuditPosition;
use super::row::ROW_VERSION;

/// The length of the file. One sector, so that a write is whole or not at all.
const LENGTH: usize = 512;

/// The first and the last known row of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::audit) struct AuditHead {
    /// The row before the oldest kept row.
    pub(in crate::audit) before_oldest: AuditPosition,
    /// The last row that is safe on disk.
    pub(in crate::audit) last: AuditPosition,
}

/// Version 1 of the head.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAuditHead {
    v: u32,
    before_oldest: StoredAuditPosition,
    last: StoredAuditPosition,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAuditPosition {
    seq: u64,
    hash: String,
}

/// The file of the head in the directory of a log.
pub(in crate::audit) fn path(dir: &Path) -> PathBuf {
    dir.join("head")
}

/// Reads the head. None without a file, and an error if it is not a head.
///
/// # Errors
///
/// The file cannot be read, or it is not a head of version 1.
pub(in crate::audit) fn read(dir: &Path) -> io::Result<Option<AuditHead>> {
    let bytes = match std::fs::read(path(dir)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let head = AuditHead::read(&bytes);
    head.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is not a head"))
}

/// Opens the file of the head for writing.
///
/// # Errors
///
/// Those of open(2).
pub(in crate::audit) fn open(dir: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path(dir))
}

impl AuditHead {
    fn read(bytes: &[u8]) -> Option<Self> {
        let stored: StoredAuditHead = serde_json::from_slice(bytes).ok()?;
        let head = AuditHead {
            before_oldest: position(&stored.before_oldest)?,
            last: position(&stored.last)?,
        };
        (stored.v == ROW_VERSION && head.bytes().ok()? == bytes).then_some(head)
    }

    /// The content of the file: JSON, then blanks.
    pub(in crate::audit) fn bytes(&self) -> io::Result<Vec<u8>> {
        let stored = |position: &AuditPosition| StoredAuditPosition {
            seq: position.seq,
            hash: position.hash.to_string(),
        };
        let stored = StoredAuditHead {
            v: ROW_VERSION,
            before_oldest: stored(&self.before_oldest),
            last: stored(&self.last),
        };
        let mut bytes = serde_json::to_vec(&stored)?;
        bytes.resize(LENGTH - 1, b' ');
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Replaces the content of the file, and syncs it.
    pub(in crate::audit) fn write(&self, file: &File) -> io::Result<()> {
        let bytes = self.bytes()?;
        file.write_all_at(&bytes, 0)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_data()
    }
}

fn position(stored: &StoredAuditPosition) -> Option<AuditPosition> {
    Some(AuditPosition { seq: stored.seq, hash: stored.hash.parse().ok()? })
}
