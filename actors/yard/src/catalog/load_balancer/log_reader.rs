//! One event log on disk, read from the end of the last look on.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::catalog::checkpoint::log_position::{LogPosition, SameLog};

/// Bytes read at a time. The table of names is locked while one chunk is parsed.
const CHUNK: usize = 256 << 10;

/// How many bytes of the file are remembered at its beginning and before the offset: at least one row.
pub(super) const REMEMBERED: usize = 256;

/// An open log and how far it is read. While it is open its rest can be read, even after it was
/// renamed or deleted.
#[derive(Debug)]
pub struct LogReader {
    file: File,
    /// Device and inode.
    identity: (u64, u64),
    offset: u64,
    /// The first bytes that were read.
    head: Vec<u8>,
    /// The last bytes that were read.
    tail: Vec<u8>,
    /// Whether the last read failed, so that the file must be opened again.
    failed: bool,
}

/// The result of opening the log at its path again.
#[derive(Debug)]
pub enum Reopened {
    /// The file that is open.
    Same,
    /// Another file that begins with everything read so far, as a mirrored log does: the reader
    /// continues in it at its position.
    Continued,
    /// Another log: the new reader starts at its beginning.
    Other(LogReader),
}

impl LogReader {
    /// Opens the log at `path` to be read from its beginning.
    pub fn open(path: &Path) -> io::Result<Self> {
        // The path is checked first: opening a FIFO would wait for a writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        Ok(LogReader {
            file,
            identity,
            offset: 0,
            head: Vec::new(),
            tail: Vec::new(),
            failed: false,
        })
    }

    /// The read position in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The inode of the open file.
    pub fn inode(&self) -> u64 {
        self.identity.1
    }

    /// The read position, of which `lines` lines were counted.
    pub fn position(&self, lines: u64) -> LogPosition {
        LogPosition {
            inode: self.inode(),
            offset: self.offset,
            head: self.head.clone(),
            tail: self.tail.clone(),
            lines,
        }
    }

    /// Whether the open file is the log of this position.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_log_of(&self, position: &LogPosition) -> io::Result<SameLog> {
        let length = self.file.metadata()?.len();
        let known = usize::try_from(length).unwrap_or(usize::MAX).min(position.head.len());
        if !holds_at(&self.file, 0, &position.head[..known])? {
            return Ok(SameLog::No);
        }
        if known < position.head.len() {
            return Ok(SameLog::TooShort);
        }
        let tail_at = position.offset.saturating_sub(position.tail.len() as u64);
        let is_same = length < position.offset || holds_at(&self.file, tail_at, &position.tail)?;
        Ok(if is_same { SameLog::Yes } else { SameLog::No })
    }

    /// Whether the open file is the log of this position, without any byte after it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn ends_at(&self, position: &LogPosition) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        Ok(length == position.offset && self.is_log_of(position)? == SameLog::Yes)
    }

    /// Checks which file is at `path` now.
    pub fn reopen(&mut self, path: &Path) -> io::Result<Reopened> {
        let metadata = std::fs::metadata(path)?;
        if !self.failed && self.identity == (metadata.dev(), metadata.ino()) {
            return Ok(Reopened::Same);
        }
        let other = LogReader::open(path)?;
        if !self.is_begun_in(&other.file)? {
            return Ok(Reopened::Other(other));
        }
        self.file = other.file;
        self.identity = other.identity;
        self.failed = false;
        Ok(Reopened::Continued)
    }

    /// Whether the file no longer begins with the bytes that were read: it was truncated, or rewritten
    /// in place. The reader then starts at the beginning.
    pub fn was_cut(&mut self) -> io::Result<bool> {
        let begun = self.is_begun_in(&self.file);
        self.failed = begun.is_err();
        if begun? {
            return Ok(false);
        }
        self.offset = 0;
        self.head.clear();
        self.tail.clear();
        Ok(true)
    }

    /// Reads everything after the offset that the file has now. Later rows belong to the next read, because a
    /// writer that is faster than this reader would never let it end.
    pub fn read(&mut self, mut feed: impl FnMut(&[u8])) -> io::Result<()> {
        let end = self.file.metadata().inspect_err(|_| self.failed = true)?.len();
        let mut chunk = vec![0; CHUNK];
        loop {
            let left = usize::try_from(end.saturating_sub(self.offset)).unwrap_or(CHUNK);
            let wanted = left.min(CHUNK);
            match self.file.read_at(&mut chunk[..wanted], self.offset) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    self.remember(&chunk[..length]);
                    feed(&chunk[..length]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
            }
        }
    }

    fn remember(&mut self, chunk: &[u8]) {
        self.offset += chunk.len() as u64;
        let missing = (REMEMBERED - self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..missing]);
        self.tail.extend_from_slice(&chunk[chunk.len().saturating_sub(REMEMBERED)..]);
        self.tail.drain(..self.tail.len().saturating_sub(REMEMBERED));
    }

    /// Whether `file` begins with the bytes that were read, according to the remembered bytes. False
    /// if nothing was read.
    fn is_begun_in(&self, file: &File) -> io::Result<bool> {
        let tail_at = self.offset - self.tail.len() as u64;
        Ok(holds_at(file, 0, &self.head)? && holds_at(file, tail_at, &self.tail)?)
    }
}

fn holds_at(file: &File, offset: u64, expected: &[u8]) -> io::Result<bool> {
    let mut found = vec![0; expected.len()];
    match file.read_exact_at(&mut found, offset) {
        Ok(()) => Ok(found == expected),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn rest(reader: &mut LogReader) -> Vec<u8> {
        let mut rest = Vec::new();
        reader.read(|chunk| rest.extend_from_slice(chunk)).unwrap();
        rest
    }

    fn append(path: &Path, text: &[u8]) {
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text).unwrap();
    }

    #[test]
    fn only_new_bytes_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "one").unwrap();
        let mut reader = LogReader::open(&path).unwrap();
        assert_eq!(rest(&mut reader), b"one");
        append(&path, &[b'x'; 2 * CHUNK]);
        assert!(!reader.was_cut().unwrap());
        assert_eq!(rest(&mut reader), [b'x'; 2 * CHUNK]);
        assert_eq!(reader.offset(), 2 * CHUNK as u64 + 3);
        assert_eq!((&reader.head[..5], reader.tail.len()), (&b"onexx"[..], REMEMBERED));
    }

    #[test]
    fn a_writer_faster_than_the_reader_does_not_keep_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "one\n").unwrap();
        let mut reader = LogReader::open(&path).unwrap();
        let mut reads = 0;
        let write = |_: &[u8]| {
            reads += 1;
            if reads < 9 {
                append(&path, b"another\n");
            }
        };
        reader.read(write).unwrap();
        assert_eq!(reads, 1);
        assert_eq!(rest(&mut reader), b"another\n");
    }

    #[test]
    fn a_truncated_or_rewritten_file_starts_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut reader = LogReader::open(&path).unwrap();
        rest(&mut reader);
        fs::write(&path, "three\n").unwrap();
        assert!(reader.was_cut().unwrap());
        assert_eq!(rest(&mut reader), b"three\n");
        fs::write(&path, "four, which is longer\n").unwrap();
        assert!(reader.was_cut().unwrap());
        assert_eq!(rest(&mut reader), b"four, which is longer\n");
    }

    #[test]
    fn a_mirrored_copy_is_the_same_log_and_another_file_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("log"), dir.path().join("other"));
        fs::write(&path, "one\n").unwrap();
        let mut reader = LogReader::open(&path).unwrap();
        rest(&mut reader);
        fs::write(&other, "one\ntwo\n").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(matches!(reader.reopen(&path).unwrap(), Reopened::Continued));
        assert_eq!(rest(&mut reader), b"two\n");
        assert!(matches!(reader.reopen(&path).unwrap(), Reopened::Same));
        fs::write(&other, "three\n").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(matches!(reader.reopen(&path).unwrap(), Reopened::Other(_)));
    }
}
