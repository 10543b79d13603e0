//! The frame of a stored value: a version byte, the body, and a checksum over both.
//!
//! sled checks its own pages, but rolls damage back without an error. It never reports which value
//! a damaged page had. A checksum per value detects every misread. Rows of the log and chunks of
//! snapshots also hold a link to their position ([`RecordLink`]), which detects complete but stale
//! values.

/// Version of the frame of a value without a link.
const ALONE: u8 = 1;
/// Version of the framing of a value with a [`RecordLink`].
const LINKED: u8 = 2;
const LINK_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;

/// The largest number of bytes that a frame adds to its body.
const FRAME_BYTES: usize = 1 + LINK_BYTES + CHECKSUM_BYTES;

/// The link of a value to its predecessor. For a row of the log it is the checksum of the row
/// before it, which makes the log a chain.
pub(crate) type RecordLink = u32;

/// The largest framed value in sled. A larger one could make a page outgrow a quarter of a segment,
/// and sled puts such pages into files that it never syncs.
pub(crate) const LARGEST_VALUE: usize = 32 * 1024;

/// Why a stored value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRecord {
    #[error("its checksum does not match")]
    Checksum,
    #[error(
        "its version {0} is not known to this version of reelyard: start the version that wrote it"
    )]
    Version(u8),
}

/// A stored value with a correct checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredRecord<'a> {
    pub(crate) body: &'a [u8],
    /// None in values without a link, and in rows of versions that had no links.
    pub(crate) link: Option<RecordLink>,
    /// Checksum to which the next row of the log links.
    pub(crate) checksum: RecordLink,
}

/// Frames a body without a link.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    framed(&[ALONE], body).0
}

/// Frames a body after `link`, and also returns the checksum.
pub(crate) fn frame_linked(link: RecordLink, body: &[u8]) -> (Vec<u8>, RecordLink) {
    let mut start = [LINKED; 1 + LINK_BYTES];
    start[1..].copy_from_slice(&link.to_le_bytes());
    framed(&start, body)
}

fn framed(start: &[u8], body: &[u8]) -> (Vec<u8>, RecordLink) {
    let mut record = Vec::with_capacity(body.len() + FRAME_BYTES);
    record.extend_from_slice(start);
    record.extend_from_slice(body);
    let checksum = crc32c::crc32c(&record);
    record.extend_from_slice(&checksum.to_le_bytes());
    (record, checksum)
}

/// The body of a stored value, if its checksum is correct.
pub(crate) fn unframe(record: &[u8]) -> Result<&[u8], BadRecord> {
    read(record).map(|record| record.body)
}

/// A stored value with its link, if its checksum is correct.
pub(crate) fn read(record: &[u8]) -> Result<StoredRecord<'_>, BadRecord> {
    let (framed, checksum) =
        record.split_last_chunk::<CHECKSUM_BYTES>().ok_or(BadRecord::Checksum)?;
    let checksum = u32::from_le_bytes(*checksum);
    if crc32c::crc32c(framed) != checksum {
        return Err(BadRecord::Checksum);
    }
    match framed.split_first() {
        Some((&ALONE, body)) => Ok(StoredRecord { body, link: None, checksum }),
        Some((&LINKED, rest)) => {
            let (link, body) = rest.split_first_chunk::<LINK_BYTES>().ok_or(BadRecord::Checksum)?;
            Ok(StoredRecord { body, link: Some(u32::from_le_bytes(*link)), checksum })
        }
        Some((&version, _)) => Err(BadRecord::Version(version)),
        None => Err(BadRecord::Checksum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_written() {
        assert_eq!(unframe(&frame(b"body")), Ok(&b"body"[..]));
        assert_eq!(unframe(&frame(b"")), Ok(&b""[..]));
        let (linked, checksum) = frame_linked(77, b"body");
        assert_eq!(read(&linked), Ok(StoredRecord { body: b"body", link: Some(77), checksum }));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let (record, _) = frame_linked(5, b"forty-two");
        for bit in 0..record.len() * 8 {
            let mut damaged = record.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unframe(&damaged), Err(BadRecord::Checksum));
        }
        for length in 0..record.len() {
            assert_eq!(unframe(&record[..length]), Err(BadRecord::Checksum));
        }
    }

    #[test]
    fn a_record_of_a_later_version_is_reported_with_its_version() {
        let mut record = vec![9, 1, 2];
        let checksum = crc32c::crc32c(&record);
        record.extend_from_slice(&checksum.to_le_bytes());
        assert_eq!(unframe(&record), Err(BadRecord::Version(9)));
    }
}
