//! The content of a store and its faults, for operators.

use std::path::PathBuf;

use reelyard_core::event::PieceId;
use serde::Serialize;

use crate::raft::{self, StoredMembers};
use crate::store::database::head::StoreHead;
use crate::store::database::sled_database::guarded;
use crate::store::database::trees::{InspectedDatabase, Trees};
use crate::store::disk::durability_mark::MarkState;
use crate::store::opening::loss;
use crate::store::{SkippedEntry, StoreError};
use crate::stream::{self, StreamChecker};

/// How many log entries are read at once.
const ENTRIES: u64 = 256;

/// Whether a node can use a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Everything that was ever acknowledged exists.
    Whole,
    /// Its end is missing, or its end is unknown. An operator must decide whether to continue.
    Lost,
    /// A part in the middle cannot be read. The store cannot be used.
    Damaged,
}

/// The content of a store and its faults.
#[derive(Clone, Debug, Serialize)]
pub struct StoreReport {
    /// Directory of the store.
    pub dir: PathBuf,
    /// Whether a node can use it.
    pub condition: Condition,
    /// Every fault of the store, in the order of their positions.
    pub faults: Vec<StoreFault>,
    /// Id of the node that owns the store.
    pub node: Option<u64>,
    /// The newest recorded term of the store.
    pub term: Option<u64>,
    /// The node that it voted for in that term.
    pub voted_for: Option<u64>,
    /// The nodes that vote.
    pub voters: Vec<u64>,
    /// The first log entry that it holds.
    pub first_log: Option<u64>,
    /// The last log entry that it holds, purged ones included.
    pub last_log: Option<u64>,
    /// How many segments the log is cut into.
    pub log_segments: usize,
    /// Size of the log on the disk.
    pub log_bytes: u64,
    /// Entries that were written and never acknowledged: the next start removes them.
    pub unfinished: u64,
    /// Entries that no owner applies.
    pub skipped: Vec<SkippedEntry>,
    /// The current snapshot.
    pub snapshot: Option<SnapshotReport>,
    /// The last flush in it.
    pub flush: u64,
    /// The last flush that it is known to have contained.
    pub marked_flush: Option<u64>,
    /// Bytes of the database on the disk.
    pub disk_bytes: u64,
    /// Bytes kept in reserve for a full disk.
    pub reserve_bytes: u64,
}

/// A snapshot in a store.
#[derive(Clone, Debug, Serialize)]
pub struct SnapshotReport {
    /// Log index of the last entry in it.
    pub index: u64,
    /// Size of the snapshot in bytes.
    pub bytes: u64,
    /// Number of its chunks.
    pub chunks: u64,
    /// The pieces in it, with their sizes.
    pub pieces: Vec<PieceSize>,
}

/// A piece in a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct PieceSize {
    /// Name of the piece.
    pub piece: String,
    /// How many rows it has.
    pub rows: u64,
    /// Size of the chunks in bytes.
    pub bytes: u64,
}

/// Something that is wrong with a store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreFault {
    /// The fault, in words.
    pub what: String,
    /// The next step for the operator.
    pub advice: String,
}

impl StoreReport {
    pub(crate) fn empty() -> Self {
        StoreReport {
            dir: PathBuf::new(),
            condition: Condition::Whole,
            faults: Vec::new(),
            node: None,
            term: None,
            voted_for: None,
            voters: Vec::new(),
            first_log: None,
            last_log: None,
            log_segments: 0,
            log_bytes: 0,
            unfinished: 0,
            skipped: Vec::new(),
            snapshot: None,
            flush: 0,
            marked_flush: None,
            disk_bytes: 0,
            reserve_bytes: 0,
        }
    }

    pub(crate) fn fault(&mut self, condition: Condition, what: String) {
        let advice = match condition {
            Condition::Whole => "no action is needed",
            Condition::Lost => {
                "restore a backup, or continue with the remaining data: `reelyard store check --accept-loss`"
            }
            Condition::Damaged => {
                "keep a copy of the directory, then restore a backup. A node that is one of several \
                 joins again with an empty directory and copies its state from the others"
            }
        };
        let worse = self.condition == Condition::Whole || condition == Condition::Damaged;
        if worse {
            self.condition = condition;
        }
        self.faults.push(StoreFault { what, advice: advice.to_owned() });
    }

    pub(crate) fn describe(&mut self, seen: &InspectedDatabase, found: &MarkState) {
        let trees = &seen.trees;
        let head = trees.head();
        let end = trees.log.end();
        self.node = head.node;
        (self.term, self.voted_for) = match head.vote.as_deref().and_then(raft::read_vote) {
            Some((term, voted_for)) => (Some(term), voted_for),
            None => (None, None),
        };
        self.first_log = seen.first;
        self.last_log = end.checked_sub(1);
        self.log_segments = trees.log.segment_count();
        self.log_bytes = trees.log.bytes();
        self.unfinished = seen.unfinished;
        self.flush = head.sequence;
        self.describe_mark(found, &head, end);
        if let Some(fault) = &seen.fault {
            // Items before the fault can be used if they follow a snapshot, or begin with the
            // first entry.
            let needed = head.purged.as_ref().map_or(0, |purged| purged.index + 1);
            let condition = if end >= needed { Condition::Lost } else { Condition::Damaged };
            self.fault(condition, fault.to_string());
        }
        if let Err(error) = head.check_purged() {
            self.fault(Condition::Damaged, error.to_string());
        }
        if let Err(error) = self.describe_snapshot(trees) {
            self.fault(Condition::Damaged, error.to_string());
        }
        match members(trees, &head, seen.first, end) {
            Ok(members) => self.voters = members.voters,
            Err(error) => self.fault(Condition::Damaged, error.to_string()),
        }
    }

    fn describe_mark(&mut self, found: &MarkState, head: &StoreHead, end: u64) {
        match found {
            MarkState::Mark(mark) => {
                self.marked_flush = Some(mark.sequence);
                if head.sequence < mark.sequence {
                    self.fault(Condition::Lost, loss(mark, head, end));
                }
            }
            MarkState::Former { log_end } if end < *log_end => {
                let (from, to) = (end, log_end - 1);
                self.fault(Condition::Lost, format!("log entries {from} to {to} are missing"));
            }
            MarkState::Former { .. } => {}
            MarkState::Nothing if head.is_empty() && end == 0 => {}
            MarkState::Nothing | MarkState::Damaged => {
                let what = "the file `mark` is missing or damaged: it is not known whether the end of the \
                    store is missing";
                self.fault(Condition::Lost, what.to_owned());
            }
        }
    }

    fn describe_snapshot(&mut self, trees: &Trees) -> Result<(), StoreError> {
        let Some(manifest) = trees.snapshot() else {
            return Ok(());
        };
        let mut checker = StreamChecker::new();
        let bad = |error: stream::BadStream| StoreError::damaged("the snapshot", error);
        for chunk in 0..manifest.chunks() {
            checker.check_bytes(&trees.chunk(&manifest, chunk)?).map_err(bad)?;
        }
        // A piece without rows has a position, and no byte in the stream.
        let described = manifest.parts.iter().filter(|part| part.start < part.end);
        if !checker.finish().map_err(bad)?.iter().eq(described) {
            return Err(StoreError::damaged(
                "the snapshot",
                "its pieces are not at the positions that its description names",
            ));
        }
        let mut pieces = Vec::new();
        for part in &manifest.parts {
            let (mut rows, mut at) = (0, part.start);
            while at < part.end {
                let (some, next) = trees.snapshot_rows(&manifest, part, at)?;
                rows += some.len() as u64;
                at = next;
            }
            let piece = match PieceId::try_from(part.piece) {
                Ok(piece) => format!("{piece:?}").to_lowercase(),
                Err(unknown) => unknown.to_string(),
            };
            pieces.push(PieceSize { piece, rows, bytes: part.end - part.start });
        }
        let (index, bytes, chunks) = (manifest.index, manifest.bytes, manifest.chunks());
        self.snapshot = Some(SnapshotReport { index, bytes, chunks, pieces });
        Ok(())
    }
}

/// The members, according to the snapshot and the log after it.
pub(crate) fn members(
    trees: &Trees,
    head: &StoreHead,
    first: Option<u64>,
    end: u64,
) -> Result<StoredMembers, StoreError> {
    let mut members = StoredMembers::default();
    if let Some(snapshot) = &head.snapshot {
        members.follow_snapshot(&snapshot.meta);
    }
    let mut next = first.unwrap_or(end);
    while next < end {
        let until = (next + ENTRIES).min(end);
        let rows = guarded(|| trees.log.read(next..until))?;
        members.follow_entries(rows.iter().map(|(_, entry)| entry.as_slice()));
        next = until;
    }
    Ok(members)
}
