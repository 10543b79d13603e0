//! Verifies that the rows form one log up to the end in the head.

use crate::store::StoreError;
use crate::store::database::head::LogEnd;
use crate::store::database::log_row::{damaged, index_of};
use crate::store::record::{self, RecordLink};

/// Reads rows in sequence, and checks that they form one log.
pub(crate) struct LogVerifier {
    pub(crate) first_needed: u64,
    /// End of the log in the head; none in a store of an earlier version.
    pub(crate) expected: Option<LogEnd>,
    pub(crate) first: Option<u64>,
    /// The last row and its checksum.
    pub(crate) last: Option<(u64, RecordLink)>,
    pub(crate) unfinished: u64,
}

impl LogVerifier {
    /// Takes the next row, and answers its size.
    pub(crate) fn verify(
        &mut self,
        (key, row): &(sled::IVec, sled::IVec),
    ) -> Result<u64, StoreError> {
        let index = index_of(key)?;
        if self.expected.is_some_and(|expected| index >= expected.end) {
            self.unfinished += 1;
            return Ok(row.len() as u64);
        }
        let read = record::read(row).map_err(|error| damaged(index, error))?;
        match self.last {
            Some((last, _)) if index != last + 1 => {
                return Err(damaged(index, "entries before it are missing"));
            }
            Some((_, link)) if read.link.is_some_and(|before| before != link) => {
                return Err(damaged(index, "it does not follow the entry before it"));
            }
            // Rows of a partly purged segment still exist.
            None if index > self.first_needed => {
                return Err(damaged(index, "entries before it are missing"));
            }
            _ => {}
        }
        self.first = self.first.or(Some(index));
        self.last = Some((index, read.checksum));
        Ok(row.len() as u64)
    }

    /// The end of the accepted rows.
    pub(crate) fn end(&self) -> LogEnd {
        match self.last {
            Some((last, link)) if last + 1 >= self.first_needed => LogEnd { end: last + 1, link },
            // Everything is purged, so only the head has the link of the last row.
            _ => LogEnd {
                end: self.first_needed,
                link: self
                    .expected
                    .filter(|expected| expected.end == self.first_needed)
                    .unwrap_or_default()
                    .link,
            },
        }
    }

    /// Fault at `end`: a missing row, or a row that the head does not know.
    pub(crate) fn missing(&self, end: LogEnd) -> Option<StoreError> {
        let expected = self.expected.filter(|expected| *expected != end)?;
        let last_is_purged = self.last.is_none_or(|(last, _)| last + 1 < end.end);
        if expected.end > end.end {
            Some(damaged(end.end, format!("it and those up to {} are missing", expected.end - 1)))
        } else if expected.end == end.end && !last_is_purged {
            Some(damaged(end.end.saturating_sub(1), "it is not the one that was written last"))
        } else {
            None
        }
    }
}
