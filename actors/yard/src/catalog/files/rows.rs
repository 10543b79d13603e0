//! Faults in the rows of an input: counted by reason, with the first ones kept as examples. Pure. A bad
//! row is never fatal, and always reported.

use reelyard_core::names::BadFileName;
use serde::Serialize;

/// Why a row, or a part of it, is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RowFault {
    /// It is longer than [`LONGEST_LINE`](super::lines::LONGEST_LINE).
    #[error("the line is longer than 16 MiB")]
    Overlong,
    /// It has fewer fields than the format, for example because it was cut, or has only commas.
    #[error("the row has too few fields")]
    TooFewFields,
    /// Its name cannot be a file name.
    #[error("{0}")]
    BadName(#[from] BadFileName),
    /// A size is not a number of bytes. The rest of the row is used, as in cfm.
    #[error("the size is not a number of bytes")]
    UnreadableSize,
    /// An address is not an IP address. The rest of the row is used.
    #[error("an address is not an IP address")]
    UnreadableAddress,
    /// A time is not a number of Unix seconds.
    #[error("the time is not a number of unix seconds")]
    UnreadableTime,
    /// The row is stamped later than a clock may differ.
    #[error("the time is more than five minutes ahead of this machine's clock")]
    AheadOfClock,
    /// A selection without `file(...)`.
    #[error("the row names no file")]
    NoFileName,
}

impl Serialize for RowFault {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How many bad rows of one input are kept to be shown.
pub const BAD_ROWS_SHOWN: usize = 20;

/// How many bytes of a bad row are shown.
const SHOWN_BYTES: usize = 160;

/// A bad row for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadRow {
    /// Its number in the file, from 1, including the header and empty lines.
    pub line: u64,
    /// The fault of the row.
    pub fault: RowFault,
    /// Its beginning; bytes that are not printable text are escaped.
    pub text: String,
}

/// How many rows have one fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultCount {
    /// The fault that the rows have.
    pub fault: RowFault,
    /// Number of rows with this fault.
    pub rows: u64,
}

impl FaultCount {
    /// Adds rows with this fault to `counts`.
    pub fn add(counts: &mut Vec<FaultCount>, fault: RowFault, rows: u64) {
        match counts.iter_mut().find(|count| count.fault == fault) {
            Some(count) => count.rows += rows,
            None => counts.push(FaultCount { fault, rows }),
        }
    }
}

/// The rows of one input: their number and their faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowTally {
    /// Rows met: lines that are not empty, without the header.
    pub rows: u64,
    /// Faults by kind, in the order of their first occurrence.
    pub faults: Vec<FaultCount>,
    /// The first bad rows.
    pub first_bad: Vec<BadRow>,
    /// Whether the last row has no line end: its writer may not have finished.
    pub torn: bool,
}

impl RowTally {
    /// Counts a fault of the row at `line`.
    pub fn fault(&mut self, line: u64, fault: RowFault, row: &[u8]) {
        self.count(fault, 1);
        if self.first_bad.len() < BAD_ROWS_SHOWN {
            self.first_bad.push(BadRow { line, fault, text: display_text(row) });
        }
    }

    /// Counts a fault of rows that are not shown.
    pub fn count(&mut self, fault: RowFault, rows: u64) {
        FaultCount::add(&mut self.faults, fault, rows);
    }

    /// Faults found in all.
    pub fn bad(&self) -> u64 {
        self.faults.iter().map(|count| count.rows).sum()
    }
}

/// The part of a row that [`RowTally::fault`] needs to show it, and to show whether it continues.
pub fn beginning(row: &[u8]) -> &[u8] {
    &row[..row.len().min(SHOWN_BYTES + 1)]
}

/// The beginning of a row as text that is safe on a terminal.
fn display_text(row: &[u8]) -> String {
    let cut = &row[..row.len().min(SHOWN_BYTES)];
    let mut text = String::with_capacity(cut.len() + 4);
    for chunk in cut.utf8_chunks() {
        for char in chunk.valid().chars() {
            if char.is_control() {
                text.extend(char.escape_default());
            } else {
                text.push(char);
            }
        }
        text.push_str(&chunk.invalid().escape_ascii().to_string());
    }
    if cut.len() < row.len() {
        text.push_str(" ...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counted_and_only_the_first_rows_kept() {
        let mut tally = RowTally::default();
        for line in 1..=100 {
            tally.fault(line, RowFault::TooFewFields, b"a\tb\xff\n");
        }
        tally.fault(101, RowFault::BadName(BadFileName::Slash), b"../x");
        assert_eq!(tally.bad(), 101);
        assert_eq!(tally.faults.len(), 2);
        assert_eq!(tally.first_bad.len(), BAD_ROWS_SHOWN);
        assert_eq!(tally.first_bad[0].text, r"a\tb\xff\n");
    }

    #[test]
    fn a_long_row_is_shown_by_its_beginning() {
        let text = display_text(&vec![b'x'; 1 << 20]);
        assert!(text.len() < 200 && text.ends_with("x ..."), "{text}");
    }
}
