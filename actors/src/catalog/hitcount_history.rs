//! hitcount.history: sizes of graded files, and the destinations that hold them. Pure; spec 1.2.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use hashbrown::HashMap;

use super::grade_info::Grades;
use super::lines::{Line, LineSplitter};
use super::rows::{RowFault, RowTally};
use crate::names::{FileName, NameTable, Reading};

/// Stands in [`History::sizes`] for a size that was not told.
const NO_SIZE: u64 = u64::MAX;

/// What hitcount.history says of the graded files, by their position in [`Grades::files`].
#[derive(Clone, Debug, Default)]
pub struct History {
    sizes: Vec<u64>,
    /// Which of `lists` holds for the file.
    listed: Vec<u32>,
    /// The different lists of addresses that occur, each sorted; the first is the empty one.
    /// A yard has few destinations and most files are on one, so these are few.
    lists: Vec<Box<[IpAddr]>>,
    list_numbers: HashMap<Box<[IpAddr]>, u32>,
}

impl History {
    /// A history that says nothing of any file of `grades`.
    pub fn empty(grades: &Grades) -> Self {
        let files = grades.files().len();
        History {
            sizes: vec![NO_SIZE; files],
            listed: vec![0; files],
            lists: vec![Box::default()],
            list_numbers: HashMap::from([(Box::default(), 0)]),
        }
    }

    /// What this history, read against `old`, says of the files of `new`. For the time in which
    /// the history cannot be read and the grades can.
    pub fn carried_over(&self, old: &Grades, new: &Grades) -> Self {
        let mut carried = History::empty(new);
        for (position, &file) in new.files().iter().enumerate() {
            if let Some(before) = old.position(file) {
                carried.set(position, self.size(before), self.listed_on(before));
            }
        }
        carried
    }

    /// The size told for the file at `position`, in bytes.
    pub fn size(&self, position: usize) -> Option<u64> {
        self.sizes.get(position).copied().filter(|&size| size != NO_SIZE)
    }

    /// The destinations listed for the file at `position`, each once, ascending.
    pub fn listed_on(&self, position: usize) -> &[IpAddr] {
        self.listed.get(position).map_or(&[], |&number| &self.lists[number as usize])
    }

    /// Sets what is said of the file at `position`: the size, if one is told, and the addresses
    /// beside those told before.
    pub fn set(&mut self, position: usize, size: Option<u64>, addresses: &[IpAddr]) {
        if let Some(size) = size {
            self.sizes[position] = size;
        }
        if addresses.is_empty() {
            return;
        }
        let before = self.listed_on(position);
        self.listed[position] = if before.is_empty() && addresses.is_sorted_by(|a, b| a < b) {
            self.list_number(addresses)
        } else {
            let mut all = [before, addresses].concat();
            all.sort_unstable();
            all.dedup();
            self.list_number(&all)
        };
    }

    fn list_number(&mut self, list: &[IpAddr]) -> u32 {
        if let Some(&number) = self.list_numbers.get(list) {
            return number;
        }
        // At most one list is new per row, and so many rows no memory holds.
        let number = self.lists.len() as u32;
        self.lists.push(list.into());
        self.list_numbers.insert(list.into(), number);
        number
    }
}

/// Reads hitcount.history as its bytes arrive. Names that are not graded do not exist for it.
#[derive(Debug)]
pub struct HistoryReader {
    names: NameTable,
    lines: LineSplitter,
    rows: Rows,
}

/// What the rows amount to so far.
#[derive(Debug)]
struct Rows {
    grades: Arc<Grades>,
    /// Only these addresses count (spec 1.2).
    destinations: BTreeSet<IpAddr>,
    history: History,
    tally: RowTally,
    ungraded: u64,
    /// The destinations of the row at hand.
    listed: Vec<IpAddr>,
}

/// What was read of hitcount.history.
#[derive(Debug)]
pub struct HistoryRead {
    /// What it says of the graded files.
    pub history: History,
    /// Its rows.
    pub tally: RowTally,
    /// Rows of names that are not graded.
    pub ungraded: u64,
}

impl HistoryReader {
    /// A reader of rows for the files of `grades`; of the listed addresses only `destinations`
    /// count.
    pub fn new(names: NameTable, grades: Arc<Grades>, destinations: BTreeSet<IpAddr>) -> Self {
        let history = History::empty(&grades);
        let rows = Rows {
            grades,
            destinations,
            history,
            tally: RowTally::default(),
            ungraded: 0,
            listed: Vec::new(),
        };
        HistoryReader { names, lines: LineSplitter::default(), rows }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        let names = self.names.reading();
        self.lines.feed(chunk, |number, line| self.rows.read(&names, number, line, false));
    }

    /// The input ended.
    pub fn finish(mut self) -> HistoryRead {
        let names = self.names.reading();
        let rows = &mut self.rows;
        rows.tally.torn = self.lines.finish(|number, line| rows.read(&names, number, line, true));
        let Rows { history, tally, ungraded, .. } = self.rows;
        HistoryRead { history, tally, ungraded }
    }
}

impl Rows {
    fn read(&mut self, names: &Reading<'_>, number: u64, line: Line<'_>, torn: bool) {
        if number == 1 {
            return;
        }
        self.tally.rows += 1;
        match line {
            Line::Overlong(start) => self.tally.fault(number, RowFault::Overlong, start),
            Line::Whole(row) => {
                if let Err(fault) = self.read_row(names, number, row, torn) {
                    self.tally.fault(number, fault, row);
                }
            }
        }
    }

    fn read_row(
        &mut self,
        names: &Reading<'_>,
        number: u64,
        row: &[u8],
        torn: bool,
    ) -> Result<(), RowFault> {
        let mut fields = row.splitn(6, |&byte| byte == b',');
        let mut next = || fields.next().ok_or(RowFault::TooFewFields);
        let name = next()?;
        let (_register_time, _bitrate, size, addresses) = (next()?, next()?, next()?, next()?);
        if torn && next().is_err() {
            // The list of addresses is the last thing in a row that was cut: its last address may
            // be cut into another one.
            return Err(RowFault::TooFewFields);
        }
        let Some(position) = names.find(name).and_then(|file| self.grades.position(file)) else {
            FileName::check(name)?;
            self.ungraded += 1;
            return Ok(());
        };
        let size = parse::<u64>(size).filter(|&size| size != NO_SIZE);
        if size.is_none() {
            self.tally.fault(number, RowFault::UnreadableSize, row);
        }
        let all_readable = self.read_addresses(addresses);
        self.history.set(position, size, &self.listed);
        if all_readable { Ok(()) } else { Err(RowFault::UnreadableAddress) }
    }

    /// Puts the destinations among `addresses` into `listed`; whether all are addresses.
    fn read_addresses(&mut self, addresses: &[u8]) -> bool {
        let mut all_readable = true;
        self.listed.clear();
        for text in addresses.split(|&byte| byte == b' ').filter(|text| !text.is_empty()) {
            match parse::<IpAddr>(text) {
                Some(ip) if self.destinations.contains(&ip) => self.listed.push(ip),
                Some(_) => {}
                None => all_readable = false,
            }
        }
        all_readable
    }
}

fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Reads `rows` behind a header for the files A, B and C and the destinations .1 and .2.
    fn read_in_chunks(rows: &[u8], chunk: usize) -> HistoryRead {
        let names = NameTable::new();
        let ids = names.intern_all([&b"A"[..], b"B", b"C"]);
        let grades = Grades::from_rows(ids.into_iter().map(|id| id.ok()));
        let destinations = [ip("10.0.0.1"), ip("10.0.0.2")].into();
        let mut reader = HistoryReader::new(names, Arc::new(grades), destinations);
        let bytes = [b"historyheader:1\n", rows].concat();
        bytes.chunks(chunk).for_each(|chunk| reader.feed(chunk));
        reader.finish()
    }

    fn read(rows: &[u8]) -> HistoryRead {
        read_in_chunks(rows, 1 << 20)
    }

    fn faults(read: &HistoryRead) -> Vec<(u64, RowFault)> {
        read.tally.first_bad.iter().map(|bad| (bad.line, bad.fault)).collect()
    }

    #[test]
    fn a_row_tells_the_size_and_the_destinations() {
        let read = read(
            b"A,1508301143,6399785,920910664,10.0.0.2 10.0.0.1,2,0,0,1=1 2\r\n\
                          B,1,2,0,,2,0,0,1=\n",
        );
        assert_eq!(read.history.size(0), Some(920_910_664));
        assert_eq!(read.history.listed_on(0), [ip("10.0.0.1"), ip("10.0.0.2")]);
        assert_eq!((read.history.size(1), read.history.listed_on(1)), (Some(0), &[][..]));
        assert_eq!(read.history.size(2), None);
        assert_eq!((read.tally.rows, read.tally.bad()), (2, 0));
    }

    #[test]
    fn an_address_counts_once_and_only_if_it_is_a_destination() {
        let read = read(b"A,1,2,3,10.0.0.1 10.0.0.1 10.0.0.9,2\nA,1,2,4,10.0.0.2 10.0.0.1,2\n");
        assert_eq!(read.history.listed_on(0), [ip("10.0.0.1"), ip("10.0.0.2")]);
        assert_eq!(read.history.size(0), Some(4));
    }

    #[test]
    fn names_that_are_not_graded_do_not_exist() {
        let read = read(b"X,1,2,3,10.0.0.1,2\n");
        assert_eq!((read.ungraded, read.tally.bad()), (1, 0));
    }

    #[test]
    fn bad_rows_are_counted_and_what_is_good_in_them_is_used() {
        use crate::names::BadFileName::{Empty, Slash};
        let read = read(
            b"A,1\n,,,,,,,,\n../x,1,2,3,,2\nA,1,2,many,10.0.0.1,2\n\
                          B,1,2,-1,10.0.0.1x 10.0.0.2,2\n",
        );
        assert_eq!(
            faults(&read),
            [
                (2, RowFault::TooFewFields),
                (3, RowFault::BadName(Empty)),
                (4, RowFault::BadName(Slash)),
                (5, RowFault::UnreadableSize),
                (6, RowFault::UnreadableSize),
                (6, RowFault::UnreadableAddress),
            ]
        );
        assert_eq!(read.history.listed_on(0), [ip("10.0.0.1")]);
        assert_eq!(read.history.listed_on(1), [ip("10.0.0.2")]);
    }

    #[test]
    fn a_torn_row_counts_unless_its_addresses_may_be_cut() {
        let cut = read(b"A,1,2,3,10.0.0.1");
        assert!(cut.tally.torn && cut.history.listed_on(0).is_empty());
        assert_eq!(faults(&cut), [(2, RowFault::TooFewFields)]);
        let whole = read(b"A,1,2,3,10.0.0.1,");
        assert!(whole.tally.torn && whole.tally.bad() == 0);
        assert_eq!(whole.history.listed_on(0), [ip("10.0.0.1")]);
    }

    #[test]
    fn a_history_is_carried_over_to_new_grades_by_file() {
        let names = NameTable::new();
        let ids = names.intern_all([&b"A"[..], b"B", b"C"]);
        let [a, b, c] = [0, 1, 2].map(|index: usize| ids[index].ok());
        let old = Grades::from_rows([a, b]);
        let mut history = History::empty(&old);
        history.set(1, Some(5), &[ip("10.0.0.1")]);
        let new = Grades::from_rows([b, c]);
        let carried = history.carried_over(&old, &new);
        assert_eq!((carried.size(0), carried.size(1)), (Some(5), None));
        assert_eq!(carried.listed_on(0), [ip("10.0.0.1")]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_where_they_are_cut_makes_no_difference(
            rows in proptest::collection::vec(prop_oneof![
                Just(b"\n".to_vec()), Just(b",".to_vec()), Just(b"A,1,2,3,10.0.0.1,".to_vec()),
                Just(b"B,".to_vec()), Just(b" ".to_vec()), Just(b"10.0.0.2".to_vec()),
                any::<u8>().prop_map(|byte| vec![byte])], 0..60),
            chunk in 1_usize..50,
        ) {
            let bytes = rows.concat();
            let (cut, whole) = (read_in_chunks(&bytes, chunk), read(&bytes));
            prop_assert_eq!(&cut.tally, &whole.tally);
            for position in 0..3 {
                prop_assert_eq!(cut.history.size(position), whole.history.size(position));
                prop_assert_eq!(cut.history.listed_on(position), whole.history.listed_on(position));
            }
        }
    }
}
