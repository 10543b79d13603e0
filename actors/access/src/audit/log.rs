//! The log on disk: appends rows, starts segments, removes old ones, and recovers its end.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use reelyard_core::clock::Millis;
use reelyard_core::private_dir;
use serde_json::json;

use super::format::chain::AuditPosition;
use super::format::head::{self, AuditHead};
use super::format::row::{read_row, write_row};
use super::format::segment::{self, BadSegment, IntactPart, SegmentStart};
use super::record::AuditRecord;
use super::settings::AuditSettings;

/// The operation of a row about an end that was repaired after a crash. No safe row is lost.
pub(super) const REPAIRED: &str = "audit.repaired";

/// The operation of a row about rows that are missing or damaged.
pub(super) const DAMAGED: &str = "audit.damaged";

/// The log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be {what}: {error}", path = .path.display())]
pub struct AuditLogError {
    path: PathBuf,
    what: &'static str,
    error: io::Error,
}

/// A segment before the current one.
#[derive(Clone, Copy, Debug)]
struct FullSegment {
    first: u64,
    bytes: u64,
    start: Option<SegmentStart>,
}

/// The segment that gets the next row.
#[derive(Debug)]
struct CurrentSegment {
    first: u64,
    start: SegmentStart,
    file: File,
    /// Length of the intact part. The next row is written here.
    length: u64,
}

/// An open log.
#[derive(Debug)]
pub(super) struct AuditLog {
    dir: PathBuf,
    settings: AuditSettings,
    full: VecDeque<FullSegment>,
    current: CurrentSegment,
    last: AuditPosition,
    before_oldest: AuditPosition,
    head: File,
    /// Whether the current segment has rows that are not synced.
    is_dirty: bool,
    lines: Vec<u8>,
}

/// The end of a log, as it was when the log was opened.
#[derive(Debug)]
struct FoundEnd {
    /// The current segment, if it can get more rows.
    current: Option<(u64, SegmentStart, u64)>,
    last: AuditPosition,
    /// A row to write about it.
    news: Option<(&'static str, serde_json::Value)>,
}

impl AuditLog {
    /// Opens the log in `dir`, or creates it. Writes a row about a repaired or damaged end.
    ///
    /// # Errors
    ///
    /// The files cannot be read or written.
    pub(super) fn open(
        dir: &Path,
        settings: AuditSettings,
        now: Millis,
    ) -> Result<Self, AuditLogError> {
        private_dir::create(dir).map_err(|error| failed(dir, "created", error))?;
        let known = head::read(dir);
        let of_head = known.as_ref().ok().copied().flatten();
        let firsts = segment::list(dir).map_err(|error| failed(dir, "read", error))?;
        let firsts = without_removed(dir, firsts, of_head);
        let is_lost = known.is_err() || (of_head.is_none() && !firsts.is_empty());
        let mut found = find_end(dir, &firsts, of_head)?;
        if is_lost {
            let end = found.news.take().map(|(_, about)| about);
            found.news = Some((DAMAGED, json!({ "missing": "the file head", "end": end })));
        }
        let mut full = VecDeque::new();
        for first in &firsts {
            if found.current.is_none_or(|(current, ..)| current != *first) {
                full.push_back(FullSegment::find(dir, *first)?);
            }
        }
        let oldest = full.front().and_then(|oldest| oldest.start.map(|start| start.before));
        let oldest = oldest.or(found.current.map(|(_, start, _)| start.before));
        let before_oldest = of_head.map(|head| head.before_oldest).or(oldest).unwrap_or(found.last);
        let current = match found.current {
            Some((first, start, length)) => CurrentSegment::open(dir, first, start, length)?,
            None => {
                let start = SegmentStart { before: found.last, at: now };
                let (segment, last) = CurrentSegment::create(dir, start)?;
                found.last = last;
                segment
            }
        };
        let head = head::open(dir).map_err(|error| failed(&head::path(dir), "opened", error))?;
        let mut log = AuditLog {
            dir: dir.to_owned(),
            settings,
            full,
            current,
            last: found.last,
            before_oldest,
            head,
            is_dirty: true,
            lines: Vec::new(),
        };
        if let Some((operation, after)) = found.news {
            let row = AuditRecord { after: Some(after), ..AuditRecord::of_node(now, operation) };
            log.append(&[row], now)?;
        }
        log.sync()?;
        Ok(log)
    }

    /// The last row.
    pub(super) fn last(&self) -> AuditPosition {
        self.last
    }

    /// Whether rows are not synced yet.
    pub(super) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Uses other limits from now on.
    pub(super) fn change_settings(&mut self, settings: AuditSettings) {
        self.settings = settings;
    }

    /// Appends rows. A reader sees them at once; [`AuditLog::sync`] makes them durable.
    ///
    /// # Errors
    ///
    /// The disk is full, or the file cannot be written. Then no row was appended.
    pub(super) fn append(
        &mut self,
        records: &[AuditRecord],
        now: Millis,
    ) -> Result<(), AuditLogError> {
        self.start_segment_if_full(now)?;
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let written = self.write(records, &mut lines);
        self.lines = lines;
        self.last = written?;
        self.is_dirty |= !records.is_empty();
        Ok(())
    }

    fn write(
        &mut self,
        records: &[AuditRecord],
        lines: &mut Vec<u8>,
    ) -> Result<AuditPosition, AuditLogError> {
        let path = segment::path(&self.dir, self.current.first);
        let mut last = self.last;
        for record in records {
            let written = write_row(record, last, lines);
            last = written.map_err(|error| failed(&path, "written", error.into()))?;
        }
        // At its place, so that the rest of a failed write is overwritten.
        let written = self.current.file.write_all_at(lines, self.current.length);
        written.map_err(|error| failed(&path, "written", error))?;
        self.current.length += lines.len() as u64;
        Ok(last)
    }

    /// Makes all rows durable, and then says so in the head.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub(super) fn sync(&mut self) -> Result<(), AuditLogError> {
        if !self.is_dirty {
            return Ok(());
        }
        let path = segment::path(&self.dir, self.current.first);
        self.current.file.sync_data().map_err(|error| failed(&path, "synced", error))?;
        self.write_head()?;
        self.is_dirty = false;
        Ok(())
    }

    fn write_head(&self) -> Result<(), AuditLogError> {
        let head = AuditHead { before_oldest: self.before_oldest, last: self.last };
        head.write(&self.head).map_err(|error| failed(&head::path(&self.dir), "written", error))
    }

    fn start_segment_if_full(&mut self, now: Millis) -> Result<(), AuditLogError> {
        let age = now.since(self.current.start.at);
        let is_empty = self.current.first > self.last.seq;
        let is_full = self.current.length >= self.settings.segment_size()
            || age >= self.settings.segment_age();
        if is_empty || !is_full {
            return Ok(());
        }
        self.sync()?;
        let start = SegmentStart { before: self.last, at: now };
        let (next, last) = CurrentSegment::create(&self.dir, start)?;
        self.last = last;
        let before = std::mem::replace(&mut self.current, next);
        self.full.push_back(FullSegment {
            first: before.first,
            bytes: before.length,
            start: Some(before.start),
        });
        self.remove_old(now)
    }

    /// Removes the oldest segments beyond the limits.
    ///
    /// # Errors
    ///
    /// The head cannot be written, or a segment cannot be removed.
    pub(super) fn remove_old(&mut self, now: Millis) -> Result<(), AuditLogError> {
        while let Some(oldest) = self.full.front() {
            let next = self.full.get(1).map(|next| next.start);
            let next = next.unwrap_or(Some(self.current.start));
            // Without its first line, the age of a segment is not known; its size counts.
            let is_old = next.is_some_and(|next| now.since(next.at) >= self.settings.keep);
            let of_full: u64 = self.full.iter().map(|segment| segment.bytes).sum();
            if !is_old && of_full + self.current.length <= self.settings.max_size {
                return Ok(());
            }
            let path = segment::path(&self.dir, oldest.first);
            // First the head: a segment that should be gone is removed at the next start.
            if let Some(next) = next {
                self.before_oldest = next.before;
            }
            self.write_head()?;
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&path, "removed", error));
                }
                _ => {}
            }
            self.full.pop_front();
        }
        Ok(())
    }
}

impl FullSegment {
    fn find(dir: &Path, first: u64) -> Result<Self, AuditLogError> {
        let path = segment::path(dir, first);
        let bytes = fs::metadata(&path).map_err(|error| failed(&path, "read", error))?.len();
        let mut line = String::new();
        let file = File::open(&path).map_err(|error| failed(&path, "read", error))?;
        let mut begin = io::Read::take(file, 1024);
        let read = io::Read::read_to_string(&mut begin, &mut line);
        let line = line.split('\n').next().unwrap_or_default();
        let start = read.ok().and_then(|_| SegmentStart::read(line.as_bytes()));
        Ok(FullSegment { first, bytes, start })
    }
}

impl CurrentSegment {
    fn open(
        dir: &Path,
        first: u64,
        start: SegmentStart,
        length: u64,
    ) -> Result<Self, AuditLogError> {
        let path = segment::path(dir, first);
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.map_err(|error| failed(&path, "opened", error))?;
        file.set_len(length).map_err(|error| failed(&path, "cut", error))?;
        Ok(CurrentSegment { first, start, file, length })
    }

    /// Creates a segment, and returns the position that its first row follows.
    fn create(dir: &Path, start: SegmentStart) -> Result<(Self, AuditPosition), AuditLogError> {
        let first = start.before.seq + 1;
        let path = segment::path(dir, first);
        let create = || -> io::Result<(File, u64, AuditPosition)> {
            let line = start.line()?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let file = options.open(&path)?;
            file.write_all_at(&line, 0)?;
            file.sync_data()?;
            File::open(dir)?.sync_all()?;
            Ok((file, line.len() as u64, start.position()?))
        };
        let (file, length, last) = create().map_err(|error| failed(&path, "created", error))?;
        Ok((CurrentSegment { first, start, file, length }, last))
    }
}

/// Removes the segments before the oldest kept row: an earlier removal was interrupted.
fn without_removed(dir: &Path, firsts: Vec<u64>, head: Option<AuditHead>) -> Vec<u64> {
    let Some(head) = head else { return firsts };
    let (removed, kept): (Vec<u64>, Vec<u64>) =
        firsts.into_iter().partition(|first| *first <= head.before_oldest.seq);
    for first in removed {
        // Left behind, it is only listed again at the next start.
        let _ = fs::remove_file(segment::path(dir, first));
    }
    kept
}

/// Finds the end of the log in its last segment.
fn find_end(
    dir: &Path,
    firsts: &[u64],
    head: Option<AuditHead>,
) -> Result<FoundEnd, AuditLogError> {
    let safe = head.map_or(AuditPosition::START, |head| head.last);
    let Some(&first) = firsts.last() else {
        let is_missing = head.is_some_and(|head| head.last.seq > head.before_oldest.seq);
        let news = is_missing.then(|| (DAMAGED, missing(1, safe.seq)));
        return Ok(FoundEnd { current: None, last: safe, news });
    };
    let path = segment::path(dir, first);
    let bytes = fs::read(&path).map_err(|error| failed(&path, "read", error))?;
    let mut has_safe = head.is_none();
    let scanned = segment::scan(&bytes, first, None, |row| has_safe |= row.position() == safe);
    let IntactPart { start, begin, last, length, fault } = scanned;
    has_safe |= begin == safe || start.is_some_and(|start| start.before == safe);
    let cut = bytes.len() as u64 - length;
    let is_half = matches!(fault, Some(BadSegment::HalfRow));
    match (start, fault) {
        // Nothing is missing, or only rows that were never safe.
        (Some(start), fault) if has_safe && (head.is_some() || fault.is_none() || is_half) => {
            let news = fault.map(|_| (REPAIRED, json!({ "cut_bytes": cut })));
            Ok(FoundEnd { current: Some((first, start, length)), last, news })
        }
        // A segment that was being created.
        (None, Some(_)) if head.is_some() && safe.seq + 1 == first => {
            let news = (cut > 0).then(|| (REPAIRED, json!({ "cut_bytes": cut })));
            Ok(FoundEnd { current: None, last: safe, news })
        }
        // The damaged segment stays as it is. The log goes on behind its last known row.
        (_, fault) => {
            let rows = bytes.split(|byte| *byte == b'\n').filter_map(|line| read_row(line).ok());
            let ends = rows.map(|row| row.position()).chain([safe, last]);
            let end = ends.max_by_key(|end| end.seq).unwrap_or(safe);
            let mut about = missing(last.seq + 1, end.seq);
            about["damage"] = json!(fault.map(|fault| fault.to_string()));
            // A new segment needs another first row than the damaged one.
            let last = AuditPosition { seq: end.seq.max(first), hash: end.hash };
            Ok(FoundEnd { current: None, last, news: Some((DAMAGED, about)) })
        }
    }
}

fn missing(first: u64, last: u64) -> serde_json::Value {
    json!({ "first_row": first, "last_row": last })
}

fn failed(path: &Path, what: &'static str, error: io::Error) -> AuditLogError {
    AuditLogError { path: path.to_owned(), what, error }
}
