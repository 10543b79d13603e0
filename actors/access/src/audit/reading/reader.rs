//! Reads pages of rows from the files, without the writer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::filter::AuditRowFilter;
use crate::audit::format::row::{AuditRow, number, read_row};
use crate::audit::format::segment;

/// A page reads at most this number of bytes, so that a narrow filter cannot keep a thread busy.
const LARGEST_READ: u64 = 32 << 20;

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOrder {
    /// The newest row is the first.
    NewestFirst,
    /// The oldest row is the first.
    OldestFirst,
}

/// Some matching rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The rows in the requested order. Unreadable ones are left out.
    pub rows: Vec<AuditRow>,
    /// The last row that was read, whether it matches or not. None at the end of the log.
    pub next: Option<u64>,
}

/// Reads the log of a node.
#[derive(Clone, Debug)]
pub struct AuditReader {
    dir: PathBuf,
}

impl AuditReader {
    /// For the log in `dir`.
    pub fn new(dir: &Path) -> Self {
        AuditReader { dir: dir.to_owned() }
    }

    /// At most `limit` rows that match, behind row `from` in this order. A page can be short or empty although
    /// more rows follow.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn page(
        &self,
        filter: &AuditRowFilter,
        order: AuditOrder,
        from: Option<u64>,
        limit: usize,
    ) -> io::Result<AuditPage> {
        let mut firsts = segment::list(&self.dir).or_else(nothing_if_missing)?;
        let ends: Vec<u64> = firsts.iter().skip(1).copied().chain([u64::MAX]).collect();
        let mut segments: Vec<(u64, u64)> = firsts.drain(..).zip(ends).collect();
        if order == AuditOrder::NewestFirst {
            segments.reverse();
        }
        let (mut page, mut read) = (AuditPage::default(), 0);
        for (first, end) in segments {
            let is_behind = match order {
                AuditOrder::NewestFirst => from.is_none_or(|from| first < from),
                AuditOrder::OldestFirst => from.is_none_or(|from| end > from + 1),
            };
            if !is_behind {
                continue;
            }
            if read >= LARGEST_READ {
                return Ok(page);
            }
            let Some(bytes) = self.segment(first)? else { continue };
            read += bytes.len() as u64;
            let lines = bytes.split(|byte| *byte == b'\n').skip(1);
            let rows: Box<dyn Iterator<Item = &[u8]>> = match order {
                AuditOrder::NewestFirst => {
                    let mut lines: Vec<&[u8]> = lines.collect();
                    lines.reverse();
                    Box::new(lines.into_iter())
                }
                AuditOrder::OldestFirst => Box::new(lines),
            };
            for line in rows {
                let Some(seq) = number(line) else { continue };
                let is_behind = match order {
                    AuditOrder::NewestFirst => from.is_none_or(|from| seq < from),
                    AuditOrder::OldestFirst => from.is_none_or(|from| seq > from),
                };
                if !is_behind {
                    continue;
                }
                if page.rows.len() >= limit {
                    return Ok(page);
                }
                page.next = Some(seq);
                let row = filter.can_match(line).then(|| read_row(line));
                if let Some(Ok(row)) = row
                    && filter.matches(&row)
                {
                    page.rows.push(row);
                }
            }
        }
        page.next = None;
        Ok(page)
    }

    /// The numbers of the segments, oldest first. Each is read by [`AuditReader::lines`].
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn segments(&self) -> io::Result<Vec<u64>> {
        segment::list(&self.dir).or_else(nothing_if_missing)
    }

    /// The lines of a segment whose rows match. With an empty filter, also its first line. Nothing if the segment
    /// was removed.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn lines(&self, first: u64, filter: &AuditRowFilter) -> io::Result<Vec<u8>> {
        let bytes = self.segment(first)?.unwrap_or_default();
        if *filter == AuditRowFilter::default() {
            return Ok(bytes);
        }
        let mut matching = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let row = filter.can_match(line).then(|| read_row(line.trim_ascii_end()));
            if row.is_some_and(|row| row.is_ok_and(|row| filter.matches(&row))) {
                matching.extend_from_slice(line);
            }
        }
        Ok(matching)
    }

    /// The complete lines of a segment. None if it was removed.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    fn segment(&self, first: u64) -> io::Result<Option<Vec<u8>>> {
        match fs::read(segment::path(&self.dir, first)) {
            Ok(mut bytes) => {
                let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                bytes.truncate(end);
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The directory is created with the first row.
fn nothing_if_missing(error: io::Error) -> io::Result<Vec<u64>> {
    if error.kind() == io::ErrorKind::NotFound { Ok(Vec::new()) } else { Err(error) }
}
