//! Rows of hitcount.history, read without knowing which names are graded, so that both files can be
//! read at the same time. Pure.

use std::collections::BTreeSet;
use std::net::IpAddr;

use reelyard_core::names::{FileName, HashedName, NameHash, NameHasher};

use super::address_lists::{AddressLists, AddressReader, ListNumber};
use super::lines::{InputLine, LineSplitter};
use super::rows::{BAD_ROWS_SHOWN, FaultCount, RowFault, RowTally, beginning};

/// The number of rows of a block. Names are looked up a block at a time. Many independent look-ups in
/// sequence are several times faster than the same look-ups between other work.
const ROWS_PER_BLOCK: usize = 4096;

/// Rows in the order of the file.
#[derive(Debug, Default)]
pub struct HistoryBlock {
    rows: Vec<HitcountRow>,
    /// The names in sequence.
    names: Vec<u8>,
    faulty: Vec<FaultyRow>,
    /// How many more are faulty, by fault: rows that will not be shown.
    more_faulty: Vec<FaultCount>,
}

/// The content of one row.
#[derive(Debug)]
pub struct HitcountRow {
    hash: NameHash,
    /// The end of its name among the names of the block. It begins at the end of the previous one.
    name_end: u32,
    /// The destinations it lists.
    pub list: ListNumber,
    /// Size of the file in bytes, if the row has one.
    pub size: Option<u64>,
}

/// A row that could not be read.
#[derive(Debug)]
struct FaultyRow {
    /// Number of rows in the block before it; for a row that is used, itself included.
    behind: usize,
    line: u64,
    /// The beginning of it that is shown.
    text: Box<[u8]>,
    fault: RowFault,
    /// Whether it only counts when the name of the row is graded.
    if_graded: bool,
}

impl HistoryBlock {
    /// The names of the rows, in order.
    pub fn names(&self) -> impl Iterator<Item = HashedName<'_>> + Clone {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let end = row.name_end as usize;
            let name = &self.names[start..end];
            start = end;
            HashedName { name, hash: row.hash }
        })
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[HitcountRow] {
        &self.rows
    }

    /// Counts the faults of the rows, in order.
    pub fn count_faults(&self, is_graded: impl Fn(usize) -> bool, tally: &mut RowTally) {
        for FaultyRow { behind, line, text, fault, if_graded } in &self.faulty {
            if !if_graded || is_graded(behind - 1) {
                tally.fault(*line, *fault, text);
            }
        }
        for FaultCount { fault, rows } in &self.more_faulty {
            tally.count(*fault, *rows);
        }
    }
}

/// Reads the rows as their bytes arrive.
#[derive(Debug)]
pub struct HistoryRowReader {
    lines: LineSplitter,
    parser: Parser,
}

#[derive(Debug)]
struct Parser {
    hasher: NameHasher,
    addresses: AddressReader,
    /// Blocks that are full.
    blocks: Vec<HistoryBlock>,
    /// The one that is being filled.
    block: HistoryBlock,
    rows: u64,
    /// Faults that count in any case.
    sure_faults: u64,
}

/// All rows that were not taken before.
#[derive(Debug)]
pub struct HistoryRows {
    /// Block by block, in order.
    pub blocks: Vec<HistoryBlock>,
    /// The lists that the numbers in the rows name.
    pub lists: AddressLists,
    /// The number of rows, including bad ones.
    pub rows: u64,
    /// Whether the last row has no line end.
    pub torn: bool,
}

impl HistoryRowReader {
    /// A reader for which only `destinations` count. `hasher` is that of the table in which the
    /// names will be looked up.
    pub fn new(hasher: NameHasher, destinations: BTreeSet<IpAddr>) -> Self {
        let parser = Parser {
            hasher,
            addresses: AddressReader::new(destinations),
            blocks: Vec::new(),
            block: HistoryBlock::default(),
            rows: 0,
            sure_faults: 0,
        };
        HistoryRowReader { lines: LineSplitter::default(), parser }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.lines.feed(chunk, |number, line| self.parser.parse_line(number, line, false));
    }

    /// Removes and returns the complete blocks.
    pub fn take_blocks(&mut self) -> Vec<HistoryBlock> {
        std::mem::take(&mut self.parser.blocks)
    }

    /// The input ended.
    pub fn finish(mut self) -> HistoryRows {
        let parser = &mut self.parser;
        let torn = self.lines.finish(|number, line| parser.parse_line(number, line, true));
        let Parser { addresses, mut blocks, block, rows, .. } = self.parser;
        blocks.push(block);
        HistoryRows { blocks, lists: addresses.into_lists(), rows, torn }
    }
}

impl Parser {
    fn parse_line(&mut self, number: u64, line: InputLine<'_>, torn: bool) {
        // The first line is the header and is ignored.
        if number == 1 {
            return;
        }
        self.rows += 1;
        match line {
            InputLine::Overlong(start) => self.fault(number, start, RowFault::Overlong, false),
            InputLine::Whole(row) => {
                if let Err(fault) = self.read(number, row, torn) {
                    self.fault(number, row, fault, false);
                }
            }
        }
        if self.block.rows.len() + self.block.faulty.len() >= ROWS_PER_BLOCK {
            self.blocks.push(std::mem::take(&mut self.block));
        }
    }

    fn read(&mut self, number: u64, row: &[u8], torn: bool) -> Result<(), RowFault> {
        let mut commas = memchr::memchr_iter(b',', row);
        let mut comma = || commas.next().ok_or(RowFault::TooFewFields);
        // Name, time of registration, bitrate, size, addresses, and further fields.
        let (name_end, _time_end, bitrate_end, size_end) = (comma()?, comma()?, comma()?, comma()?);
        let addresses_end = match comma() {
            Ok(end) => end,
            // The list of addresses is the last field of a cut row. Its last address may be incomplete.
            Err(fault) if torn => return Err(fault),
            Err(_) => row.len(),
        };
        let name = &row[..name_end];
        FileName::check(name)?;
        let size = size_in(&row[bitrate_end + 1..size_end]);
        let (list, all_readable) = self.addresses.read(&row[size_end + 1..addresses_end]);
        self.block.push(self.hasher.hash(name), name, size, list);
        if size.is_none() {
            self.fault(number, row, RowFault::UnreadableSize, true);
        }
        if !all_readable {
            self.fault(number, row, RowFault::UnreadableAddress, true);
        }
        Ok(())
    }

    fn fault(&mut self, line: u64, row: &[u8], fault: RowFault, if_graded: bool) {
        // A file that is no hitcount.history may have any number of them. Only as many as are shown are
        // kept.
        let is_shown = self.sure_faults < BAD_ROWS_SHOWN as u64;
        self.sure_faults += u64::from(!if_graded);
        if is_shown || if_graded {
            let text = if is_shown { beginning(row) } else { &[] };
            let behind = self.block.rows.len();
            self.block.faulty.push(FaultyRow { behind, line, text: text.into(), fault, if_graded });
        } else {
            FaultCount::add(&mut self.block.more_faulty, fault, 1);
        }
    }
}

impl HistoryBlock {
    fn push(&mut self, hash: NameHash, name: &[u8], size: Option<u64>, list: ListNumber) {
        self.names.extend_from_slice(name);
        // A block is a few thousand names of at most 255 bytes.
        let name_end = self.names.len() as u32;
        self.rows.push(HitcountRow { hash, name_end, list, size });
    }
}

/// A number of bytes. The largest number marks a missing size; no file is so large.
fn size_in(text: &[u8]) -> Option<u64> {
    let size = std::str::from_utf8(text).ok()?.parse().ok();
    size.filter(|&size| size != u64::MAX)
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::NameTable;

    use super::*;

    #[test]
    fn a_file_that_is_no_history_is_counted_and_not_kept() {
        let mut reader = HistoryRowReader::new(NameTable::new().hasher(), BTreeSet::new());
        let row = [vec![b'x'; 10_000], b"\n".to_vec()].concat();
        reader.feed(b"header\n");
        for _ in 0..1000 {
            reader.feed(&row);
        }
        let rows = reader.finish();
        let mut tally = RowTally::default();
        let mut kept = 0;
        for block in &rows.blocks {
            block.count_faults(|_| false, &mut tally);
            kept += block.faulty.iter().map(|row| row.text.len()).sum::<usize>();
        }
        let counted = FaultCount { fault: RowFault::TooFewFields, rows: 1000 };
        assert_eq!((rows.rows, &tally.faults), (1000, &vec![counted]));
        assert_eq!(tally.first_bad.len(), BAD_ROWS_SHOWN);
        assert!(tally.first_bad[0].text.ends_with("x ..."));
        assert!(kept < 10_000, "{kept} bytes");
    }

    #[test]
    fn rows_with_faults_of_graded_names_fill_blocks_too() {
        let mut reader = HistoryRowReader::new(NameTable::new().hasher(), BTreeSet::new());
        reader.feed(b"header\n");
        for number in 0..ROWS_PER_BLOCK {
            reader.feed(format!("f{number}.mpg,1,2,large,nowhere,\n").as_bytes());
        }
        let blocks = reader.finish().blocks;
        let most = blocks.iter().map(|block| block.rows.len() + block.faulty.len()).max();
        assert!(most.unwrap() <= ROWS_PER_BLOCK + 2, "{most:?}");
        let mut tally = RowTally::default();
        blocks.iter().for_each(|block| block.count_faults(|_| true, &mut tally));
        assert_eq!(tally.bad(), 2 * ROWS_PER_BLOCK as u64);
    }
}
