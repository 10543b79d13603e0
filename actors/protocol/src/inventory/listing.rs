//! Reads the file list of a host while it arrives. Pure.
//!
//! Names go into the name table as they arrive. For a list, memory holds a bitmap and one batch of
//! names. A list beyond its limits is refused as a whole. If a part of it were used, existing files
//! would seem to be removed.

use percent_encoding::percent_decode;
use reelyard_core::names::{
    FileId, FileName, HashedName, NameHash, NameHasher, NamePin, NameTable,
};
use roaring::RoaringBitmap;

use super::additions::AdditionLimiter;
use crate::inventory::limits::{BadList, ListLimits};

/// How many names are added to the table at once.
const BATCH: usize = 4096;

/// The longest line of a list, in bytes. Percent-encoded, a name of 255 bytes takes three bytes for each
/// byte, and a size and a time precede it.
const LONGEST_LINE: usize = 1024;

/// How a list of files is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// `GET /files` of any cfw: one name per line, LF, as raw bytes.
    Names,
    /// `GET /inventory` of a Reelyard worker: `size modified-ms percent-encoded-name` per line,
    /// then `end <count>`.
    Inventory,
    /// `GET /inventory?since=` of a Reelyard worker: `+ size modified-ms percent-encoded-name` or
    /// `- percent-encoded-name` per line, then `end <count>`.
    Changes,
}

/// A full list, or all changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileListing {
    /// The existing files, by their process-wide ids.
    pub files: RoaringBitmap,
    /// Names without a file. Only lists of changes contain such names.
    pub gone: RoaringBitmap,
    /// Entries whose names cannot be file names.
    pub unreadable_names: u64,
}

/// Reads one list.
pub struct ListReader<'a> {
    form: ListForm,
    names: NameTable,
    hasher: NameHasher,
    limits: ListLimits,
    /// The files of the host before this list. All others are additions.
    known: &'a RoaringBitmap,
    additions: AdditionLimiter,
    /// Whether this list may add files.
    may_add: bool,
    /// Additions whose names were in the table. They are counted with the end of the list: a list that is
    /// refused adds none of them.
    returned: Additions,
    /// Keeps the files that were read, because no inventory has them yet.
    _pin: NamePin,
    listed: FileListing,
    lines: u64,
    /// Bytes of the body so far.
    read: u64,
    /// Bytes of all names so far.
    name_bytes: u64,
    /// The beginning of the last line, until its end arrives.
    unfinished: Vec<u8>,
    /// Whether that line is already longer than any name. Then it is not stored.
    is_overlong: bool,
    batch: NameBatch,
    /// The count in the end line, once that was read.
    announced: Option<u64>,
}

/// Files that a list adds.
#[derive(Default)]
struct Additions {
    files: u64,
    name_bytes: u64,
}

impl Additions {
    fn push(&mut self, name: &[u8]) {
        self.files += 1;
        self.name_bytes += name.len() as u64;
    }

    fn is_empty(&self) -> bool {
        self.files == 0
    }

    fn count(&self, limiter: &AdditionLimiter) {
        limiter.count(self.files, self.name_bytes);
    }
}

/// Names that were read and are not in the table yet.
#[derive(Default)]
struct NameBatch {
    bytes: Vec<u8>,
    /// The end of each name in `bytes`, and its hash.
    names: Vec<(usize, NameHash)>,
}

impl NameBatch {
    fn push(&mut self, name: &[u8], hasher: &NameHasher) {
        self.bytes.extend_from_slice(name);
        self.names.push((self.bytes.len(), hasher.hash(name)));
    }

    fn names(&self) -> impl Iterator<Item = HashedName<'_>> + Clone {
        let starts = std::iter::once(0).chain(self.names.iter().map(|(end, _)| *end));
        let name = |(start, &(end, hash)): (usize, &(usize, NameHash))| HashedName {
            name: &self.bytes[start..end],
            hash,
        };
        starts.zip(&self.names).map(name)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.names.clear();
    }
}

impl<'a> ListReader<'a> {
    /// A reader of the list of a host with the files `known`. It adds the names that it reads to `names`,
    /// and counts added files in `additions`. If `additions` allows no more, a list that adds files is
    /// refused.
    pub fn new(
        form: ListForm,
        names: NameTable,
        limits: ListLimits,
        known: &'a RoaringBitmap,
        additions: AdditionLimiter,
    ) -> Self {
        ListReader {
            form,
            hasher: names.hasher(),
            _pin: names.pin(),
            names,
            limits,
            known,
            may_add: additions.allows_more(limits),
            additions,
            returned: Additions::default(),
            listed: FileListing::default(),
            lines: 0,
            read: 0,
            name_bytes: 0,
            unfinished: Vec::new(),
            is_overlong: false,
            batch: NameBatch::default(),
            announced: None,
        }
    }

    /// Takes in the next bytes.
    ///
    /// # Errors
    /// Why the list is ignored; then do not push more.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), BadList> {
        self.read += bytes.len() as u64;
        let most = self.limits.files.saturating_add(1).saturating_mul(LONGEST_LINE as u64);
        if self.read > most {
            return Err(BadList::TooLong { most });
        }
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.unfinished.is_empty() && !self.is_overlong {
                self.parse_line(line)?;
            } else {
                self.keep(line)?;
                self.end_kept_line()?;
            }
        }
        self.keep(bytes)
    }

    /// Keeps the beginning of a line whose end has not arrived yet. A line that is too long is not kept.
    fn keep(&mut self, part: &[u8]) -> Result<(), BadList> {
        if self.unfinished.len() + part.len() > LONGEST_LINE {
            self.is_overlong = true;
            self.unfinished.clear();
            if self.form != ListForm::Names {
                return Err(BadList::Line { line: self.lines + 1 });
            }
        }
        if !self.is_overlong {
            self.unfinished.extend_from_slice(part);
        }
        Ok(())
    }

    fn end_kept_line(&mut self) -> Result<(), BadList> {
        if std::mem::take(&mut self.is_overlong) {
            self.listed.unreadable_names += 1;
            return self.count_line();
        }
        let mut line = std::mem::take(&mut self.unfinished);
        self.parse_line(&line)?;
        line.clear();
        self.unfinished = line;
        Ok(())
    }

    fn parse_line(&mut self, line: &[u8]) -> Result<(), BadList> {
        if self.form == ListForm::Names {
            return self.add_name(line);
        }
        let bad = BadList::Line { line: self.lines + 1 };
        if self.announced.is_some() {
            return Err(bad);
        }
        match ParsedInventoryLine::parse(self.form, line).ok_or(bad)? {
            ParsedInventoryLine::File { name } => self.add_name(&name),
            ParsedInventoryLine::Gone { name } => self.add_gone_name(&name),
            ParsedInventoryLine::End { count } => {
                self.announced = Some(count);
                Ok(())
            }
        }
    }

    fn count_line(&mut self) -> Result<(), BadList> {
        self.lines += 1;
        let most = self.limits.files;
        if self.lines > most { Err(BadList::TooMany { most }) } else { Ok(()) }
    }

    fn add_name(&mut self, name: &[u8]) -> Result<(), BadList> {
        self.count_line()?;
        if FileName::check(name).is_err() {
            self.listed.unreadable_names += 1;
            return Ok(());
        }
        self.name_bytes += name.len() as u64;
        let most = self.limits.name_bytes;
        if self.name_bytes > most {
            return Err(BadList::TooLong { most });
        }
        self.batch.push(name, &self.hasher);
        if self.batch.names.len() >= BATCH { self.add_batch() } else { Ok(()) }
    }

    fn add_gone_name(&mut self, name: &[u8]) -> Result<(), BadList> {
        self.count_line()?;
        // A name without a file number is in no list, so it needs no removal.
        self.listed.gone.extend(self.names.find(name).map(|file| file.0));
        Ok(())
    }

    /// Adds the names that were read to the table. Nearly all of them are already there.
    fn add_batch(&mut self) -> Result<(), BadList> {
        let found = self.names.lookup().find_all(self.batch.names());
        let mut new: Vec<HashedName<'_>> = Vec::new();
        for (id, hashed) in found.into_iter().zip(self.batch.names()) {
            let Some(FileId(id)) = id else {
                new.push(hashed);
                continue;
            };
            if self.listed.files.insert(id) && !self.known.contains(id) {
                self.returned.push(hashed.name);
            }
        }
        let adds = !new.is_empty() || !self.returned.is_empty();
        if adds && !self.may_add {
            return Err(BadList::TooManyAdded);
        }
        if !new.is_empty() {
            // Counted at once: they take memory even if the list is refused.
            let mut additions = Additions::default();
            new.iter().for_each(|hashed| additions.push(hashed.name));
            additions.count(&self.additions);
            let mut interning = self.names.interner();
            for hashed in new {
                // It is a valid name, so the only possible failure is the limit of new numbers.
                let id = interning.intern(hashed.name).map_err(|_| BadList::TooManyAdded)?;
                self.listed.files.insert(id.0);
            }
        }
        self.batch.clear();
        Ok(())
    }

    /// The list, if its end was received.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn finish(mut self) -> Result<FileListing, BadList> {
        // Every cfw ends each line with LF: a last line without it was cut off.
        if !self.unfinished.is_empty() || self.is_overlong {
            return Err(BadList::Torn { lines: self.lines });
        }
        self.add_batch()?;
        match (self.form, self.announced) {
            (ListForm::Names, _) => {}
            (_, None) => return Err(BadList::Torn { lines: self.lines }),
            (_, Some(announced)) if announced != self.lines => {
                return Err(BadList::Miscounted { lines: self.lines, announced });
            }
            (_, Some(_)) => {}
        }
        self.returned.count(&self.additions);
        Ok(self.listed)
    }
}

/// One line of `GET /inventory`.
enum ParsedInventoryLine {
    File { name: Vec<u8> },
    Gone { name: Vec<u8> },
    End { count: u64 },
}

impl ParsedInventoryLine {
    fn parse(form: ListForm, line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        if let Some(count) = line.strip_prefix("end ") {
            return Some(ParsedInventoryLine::End { count: count.parse().ok()? });
        }
        if form != ListForm::Changes {
            return Some(ParsedInventoryLine::File { name: name_of_file(line)? });
        }
        match line.split_once(' ')? {
            ("+", file) => Some(ParsedInventoryLine::File { name: name_of_file(file)? }),
            ("-", name) => Some(ParsedInventoryLine::Gone { name: decoded(name)? }),
            _ => None,
        }
    }
}

/// The name in `size modified-ms percent-encoded-name`. Size and time are for people and audits; a line
/// without them is invalid.
fn name_of_file(line: &str) -> Option<Vec<u8>> {
    let mut words = line.splitn(3, ' ');
    words.next()?.parse::<u64>().ok()?;
    words.next()?.parse::<i64>().ok()?;
    decoded(words.next()?)
}

fn decoded(name: &str) -> Option<Vec<u8>> {
    (!name.contains(' ')).then(|| percent_decode(name.as_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use reelyard_core::clock::Millis;

    use super::*;

    fn reader(form: ListForm, names: &NameTable, limits: ListLimits) -> ListReader<'static> {
        static NONE: LazyLock<RoaringBitmap> = LazyLock::new(RoaringBitmap::new);
        ListReader::new(form, names.clone(), limits, &NONE, AdditionLimiter::new(Millis(0)))
    }

    /// Reads `text` in pieces of `step` bytes.
    fn read(form: ListForm, text: &[u8], step: usize) -> Result<(Vec<Vec<u8>>, u64), BadList> {
        let names = NameTable::new();
        let mut reader = reader(form, &names, ListLimits::of(1000));
        for piece in text.chunks(step) {
            reader.push(piece)?;
        }
        let listed = reader.finish()?;
        let name = |id| names.name(reelyard_core::names::FileId(id)).as_bytes().to_vec();
        Ok((listed.files.iter().map(name).collect(), listed.unreadable_names))
    }

    #[test]
    fn names_are_read_as_bytes_however_they_arrive() {
        let long = vec![b'x'; 256];
        let mut text = b"a#b.mpg\n c d \n\xff\xfe\n..\n\nlast\r\n".to_vec();
        text.extend_from_slice(&long);
        text.push(b'\n');
        let expected: Vec<Vec<u8>> =
            [&b"a#b.mpg"[..], b" c d ", b"\xff\xfe", b"last\r"].map(<[u8]>::to_vec).to_vec();
        for step in [1, 2, 7, 4096] {
            assert_eq!(read(ListForm::Names, &text, step), Ok((expected.clone(), 3)), "{step}");
        }
        assert_eq!(read(ListForm::Names, b"", 1), Ok((vec![], 0)));
    }

    #[test]
    fn a_list_cut_within_a_line_is_torn() {
        assert_eq!(read(ListForm::Names, b"a\nb", 1), Err(BadList::Torn { lines: 1 }));
    }

    #[test]
    fn an_inventory_counts_only_with_its_end() {
        let whole = b"12 1795240648713 a%20b\n0 0 %FF\n1 1 ..\nend 3\n";
        let expected = (vec![b"a b".to_vec(), b"\xff".to_vec()], 1);
        for step in [1, 5, 4096] {
            assert_eq!(read(ListForm::Inventory, whole, step), Ok(expected.clone()));
        }
        for cut in 0..whole.len() {
            assert!(read(ListForm::Inventory, &whole[..cut], 4096).is_err(), "{cut}");
        }
        let bad: [&[u8]; 6] = [
            b"end 1\n",
            b"end 0\n1 1 a\n",
            b"1 a\nend 1\n",
            b"1 1 a b\nend 1\n",
            b"-1 1 a\nend 1\n",
            b"<html>\nend 1\n",
        ];
        for text in bad {
            assert!(read(ListForm::Inventory, text, 4096).is_err());
        }
        assert_eq!(read(ListForm::Inventory, b"end 0\n", 1), Ok((vec![], 0)));
    }

    #[test]
    fn changes_list_held_and_gone_files() {
        let names = NameTable::new();
        names.intern_all([&b"old"[..]]);
        let text = b"+ 12 1795240648713 a%20b\n- old\n- never%20met\nend 3\n";
        for step in [1, 5, 4096] {
            let mut reader = reader(ListForm::Changes, &names, ListLimits::of(1000));
            text.chunks(step).for_each(|piece| reader.push(piece).unwrap());
            let listed = reader.finish().unwrap();
            assert_eq!(listed.gone.iter().collect::<Vec<_>>(), [0]);
            assert_eq!(listed.files.iter().collect::<Vec<_>>(), [1]);
        }
        let bad: [&[u8]; 5] =
            [b"1 1 a\nend 1\n", b"+ a\nend 1\n", b"- a b\nend 1\n", b"-\nend 1\n", b"- a\n"];
        for text in bad {
            assert!(read(ListForm::Changes, text, 4096).is_err());
        }
        assert!(read(ListForm::Inventory, b"- a\nend 1\n", 4096).is_err());
    }

    /// Feeds `text` to a reader until it stops. Returns the fault and the number of names that it took.
    fn endless(form: ListForm, text: &[u8], limits: ListLimits) -> (BadList, usize) {
        let names = NameTable::new();
        let mut reader = reader(form, &names, limits);
        for _ in 0..10_000 {
            if let Err(bad) = reader.push(text) {
                assert!(reader.unfinished.len() <= LONGEST_LINE);
                assert!(reader.batch.names.len() <= BATCH);
                return (bad, names.len());
            }
        }
        panic!("it read on and on");
    }

    #[test]
    fn an_endless_list_is_refused_at_its_limits() {
        let limits = ListLimits::of(5000);
        let most = limits.files;
        let many = endless(ListForm::Names, b"a.mpg\nb.mpg\n", limits);
        assert_eq!(many, (BadList::TooMany { most }, 2));
        assert_eq!(many.0.to_string().split(':').next(), Some("it lists more than 5000 files"));
        let many = endless(ListForm::Inventory, b"1 1 a.mpg\n", limits);
        assert_eq!(many.0, BadList::TooMany { most });
        let long = [[b'x'; 255].as_slice(), b"\n"].concat();
        let most = limits.name_bytes;
        assert_eq!(endless(ListForm::Names, &long, limits).0, BadList::TooLong { most });
        // A line without an end takes no memory, and is no name.
        let most = 5001 * LONGEST_LINE as u64;
        assert_eq!(endless(ListForm::Names, &[b'x'; 999], limits), (BadList::TooLong { most }, 0));
        let bad = endless(ListForm::Inventory, &[b'1'; 999], limits);
        assert_eq!(bad, (BadList::Line { line: 1 }, 0));
        assert_eq!(
            read(ListForm::Names, &[[b'x'; 2000].as_slice(), b"\na\n"].concat(), 7),
            Ok((vec![b"a".to_vec()], 1))
        );
    }

    const HOUR: i64 = 3_600_000;

    /// A host with the files of its last list.
    struct Host {
        names: NameTable,
        limits: ListLimits,
        additions: AdditionLimiter,
        known: RoaringBitmap,
    }

    impl Host {
        /// A host that may list this number of files.
        fn new(files: u64) -> Self {
            Host {
                names: NameTable::new(),
                limits: ListLimits::of(files),
                additions: AdditionLimiter::new(Millis(0)),
                known: RoaringBitmap::new(),
            }
        }

        /// Reads a list with the files of these numbers.
        fn list(&mut self, files: std::ops::Range<u32>) -> Result<u64, BadList> {
            self.read(files, "")
        }

        /// The same with `end` behind the last name.
        fn read(&mut self, files: std::ops::Range<u32>, end: &str) -> Result<u64, BadList> {
            let lines = files.map(|number| format!("{number}.mpg\n"));
            let text: String = lines.chain([end.to_owned()]).collect();
            let (form, additions) = (ListForm::Names, self.additions.clone());
            let mut reader =
                ListReader::new(form, self.names.clone(), self.limits, &self.known, additions);
            reader.push(text.as_bytes())?;
            self.known = reader.finish()?.files;
            Ok(self.known.len())
        }
    }

    #[test]
    fn a_host_that_lists_other_names_each_time_is_refused() {
        let mut host = Host::new(100);
        assert_eq!(host.list(0..60), Ok(60));
        assert_eq!(host.list(60..120), Ok(60), "the count is below 100 before this list");
        assert_eq!(host.list(120..180), Err(BadList::TooManyAdded));
        assert_eq!(host.names.len(), 120, "names of a list that is refused are not taken");
        assert_eq!(host.list(60..120), Ok(60), "known files cost nothing");
        host.additions.lower(host.limits, Millis(HOUR));
        assert_eq!(host.list(120..180), Ok(60));
    }

    #[test]
    fn files_that_come_back_count_as_added() {
        let mut host = Host::new(100);
        for _ in 0..2 {
            assert_eq!(host.list(0..80), Ok(80));
            assert_eq!(host.list(0..0), Ok(0));
        }
        assert_eq!(host.list(0..80), Err(BadList::TooManyAdded));
        assert_eq!(host.list(0..1), Err(BadList::TooManyAdded));
        assert_eq!(host.list(0..0), Ok(0), "a list that adds nothing is accepted");
        host.additions.lower(host.limits, Millis(HOUR));
        assert_eq!(host.list(0..80), Ok(80));
        assert_eq!(host.list(0..20), Ok(20), "files may go at any time");
    }

    #[test]
    fn incomplete_lists_of_files_that_were_there_before_cost_nothing() {
        let mut host = Host::new(100);
        assert_eq!(host.list(0..80), Ok(80));
        assert_eq!(host.list(0..0), Ok(0));
        for _ in 0..5 {
            assert_eq!(host.read(0..80, "80.m"), Err(BadList::Torn { lines: 80 }));
        }
        assert_eq!(host.list(0..80), Ok(80));
    }

    #[test]
    fn new_names_count_even_if_their_list_is_incomplete() {
        let mut host = Host::new(5000);
        let torn = BadList::Torn { lines: 5000 };
        assert_eq!(host.read(0..5000, "x"), Err(torn.clone()));
        assert_eq!(host.read(5000..10_000, "x"), Err(torn));
        assert_eq!(host.read(10_000..15_000, "x"), Err(BadList::TooManyAdded));
        assert_eq!(host.names.len(), 2 * BATCH, "the last batch of a torn list is not taken");
    }
}
