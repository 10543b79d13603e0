//! The last flush that is known to be durable, in a small file beside sled.
//!
//! If its data are damaged, sled drops a part of them without an error. If a voter forgets acknowledged
//! entries or its vote, a majority may forget them. So every flush has a number, in the store's
//! [`StoreHead`](crate::store::database::head::StoreHead) and here. A store whose head is older than its mark
//! is not opened.
//!
//! The mark is written after every flush. It is synced once a second, when the store is idle, with
//! every vote and with every snapshot. A process that is killed therefore leaves it exact; only a
//! power loss may set it back, by a second at most.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::store::record::{BadRecord, frame, unframe};

const FILE: &str = "mark";
/// Two slots, written in turn, each in a block of its own: one torn write cannot take both.
const SLOTS: u64 = 2;
const SLOT_DISTANCE: u64 = 4096;
/// Longest encoded mark: a slot begins with its length.
const LONGEST: usize = 512;
/// How far behind the synced mark may be while the log grows.
const INTERVAL: Duration = Duration::from_secs(1);

/// The file in which stores of earlier versions kept only the log's end.
const FORMER_FILE: &str = "watermark";

/// The last state that was known to be durable. Its version is that of its frame: a mark with other fields
/// gets another one, and [`find`] also reads this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DurabilityMark {
    /// The number of the last flush.
    pub(crate) sequence: u64,
    /// One past the last entry of the log.
    pub(crate) log_end: u64,
    /// Log index of the current snapshot.
    pub(crate) snapshot: Option<u64>,
    /// The vote, as the raft layer encodes it.
    pub(crate) vote: Option<Vec<u8>>,
}

/// Result of reading a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MarkState {
    /// The file does not exist.
    Nothing,
    /// The mark exists, and is not readable.
    Damaged,
    /// The mark of an earlier version: only the log's end.
    Former { log_end: u64 },
    /// The file holds this mark.
    Mark(DurabilityMark),
}

/// Reads the mark of a store, without changing anything.
///
/// # Errors
/// The file cannot be read, or a later version wrote it.
pub(crate) fn find(dir: &Path) -> io::Result<MarkState> {
    let bytes = match fs::read(dir.join(FILE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return find_former(dir),
        Err(error) => return Err(error),
    };
    let mut newest: Option<DurabilityMark> = None;
    for slot in 0..SLOTS {
        let start = usize::try_from(slot * SLOT_DISTANCE).unwrap_or(usize::MAX);
        let Some(mark) = bytes.get(start..).map_or(Ok(None), decode)? else { continue };
        if newest.as_ref().is_none_or(|newest| newest.sequence <= mark.sequence) {
            newest = Some(mark);
        }
    }
    Ok(newest.map_or(MarkState::Damaged, MarkState::Mark))
}

fn find_former(dir: &Path) -> io::Result<MarkState> {
    let bytes = match fs::read(dir.join(FORMER_FILE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(MarkState::Nothing),
        Err(error) => return Err(error),
    };
    if bytes.is_empty() {
        return Ok(MarkState::Former { log_end: 0 });
    }
    let whole = bytes.split_first_chunk::<8>().filter(|(index, checksum)| {
        *checksum == crc32c::crc32c(index.as_slice()).to_le_bytes().as_slice()
    });
    Ok(whole.map_or(MarkState::Damaged, |(index, _)| MarkState::Former {
        log_end: u64::from_le_bytes(*index),
    }))
}

/// The open file of the mark. It never claims more than is durable in the store.
pub(crate) struct MarkFile {
    dir: PathBuf,
    file: File,
    next_slot: u64,
    synced: Instant,
    /// Whether something was written since.
    ahead: bool,
}

impl MarkFile {
    /// Opens or creates the file, and writes `mark` to it: the current state of the store.
    pub(crate) fn create(dir: &Path, mark: &DurabilityMark) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(dir.join(FILE))?;
        let mut file = MarkFile {
            dir: dir.to_owned(),
            file,
            next_slot: 0,
            synced: Instant::now(),
            ahead: true,
        };
        // Both slots, because the other one may hold a mark that must not be kept.
        for _ in 0..SLOTS {
            file.write(mark)?;
        }
        file.sync()?;
        File::open(&file.dir)?.sync_all()?;
        match fs::remove_file(file.dir.join(FORMER_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(file),
        }
    }

    /// Records that the store is durable up to `mark`.
    pub(crate) fn write(&mut self, mark: &DurabilityMark) -> io::Result<()> {
        self.file.write_all_at(&encode(mark)?, self.next_slot * SLOT_DISTANCE)?;
        self.next_slot = (self.next_slot + 1) % SLOTS;
        self.ahead = true;
        Ok(())
    }

    /// Whether the interval between two syncs is over.
    pub(crate) fn is_due(&self) -> bool {
        self.ahead && self.synced.elapsed() >= INTERVAL
    }

    /// Whether something was written that is not synced.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Syncs the file.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.ahead {
            self.file.sync_data()?;
            self.ahead = false;
        }
        self.synced = Instant::now();
        Ok(())
    }
}

fn encode(mark: &DurabilityMark) -> io::Result<Vec<u8>> {
    let body = postcard::to_stdvec(mark).map_err(io::Error::other)?;
    let record = frame(&body);
    let length = u16::try_from(record.len()).ok().filter(|&length| usize::from(length) <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("the mark is too long"))?;
    let mut slot = length.to_le_bytes().to_vec();
    slot.extend_from_slice(&record);
    Ok(slot)
}

/// The mark in a slot; none if the slot is torn.
///
/// # Errors
/// A mark of a version that is not known here.
fn decode(slot: &[u8]) -> io::Result<Option<DurabilityMark>> {
    let record = slot.split_first_chunk::<2>().and_then(|(length, rest)| {
        let length = usize::from(u16::from_le_bytes(*length));
        rest.get(..length)
    });
    match record.map(unframe) {
        Some(Ok(body)) => Ok(postcard::from_bytes(body).ok()),
        Some(Err(unknown @ BadRecord::Version(_))) => {
            Err(io::Error::other(format!("the file `{FILE}` cannot be read: {unknown}")))
        }
        Some(Err(BadRecord::Checksum)) | None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(sequence: u64) -> DurabilityMark {
        DurabilityMark {
            sequence,
            log_end: sequence * 2,
            snapshot: Some(7),
            vote: Some(vec![1, 2, 3]),
        }
    }

    #[test]
    fn the_newest_mark_is_found_and_one_torn_slot_costs_one_flush() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find(dir.path()).unwrap(), MarkState::Nothing);
        let mut file = MarkFile::create(dir.path(), &mark(1)).unwrap();
        for sequence in 2..=5 {
            file.write(&mark(sequence)).unwrap();
            assert_eq!(find(dir.path()).unwrap(), MarkState::Mark(mark(sequence)));
        }
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        let newest = usize::try_from(((file.next_slot + 1) % SLOTS) * SLOT_DISTANCE).unwrap();
        damaged[newest + 5] ^= 1;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(find(dir.path()).unwrap(), MarkState::Mark(mark(4)));
        fs::write(&path, &whole[..1]).unwrap();
        assert_eq!(find(dir.path()).unwrap(), MarkState::Damaged);
    }

    #[test]
    fn a_mark_of_a_later_version_is_refused_with_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = vec![9, 1, 2];
        record.extend(crc32c::crc32c(&record).to_le_bytes());
        let slot = [&[7, 0], record.as_slice()].concat();
        fs::write(dir.path().join(FILE), slot).unwrap();
        let error = find(dir.path()).unwrap_err().to_string();
        assert!(error.contains("version 9") && error.contains("start the version"), "{error}");
    }

    #[test]
    fn a_new_mark_replaces_the_former_one() {
        let dir = tempfile::tempdir().unwrap();
        MarkFile::create(dir.path(), &mark(9)).unwrap();
        MarkFile::create(dir.path(), &mark(3)).unwrap();
        assert_eq!(find(dir.path()).unwrap(), MarkState::Mark(mark(3)));
    }

    #[test]
    fn the_mark_of_an_earlier_version_is_read_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let former = dir.path().join(FORMER_FILE);
        let mut bytes = 70_u64.to_le_bytes().to_vec();
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        fs::write(&former, &bytes).unwrap();
        assert_eq!(find(dir.path()).unwrap(), MarkState::Former { log_end: 70 });
        bytes[0] ^= 1;
        fs::write(&former, &bytes).unwrap();
        assert_eq!(find(dir.path()).unwrap(), MarkState::Damaged);
        MarkFile::create(dir.path(), &mark(1)).unwrap();
        assert!(!former.exists());
    }
}
