//! Reading what a host says it holds, piece by piece as it arrives. Pure.

use percent_encoding::percent_decode;
use roaring::RoaringBitmap;

use crate::names::NameTable;

/// How a list of files is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// `GET /files` of any cfw (spec 2.2): one name per line, LF, as raw bytes.
    Names,
    /// `GET /inventory` of a Reelyard worker: `size modified-ms percent-encoded-name` per line,
    /// then `end <count>`.
    Inventory,
    /// `GET /inventory?since=` of a Reelyard worker: `+ size modified-ms percent-encoded-name` or
    /// `- percent-encoded-name` per line, then `end <count>`.
    Changes,
}

/// A whole list, or all changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The files that are there, by their process-wide ids.
    pub files: RoaringBitmap,
    /// The names that have no file. Only changes tell of such.
    pub gone: RoaringBitmap,
    /// Entries whose names cannot be file names.
    pub unreadable_names: u64,
}

/// Why a list means nothing: taking it for whole would make files vanish that are there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadList {
    /// Its last line has no end, or the end line is missing.
    #[error("the list is torn: it stops after {lines} lines without its end")]
    Torn {
        /// Whole lines until there.
        lines: u64,
    },
    /// The end line counts other than there are.
    #[error("the list is torn: it has {lines} lines and says that there are {told}")]
    Miscounted {
        /// Lines there are.
        lines: u64,
        /// Lines the end line tells.
        told: u64,
    },
    /// A line that is none of that form.
    #[error("line {line} of the list is not understood")]
    Line {
        /// Its number, from 1.
        line: u64,
    },
}

/// Reads one list.
pub struct ListReader {
    form: ListForm,
    names: NameTable,
    listed: Listed,
    lines: u64,
    /// The last line so far, while its end is still to come.
    unfinished: Vec<u8>,
    /// The count in the end line, once that was read.
    told: Option<u64>,
}

impl ListReader {
    /// A reader that interns the names it meets in `names`.
    pub fn new(form: ListForm, names: NameTable) -> Self {
        ListReader {
            form,
            names,
            listed: Listed::default(),
            lines: 0,
            unfinished: Vec::new(),
            told: None,
        }
    }

    /// Takes in the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), BadList> {
        let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else {
            self.unfinished.extend_from_slice(bytes);
            return Ok(());
        };
        let mut whole = std::mem::take(&mut self.unfinished);
        whole.extend_from_slice(&bytes[..end]);
        self.unfinished.extend_from_slice(&bytes[end + 1..]);
        let lines = whole.split(|&byte| byte == b'\n');
        match self.form {
            ListForm::Names => {
                self.take_names(lines);
                Ok(())
            }
            ListForm::Inventory | ListForm::Changes => self.take_inventory(lines),
        }
    }

    fn take_names<'a>(&mut self, names: impl Iterator<Item = &'a [u8]>) {
        for id in self.names.intern_all(names) {
            self.lines += 1;
            match id {
                Ok(id) => {
                    self.listed.files.insert(id.0);
                }
                Err(_) => self.listed.unreadable_names += 1,
            }
        }
    }

    fn take_inventory<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) -> Result<(), BadList> {
        let (mut names, mut gone) = (Vec::new(), Vec::new());
        let read = self.lines;
        for (line, number) in lines.zip(read + 1..) {
            let bad = BadList::Line { line: number };
            if self.told.is_some() {
                return Err(bad);
            }
            match InventoryLine::parse(self.form, line).ok_or(bad)? {
                InventoryLine::File { name } => names.push(name),
                InventoryLine::Gone { name } => gone.push(name),
                InventoryLine::End { count } => self.told = Some(count),
            }
        }
        self.take_names(names.iter().map(Vec::as_slice));
        self.lines += gone.len() as u64;
        // A name that nobody has met is nowhere anyway.
        let met = gone.iter().filter_map(|name| self.names.find(name));
        self.listed.gone.extend(met.map(|file| file.0));
        Ok(())
    }

    /// The list, if it came to its end.
    pub fn finish(self) -> Result<Listed, BadList> {
        // Every cfw ends each line with LF: a last line without it was cut off.
        if !self.unfinished.is_empty() {
            return Err(BadList::Torn { lines: self.lines });
        }
        match (self.form, self.told) {
            (ListForm::Names, _) => Ok(self.listed),
            (_, None) => Err(BadList::Torn { lines: self.lines }),
            (_, Some(told)) if told != self.lines => {
                Err(BadList::Miscounted { lines: self.lines, told })
            }
            (_, Some(_)) => Ok(self.listed),
        }
    }
}

/// One line of `GET /inventory`.
enum InventoryLine {
    File { name: Vec<u8> },
    Gone { name: Vec<u8> },
    End { count: u64 },
}

impl InventoryLine {
    fn parse(form: ListForm, line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        if let Some(count) = line.strip_prefix("end ") {
            return Some(InventoryLine::End { count: count.parse().ok()? });
        }
        if form != ListForm::Changes {
            return Some(InventoryLine::File { name: name_of_file(line)? });
        }
        match line.split_once(' ')? {
            ("+", file) => Some(InventoryLine::File { name: name_of_file(file)? }),
            ("-", name) => Some(InventoryLine::Gone { name: decoded(name)? }),
            _ => None,
        }
    }
}

/// The name in `size modified-ms percent-encoded-name`. Size and time are told for people and
/// audits; a line without them is no line.
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
    use super::*;

    /// Reads `text` in pieces of `step` bytes.
    fn read(form: ListForm, text: &[u8], step: usize) -> Result<(Vec<Vec<u8>>, u64), BadList> {
        let names = NameTable::new();
        let mut reader = ListReader::new(form, names.clone());
        for piece in text.chunks(step) {
            reader.push(piece)?;
        }
        let listed = reader.finish()?;
        let name = |id| names.name(crate::names::FileId(id)).as_bytes().to_vec();
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
    fn changes_tell_what_is_there_and_what_is_not() {
        let names = NameTable::new();
        names.intern_all([&b"old"[..]]);
        let text = b"+ 12 1795240648713 a%20b\n- old\n- never%20met\nend 3\n";
        for step in [1, 5, 4096] {
            let mut reader = ListReader::new(ListForm::Changes, names.clone());
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
}
