//! Segments: the files of a log. A segment begins with a line about itself, and rows follow.

use std::io;
use std::path::{Path, PathBuf};

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use super::chain::{AuditPosition, ChainHash};
use super::row::{AuditRow, BadAuditRow, ROW_VERSION, read_next_row};

const PREFIX: &str = "audit-";
const SUFFIX: &str = ".jsonl";

/// The digits of a number in a file name, so that names sort like numbers.
const DIGITS: usize = 20;

/// The first line of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::audit) struct SegmentStart {
    /// The row before the first row of the segment.
    pub(in crate::audit) before: AuditPosition,
    /// Creation time of the segment. No row of an earlier segment is newer.
    pub(in crate::audit) at: Millis,
}

/// Version 1 of the first line of a segment.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSegmentStart {
    v: u32,
    first: u64,
    at: i64,
    previous: String,
}

/// A segment is not intact at a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::audit) enum BadSegment {
    #[error("its first line does not describe a segment")]
    Start,
    #[error("its first line does not continue the segment before it")]
    Continuation,
    #[error("it ends within a row")]
    HalfRow,
    #[error("row {after}: {why}", after = .after + 1)]
    Row { after: u64, why: BadAuditRow },
}

impl SegmentStart {
    /// The first line, with its end.
    pub(in crate::audit) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let stored = StoredSegmentStart {
            v: ROW_VERSION,
            first: self.before.seq + 1,
            at: self.at.0,
            previous: self.before.hash.to_string(),
        };
        let mut line = serde_json::to_vec(&stored)?;
        line.push(b'\n');
        Ok(line)
    }

    /// The position that the first row follows. Its hash also covers the first line.
    pub(in crate::audit) fn position(&self) -> serde_json::Result<AuditPosition> {
        let line = self.line()?;
        Ok(AuditPosition { seq: self.before.seq, hash: self.before.hash.next(&line) })
    }

    /// Reads a first line without its end. Only the exact form is accepted, so that each change is noticed.
    pub(in crate::audit) fn read(line: &[u8]) -> Option<Self> {
        let stored: StoredSegmentStart = serde_json::from_slice(line).ok()?;
        let hash: ChainHash = stored.previous.parse().ok()?;
        let before = AuditPosition { seq: stored.first.checked_sub(1)?, hash };
        let start = SegmentStart { before, at: Millis(stored.at) };
        let exact = start.line().ok()?;
        (exact.strip_suffix(b"\n") == Some(line)).then_some(start)
    }
}

/// The file of the segment that begins with row `first`.
pub(in crate::audit) fn path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{PREFIX}{first:0DIGITS$}{SUFFIX}"))
}

/// The first rows of all segments, in order.
///
/// # Errors
///
/// The directory cannot be read.
pub(in crate::audit) fn list(dir: &Path) -> io::Result<Vec<u64>> {
    let mut firsts = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let digits = name.and_then(|name| name.strip_suffix(SUFFIX));
        let digits = digits.filter(|digits| digits.len() == DIGITS);
        firsts.extend(digits.and_then(|digits| digits.parse::<u64>().ok()));
    }
    firsts.sort_unstable();
    Ok(firsts)
}

/// The intact part of a segment.
#[derive(Debug)]
pub(in crate::audit) struct IntactPart {
    /// The first line.
    pub(in crate::audit) start: Option<SegmentStart>,
    /// The position that the first row follows.
    pub(in crate::audit) begin: AuditPosition,
    /// The last intact row, or the row before the segment.
    pub(in crate::audit) last: AuditPosition,
    /// Length of the intact part in bytes.
    pub(in crate::audit) length: u64,
    /// Why the rest is not intact.
    pub(in crate::audit) fault: Option<BadSegment>,
}

/// Reads the rows of the segment that begins with row `first`, as long as they are intact. With `before`, the
/// segment must continue that row.
pub(in crate::audit) fn scan(
    bytes: &[u8],
    first: u64,
    before: Option<AuditPosition>,
    mut each: impl FnMut(&AuditRow),
) -> IntactPart {
    let nothing = AuditPosition { seq: first.saturating_sub(1), hash: ChainHash::START };
    let mut part = IntactPart {
        start: None,
        begin: nothing,
        last: before.unwrap_or(nothing),
        length: 0,
        fault: None,
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else {
            part.fault = Some(BadSegment::HalfRow);
            return part;
        };
        if part.start.is_none() {
            let Some(start) = SegmentStart::read(text) else {
                part.fault = Some(BadSegment::Start);
                return part;
            };
            let expected = before.unwrap_or(start.before);
            if start.before != expected || start.before.seq.saturating_add(1) != first {
                part.fault = Some(BadSegment::Continuation);
                return part;
            }
            part.start = Some(start);
            part.last = AuditPosition { seq: start.before.seq, hash: start.before.hash.next(line) };
            part.begin = part.last;
        } else {
            match read_next_row(text, part.last) {
                Ok(row) => {
                    each(&row);
                    part.last = row.position();
                }
                Err(why) => {
                    part.fault = Some(BadSegment::Row { after: part.last.seq, why });
                    return part;
                }
            }
        }
        part.length += line.len() as u64;
    }
    if part.start.is_none() {
        part.fault = Some(BadSegment::Start);
    }
    part
}
