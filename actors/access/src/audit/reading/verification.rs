//! Checks that a log is whole: no row was changed, removed or added.

use std::fs;
use std::io;
use std::path::Path;

use reelyard_core::clock::Millis;
use serde::Serialize;

use crate::audit::format::chain::AuditPosition;
use crate::audit::format::head::{self, AuditHead};
use crate::audit::format::row::AuditRow;
use crate::audit::format::segment::{self, BadSegment, IntactPart, SegmentStart};
use crate::audit::log::{DAMAGED, REPAIRED};
use crate::audit::writer::LOST;

/// The log is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// The file with the fault.
    pub file: String,
    /// The fault.
    pub what: String,
}

/// An event of the log itself that does not make it incomplete, or that an earlier start reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditNotice {
    /// Number of the row about it.
    pub seq: u64,
    /// Time of the row.
    pub at: Millis,
    /// The event.
    pub what: String,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Number of intact rows.
    pub rows: u64,
    /// The first row of the log. It is not 1 if older rows were removed by age or size.
    pub first: Option<u64>,
    /// Time of the first row.
    pub since: Option<Millis>,
    /// The last intact row.
    pub last: Option<u64>,
    /// Time of the last row.
    pub until: Option<Millis>,
    /// Hash of the last row.
    pub hash: Option<String>,
    /// Number of rows that could not be written, because the disk was full or too slow.
    pub lost: u64,
    /// Faults. The log is whole if there are none.
    pub findings: Vec<AuditFinding>,
    /// Repairs, and damage that an earlier start has reported.
    pub notices: Vec<AuditNotice>,
}

impl AuditReport {
    /// Whether no row is changed or missing.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }

    fn fault(&mut self, file: &Path, what: impl Into<String>) {
        let file = file.file_name().map(|name| name.to_string_lossy().into_owned());
        self.findings.push(AuditFinding { file: file.unwrap_or_default(), what: what.into() });
    }

    fn read(&mut self, row: &AuditRow) {
        let record = &row.record;
        self.rows += 1;
        if self.first.is_none() {
            (self.first, self.since) = (Some(row.seq), Some(record.at));
        }
        (self.last, self.until) = (Some(row.seq), Some(record.at));
        self.hash = Some(row.chain.to_string());
        let about = record.after.as_ref().map(ToString::to_string).unwrap_or_default();
        let what = match record.operation.as_str() {
            REPAIRED => format!("the end was repaired after a crash: {about}"),
            DAMAGED => format!("damage was found at a start: {about}"),
            LOST => {
                self.lost += record.count.unwrap_or_default();
                format!("{} rows could not be written", record.count.unwrap_or_default())
            }
            _ => return,
        };
        self.notices.push(AuditNotice { seq: row.seq, at: record.at, what });
    }
}

/// Verifies the log in `dir`. A node may write to it at the same time. With `known`, a row that was recorded
/// elsewhere, the log must contain exactly this row.
///
/// # Errors
///
/// The directory or a segment cannot be read.
pub fn verify(dir: &Path, known: Option<AuditPosition>) -> io::Result<AuditReport> {
    let report = verify_once(dir, known)?;
    // A node removes old segments only after it has changed the head. This can happen between two reads.
    if report.is_whole() { Ok(report) } else { verify_once(dir, known) }
}

fn verify_once(dir: &Path, known: Option<AuditPosition>) -> io::Result<AuditReport> {
    let mut report = AuditReport::default();
    let head = read_head(dir, &mut report)?;
    let firsts = segment::list(dir)?;
    let mut before = head.map(|head| head.before_oldest);
    let (mut end, mut has_safe, mut has_known) = (before, false, known.is_none());
    for (place, first) in firsts.iter().enumerate() {
        if head.is_some_and(|head| *first <= head.before_oldest.seq) {
            // A removal was interrupted.
            continue;
        }
        let path = segment::path(dir, *first);
        let bytes = fs::read(&path)?;
        let mut each = |row: &AuditRow| {
            has_safe |= head.is_some_and(|head| head.last == row.position());
            has_known |= known == Some(row.position());
            report.read(row);
        };
        let mut part = segment::scan(&bytes, *first, before, &mut each);
        if matches!(part.fault, Some(BadSegment::Continuation)) {
            let start = bytes.split(|byte| *byte == b'\n').next().and_then(SegmentStart::read);
            part = segment::scan(&bytes, *first, None, &mut each);
            report.fault(&path, not_continued(before, start));
        }
        let IntactPart { begin, last, fault, .. } = part;
        has_safe |= head.is_some_and(|head| head.last == begin);
        let is_last = place + 1 == firsts.len();
        // The node writes this row at the moment, or it was killed while it did.
        let is_half = bytes.is_empty() || matches!(fault, Some(BadSegment::HalfRow));
        let is_unfinished = is_last && is_half;
        if let Some(fault) = fault
            && !is_unfinished
        {
            report.fault(&path, fault.to_string());
        }
        (before, end) = (Some(last), Some(last));
    }
    let Some(head) = head else { return Ok(report) };
    has_safe |= head.last == head.before_oldest;
    if let Some(end) = end.filter(|end| end.seq < head.last.seq) {
        let (first, last) = (end.seq + 1, head.last.seq);
        report.fault(&head::path(dir), format!("rows {first} to {last} are missing at the end"));
    } else if !has_safe {
        let last = head.last.seq;
        report.fault(&head::path(dir), format!("row {last} has another hash than in the head"));
    }
    if let Some(known) = known.filter(|_| !has_known) {
        report.fault(&head::path(dir), format!("there is no row {known}"));
    }
    Ok(report)
}

fn read_head(dir: &Path, report: &mut AuditReport) -> io::Result<Option<AuditHead>> {
    match head::read(dir) {
        Ok(Some(head)) => return Ok(Some(head)),
        Ok(None) => report.fault(&head::path(dir), "the file is missing"),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            report.fault(&head::path(dir), "it does not describe the end of a log");
        }
        Err(error) => return Err(error),
    }
    Ok(None)
}

fn not_continued(before: Option<AuditPosition>, start: Option<SegmentStart>) -> String {
    let expected = before.map_or(1, |before| before.seq + 1);
    match start.map(|start| start.before.seq + 1) {
        Some(first) if first > expected => {
            format!("rows {expected} to {} are missing before this segment", first - 1)
        }
        Some(first) if first < expected => {
            format!("it begins with row {first}, and row {expected} was expected")
        }
        _ => BadSegment::Continuation.to_string(),
    }
}
