//! Limits of a journal entry, and the encoding of its commits.

use reelyard_core::event::{Commit, PieceId};
use serde::{Deserialize, Serialize};

/// The most events of one entry.
pub const ENTRY_EVENTS: usize = 256;

/// The most bytes of one entry's encoded commits: a stored value of 32 KiB less the overhead of the
/// log.
pub const ENTRY_BYTES: usize = 32 * 1024 - ENTRY_OVERHEAD;

/// The most bytes besides the commits: version and count, the log id, the checksum.
const ENTRY_OVERHEAD: usize = 64;

/// Most bytes that a commit adds to its events, if the requester's name fits in 512 bytes.
const COMMIT_OVERHEAD: usize = 512 + 64;

/// Version of the encoding of an entry's commits.
const VERSION: u8 = 1;

/// The used room of an entry, as counts of events and bytes.
#[derive(Debug, Default)]
pub struct EntryFill {
    events: usize,
    bytes: usize,
}

impl EntryFill {
    /// Adds a commit if it fits into the entry.
    pub fn add(&mut self, events: usize, bytes: usize) -> bool {
        // A commit without events still needs room for its answer.
        let events = events.max(1);
        let fits = self.events + events <= ENTRY_EVENTS && self.bytes + bytes <= ENTRY_BYTES;
        if fits {
            self.events += events;
            self.bytes += bytes;
        }
        fits
    }
}

/// Cuts a list of events, given by their encoded sizes, into runs that each fit into one commit. An
/// event that fits into no commit forms its own run: the commit answers `TooLarge`.
pub fn split(sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut parts = Vec::new();
    let (mut events, mut bytes) = (0, COMMIT_OVERHEAD);
    for size in sizes {
        if events > 0 && (events + 1 > ENTRY_EVENTS || bytes + size > ENTRY_BYTES) {
            parts.push(events);
            (events, bytes) = (0, COMMIT_OVERHEAD);
        }
        events += 1;
        bytes += size;
    }
    if events > 0 {
        parts.push(events);
    }
    parts
}

/// Whether an event of this many encoded bytes fits into a commit.
pub fn fits_alone(bytes: usize) -> bool {
    COMMIT_OVERHEAD + bytes <= ENTRY_BYTES
}

/// Bytes of one encoded event in a commit: version, length and body.
pub fn event_bytes(body: usize) -> usize {
    1 + 3 + body
}

/// An entry's commits that this program cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableEntry {
    /// An encoding that this version does not know.
    #[error("its version {0} is not known to this version of reelyard")]
    Version(u8),
    /// A piece that is not known here.
    #[error("it belongs to piece {0}, which is not known to this version of reelyard")]
    Piece(u8),
    /// Error of the decoder.
    #[error("it does not decode: {0}")]
    Body(String),
}

/// Joins commits, each already encoded by [`encode_commit`], into one entry.
pub fn join<'a>(commits: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    // The same bytes as a sequence of commits: its length as a varint, then the commits.
    let mut count = [0; 10];
    let mut left = commits.len() as u64;
    let mut used = 0;
    loop {
        let low = (left & 0x7f) as u8;
        left >>= 7;
        count[used] = if left == 0 { low } else { low | 0x80 };
        used += 1;
        if left == 0 {
            break;
        }
    }
    let mut entry = vec![VERSION];
    entry.extend_from_slice(&count[..used]);
    for commit in commits {
        entry.extend_from_slice(commit);
    }
    entry
}

/// Encodes one commit for [`join`].
pub fn encode_commit(commit: &Commit) -> Result<Vec<u8>, UnreadableEntry> {
    postcard::to_stdvec(commit).map_err(|error| UnreadableEntry::Body(error.to_string()))
}

/// Reads an entry's commits.
pub fn read(entry: &[u8]) -> Result<Vec<Commit>, UnreadableEntry> {
    let (&version, body) =
        entry.split_first().ok_or_else(|| UnreadableEntry::Body("it is empty".to_owned()))?;
    if version != VERSION {
        return Err(UnreadableEntry::Version(version));
    }
    postcard::from_bytes(body).map_err(|error| unreadable(body, &error))
}

/// A commit whose piece may be unknown.
#[derive(Serialize, Deserialize)]
struct AnyCommit {
    request: u128,
    remember: bool,
    asked_by: String,
    epoch: u64,
    at: i64,
    piece: u8,
    events: Vec<(u8, Vec<u8>)>,
}

fn unreadable(body: &[u8], error: &postcard::Error) -> UnreadableEntry {
    let commits: Vec<AnyCommit> = postcard::from_bytes(body).unwrap_or_default();
    commits.into_iter().find(|commit| PieceId::try_from(commit.piece).is_err()).map_or_else(
        || UnreadableEntry::Body(error.to_string()),
        |commit| UnreadableEntry::Piece(commit.piece),
    )
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::event::{EncodedEvent, Epoch, RequestId};

    use super::*;

    fn commit(request: u128, events: usize, body: usize) -> Commit {
        Commit {
            request: RequestId(request),
            remember: true,
            asked_by: "operator".to_owned(),
            epoch: Epoch(3),
            at: Millis(-5),
            piece: PieceId::Probe,
            events: vec![EncodedEvent { version: 1, body: vec![0xa5; body] }; events],
        }
    }

    #[test]
    fn joined_commits_are_read_in_order() {
        for count in [0_u128, 1, 5, 127, 128, 300] {
            let commits: Vec<Commit> = (0..count).map(|id| commit(id, 2, 3)).collect();
            let encoded: Vec<Vec<u8>> =
                commits.iter().map(|commit| encode_commit(commit).unwrap()).collect();
            let entry = join(encoded.iter().map(Vec::as_slice));
            assert_eq!(read(&entry), Ok(commits));
        }
    }

    #[test]
    fn an_entry_takes_commits_until_events_or_bytes_are_full() {
        let mut fill = EntryFill::default();
        assert!(fill.add(ENTRY_EVENTS - 1, 10));
        assert!(!fill.add(2, 10));
        assert!(fill.add(0, 10));
        assert!(!fill.add(0, 10));

        let mut fill = EntryFill::default();
        assert!(fill.add(1, ENTRY_BYTES));
        assert!(!fill.add(1, 1));
        assert!(!EntryFill::default().add(1, ENTRY_BYTES + 1));
    }

    #[test]
    fn each_part_of_a_split_list_fits_a_commit() {
        assert_eq!(split([]), Vec::<usize>::new());
        assert_eq!(split([10; 600]), vec![256, 256, 88]);
        let body = 5000;
        let parts = split([event_bytes(body); 40]);
        assert_eq!(parts.iter().sum::<usize>(), 40);
        for part in parts {
            let encoded = encode_commit(&commit(u128::MAX, part, body)).unwrap();
            assert!(EntryFill::default().add(part, encoded.len()));
        }
        assert_eq!(split([10, ENTRY_BYTES, 10]), vec![1, 1, 1]);
    }

    #[test]
    fn a_commit_of_an_unknown_piece_is_named_by_its_number() {
        let known = encode_commit(&commit(1, 1, 4)).unwrap();
        let mut entry = join([known.as_slice()].into_iter());
        assert!(read(&entry).is_ok());
        let strange = AnyCommit {
            request: 1,
            remember: false,
            asked_by: String::new(),
            epoch: 1,
            at: 0,
            piece: 77,
            events: vec![],
        };
        let strange = postcard::to_stdvec(&strange).unwrap();
        let entry_of_later_version = join([strange.as_slice()].into_iter());
        assert_eq!(read(&entry_of_later_version), Err(UnreadableEntry::Piece(77)));
        entry[0] = 9;
        assert_eq!(read(&entry), Err(UnreadableEntry::Version(9)));
        entry[0] = VERSION;
        entry.truncate(entry.len() - 1);
        assert!(matches!(read(&entry), Err(UnreadableEntry::Body(_))));
    }
}
