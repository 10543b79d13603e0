//! The log's rows: one tree per segment of entries. A purge drops whole trees, and the purged rows of the
//! next tree.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::StoreError;
use crate::store::database::head::{LogEnd, Purged, StoreHead};
use crate::store::database::log_row::{damaged, index_of};
use crate::store::database::log_verifier::LogVerifier;
use crate::store::record::{self, LARGEST_VALUE, frame_linked, unframe};

/// How many entries share a tree.
const SEGMENT_ENTRIES: u64 = 1024;
const TREE_PREFIX: &str = "log/";

/// The rows of the log, by index. Each links to the one before it, and the store's head holds the
/// position of the last one. So a row that is missing, stale or of another log is detected.
pub(crate) struct LogTrees {
    db: sled::Db,
    segments: Mutex<LogSegments>,
}

#[derive(Default)]
struct LogSegments {
    trees: BTreeMap<u64, LogSegment>,
    end: LogEnd,
}

struct LogSegment {
    tree: sled::Tree,
    /// Bytes of its rows, for the figure that an operator sees.
    bytes: u64,
}

impl LogSegment {
    /// Removes the rows up to `index`, the oldest first, so that after a crash the remaining rows still
    /// form one sequence.
    fn remove_up_to(&mut self, index: u64) -> Result<(), StoreError> {
        for row in self.tree.range(..=index.to_be_bytes()) {
            let (key, record) = row?;
            self.tree.remove(key)?;
            self.bytes = self.bytes.saturating_sub(record.len() as u64);
        }
        Ok(())
    }
}

/// The result of reading the whole log.
pub(crate) struct ReadThrough {
    /// The log, cut at the first fault.
    pub(crate) log: LogTrees,
    /// The first existing row.
    pub(crate) first: Option<u64>,
    /// Number of rows after the end in the head: they were written, but never acknowledged.
    pub(crate) unfinished: u64,
    /// Fault of the row after the cut.
    pub(crate) fault: Option<StoreError>,
}

impl LogTrees {
    /// Reads the log up to its end or the first fault, so that damage is found now and not when a row is
    /// needed. Changes nothing.
    pub(crate) fn read_through(db: &sled::Db, head: &StoreHead) -> Result<ReadThrough, StoreError> {
        let mut trees = BTreeMap::new();
        for name in db.tree_names() {
            if let Some(number) = segment_number(&name) {
                trees.insert(number, LogSegment { tree: db.open_tree(&name)?, bytes: 0 });
            }
        }
        let first_needed = head.purged.as_ref().map_or(0, |purged| purged.index + 1);
        let mut reader = LogVerifier {
            first_needed,
            expected: head.log,
            first: None,
            last: None,
            unfinished: 0,
        };
        let mut fault = None;
        'segments: for (&number, segment) in &mut trees {
            // A segment whose removal was not finished.
            if (number + 1) * SEGMENT_ENTRIES <= first_needed {
                continue;
            }
            for row in &segment.tree {
                match row.map_err(StoreError::from).and_then(|row| reader.verify(&row)) {
                    Ok(bytes) => segment.bytes += bytes,
                    Err(error) => {
                        fault = Some(error);
                        break 'segments;
                    }
                }
            }
        }
        let end = reader.end();
        let fault = fault.or_else(|| reader.missing(end));
        let log = LogTrees { db: db.clone(), segments: Mutex::new(LogSegments { trees, end }) };
        Ok(ReadThrough { log, first: reader.first, unfinished: reader.unfinished, fault })
    }

    /// Adds rows, which continue the log.
    ///
    /// # Errors
    /// `Damaged` for a row that is not the next one. It would be linked to the wrong row, and the log after
    /// it would be unreadable. Rows before it stay unacknowledged.
    pub(crate) fn append(&self, rows: &[(u64, Vec<u8>)]) -> Result<(), StoreError> {
        let mut segments = self.segments();
        for (index, body) in rows {
            let index = *index;
            let next = segments.end.end;
            if index != next {
                return Err(damaged(
                    index,
                    format!("it does not continue the log: {next} is next"),
                ));
            }
            let (record, link) = frame_linked(segments.end.link, body);
            if record.len() > LARGEST_VALUE {
                return Err(damaged(
                    index,
                    format!("{} bytes exceed the limit of an entry", record.len()),
                ));
            }
            let number = index / SEGMENT_ENTRIES;
            let segment = match segments.trees.entry(number) {
                std::collections::btree_map::Entry::Occupied(segment) => segment.into_mut(),
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    let tree = self.db.open_tree(segment_name(index))?;
                    vacant.insert(LogSegment { tree, bytes: 0 })
                }
            };
            segment.bytes += record.len() as u64;
            segment.tree.insert(index.to_be_bytes(), record)?;
            segments.end = LogEnd { end: index + 1, link };
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
                let body = unframe(&record).map_err(|error| damaged(index, error))?;
                rows.push((index, body.to_vec()));
            }
        }
        Ok(rows)
    }

    /// Passes every row to `take` as it is stored.
    pub(crate) fn each_record(
        &self,
        take: &mut dyn FnMut(u64, Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let trees: Vec<sled::Tree> =
            self.segments().trees.values().map(|segment| segment.tree.clone()).collect();
        for row in trees.iter().flat_map(|tree| tree.iter()) {
            let (key, record) = row?;
            take(index_of(&key)?, record.to_vec())?;
        }
        Ok(())
    }

    /// Index and record of the last row.
    pub(crate) fn last(&self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        for segment in self.segments().trees.values().rev() {
            if let Some((key, record)) = segment.tree.last()? {
                let index = index_of(&key)?;
                let body = unframe(&record).map_err(|error| damaged(index, error))?;
                return Ok(Some((index, body.to_vec())));
            }
        }
        Ok(None)
    }

    /// The end of the log without the rows from `index` on.
    pub(crate) fn end_before(&self, index: u64) -> Result<LogEnd, StoreError> {
        let segments = self.segments();
        if index >= segments.end.end {
            return Ok(segments.end);
        }
        let Some(before) = index.checked_sub(1) else {
            return Ok(LogEnd::default());
        };
        let Some(segment) = segments.trees.get(&(before / SEGMENT_ENTRIES)) else {
            return Ok(LogEnd { end: index, link: 0 });
        };
        let link = match segment.tree.get(before.to_be_bytes())? {
            Some(row) => record::read(&row).map_err(|error| damaged(before, error))?.checksum,
            // It is purged, so nothing will be checked against it.
            None => 0,
        };
        Ok(LogEnd { end: index, link })
    }

    /// Removes the rows after `end`. The store's head must already have `end`, so that after a crash the
    /// next start removes the remaining rows.
    pub(crate) fn truncate(&self, end: LogEnd) -> Result<(), StoreError> {
        self.segments().end = end;
        self.cut()
    }

    /// Removes the remains of a crash: rows after the end, and segments that were purged.
    pub(crate) fn tidy(&self, purged: Option<&Purged>) -> Result<(), StoreError> {
        self.cut()?;
        purged.map_or(Ok(()), |purged| self.purge(purged.index))
    }

    /// Removes all rows after the end.
    fn cut(&self) -> Result<(), StoreError> {
        let mut segments = self.segments();
        let end = segments.end.end;
        for segment in segments.trees.range_mut(end / SEGMENT_ENTRIES..).rev() {
            let rows: Vec<_> = segment.1.tree.range(end.to_be_bytes()..).collect();
            for row in rows.into_iter().rev() {
                let (key, record) = row?;
                segment.1.tree.remove(key)?;
                segment.1.bytes = segment.1.bytes.saturating_sub(record.len() as u64);
            }
        }
        Ok(())
    }

    /// Drops the segments that end at or before `index`, and the rows up to `index` in the next segment.
    /// sled keeps written rows in memory, so a segment of large rows takes up to 32 MiB.
    pub(crate) fn purge(&self, index: u64) -> Result<(), StoreError> {
        let mut dropped = Vec::new();
        {
            let mut segments = self.segments();
            segments.end.end = segments.end.end.max(index + 1);
            while let Some(mut first) = segments.trees.first_entry() {
                let last_possible = (first.key() + 1) * SEGMENT_ENTRIES - 1;
                let last = first.get().tree.last()?.map(|(key, _)| index_of(&key)).transpose()?;
                if last_possible > index && last.is_some_and(|last| last > index) {
                    first.get_mut().remove_up_to(index)?;
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
        self.segments().end.end
    }

    /// End of the log, from the store's head.
    pub(crate) fn log_end(&self) -> LogEnd {
        self.segments().end
    }

    /// How many segments there are.
    pub(crate) fn segment_count(&self) -> usize {
        self.segments().trees.len()
    }

    /// Bytes of all rows that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments().trees.values().map(|segment| segment.bytes).sum()
    }

    fn segments(&self) -> MutexGuard<'_, LogSegments> {
        // A panic under the lock can only leave wrong byte figures.
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the tree that holds entry `index`.
pub(crate) fn segment_name(index: u64) -> String {
    format!("{TREE_PREFIX}{:016x}", index / SEGMENT_ENTRIES)
}

fn segment_number(name: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?.strip_prefix(TREE_PREFIX)?;
    u64::from_str_radix(name, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::sled_database::open_sled;

    use crate::store::record::frame;

    fn open(db: &sled::Db, head: &StoreHead) -> Result<LogTrees, StoreError> {
        let ReadThrough { log, fault, .. } = LogTrees::read_through(db, head)?;
        match fault {
            None => log.tidy(head.purged.as_ref()).map(|()| log),
            Some(fault) => Err(fault),
        }
    }

    fn body(index: u64) -> Vec<u8> {
        vec![index as u8; 40]
    }

    fn rows(range: Range<u64>) -> Vec<(u64, Vec<u8>)> {
        range.map(|index| (index, body(index))).collect()
    }

    fn indices(log: &LogTrees, range: Range<u64>) -> Vec<u64> {
        log.read(range).unwrap().into_iter().map(|(index, _)| index).collect()
    }

    /// The head that a flush would write now.
    fn head(log: &LogTrees, purged: Option<u64>) -> StoreHead {
        let purged = purged.map(|index| Purged { index, log_id: Vec::new() });
        StoreHead { purged, log: Some(log.log_end()), ..StoreHead::default() }
    }

    #[test]
    fn rows_are_read_over_the_bounds_of_segments() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(0..2500)).unwrap();
        assert_eq!(log.read(1000..2100).unwrap(), rows(1000..2100));
        assert_eq!(indices(&log, 2490..u64::MAX), (2490..2500).collect::<Vec<_>>());
        assert_eq!(log.last().unwrap(), Some((2499, body(2499))));
        let again = open(&db, &head(&log, None)).unwrap();
        assert_eq!((again.bytes(), again.log_end()), (log.bytes(), log.log_end()));
    }

    #[test]
    fn truncation_keeps_earlier_rows_and_appending_continues_after_them() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(0..2500)).unwrap();
        log.truncate(log.end_before(1000).unwrap()).unwrap();
        assert_eq!(log.last().unwrap(), Some((999, body(999))));
        log.append(&rows(1000..1010)).unwrap();
        let again = open(&db, &head(&log, None)).unwrap();
        assert_eq!(indices(&again, 0..u64::MAX), (0..1010).collect::<Vec<_>>());
    }

    #[test]
    fn purging_drops_all_purged_rows_and_the_log_continues_behind_them() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(0..2500)).unwrap();
        let row_bytes = log.bytes() / 2500;
        log.purge(2000).unwrap();
        assert_eq!(log.read(0..2500).unwrap(), rows(2001..2500));
        assert_eq!(log.bytes(), row_bytes * 499);
        let again = open(&db, &head(&log, Some(2000))).unwrap();
        assert_eq!((again.bytes(), again.log_end()), (log.bytes(), log.log_end()));
        // A snapshot from elsewhere that is ahead of everything here.
        log.purge(5000).unwrap();
        assert_eq!(log.last().unwrap(), None);
        open(&db, &head(&log, Some(5000))).unwrap();
        log.append(&rows(5001..5010)).unwrap();
        let again = open(&db, &head(&log, Some(5000))).unwrap();
        assert_eq!(indices(&again, 0..u64::MAX), (5001..5010).collect::<Vec<_>>());
    }

    #[test]
    fn a_write_that_came_to_no_end_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(0..1020)).unwrap();
        let flushed = head(&log, None);
        log.append(&rows(1020..1030)).unwrap();
        let again = open(&db, &flushed).unwrap();
        assert_eq!(again.log_end(), flushed.log.unwrap());
        assert_eq!(again.last().unwrap(), Some((1019, body(1019))));
    }

    #[test]
    fn a_damaged_missing_or_stale_row_is_found_at_opening() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(0..100)).unwrap();
        let head = head(&log, None);
        let tree = db.open_tree(format!("{TREE_PREFIX}{:016x}", 0)).unwrap();
        let message_of = |what: &str| {
            let damage = open(&db, &head).map(drop).unwrap_err().to_string();
            assert!(damage.contains(what), "{damage}");
        };
        let key = |index: u64| index.to_be_bytes();
        let whole = tree.get(key(50)).unwrap().unwrap();
        let mut torn = whole.to_vec();
        torn[7] ^= 1;
        tree.insert(key(50), torn).unwrap();
        message_of("log entry 50");
        assert!(log.read(40..60).is_err());

        tree.insert(key(50), frame_linked(0, b"of another log").0).unwrap();
        message_of("log entry 50: it does not follow");
        tree.insert(key(50), frame(b"of another log")).unwrap();
        message_of("log entry 51: it does not follow");
        tree.insert(key(50), whole).unwrap();
        open(&db, &head).unwrap();

        let last = tree.insert(key(99), frame(b"of another log")).unwrap().unwrap();
        message_of("log entry 99: it is not the one");
        tree.remove(key(99)).unwrap();
        message_of("log entry 99: it and those up to 99 are missing");
        tree.insert(key(99), last).unwrap();
        tree.remove(key(50)).unwrap();
        message_of("log entry 51");
        for index in 0_u64..50 {
            tree.remove(key(index)).unwrap();
        }
        message_of("log entry 51: entries before it are missing");
    }

    #[test]
    fn a_log_of_an_earlier_version_is_read_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let tree = db.open_tree(format!("{TREE_PREFIX}{:016x}", 0)).unwrap();
        for (index, body) in rows(0..10) {
            tree.insert(index.to_be_bytes(), frame(&body)).unwrap();
        }
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(10..20)).unwrap();
        let again = open(&db, &head(&log, None)).unwrap();
        assert_eq!(again.read(0..20).unwrap(), rows(0..20));
    }

    #[test]
    fn rows_that_do_not_continue_the_log_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        log.append(&rows(0..10)).unwrap();
        for wrong in [rows(5..15), rows(9..10), rows(11..12)] {
            let refused = log.append(&wrong).unwrap_err().to_string();
            assert!(refused.contains("does not continue the log: 10 is next"), "{refused}");
        }
        log.append(&rows(10..20)).unwrap();
        let again = open(&db, &head(&log, None)).unwrap();
        assert_eq!(again.read(0..u64::MAX).unwrap(), rows(0..20));
    }

    #[test]
    fn a_value_that_sled_would_not_sync_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let log = open(&db, &StoreHead::default()).unwrap();
        assert!(log.append(&[(0, vec![0; LARGEST_VALUE])]).is_err());
        assert_eq!(log.last().unwrap(), None);
    }
}
