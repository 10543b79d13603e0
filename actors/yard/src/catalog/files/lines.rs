//! Splits bytes into lines, in pieces of any size. Pure; without cfm's limit of 64 KiB per line.

/// The longest line that is read, in bytes. It bounds the memory that an input without any line end can
/// take. A longer line is reported as too long and skipped to its end.
pub const LONGEST_LINE: usize = 16 << 20;

/// One line, without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputLine<'a> {
    /// Its bytes; never empty.
    Whole(&'a [u8]),
    /// The beginning of a line longer than [`LONGEST_LINE`].
    Overlong(&'a [u8]),
}

/// How much of an overlong line is shown.
const SHOWN_OF_OVERLONG: usize = 256;

/// Splits a stream of chunks into lines that end with LF or CRLF. Empty lines are numbered but not
/// reported.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The beginning of the line whose end has not arrived yet.
    begun: Vec<u8>,
    /// Whether the line in `begun` outgrew [`LONGEST_LINE`]; only its beginning is kept.
    overlong: bool,
    /// How many lines have ended.
    ended: u64,
}

impl LineSplitter {
    /// Takes the next bytes. Reports each line that ends in them with its number, from 1.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(u64, InputLine<'_>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            let piece = &chunk[start..end];
            start = end + 1;
            self.ended += 1;
            if self.begun.is_empty() && piece.len() <= LONGEST_LINE {
                emit_line(self.ended, piece, &mut each);
            } else {
                self.begin(piece);
                self.emit_begun(&mut each);
            }
        }
        self.begin(&chunk[start..]);
    }

    /// The input ended: reports the last line if its line end is missing. Answers whether it was
    /// missing.
    pub fn finish(&mut self, mut each: impl FnMut(u64, InputLine<'_>)) -> bool {
        let torn = !self.begun.is_empty();
        if torn {
            self.ended += 1;
            self.emit_begun(&mut each);
        }
        torn
    }

    /// How many lines have ended.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Whether a line has begun and not ended.
    pub fn is_inside_line(&self) -> bool {
        !self.begun.is_empty()
    }

    fn begin(&mut self, piece: &[u8]) {
        if self.overlong {
            return;
        }
        if self.begun.len() + piece.len() <= LONGEST_LINE {
            self.begun.extend_from_slice(piece);
            return;
        }
        let missing = SHOWN_OF_OVERLONG.saturating_sub(self.begun.len()).min(piece.len());
        self.begun.extend_from_slice(&piece[..missing]);
        self.begun.truncate(SHOWN_OF_OVERLONG);
        self.begun.shrink_to_fit();
        self.overlong = true;
    }

    fn emit_begun(&mut self, each: &mut impl FnMut(u64, InputLine<'_>)) {
        if self.overlong {
            each(self.ended, InputLine::Overlong(&self.begun));
        } else {
            emit_line(self.ended, &self.begun, each);
        }
        self.begun.clear();
        self.overlong = false;
    }
}

fn emit_line(number: u64, line: &[u8], each: &mut impl FnMut(u64, InputLine<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        each(number, InputLine::Whole(line));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(u64, Vec<u8>)>, bool) {
        let mut reported = Vec::new();
        let mut splitter = LineSplitter::default();
        let mut keep = |number, line: InputLine<'_>| match line {
            InputLine::Whole(bytes) => reported.push((number, bytes.to_vec())),
            InputLine::Overlong(_) => panic!("no line here is that long"),
        };
        for chunk in chunks {
            splitter.feed(chunk, &mut keep);
        }
        let torn = splitter.finish(&mut keep);
        (reported, torn)
    }

    #[test]
    fn line_ends_are_lf_or_crlf_and_empty_lines_only_count() {
        let (lines, torn) = lines_of([&b"a\r\n\n\r\nb\rc\nlast"[..]]);
        let expected = [(1, &b"a"[..]), (4, b"b\rc"), (5, b"last")];
        assert_eq!(lines, expected.map(|(number, line)| (number, line.to_vec())));
        assert!(torn);
    }

    #[test]
    fn a_line_of_a_mebibyte_is_a_line() {
        let long = vec![b'x'; 1 << 20];
        let (lines, torn) = lines_of([&long[..], b"\nnext\n"]);
        assert_eq!(lines, [(1, long.clone()), (2, b"next".to_vec())]);
        assert!(!torn);
    }

    #[test]
    fn an_overlong_line_is_skipped_to_its_end_and_reported() {
        let block = vec![b'x'; LONGEST_LINE / 4 + 1];
        let mut splitter = LineSplitter::default();
        let mut reported = Vec::new();
        for _ in 0..5 {
            splitter.feed(&block, |_, _| panic!("no line has ended"));
        }
        assert!(splitter.begun.capacity() < LONGEST_LINE);
        splitter.feed(b"end\nnext\n", |number, line| match line {
            InputLine::Whole(bytes) => reported.push((number, false, bytes.to_vec())),
            InputLine::Overlong(start) => reported.push((number, true, start.to_vec())),
        });
        assert_eq!(
            reported,
            [(1, true, vec![b'x'; SHOWN_OF_OVERLONG]), (2, false, b"next".to_vec())]
        );
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_chunk_boundaries(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b','), any::<u8>()], 0..300),
            size in 1_usize..40,
        ) {
            prop_assert_eq!(lines_of(bytes.chunks(size)), lines_of([&bytes[..]]));
        }
    }
}
