//! grade.info: the files, best first. Pure.

use std::sync::Arc;

use reelyard_core::names::{ByFile, FileId, NamePin, NameTable};
use roaring::RoaringBitmap;

use super::lines::{InputLine, LineSplitter};
use super::rows::{RowFault, RowTally};

/// The position of a file that is not graded.
const NOT_GRADED: u32 = u32::MAX;

/// The graded files in the order of their ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Grades {
    /// Best first, each once.
    files: Vec<FileId>,
    /// The rank of the file at the same position: 1 = best, growing. If a row is bad, or its name
    /// appears again in a later row, its number is left out.
    ranks: Vec<u32>,
    /// Position of a file in `files`, or [`NOT_GRADED`].
    positions: ByFile<u32>,
    /// All graded files. Their names are not forgotten while it lives.
    set: Arc<RoaringBitmap>,
    /// The number of copies in grade.info of the file at the same position (`TargetCopyCount`).
    targets: Vec<u8>,
}

impl Grades {
    /// The grades of rows in the order of the file. `None` is a row with a bad name, which takes a rank
    /// in any case. If a name comes twice, the last row counts.
    pub fn from_rows(rows: impl IntoIterator<Item = Option<FileId>>) -> Self {
        Grades::from_rows_wanting(rows.into_iter().map(|file| (file, 1)))
    }

    /// The same from rows with wanted numbers of copies.
    pub fn from_rows_wanting(rows: impl IntoIterator<Item = (Option<FileId>, u8)>) -> Self {
        let mut building = Building::default();
        rows.into_iter().for_each(|(file, copies)| building.row(file, copies));
        building.finish()
    }

    /// Every graded file, best first, each once.
    pub fn files(&self) -> &[FileId] {
        &self.files
    }

    /// The rank of a file, 1 = best.
    pub fn rank(&self, file: FileId) -> Option<u32> {
        self.position(file).map(|position| self.ranks[position])
    }

    /// Position of a file in [`Grades::files`].
    pub fn position(&self, file: FileId) -> Option<usize> {
        let position = self.positions.get(file);
        (position != NOT_GRADED).then_some(position as usize)
    }

    /// The number of copies of a file in grade.info: from 1 to 255.
    pub fn target(&self, file: FileId) -> u32 {
        self.position(file).map_or(1, |position| u32::from(self.targets[position]))
    }

    /// The files with more than one wanted copy in grade.info, best first.
    pub fn wanted_more_than_once(&self) -> impl Iterator<Item = FileId> {
        self.files
            .iter()
            .zip(&self.targets)
            .filter(|(_, copies)| **copies > 1)
            .map(|(file, _)| *file)
    }

    /// All graded files.
    pub fn set(&self) -> &RoaringBitmap {
        &self.set
    }
}

/// Grades while their rows still arrive.
#[derive(Debug)]
struct Building {
    /// The file of each row with its rank.
    rows: Vec<(FileId, u32)>,
    /// The last rank of a file in the rows, 0 = none.
    last_ranks: ByFile<u32>,
    /// The number of rows, including bad ones.
    ranked: u32,
    /// The wanted number of copies of each row.
    targets: Vec<u8>,
}

impl Default for Building {
    fn default() -> Self {
        let (rows, targets) = (Vec::new(), Vec::new());
        Building { rows, last_ranks: ByFile::new(0), ranked: 0, targets }
    }
}

impl Default for Grades {
    fn default() -> Self {
        Building::default().finish()
    }
}

impl Building {
    fn row(&mut self, file: Option<FileId>, copies: u8) {
        self.ranked = self.ranked.saturating_add(1);
        let Some(file) = file else { return };
        self.last_ranks.set(file, self.ranked);
        self.rows.push((file, self.ranked));
        self.targets.push(copies);
    }

    fn finish(self) -> Grades {
        let Building { rows, last_ranks, targets: wanted, .. } = self;
        let is_last = |(file, rank): &&(FileId, u32)| last_ranks.get(*file) == *rank;
        let kept = rows.iter().filter(is_last).count();
        let mut files = Vec::with_capacity(kept);
        let mut ranks = Vec::with_capacity(kept);
        let mut targets = Vec::with_capacity(kept);
        for (row, copies) in rows.iter().zip(&wanted).filter(|(row, _)| is_last(row)) {
            files.push(row.0);
            ranks.push(row.1);
            targets.push(*copies);
        }
        drop((rows, last_ranks));
        let mut positions = ByFile::new(NOT_GRADED);
        for (position, file) in (0..).zip(&files) {
            positions.set(*file, position);
        }
        let set = Arc::new(positions.files().map(|file| file.0).collect());
        Grades { files, ranks, positions, set, targets }
    }
}

/// Reads grade.info as its bytes arrive.
#[derive(Debug)]
pub struct GradeInfoReader {
    names: NameTable,
    lines: LineSplitter,
    building: Building,
    tally: RowTally,
    /// The expected number of bytes, until the first bytes arrive.
    expected: Option<u64>,
    /// Keeps the names of the rows that were read, because no ranking has them yet.
    _pin: NamePin,
}

/// Room for at most this many names is reserved beforehand.
const MOST_EXPECTED: u64 = 16 << 20;

impl GradeInfoReader {
    /// A reader that interns the names of the rows in `names`.
    pub fn new(names: NameTable) -> Self {
        GradeInfoReader {
            _pin: names.pin(),
            names,
            lines: LineSplitter::default(),
            building: Building::default(),
            tally: RowTally::default(),
            expected: None,
        }
    }

    /// The same for a file of `bytes`: the table of names grows once, by the number of names that the
    /// first rows suggest.
    pub fn of_size(self, bytes: u64) -> Self {
        GradeInfoReader { expected: Some(bytes), ..self }
    }

    fn make_room(&mut self, first: &[u8]) {
        let Some(bytes) = self.expected.take().filter(|_| !first.is_empty()) else { return };
        let rows = memchr::memchr_iter(b'\n', first).count() as u64;
        let expected = bytes.saturating_mul(rows) / first.len() as u64;
        self.names.make_room_for(expected.min(MOST_EXPECTED) as usize);
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.make_room(chunk);
        let mut interning = self.names.interner();
        let (building, tally) = (&mut self.building, &mut self.tally);
        self.lines.feed(chunk, |number, line| {
            read_row(number, line, building, tally, |name| Ok(interning.intern(name)?));
        });
    }

    /// The input ended.
    pub fn finish(mut self) -> (Grades, RowTally) {
        let mut interning = self.names.interner();
        let (building, tally) = (&mut self.building, &mut self.tally);
        let torn = self.lines.finish(|number, line| {
            read_row(number, line, building, tally, |name| Ok(interning.intern(name)?));
        });
        self.tally.torn = torn;
        drop(interning);
        let grades = self.building.finish();
        self.names.keep(&grades.set);
        (grades, self.tally)
    }
}

/// The column with the wanted number of copies (`TargetCopyCount`), from 0.
const TARGET_COLUMN: usize = 6;

/// The wanted number of copies of a row: 1 if it has none, or not in digits.
fn target_in(row: &[u8]) -> u8 {
    let Some(tab) = memchr::memchr_iter(b'\t', row).nth(TARGET_COLUMN - 1) else { return 1 };
    let rest = &row[tab + 1..];
    let field = memchr::memchr(b'\t', rest).map_or(rest, |end| &rest[..end]);
    let copies: Option<u64> = std::str::from_utf8(field).ok().and_then(|it| it.trim().parse().ok());
    copies.map_or(1, |copies| u8::try_from(copies.max(1)).unwrap_or(u8::MAX))
}

/// The first line is the header and is ignored. Of other lines the name is used, and on request the
/// wanted number of copies.
fn read_row(
    number: u64,
    line: InputLine<'_>,
    building: &mut Building,
    tally: &mut RowTally,
    intern: impl FnOnce(&[u8]) -> Result<FileId, RowFault>,
) {
    if number == 1 {
        return;
    }
    tally.rows += 1;
    let (row, file) = match line {
        InputLine::Overlong(start) => (start, Err(RowFault::Overlong)),
        InputLine::Whole(row) => {
            let name = memchr::memchr(b'\t', row).map_or(row, |tab| &row[..tab]);
            (row, intern(name))
        }
    };
    building.row(file.ok(), target_in(row));
    if let Err(fault) = file {
        tally.fault(number, fault, row);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reelyard_core::names::BadFileName;

    use super::*;

    fn read(bytes: &[u8], chunk: usize) -> (NameTable, Grades, RowTally) {
        let names = NameTable::new();
        let mut reader = GradeInfoReader::new(names.clone());
        bytes.chunks(chunk).for_each(|chunk| reader.feed(chunk));
        let (grades, tally) = reader.finish();
        (names, grades, tally)
    }

    fn ranked(bytes: &[u8]) -> Vec<(String, u32)> {
        let (names, grades, _) = read(bytes, 1 << 20);
        let ranked = |&file| (names.name(file).to_string(), grades.rank(file).unwrap());
        grades.files().iter().map(ranked).collect()
    }

    fn owned(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
        expected.iter().map(|&(name, rank)| (name.to_owned(), rank)).collect()
    }

    #[test]
    fn the_rank_is_the_order_of_the_lines_behind_the_header() {
        let bytes =
            b"filename\tweightcount\nB.mpg\t9\t1\r\n\nA.mpg\nC d.mpg\t1\textra\t\t\t\t\t\t\n";
        assert_eq!(ranked(bytes), owned(&[("B.mpg", 1), ("A.mpg", 2), ("C d.mpg", 3)]));
    }

    #[test]
    fn the_first_line_is_always_dropped() {
        assert_eq!(ranked(b"A.mpg\t1\nB.mpg\t2\n"), owned(&[("B.mpg", 1)]));
        assert_eq!(ranked(b"\nB.mpg\t2\n"), owned(&[("B.mpg", 1)]));
        assert_eq!(ranked(b""), owned(&[]));
    }

    #[test]
    fn a_name_that_comes_twice_keeps_its_last_number() {
        let bytes = b"h\nA\nB\nA\nC\n";
        assert_eq!(ranked(bytes), owned(&[("B", 2), ("A", 3), ("C", 4)]));
    }

    #[test]
    fn names_are_bytes_and_not_trimmed() {
        let (names, grades, tally) = read(b"h\n  \t1\n\xb0\xa1.mpg\t2\na-b (1).mpg\t3", 7);
        let files: Vec<_> = grades.files().iter().map(|&file| names.name(file)).collect();
        let bytes: Vec<&[u8]> = files.iter().map(|name| name.as_bytes()).collect();
        assert_eq!(bytes, [&b"  "[..], b"\xb0\xa1.mpg", b"a-b (1).mpg"]);
        assert!(tally.torn && tally.bad() == 0 && tally.rows == 3);
    }

    #[test]
    fn a_bad_name_is_counted_and_takes_its_rank_with_it() {
        let (_, grades, tally) = read(b"h\n../x.mpg\t1\n\t2\nA\t3\n", 1 << 20);
        assert_eq!(grades.rank(grades.files()[0]), Some(3));
        let faults: Vec<_> = tally.first_bad.iter().map(|bad| (bad.line, bad.fault)).collect();
        let [slash, empty] = [BadFileName::Slash, BadFileName::Empty].map(RowFault::BadName);
        assert_eq!(faults, [(2, slash), (3, empty)]);
    }

    #[test]
    fn wanted_copies_are_read_from_the_seventh_column() {
        let bytes = b"h\nA\t1\t2\t3\t4\t5\t6\nB\t1\t2\t3\t4\t5\t2\tmore\nC\t\t\t\t\t\tx\nA\t1\t2\t3\t4\t5\t1\r\nD\t\t\t\t\t\t 3 \r\n";
        let (names, grades, _) = read(bytes, 1 << 20);
        let target = |name: &[u8]| grades.target(names.find(name).unwrap());
        assert_eq!([target(b"A"), target(b"B"), target(b"C"), target(b"D")], [1, 2, 1, 3]);
        assert_eq!(grades.wanted_more_than_once().count(), 2);
    }

    #[test]
    fn the_set_holds_exactly_the_graded() {
        let names = NameTable::new();
        names.intern_all([&b"other"[..]]);
        let mut reader = GradeInfoReader::new(names.clone());
        reader.feed(b"h\nA\nB\nA\n");
        let (grades, _) = reader.finish();
        assert_eq!(grades.set().iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(grades.rank(FileId(0)), None);
        assert_eq!(grades.rank(FileId(99)), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_where_they_are_cut_makes_no_difference(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\t'), Just(b'/'), Just(b'a'), any::<u8>()], 0..400),
            chunk in 1_usize..50,
        ) {
            let (_, grades, tally) = read(&bytes, chunk);
            let (_, whole_grades, whole_tally) = read(&bytes, 1 << 20);
            prop_assert_eq!(&grades, &whole_grades);
            prop_assert_eq!(&tally, &whole_tally);
            prop_assert_eq!(grades.files().len() as u64, grades.set().len());
            prop_assert!(grades.ranks.is_sorted_by(|a, b| a < b));
        }
    }
}
