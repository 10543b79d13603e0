//! hitcount.history: sizes of graded files, and the destinations that hold them. Pure.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use reelyard_core::kept_order::KeptOrder;
use reelyard_core::names::NameTable;

use super::address_lists::{AddressLists, ListNumber};
use super::grade_info::Grades;
use super::history_rows::{HistoryBlock, HistoryRowReader, HistoryRows};
use super::rows::RowTally;

/// Marks a missing size in [`HitcountHistory::sizes`].
const NO_SIZE: u64 = u64::MAX;

/// The entries of hitcount.history about graded files, by their position in [`Grades::files`].
#[derive(Clone, Debug, Default)]
pub struct HitcountHistory {
    sizes: Vec<u64>,
    /// The destinations listed for each file.
    listed: Vec<ListNumber>,
    lists: AddressLists,
    /// The positions by size, once they were sorted: four bytes a file.
    by_size: OnceLock<KeptOrder>,
}

impl HitcountHistory {
    /// A history without files of `grades`.
    pub fn empty(grades: &Grades) -> Self {
        let files = grades.files().len();
        HitcountHistory {
            sizes: vec![NO_SIZE; files],
            listed: vec![ListNumber::EMPTY; files],
            ..HitcountHistory::default()
        }
    }

    /// The entries of this history, read against `old`, for the files of `new`. For a time in which only
    /// the grades can be read.
    pub fn carried_over(&self, old: &Grades, new: &Grades) -> Self {
        let mut carried =
            HitcountHistory { lists: self.lists.clone(), ..HitcountHistory::empty(new) };
        for (position, &file) in new.files().iter().enumerate() {
            if let Some(before) = old.position(file) {
                carried.sizes[position] = self.sizes[before];
                carried.listed[position] = self.listed[before];
            }
        }
        carried
    }

    /// Size in bytes of the file at `position`, if a row has one.
    pub fn size(&self, position: usize) -> Option<u64> {
        self.sizes.get(position).copied().filter(|&size| size != NO_SIZE)
    }

    /// All positions: those without a size, and then the smallest first. Positions with the same size are in their own
    /// order. They are sorted at the first call.
    pub fn by_size(&self) -> &[u32] {
        let key = |size: &u64| size.wrapping_add(1);
        let keyed = || self.sizes.iter().map(key).zip(0..);
        self.by_size.get_or_init(|| KeptOrder::by_number(keyed())).items()
    }

    /// The destinations listed for the file at `position`, each once, ascending.
    pub fn listed_on(&self, position: usize) -> &[IpAddr] {
        self.listed.get(position).map_or(&[], |&list| self.lists.addresses(list))
    }

    /// Adds the size, if there is one, and the addresses of a row to the file at `position`.
    pub fn set(&mut self, position: usize, size: Option<u64>, addresses: &[IpAddr]) {
        let list = self.lists.number_of(addresses.to_vec());
        self.insert(position, size, list);
    }

    fn insert(&mut self, position: usize, size: Option<u64>, list: ListNumber) {
        if let Some(size) = size.filter(|&size| size != NO_SIZE) {
            self.sizes[position] = size;
            self.by_size.take();
        }
        self.listed[position] = self.lists.joined(self.listed[position], list);
    }
}

/// Reads hitcount.history as its bytes arrive. Names that are not graded are ignored.
#[derive(Debug)]
pub struct HistoryReader {
    rows: HistoryRowReader,
    join: HistoryJoin,
}

/// The result of a read of hitcount.history.
#[derive(Debug)]
pub struct HistoryRead {
    /// Sizes and addresses of the graded files.
    pub history: HitcountHistory,
    /// How many rows were read, and how many had faults.
    pub tally: RowTally,
    /// Rows of names that are not graded.
    pub ungraded: u64,
}

impl HistoryReader {
    /// A reader of rows for the files of `grades`; of the listed addresses only `destinations`
    /// count.
    pub fn new(names: NameTable, grades: Arc<Grades>, destinations: BTreeSet<IpAddr>) -> Self {
        let rows = HistoryRowReader::new(names.hasher(), destinations);
        HistoryReader { rows, join: HistoryJoin::new(names, grades) }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.rows.feed(chunk);
        for block in self.rows.take_blocks() {
            let positions = self.join.positions(&block);
            self.join.add_block(&block, &positions);
        }
    }

    /// The input ended.
    pub fn finish(self) -> HistoryRead {
        self.join.finish(self.rows.finish())
    }
}

/// Joins rows of hitcount.history with the grades.
#[derive(Debug)]
pub struct HistoryJoin {
    names: NameTable,
    grades: Arc<Grades>,
    sizes: Vec<u64>,
    /// For each position, the list of its first row with one.
    listed: Vec<ListNumber>,
    /// Further lists of a position, in order. Their numbers are valid once all are read.
    further: Vec<(usize, ListNumber)>,
    tally: RowTally,
    ungraded: u64,
}

/// The positions of a block's rows among the graded files.
pub type Positions = Vec<Option<usize>>;

impl HistoryJoin {
    /// Nothing joined yet.
    pub fn new(names: NameTable, grades: Arc<Grades>) -> Self {
        let HitcountHistory { sizes, listed, .. } = HitcountHistory::empty(&grades);
        HistoryJoin {
            names,
            grades,
            sizes,
            listed,
            further: Vec::new(),
            tally: RowTally::default(),
            ungraded: 0,
        }
    }

    /// The files that the rows of a block name. The table of names is locked meanwhile.
    pub fn positions(&self, block: &HistoryBlock) -> Positions {
        let found = self.names.lookup().find_all(block.names());
        found.into_iter().map(|file| self.grades.position(file?)).collect()
    }

    /// Takes the rows of a block.
    pub fn add_block(&mut self, block: &HistoryBlock, positions: &Positions) {
        for (row, position) in block.rows().iter().zip(positions) {
            let Some(position) = *position else {
                self.ungraded += 1;
                continue;
            };
            if let Some(size) = row.size {
                self.sizes[position] = size;
            }
            match self.listed[position] {
                ListNumber::EMPTY => self.listed[position] = row.list,
                before if before == row.list => {}
                _ => self.further.push((position, row.list)),
            }
        }
        block.count_faults(|row| positions[row].is_some(), &mut self.tally);
    }

    /// After all rows were read: joins those of `rows` that were not taken yet.
    pub fn finish(mut self, rows: HistoryRows) -> HistoryRead {
        let HistoryRows { blocks, lists, rows, torn } = rows;
        for block in &blocks {
            let positions = self.positions(block);
            self.add_block(block, &positions);
        }
        let HistoryJoin { sizes, listed, further, mut tally, ungraded, .. } = self;
        tally.rows = rows;
        tally.torn = torn;
        let mut history = HitcountHistory { sizes, listed, lists, by_size: OnceLock::new() };
        for (position, list) in further {
            history.insert(position, None, list);
        }
        HistoryRead { history, tally, ungraded }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::rows::RowFault;
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
    fn a_row_contains_the_size_and_the_destinations() {
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
    fn bad_rows_are_counted_and_their_good_fields_are_used() {
        use reelyard_core::names::BadFileName::{Empty, Slash};
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
        let mut history = HitcountHistory::empty(&old);
        history.set(1, Some(5), &[ip("10.0.0.1")]);
        let new = Grades::from_rows([b, c]);
        let carried = history.carried_over(&old, &new);
        assert_eq!((carried.size(0), carried.size(1)), (Some(5), None));
        assert_eq!((history.by_size(), carried.by_size()), (&[0, 1][..], &[1, 0][..]));
        history.set(0, Some(6), &[]);
        assert_eq!(history.by_size(), [1, 0]);
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
