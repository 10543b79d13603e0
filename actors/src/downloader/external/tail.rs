//! The end of what a program says: bounded, whatever it says.

use std::io::{ErrorKind, Read};

/// How much of it is kept, in bytes. A word of success that is followed by more is not found.
const KEPT: usize = 64 << 10;

/// The last [`KEPT`] bytes of a stream.
#[derive(Debug, Default)]
pub struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    /// Takes what there is to read without waiting.
    pub fn read(&mut self, stream: &mut impl Read) -> std::io::Result<()> {
        let mut buffer = [0; 8 << 10];
        // One turn takes no more than a full pipe: a program that never pauses is still followed.
        for _ in 0..8 {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.take(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(KEPT);
        self.is_cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    /// Whether `pattern` is found. The place of a cut is not taken for a beginning.
    pub fn matches(&self, pattern: &regex::bytes::Regex) -> bool {
        pattern.is_match_at(&self.bytes, usize::from(self.is_cut))
    }

    /// At most the last `count` bytes, as text on one line.
    pub fn last(&self, count: usize) -> String {
        let from = self.bytes.len().saturating_sub(count);
        let text = String::from_utf8_lossy(&self.bytes[from..]);
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(said: &[u8]) -> Tail {
        let mut tail = Tail::default();
        let mut stream = said;
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
}
