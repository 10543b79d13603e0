//! All small values of the store, in one value.
//!
//! If a page in the middle of its file is damaged, sled may lose some writes and keep later ones. Values
//! in one record cannot be of different ages: the newest head holds the newest vote, the newest snapshot
//! and the log's end.

use serde::{Deserialize, Serialize};

use crate::store::StoreError;
use crate::store::database::sled_database::get;
use crate::store::database::snapshot_manifest::SnapshotManifest;
use crate::store::disk::durability_mark::DurabilityMark;
use crate::store::record::{RecordLink, frame, unframe};

const HEAD: &str = "head";
/// Keys under which stores of earlier versions kept the same values, one by one.
const FORMER: [&str; 4] = ["node", "vote", "purged", "snapshot"];

/// The store's small values at the time of one flush.
///
/// Its version is that of its frame: a head with other fields gets another one, which earlier programs
/// refuse with its number. Then [`StoreHead::read`] also reads this one, as it reads [`FORMER`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoreHead {
    /// Grows with every flush.
    pub(crate) sequence: u64,
    /// Node to which this store belongs.
    pub(crate) node: Option<u64>,
    /// The vote, as the raft layer encodes it.
    pub(crate) vote: Option<Vec<u8>>,
    /// How far the log was purged.
    pub(crate) purged: Option<Purged>,
    /// The newest complete snapshot.
    pub(crate) snapshot: Option<SnapshotManifest>,
    /// End of the log, once it is known: one past the last entry, including purged ones, and the checksum
    /// to which the next row links.
    pub(crate) log: Option<LogEnd>,
}

/// End of the log: index and checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogEnd {
    /// One past the last entry, purged ones included.
    pub(crate) end: u64,
    /// The checksum of the last row.
    pub(crate) link: RecordLink,
}

/// How far the log was purged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Purged {
    /// The last purged entry.
    pub(crate) index: u64,
    /// Its full log id, as the raft layer encodes it.
    pub(crate) log_id: Vec<u8>,
}

impl StoreHead {
    /// The head of a store; an empty head if it has none.
    pub(crate) fn read(db: &sled::Db) -> Result<StoreHead, StoreError> {
        if let Some(head) = get(db, HEAD)? {
            return Ok(head);
        }
        let [node, vote, purged, snapshot] = FORMER;
        let vote = db.get(vote)?.map(|record| match unframe(&record) {
            Ok(body) => Ok(body.to_vec()),
            Err(error) => Err(StoreError::damaged("the vote", error)),
        });
        Ok(StoreHead {
            node: get(db, node)?,
            vote: vote.transpose()?,
            purged: get(db, purged)?,
            snapshot: get(db, snapshot)?,
            ..StoreHead::default()
        })
    }

    /// Checks that every entry of the log is in the snapshot or in the log.
    ///
    /// # Errors
    /// `Damaged` if the log is purged beyond the snapshot: the entries between them exist nowhere.
    pub(crate) fn check_purged(&self) -> Result<(), StoreError> {
        let Some(purged) = self.purged.as_ref().map(|purged| purged.index) else { return Ok(()) };
        let covered = match self.snapshot.as_ref().map(|snapshot| snapshot.index) {
            Some(covered) if covered >= purged => return Ok(()),
            Some(covered) => format!("the snapshot ends with entry {covered}"),
            None => "there is no snapshot".to_owned(),
        };
        Err(StoreError::damaged(
            "the log",
            format!("it begins after entry {purged}, and {covered}"),
        ))
    }

    /// Writes the head into sled. Durable with the next flush.
    pub(crate) fn write(&self, db: &sled::Db) -> Result<(), StoreError> {
        let body = postcard::to_stdvec(self).map_err(|error| StoreError::Io(error.to_string()))?;
        if db.insert(HEAD, frame(&body))?.is_none() {
            for former in FORMER {
                db.remove(former)?;
            }
        }
        Ok(())
    }

    /// The same state, for the mark outside of sled.
    pub(crate) fn mark(&self) -> DurabilityMark {
        DurabilityMark {
            sequence: self.sequence,
            log_end: self.log.unwrap_or_default().end,
            snapshot: self.snapshot.as_ref().map(|snapshot| snapshot.index),
            vote: self.vote.clone(),
        }
    }

    /// Whether nothing was ever written.
    pub(crate) fn is_empty(&self) -> bool {
        let StoreHead { sequence, node, vote, purged, snapshot, log } = self;
        let log = log.is_none_or(|log| log.end == 0);
        *sequence == 0
            && node.is_none()
            && vote.is_none()
            && purged.is_none()
            && snapshot.is_none()
            && log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::sled_database::open_sled;
    use crate::stream::StreamPart;

    #[test]
    fn stored_bytes_of_the_head_and_the_mark_stay() {
        let parts = vec![StreamPart { piece: 3, start: 1, end: 300 }];
        let head = StoreHead {
            sequence: 500,
            node: Some(1),
            vote: Some(vec![3, 1]),
            purged: Some(Purged { index: 20, log_id: vec![4] }),
            snapshot: Some(SnapshotManifest {
                number: 2,
                index: 25,
                meta: vec![5],
                bytes: 300,
                parts,
            }),
            log: Some(LogEnd { end: 31, link: 70_000 }),
        };
        let hex =
            |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let bytes = postcard::to_stdvec(&head).unwrap();
        let mark = postcard::to_stdvec(&head.mark()).unwrap();
        assert_eq!(
            [hex(bytes), hex(mark)],
            ["f403010101020301011401040102190105ac02010301ac02011ff0a204", "f4031f011901020301"],
            "another form gets another version in its frame"
        );
        let read: StoreHead = postcard::from_bytes(&postcard::to_stdvec(&head).unwrap()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{head:?}"));
    }

    #[test]
    fn a_head_of_a_later_version_is_refused_with_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        let mut record = vec![9, 1, 2];
        record.extend(crc32c::crc32c(&record).to_le_bytes());
        db.insert(HEAD, record).unwrap();
        let error = StoreHead::read(&db).unwrap_err().to_string();
        assert!(error.contains("version 9") && error.contains("start the version"), "{error}");
    }

    #[test]
    fn the_values_of_an_earlier_version_are_read_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let db = open_sled(dir.path()).unwrap();
        assert!(StoreHead::read(&db).unwrap().is_empty());
        let put = |key: &str, body: Vec<u8>| drop(db.insert(key, frame(&body)).unwrap());
        put("node", postcard::to_stdvec(&7_u64).unwrap());
        put("vote", vec![1, 2, 3]);
        let purged = Purged { index: 20, log_id: vec![4] };
        put("purged", postcard::to_stdvec(&purged).unwrap());
        let mut head = StoreHead::read(&db).unwrap();
        assert_eq!((head.node, head.vote.as_deref()), (Some(7), Some(&[1, 2, 3][..])));
        assert_eq!(head.purged.as_ref().map(|purged| purged.index), Some(20));
        head.sequence = 5;
        head.write(&db).unwrap();
        assert_eq!(StoreHead::read(&db).unwrap().sequence, 5);
        assert!(FORMER.iter().all(|key| db.get(key).unwrap().is_none()));
    }
}
