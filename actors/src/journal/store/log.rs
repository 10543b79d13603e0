//! The log's rows: one tree per segment of entries, purged by dropping whole trees.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::record::{LARGEST_VALUE, frame, unframe};
use super::{PURGED, StoreError};

/// How many entries share a tree.
const SEGMENT_ENTRIES: u64 = 1024;
const TREE_PREFIX: &str = "log/";

/// How far the log was purged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Purged {
    /// The last purged entry.
    pub(crate) index: u64,
    /// Its full log id, as the raft layer encodes it.
    pub(crate) log_id: Vec<u8>,
}

/// The rows of the log, by index.
pub(crate) struct LogTrees {
    db: sled::Db,
    segments: Mutex<Segments>,
}

#[derive(Default)]
struct Segments {
    trees: BTreeMap<u64, Segment>,
    /// One past the last entry, purged ones included.
    end: u64,
}

struct Segment {
    tree: sled::Tree,
    /// Bytes of its rows, for the figure that an operator sees.
    bytes: u64,
}

impl LogTrees {
    /// Opens the log and reads it through, so that damage is found now and not when a row is
    /// needed.
    pub(super) fn open(db: &sled::Db) -> Result<Self, StoreError> {
        let mut trees = BTreeMap::new();
        for name in db.tree_names() {
            let Some(number) = segment_number(&name) else {
                continue;
            };
            let tree = db.open_tree(&name)?;
            trees.insert(number, Segment { tree, bytes: 0 });
        }
        let log = LogTrees { db: db.clone(), segments: Mutex::new(Segments { trees, end: 0 }) };
        log.check()?;
        Ok(log)
    }

    fn check(&self) -> Result<(), StoreError> {
        let purged: Option<Purged> = super::get(&self.db, PURGED)?;
        let first_needed = purged.map_or(0, |purged| purged.index + 1);
        let mut previous: Option<u64> = None;
        let mut segments = self.segments();
        for segment in segments.trees.values_mut() {
            for row in &segment.tree {
                let (key, record) = row?;
                let index = index_of(&key)?;
                unframe(&record).map_err(|error| damaged(index, error.to_string()))?;
                segment.bytes += record.len() as u64;
                let follows = match previous {
                    Some(previous) => index == previous + 1,
                    // Rows of a segment that is only partly purged are still there.
                    None => index <= first_needed,
                };
                if !follows {
                    return Err(damaged(index, "entries before it are missing".to_owned()));
                }
                previous = Some(index);
            }
        }
        segments.end = previous.map_or(0, |last| last + 1).max(first_needed);
        Ok(())
    }

    /// Adds rows. They must continue the log.
    pub(crate) fn append(&self, rows: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        let mut segments = self.segments();
        for (index, body) in rows {
            let record = frame(&body);
            if record.len() > LARGEST_VALUE {
                return Err(damaged(index, format!("{} bytes are too many", record.len())));
            }
            let number = index / SEGMENT_ENTRIES;
            let segment = match segments.trees.entry(number) {
                std::collections::btree_map::Entry::Occupied(segment) => segment.into_mut(),
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    let tree = self.db.open_tree(format!("{TREE_PREFIX}{number:016x}"))?;
                    vacant.insert(Segment { tree, bytes: 0 })
                }
            };
            segment.bytes += record.len() as u64;
            segment.tree.insert(index.to_be_bytes(), record)?;
            segments.end = index + 1;
        }
        Ok(())
    }

    /// The bodies of the rows in `range`, in order.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let mut rows = Vec::new();
        if range.is_empty() {
            return Ok(rows);
        }
        let numbers = range.start / SEGMENT_ENTRIES..=(range.end - 1) / SEGMENT_ENTRIES;
        let trees: Vec<sled::Tree> =
            self.segments().trees.range(numbers).map(|(_, segment)| segment.tree.clone()).collect();
        for tree in trees {
            for row in tree.range(range.start.to_be_bytes()..range.end.to_be_bytes()) {
                let (key, record) = row?;
                let index = index_of(&key)?;
                let body = unframe(&record).map_err(|error| damaged(index, error.to_string()))?;
                rows.push((index, body.to_vec()));
            }
        }
        Ok(rows)
    }

    /// The last row.
    pub(crate) fn last(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        for segment in self.segments().trees.values().rev() {
            if let Some((key, record)) = segment.tree.last()? {
                let index = index_of(&key)?;
                let body = unframe(&record).map_err(|error| damaged(index, error.to_string()))?;
                return Ok(Some((index, body.to_vec())));
            }
        }
        Ok(None)
    }

    /// Removes every row from `index` on.
    pub(crate) fn truncate(&self, index: u64) -> Result<(), StoreError> {
        let mut segments = self.segments();
        segments.end = segments.end.min(index);
        // From the end, so that a crash in between leaves no hole.
        for segment in segments.trees.range_mut(index / SEGMENT_ENTRIES..).rev() {
            let rows: Vec<_> = segment.1.tree.range(index.to_be_bytes()..).collect();
            for row in rows.into_iter().rev() {
                let (key, record) = row?;
                segment.1.tree.remove(key)?;
                segment.1.bytes = segment.1.bytes.saturating_sub(record.len() as u64);
            }
        }
        Ok(())
    }

    /// Drops the segments that lie wholly at or before `index`. Rows before it in the segment that
    /// it falls into stay until that segment goes, unless no row behind it is there at all.
    pub(crate) fn purge(&self, index: u64) -> Result<(), StoreError> {
        let mut dropped = Vec::new();
        {
            let mut segments = self.segments();
            segments.end = segments.end.max(index + 1);
            while let Some(first) = segments.trees.first_entry() {
                let last_possible = (first.key() + 1) * SEGMENT_ENTRIES - 1;
                let last = first.get().tree.last()?.map(|(key, _)| index_of(&key)).transpose()?;
                if last_possible > index && last.is_some_and(|last| last > index) {
                    break;
                }
                dropped.push(first.remove().tree);
            }
        }
        for tree in dropped {
            self.db.drop_tree(tree.name())?;
        }
        Ok(())
    }

    /// One past the last entry, purged ones included; 0 for an empty log.
    pub(crate) fn end(&self) -> u64 {
        self.segments().end
    }

    /// Bytes of all rows that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments().trees.values().map(|segment| segment.bytes).sum()
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        // A panic while it was held can only have left the byte figures behind.
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn segment_number(name: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?.strip_prefix(TREE_PREFIX)?;
    u64::from_str_radix(name, 16).ok()
}

fn index_of(key: &[u8]) -> Result<u64, StoreError> {
    key.try_into().map(u64::from_be_bytes).map_err(|_| StoreError::Damaged {
        what: "a key of the log".to_owned(),
        why: format!("it has {} bytes", key.len()),
    })
}

fn damaged(index: u64, why: String) -> StoreError {
    StoreError::Damaged { what: format!("log entry {index}"), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::store::open_sled;

    fn body(index: u64) -> Vec<u8> {
        vec![index as u8; 40]
    }

    fn rows(range: Range<u64>) -> Vec<(u64, Vec<u8>)> {
        range.map(|index| (index, body(index))).collect()
    }

    fn indices(log: &LogTrees, range: Range<u64>) -> Vec<u64> {
        log.read(range).unwrap().into_iter().map(|(index, _)| index).collect()
    }

    fn purge(db: &sled::Db, log: &LogTrees, index: u64) {
        let purged = Purged { index, log_id: Vec::new() };
        db.insert(PURGED, frame(&postcard::to_stdvec(&purged).unwrap())).unwrap();
        log.purge(index).unwrap();
    }

    #[test]
    fn rows_are_read_over_the_bounds_of_segments() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = LogTrees::open(&db).unwrap();
        log.append(rows(0..2500)).unwrap();
        assert_eq!(log.read(1000..2100).unwrap(), rows(1000..2100));
        assert_eq!(indices(&log, 2490..u64::MAX), (2490..2500).collect::<Vec<_>>());
        assert_eq!(log.last().unwrap(), Some((2499, body(2499))));
        let again = LogTrees::open(&db).unwrap();
        assert_eq!(again.bytes(), log.bytes());
    }

    #[test]
    fn truncating_leaves_what_is_before_and_appending_goes_on_there() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = LogTrees::open(&db).unwrap();
        log.append(rows(0..2500)).unwrap();
        log.truncate(1000).unwrap();
        assert_eq!(log.last().unwrap(), Some((999, body(999))));
        log.append(rows(1000..1010)).unwrap();
        let again = LogTrees::open(&db).unwrap();
        assert_eq!(indices(&again, 0..u64::MAX), (0..1010).collect::<Vec<_>>());
    }

    #[test]
    fn purging_drops_whole_segments_and_the_log_goes_on_behind_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = LogTrees::open(&db).unwrap();
        log.append(rows(0..2500)).unwrap();
        let before = log.bytes();
        purge(&db, &log, 2000);
        assert_eq!(log.read(2001..2500).unwrap(), rows(2001..2500));
        assert_eq!(indices(&log, 0..1024), Vec::<u64>::new());
        assert!(log.bytes() < before);
        LogTrees::open(&db).unwrap();
        // A snapshot from elsewhere that is ahead of everything here.
        purge(&db, &log, 5000);
        assert_eq!(log.last().unwrap(), None);
        log.append(rows(5001..5010)).unwrap();
        let again = LogTrees::open(&db).unwrap();
        assert_eq!(indices(&again, 0..u64::MAX), (5001..5010).collect::<Vec<_>>());
    }

    #[test]
    fn a_damaged_or_missing_row_is_found_when_the_log_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = LogTrees::open(&db).unwrap();
        log.append(rows(0..100)).unwrap();
        let tree = db.open_tree(format!("{TREE_PREFIX}{:016x}", 0)).unwrap();
        let whole = tree.get(50_u64.to_be_bytes()).unwrap().unwrap();
        let mut torn = whole.to_vec();
        torn[7] ^= 1;
        tree.insert(50_u64.to_be_bytes(), torn).unwrap();
        let damage = LogTrees::open(&db).map(drop).unwrap_err().to_string();
        assert!(damage.contains("log entry 50"), "{damage}");
        assert!(log.read(40..60).is_err());

        tree.insert(50_u64.to_be_bytes(), whole).unwrap();
        LogTrees::open(&db).unwrap();
        tree.remove(50_u64.to_be_bytes()).unwrap();
        let damage = LogTrees::open(&db).map(drop).unwrap_err().to_string();
        assert!(damage.contains("log entry 51"), "{damage}");
        for index in 0_u64..50 {
            tree.remove(index.to_be_bytes()).unwrap();
        }
        assert!(LogTrees::open(&db).is_err(), "the log does not begin where it was purged");
    }

    #[test]
    fn a_value_that_sled_would_not_sync_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = LogTrees::open(&db).unwrap();
        assert!(log.append(vec![(0, vec![0; LARGEST_VALUE])]).is_err());
        assert_eq!(log.last().unwrap(), None);
    }
}
