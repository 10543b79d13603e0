//! Looking into a store that no node has open, and going on with one that has lost something.
//!
//! sled changes a database when it opens it, and what it cannot read it may take for free space.
//! So looking is done on a copy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::fresh::remove_tree;
use super::head::Head;
use super::lock::DirectoryLock;
use super::mark::{self, Found, MarkFile};
use super::{SLED, Seen, StoreError, Trees, guarded, inspect, loss, rewrite, room, snapshots};
use crate::event::PieceId;
use crate::journal::raft;
use crate::journal::settings::OpenError;
use crate::journal::stream::{self, StreamChecker};

/// How many log entries are read at once.
const ENTRIES: u64 = 256;

/// What a store is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Everything that was ever acknowledged is there.
    Whole,
    /// Its end is missing, or nothing says where it was: going on is a decision.
    Lost,
    /// Something in the middle cannot be read: there is no going on.
    Damaged,
}

/// What there is in a store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreReport {
    /// Its directory.
    pub dir: PathBuf,
    /// What it is fit for.
    pub condition: Condition,
    /// Everything that is wrong with it, the first thing first.
    pub faults: Vec<StoreFault>,
    /// Whose store it is.
    pub node: Option<u64>,
    /// The newest term it has heard of.
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
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Entries that were written and never acknowledged: the next start removes them.
    pub unfinished: u64,
    /// The current snapshot.
    pub snapshot: Option<SnapshotReport>,
    /// The last flush in it.
    pub flush: u64,
    /// The last flush that it is known to have had.
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
    /// Its size.
    pub bytes: u64,
    /// In how many chunks it is stored.
    pub chunks: u64,
    /// What it holds.
    pub pieces: Vec<PieceSize>,
}

/// A piece in a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct PieceSize {
    /// Which piece.
    pub piece: String,
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes they are.
    pub bytes: u64,
}

/// Something that is wrong with a store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreFault {
    /// What.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

/// Why nothing could be done with a store.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// There is no store.
    #[error("there is no store in {}", .0.display())]
    NoStore(PathBuf),
    /// A process has it open.
    #[error("the store in {} is in use: stop the node that runs on it first", .0.display())]
    InUse(PathBuf),
    /// The copy that is looked into could not be made.
    #[error("no copy of the store can be made in {}, where {} bytes are needed: {why}; name another directory with --scratch", .dir.display(), .bytes)]
    NoCopy {
        /// Where the copy was to be.
        dir: PathBuf,
        /// How large it is.
        bytes: u64,
        /// What the file system said.
        why: String,
    },
    /// Accepting a loss does not help, or is not this node's to do.
    #[error("{0}")]
    NotAcceptable(String),
    /// The store cannot be read or written.
    #[error("{0}")]
    Store(String),
}

impl From<StoreError> for UpkeepError {
    fn from(error: StoreError) -> Self {
        UpkeepError::Store(error.to_string())
    }
}

impl From<io::Error> for UpkeepError {
    fn from(error: io::Error) -> Self {
        UpkeepError::Store(error.to_string())
    }
}

/// Checks all of the store in `dir`, by a copy of it in `scratch`, or beside it. Blocks.
pub fn check(dir: &Path, scratch: Option<&Path>) -> Result<StoreReport, UpkeepError> {
    let _lock = lock(dir)?;
    let found = mark::find(dir)?;
    let copy = Copied::make(dir, scratch.unwrap_or(dir))?;
    let mut report = StoreReport {
        dir: dir.to_owned(),
        disk_bytes: rewrite::size(dir)?,
        reserve_bytes: room::held(dir)?,
        ..StoreReport::empty()
    };
    match inspect(&copy.sled()) {
        Ok((seen, _)) => report.describe(&seen, &found),
        Err(error) => report.fault(Condition::Damaged, error.to_string()),
    }
    Ok(report)
}

/// Goes on with what is left of the store in `dir`: its end becomes the end of the log. Answers what
/// was the matter before; a store that is whole is left alone. Blocks.
pub fn accept_loss(dir: &Path, scratch: Option<&Path>) -> Result<StoreReport, UpkeepError> {
    let report = check(dir, scratch)?;
    let refused = |why: &str| Err(UpkeepError::NotAcceptable(why.to_owned()));
    match report.condition {
        Condition::Whole => return Ok(report),
        Condition::Damaged => {
            return refused(
                "what is damaged is not the end of the store: there is nothing to go on with; restore it from a backup",
            );
        }
        Condition::Lost => {}
    }
    let Some(node) = report.node else {
        return refused("nothing is left of the store: remove its directory to begin anew");
    };
    if report.voters.len() > 1 {
        return refused(
            "this node is one of several that vote: going on with less than it has acknowledged could make all of them forget it; let it start anew under a new id and take its state from the others",
        );
    }
    let _lock = lock(dir)?;
    let marked = match mark::find(dir)? {
        Found::Mark(mark) => mark,
        Found::Nothing | Found::Damaged | Found::Former { .. } => mark::Mark::default(),
    };
    let (seen, log_file) = inspect(&dir.join(SLED))?;
    let trees = seen.trees;
    let head = guarded(|| {
        let votes = [trees.head().vote, marked.vote];
        let vote = raft::raised_vote(node, votes.iter().flatten().map(Vec::as_slice))
            .map_err(|error| StoreError::Io(error.to_string()))?;
        trees.change_head(|head| {
            head.sequence = head.sequence.max(marked.sequence);
            head.vote = Some(vote);
        });
        // The head first: rows behind the end that it tells of are only removed after.
        trees.seal()?;
        trees.tidy()?;
        snapshots::drop_abandoned(&trees)?;
        trees.db.flush()?;
        log_file.sync_data()?;
        Ok(trees.head())
    })?;
    MarkFile::create(dir, &head.mark())?;
    Ok(report)
}

/// Takes the lock of a store that is there and that no process has open.
pub(super) fn lock(dir: &Path) -> Result<DirectoryLock, UpkeepError> {
    if !is_store(dir) {
        return Err(UpkeepError::NoStore(dir.to_owned()));
    }
    let lock = DirectoryLock::take(dir, Duration::ZERO).map_err(|error| match error {
        OpenError::InUse { dir } => UpkeepError::InUse(dir),
        error => UpkeepError::Store(error.to_string()),
    })?;
    rewrite::finish(dir)?;
    Ok(lock)
}

/// Whether anything in `dir` belongs to a store.
pub(super) fn is_store(dir: &Path) -> bool {
    ["sled", "sled.old", "sled.new", "mark", "watermark"].iter().any(|name| dir.join(name).exists())
}

/// A copy of a store's database, removed when it is dropped.
pub(super) struct Copied {
    dir: PathBuf,
}

impl Copied {
    pub(super) fn make(dir: &Path, scratch: &Path) -> Result<Self, UpkeepError> {
        let copied = Copied { dir: scratch.join(format!("checking-{}", std::process::id())) };
        let from = dir.join(SLED);
        let made = remove_tree(&copied.dir)
            .and_then(|()| fs::create_dir_all(&copied.dir))
            .and_then(|()| if from.exists() { copy_tree(&from, &copied.sled()) } else { Ok(()) });
        made.map_err(|error| UpkeepError::NoCopy {
            dir: scratch.to_owned(),
            bytes: rewrite::size(dir).unwrap_or(0),
            why: error.to_string(),
        })?;
        Ok(copied)
    }

    pub(super) fn sled(&self) -> PathBuf {
        self.dir.join(SLED)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.dir) {
            tracing::warn!(dir = %self.dir.display(), %error, "a copy of the store is left behind");
        }
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl StoreReport {
    fn empty() -> Self {
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
            snapshot: None,
            flush: 0,
            marked_flush: None,
            disk_bytes: 0,
            reserve_bytes: 0,
        }
    }

    fn fault(&mut self, condition: Condition, what: String) {
        let advice = match condition {
            Condition::Whole => "nothing needs to be done",
            Condition::Lost => {
                "restore a backup, or go on with what is left by `reelyard store check --accept-loss`"
            }
            Condition::Damaged => {
                "keep a copy of the directory, then restore a backup; a node that is one of several can start anew under a new id and take its state from the others"
            }
        };
        let worse = self.condition == Condition::Whole || condition == Condition::Damaged;
        if worse {
            self.condition = condition;
        }
        self.faults.push(StoreFault { what, advice: advice.to_owned() });
    }

    fn describe(&mut self, seen: &Seen, found: &Found) {
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
            // Behind a snapshot, or from the first entry on, what is before the fault can be used.
            let needed = head.purged.as_ref().map_or(0, |purged| purged.index + 1);
            let condition = if end >= needed { Condition::Lost } else { Condition::Damaged };
            self.fault(condition, fault.to_string());
        }
        if let Err(error) = self.describe_snapshot(trees) {
            self.fault(Condition::Damaged, error.to_string());
        }
        match all_voters(trees, &head, seen.first, end) {
            Ok(voters) => self.voters = voters,
            Err(error) => self.fault(Condition::Damaged, error.to_string()),
        }
    }

    fn describe_mark(&mut self, found: &Found, head: &Head, end: u64) {
        match found {
            Found::Mark(mark) => {
                self.marked_flush = Some(mark.sequence);
                if head.sequence < mark.sequence {
                    self.fault(Condition::Lost, loss(mark, head, end));
                }
            }
            Found::Former { log_end } if end < *log_end => {
                let (from, to) = (end, log_end - 1);
                self.fault(Condition::Lost, format!("log entries {from} to {to} are missing"));
            }
            Found::Former { .. } => {}
            Found::Nothing if head.is_empty() && end == 0 => {}
            Found::Nothing | Found::Damaged => {
                let what = "the file `mark` is missing or damaged: nothing says whether the end of the store is missing";
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
            checker.take(&trees.chunk(&manifest, chunk)?).map_err(bad)?;
        }
        if checker.finish().map_err(bad)? != manifest.parts {
            return Err(StoreError::damaged(
                "the snapshot",
                "its pieces are not where they should be",
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

/// The nodes that vote, as the snapshot and the log behind it tell.
pub(super) fn all_voters(
    trees: &Trees,
    head: &Head,
    first: Option<u64>,
    end: u64,
) -> Result<Vec<u64>, StoreError> {
    let meta = head.snapshot.as_ref().map(|snapshot| snapshot.meta.as_slice());
    let mut voters = raft::voters(meta, []);
    let mut next = first.unwrap_or(end);
    while next < end {
        let until = (next + ENTRIES).min(end);
        let rows = guarded(|| trees.log.read(next..until))?;
        let found = raft::voters(None, rows.iter().map(|(_, entry)| entry.as_slice()));
        if !found.is_empty() {
            voters = found;
        }
        next = until;
    }
    Ok(voters)
}
