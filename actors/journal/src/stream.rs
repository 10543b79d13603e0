//! A snapshot as one stream of bytes, which is stored in chunks and sent to a node that is behind.
//!
//! The stream begins with a version byte. The rows of each piece follow: the piece's number, the row's
//! length as a little-endian `u32`, and the row. The end is a zero byte and the CRC-32C of everything
//! before, little-endian. The stream is written and checked in parts, so that memory never holds all of it.

use std::ops::Range;

use reelyard_core::event::PieceId;
use serde::{Deserialize, Serialize};

const VERSION: u8 = 1;
const END: u8 = 0;
const CHECKSUM_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;

/// Position of the rows of one piece in the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamPart {
    /// Number of the piece.
    pub(crate) piece: u8,
    /// The start of its first row.
    pub(crate) start: u64,
    /// The end of its last row.
    pub(crate) end: u64,
}

/// Why a stream cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadStream {
    #[error("the snapshot is cut short or its checksum does not match")]
    Damaged,
    #[error(
        "the snapshot's version {0} is not known to this version of reelyard: start the version that wrote it"
    )]
    Version(u8),
    #[error(
        "the snapshot holds a piece {0} that is not known to this version of reelyard: start the version that wrote it"
    )]
    Piece(u8),
}

/// Writes a stream. The caller repeatedly takes the finished bytes.
pub(crate) struct StreamWriter {
    ready: Vec<u8>,
    /// Bytes that the caller has taken.
    taken: u64,
    checksum: u32,
    parts: Vec<StreamPart>,
}

impl StreamWriter {
    pub(crate) fn new() -> Self {
        StreamWriter { ready: vec![VERSION], taken: 0, checksum: 0, parts: Vec::new() }
    }

    /// Begins the rows of `piece`.
    pub(crate) fn begin(&mut self, piece: PieceId) {
        let here = self.taken + self.ready.len() as u64;
        self.parts.push(StreamPart { piece: piece.into(), start: here, end: here });
    }

    /// Adds a row to the piece that was begun last.
    pub(crate) fn row(&mut self, row: &[u8]) {
        let Some(part) = self.parts.last_mut() else {
            return;
        };
        // Rows are at most 1 MiB by the contract of `FrozenPiece`.
        let length = u32::try_from(row.len()).unwrap_or(u32::MAX);
        self.ready.push(part.piece);
        self.ready.extend_from_slice(&length.to_le_bytes());
        self.ready.extend_from_slice(row);
        part.end = self.taken + self.ready.len() as u64;
    }

    /// How many bytes the caller can take.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Takes the finished bytes out.
    pub(crate) fn drain(&mut self) -> Vec<u8> {
        self.checksum = crc32c::crc32c_append(self.checksum, &self.ready);
        self.taken += self.ready.len() as u64;
        std::mem::take(&mut self.ready)
    }

    /// The last bytes, and the position of each piece.
    pub(crate) fn finish(mut self) -> (Vec<u8>, Vec<StreamPart>) {
        self.ready.push(END);
        let mut last = self.drain();
        last.extend_from_slice(&self.checksum.to_le_bytes());
        (last, self.parts)
    }
}

/// Checks a stream while it arrives, and finds its parts.
pub(crate) struct StreamChecker {
    state: StreamCheckState,
    /// Bytes of the state's number that have come in.
    number: Vec<u8>,
    at: u64,
    checksum: u32,
    parts: Vec<StreamPart>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamCheckState {
    Version,
    Piece,
    Length { piece: u8, start: u64 },
    Row { left: u64 },
    Checksum,
    Whole,
}

impl StreamChecker {
    pub(crate) fn new() -> Self {
        StreamChecker {
            state: StreamCheckState::Version,
            number: Vec::new(),
            at: 0,
            checksum: 0,
            parts: Vec::new(),
        }
    }

    /// Checks the next bytes of the stream.
    pub(crate) fn check_bytes(&mut self, mut bytes: &[u8]) -> Result<(), BadStream> {
        while let Some((&first, _)) = bytes.split_first() {
            let used = match self.state {
                StreamCheckState::Row { left } => {
                    usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len())
                }
                _ => 1,
            };
            let (now, rest) = bytes.split_at(used);
            if self.state != StreamCheckState::Checksum {
                self.checksum = crc32c::crc32c_append(self.checksum, now);
            }
            self.at += used as u64;
            self.step(first, used as u64)?;
            bytes = rest;
        }
        Ok(())
    }

    fn step(&mut self, byte: u8, used: u64) -> Result<(), BadStream> {
        self.state = match self.state {
            StreamCheckState::Version if byte == VERSION => StreamCheckState::Piece,
            StreamCheckState::Version => return Err(BadStream::Version(byte)),
            StreamCheckState::Piece if byte == END => StreamCheckState::Checksum,
            StreamCheckState::Piece => {
                PieceId::try_from(byte).map_err(|_| BadStream::Piece(byte))?;
                StreamCheckState::Length { piece: byte, start: self.at - 1 }
            }
            StreamCheckState::Length { piece, start } => {
                self.number.push(byte);
                let Ok(length) = <[u8; LENGTH_BYTES]>::try_from(self.number.as_slice()) else {
                    return Ok(());
                };
                self.number.clear();
                let left = u64::from(u32::from_le_bytes(length));
                let end = self.at + left;
                match self.parts.last_mut() {
                    Some(part) if part.piece == piece => part.end = end,
                    _ => self.parts.push(StreamPart { piece, start, end }),
                }
                if left == 0 { StreamCheckState::Piece } else { StreamCheckState::Row { left } }
            }
            StreamCheckState::Row { left } if left > used => {
                StreamCheckState::Row { left: left - used }
            }
            StreamCheckState::Row { .. } => StreamCheckState::Piece,
            StreamCheckState::Checksum => {
                self.number.push(byte);
                let Ok(checksum) = <[u8; CHECKSUM_BYTES]>::try_from(self.number.as_slice()) else {
                    return Ok(());
                };
                if u32::from_le_bytes(checksum) != self.checksum {
                    return Err(BadStream::Damaged);
                }
                StreamCheckState::Whole
            }
            StreamCheckState::Whole => return Err(BadStream::Damaged),
        };
        Ok(())
    }

    /// The parts of a completely received stream.
    pub(crate) fn finish(self) -> Result<Vec<StreamPart>, BadStream> {
        if self.state == StreamCheckState::Whole { Ok(self.parts) } else { Err(BadStream::Damaged) }
    }
}

/// The complete rows at the beginning of a part's bytes, and their length in bytes.
pub(crate) fn rows(part: &[u8]) -> (Vec<Vec<u8>>, usize) {
    let mut rows = Vec::new();
    let mut at = 0;
    while let Some(row) = row_at(part, at) {
        at = row.end;
        rows.push(part[row].to_vec());
    }
    (rows, at)
}

/// Range of the row's bytes, for a row whose piece number is at `at`.
fn row_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let length = bytes.get(at + 1..)?.first_chunk::<LENGTH_BYTES>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let start = at + 1 + LENGTH_BYTES;
    let end = start.checked_add(length)?;
    (end <= bytes.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (Vec<u8>, Vec<StreamPart>) {
        let mut writer = StreamWriter::new();
        writer.begin(PieceId::Tasks);
        writer.row(b"one");
        let mut stream = writer.drain();
        writer.row(b"");
        writer.begin(PieceId::Probe);
        writer.row(&[7; 300]);
        assert_eq!(writer.ready(), 5 + 5 + 300);
        let (last, parts) = writer.finish();
        stream.extend(last);
        (stream, parts)
    }

    fn check(stream: &[u8], piece: usize) -> Result<Vec<StreamPart>, BadStream> {
        let mut checker = StreamChecker::new();
        stream.chunks(piece).try_for_each(|bytes| checker.check_bytes(bytes))?;
        checker.finish()
    }

    #[test]
    fn a_stream_comes_back_as_written_however_it_is_cut() {
        let (stream, parts) = written();
        for piece in [1, 2, 3, 7, 100, stream.len()] {
            assert_eq!(check(&stream, piece), Ok(parts.clone()));
        }
        let tasks = &stream[parts[0].start as usize..parts[0].end as usize];
        assert_eq!(rows(tasks), (vec![b"one".to_vec(), vec![]], tasks.len()));
        assert_eq!(rows(&tasks[..tasks.len() - 1]).1, 8);
        let probe = &stream[parts[1].start as usize..parts[1].end as usize];
        assert_eq!(rows(probe).0, vec![vec![7; 300]]);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let (stream, _) = written();
        for at in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[at] ^= 0x10;
            assert!(check(&damaged, 50).is_err());
            assert_eq!(check(&stream[..at], 50), Err(BadStream::Damaged));
        }
        let longer = [stream.as_slice(), &[0]].concat();
        assert_eq!(check(&longer, 50), Err(BadStream::Damaged));
    }

    /// Two pieces with two rows and one row, as version 1 of the stream has them.
    const KEPT: &str = "01 01030000006f6e65 0100000000 ff020000000708 00 8e25d8d4";

    #[test]
    fn stored_bytes_of_a_stream_stay() {
        let kept: String = KEPT.split(' ').collect();
        let mut writer = StreamWriter::new();
        writer.begin(PieceId::Tasks);
        writer.row(b"one");
        writer.row(b"");
        writer.begin(PieceId::Probe);
        writer.row(&[7, 8]);
        let (stream, parts) = writer.finish();
        let written: String = stream.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, kept, "raise VERSION, and let StreamChecker read both");
        assert_eq!(check(&stream, 4), Ok(parts));
    }

    #[test]
    fn a_stream_of_a_later_version_or_piece_is_refused_in_words() {
        for (stream, number) in [(&[9_u8, 1][..], "version 9"), (&[VERSION, 77], "piece 77")] {
            let error = check(stream, 1).unwrap_err().to_string();
            assert!(error.contains(number) && error.contains("start the version"), "{error}");
        }
    }

    #[test]
    fn an_empty_snapshot_is_a_snapshot() {
        let (stream, parts) = StreamWriter::new().finish();
        assert_eq!(parts, vec![]);
        assert_eq!(check(&stream, 3), Ok(vec![]));
    }
}
