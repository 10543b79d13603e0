//! Keeps the beginning and the end of a program's output, with bounded memory.

use std::io::{ErrorKind, Read};

/// How many bytes of the end are kept by default. A success message that is followed by more
/// output is not found.
const KEPT: usize = 64 << 10;

/// The last bytes of a stream.
#[derive(Debug)]
pub struct Tail {
    bytes: Vec<u8>,
    kept: usize,
    is_cut: bool,
}

impl Default for Tail {
    fn default() -> Self {
        Tail::keeping(KEPT)
    }
}

impl Tail {
    /// Keeps the last `kept` bytes.
    pub fn keeping(kept: usize) -> Self {
        Tail { bytes: Vec::new(), kept, is_cut: false }
    }

    /// Reads the available bytes without waiting.
    pub fn read(&mut self, stream: &mut impl Read) -> std::io::Result<()> {
        read_available(stream, |bytes| self.push(bytes))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(self.kept);
        self.is_cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    /// Whether `pattern` is found. The place of a cut does not count as a beginning.
    pub fn matches(&self, pattern: &regex::bytes::Regex) -> bool {
        pattern.is_match_at(&self.bytes, usize::from(self.is_cut))
    }

    /// At most the last `count` bytes, as text on one line.
    pub fn last(&self, count: usize) -> String {
        let from = self.bytes.len().saturating_sub(count);
        line(&self.bytes[from..])
    }
}

/// The first and the last bytes of a stream.
#[derive(Debug)]
pub struct Excerpt {
    head: Vec<u8>,
    head_kept: usize,
    tail: Tail,
}

impl Excerpt {
    /// Keeps the first `head` and the last `tail` bytes.
    pub fn keeping(head: usize, tail: usize) -> Self {
        Excerpt { head: Vec::new(), head_kept: head, tail: Tail::keeping(tail) }
    }

    /// Reads the available bytes without waiting.
    pub fn read(&mut self, stream: &mut impl Read) -> std::io::Result<()> {
        read_available(stream, |bytes| self.push(bytes))
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = self.head_kept.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.push(&bytes[room..]);
    }

    /// The kept output as text on one line, with `...` in place of the rest.
    pub fn line(&self) -> String {
        let mut bytes = self.head.clone();
        if self.tail.is_cut {
            bytes.extend_from_slice(b" ... ");
        }
        bytes.extend_from_slice(&self.tail.bytes);
        line(&bytes)
    }
}

/// Reads the available bytes without waiting. One turn reads at most a full pipe, so that a
/// program that never pauses blocks nothing.
fn read_available(stream: &mut impl Read, mut take: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut buffer = [0; 8 << 10];
    for _ in 0..8 {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Turns output into text on one line.
fn line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(output: &[u8]) -> Tail {
        let mut tail = Tail::default();
        let mut stream = output;
        while !stream.is_empty() {
            tail.read(&mut stream).unwrap();
        }
        tail
    }

    #[test]
    fn the_end_is_kept_and_searched() {
        let word = regex::bytes::Regex::new("^Success(fully)?$").unwrap();
        assert!(tail(b"Successfully").matches(&word));
        assert!(!tail(b"not Successfully").matches(&word));
        let mut long = vec![b'.'; 3 * KEPT];
        long.extend_from_slice(b"done\n\xff it is\tSuccess");
        let long = tail(&long);
        assert_eq!(long.bytes.len(), KEPT);
        assert!(long.matches(&regex::bytes::Regex::new("Success").unwrap()));
        assert!(long.last(20).ends_with("\u{fffd} it is Success"), "{}", long.last(20));
    }

    #[test]
    fn a_cut_is_no_beginning() {
        let word = regex::bytes::Regex::new("^S").unwrap();
        assert!(tail(&[b'S'; KEPT]).matches(&word));
        assert!(!tail(&[b'S'; KEPT + 1]).matches(&word));
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let excerpt = |output: &[u8]| {
            let mut excerpt = Excerpt::keeping(5, 4);
            let mut stream = output;
            while !stream.is_empty() {
                excerpt.read(&mut stream).unwrap();
            }
            excerpt.line()
        };
        assert_eq!(excerpt(b"one\ntwo"), "one two");
        assert_eq!(excerpt(b"123456789"), "123456789");
        assert_eq!(excerpt(b"1234567890"), "12345 ... 7890");
        assert_eq!(excerpt(&[b'x'; 100_000]), "xxxxx ... xxxx");
    }
}
