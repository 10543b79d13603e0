//! How a value stands in the store: a version byte, the body, and a checksum over both.
//!
//! sled checks its own pages but rolls back over damage without a word, and never says which
//! value a damaged page held. A checksum per value makes every misread loud.

/// Version of the framing.
const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 4;

/// Bytes that a frame adds to its body.
const FRAME_BYTES: usize = 1 + CHECKSUM_BYTES;

/// The largest value that goes into sled, framed. A larger one could make a page outgrow a quarter
/// of a segment, and such pages become files that sled never syncs.
pub(super) const LARGEST_VALUE: usize = 32 * 1024;

/// Why a stored value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadRecord {
    #[error("its checksum does not match")]
    Checksum,
    #[error("its version {0} is not known to this version of reelyard")]
    Version(u8),
}

/// Frames a body for the store.
pub(super) fn frame(body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(body.len() + FRAME_BYTES);
    record.push(VERSION);
    record.extend_from_slice(body);
    let checksum = crc32c::crc32c(&record);
    record.extend_from_slice(&checksum.to_le_bytes());
    record
}

/// The body of a stored value, if it is what was written.
pub(super) fn unframe(record: &[u8]) -> Result<&[u8], BadRecord> {
    let (framed, checksum) =
        record.split_last_chunk::<CHECKSUM_BYTES>().ok_or(BadRecord::Checksum)?;
    if crc32c::crc32c(framed) != u32::from_le_bytes(*checksum) {
        return Err(BadRecord::Checksum);
    }
    match framed.split_first() {
        Some((&VERSION, body)) => Ok(body),
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
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let record = frame(b"forty-two");
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
    fn a_record_of_a_later_version_is_named_as_such() {
        let mut record = vec![9, 1, 2];
        let checksum = crc32c::crc32c(&record);
        record.extend_from_slice(&checksum.to_le_bytes());
        assert_eq!(unframe(&record), Err(BadRecord::Version(9)));
    }
}
