//! A snapshot as one stream of bytes: what is stored in chunks and sent to a node that is behind.
//!
//! A version byte; the rows of each piece, piece by piece: the piece's number, the row's length as
//! a little-endian `u32`, the row; a zero byte; the CRC-32C of everything before, little-endian.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::event::PieceId;

const VERSION: u8 = 1;
const END: u8 = 0;
const CHECKSUM_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;

/// Where the rows of one piece stand in the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The piece's number.
    pub(crate) piece: u8,
    /// Where its first row begins.
    pub(crate) start: u64,
    /// Where its last row ends.
    pub(crate) end: u64,
}

/// Why a stream cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadStream {
    #[error("the snapshot is cut short or its checksum does not match")]
    Damaged,
    #[error("the snapshot's version {0} is not known to this version of reelyard")]
    Version(u8),
    #[error("the snapshot holds a piece {0} that is not known to this version of reelyard")]
    Piece(u8),
}

/// Writes a stream.
pub(crate) struct StreamWriter {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

impl StreamWriter {
    pub(crate) fn new() -> Self {
        StreamWriter { bytes: vec![VERSION], parts: Vec::new() }
    }

    /// Begins the rows of `piece`.
    pub(crate) fn begin(&mut self, piece: PieceId) {
        let here = self.bytes.len() as u64;
        self.parts.push(Part { piece: piece.into(), start: here, end: here });
    }

    /// Adds a row to the piece that was begun last.
    pub(crate) fn row(&mut self, row: &[u8]) {
        let Some(part) = self.parts.last_mut() else {
            return;
        };
        // Rows are at most 1 MiB by the contract of `FrozenPiece`.
        let length = u32::try_from(row.len()).unwrap_or(u32::MAX);
        self.bytes.push(part.piece);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(row);
        part.end = self.bytes.len() as u64;
    }

    pub(crate) fn finish(mut self) -> (Vec<u8>, Vec<Part>) {
        self.bytes.push(END);
        let checksum = crc32c::crc32c(&self.bytes);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        (self.bytes, self.parts)
    }
}

/// Checks a whole stream and finds its parts.
pub(crate) fn check(stream: &[u8]) -> Result<Vec<Part>, BadStream> {
    let (content, checksum) =
        stream.split_last_chunk::<CHECKSUM_BYTES>().ok_or(BadStream::Damaged)?;
    if crc32c::crc32c(content) != u32::from_le_bytes(*checksum) {
        return Err(BadStream::Damaged);
    }
    match content.first() {
        Some(&VERSION) => {}
        Some(&version) => return Err(BadStream::Version(version)),
        None => return Err(BadStream::Damaged),
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut at = 1;
    loop {
        let piece = *content.get(at).ok_or(BadStream::Damaged)?;
        if piece == END {
            return if at + 1 == content.len() { Ok(parts) } else { Err(BadStream::Damaged) };
        }
        PieceId::try_from(piece).map_err(|_| BadStream::Piece(piece))?;
        let row = row_at(content, at).ok_or(BadStream::Damaged)?;
        match parts.last_mut() {
            Some(part) if part.piece == piece => part.end = row.end as u64,
            _ => parts.push(Part { piece, start: at as u64, end: row.end as u64 }),
        }
        at = row.end;
    }
}

/// The rows in a part's bytes.
pub(crate) fn rows(part: &[u8]) -> Result<Vec<Vec<u8>>, BadStream> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < part.len() {
        let row = row_at(part, at).ok_or(BadStream::Damaged)?;
        at = row.end;
        rows.push(part[row].to_vec());
    }
    Ok(rows)
}

/// Where the row whose piece number stands at `at` has its bytes.
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

    fn written() -> (Vec<u8>, Vec<Part>) {
        let mut writer = StreamWriter::new();
        writer.begin(PieceId::Tasks);
        writer.row(b"one");
        writer.row(b"");
        writer.begin(PieceId::Probe);
        writer.row(&[7; 300]);
        writer.finish()
    }

    #[test]
    fn a_stream_comes_back_as_written() {
        let (stream, parts) = written();
        assert_eq!(check(&stream), Ok(parts.clone()));
        let tasks = &stream[parts[0].start as usize..parts[0].end as usize];
        assert_eq!(rows(tasks), Ok(vec![b"one".to_vec(), vec![]]));
        let probe = &stream[parts[1].start as usize..parts[1].end as usize];
        assert_eq!(rows(probe), Ok(vec![vec![7; 300]]));
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let (stream, _) = written();
        for at in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[at] ^= 0x10;
            assert_eq!(check(&damaged), Err(BadStream::Damaged));
            assert_eq!(check(&stream[..at]), Err(BadStream::Damaged));
        }
    }

    #[test]
    fn an_empty_snapshot_is_a_snapshot() {
        let (stream, parts) = StreamWriter::new().finish();
        assert_eq!(parts, vec![]);
        assert_eq!(check(&stream), Ok(vec![]));
    }
}
