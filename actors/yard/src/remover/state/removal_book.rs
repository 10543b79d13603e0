//! The piece: open removals, the history of ended ones, and pins. Pure.
//!
//! Files are kept as numbers of the shared [`NameTable`]. Events and snapshots have the names, because
//! the numbers are valid only within one process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameTable};

use super::ending::Ending;
use super::event::Intent;
use super::reason::Reason;

/// A copy: a file on a host.
pub type CopyKey = (HostAddr, FileId);

/// The durable state of the Remover.
///
/// Its shards are shared (`Arc`) and copied on write, so that freezing and publishing it are cheap.
///
/// **Invariants:** a copy with an open removal is not the keeper of another removal, and a keeper has no
/// open removal. No copy of a pinned file has an open removal. `keeping` counts exactly the keepers of
/// `open`.
#[derive(Clone, Debug, Default)]
pub struct RemovalBook {
    pub(in crate::remover) names: NameTable,
    /// Open removals. Their copies already count as removed.
    pub(in crate::remover) open: Arc<BTreeMap<CopyKey, OpenRemoval>>,
    /// How many of `open` rely on this copy.
    pub(in crate::remover) keeping: BTreeMap<CopyKey, u32>,
    /// Copies that may still vanish because a removal had no clear end, and until when.
    pub(in crate::remover) doubts: Arc<BTreeMap<CopyKey, Millis>>,
    /// Pinned files, with who pinned them and when.
    pub(in crate::remover) pins: Arc<BTreeMap<FileId, Pin>>,
    /// The end of every removal, newest last.
    pub(in crate::remover) history: BoundedLog<RemovalRecord>,
}

/// An open removal of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRemoval {
    /// The recorded decision to remove the copy.
    pub intent: Intent,
    /// When the intent was applied.
    pub at: Millis,
}

/// A file that is never removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The requester of the pin.
    pub asked_by: String,
    /// When it was pinned.
    pub at: Millis,
}

/// One ended removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovalRecord {
    /// The host whose copy was to be removed.
    pub host: HostAddr,
    /// The file whose copy was to be removed.
    pub file: FileId,
    /// Its size in bytes, if it was known.
    pub size: Option<u64>,
    /// The rule that requested the removal.
    pub reason: Reason,
    /// The host whose copy was to be kept.
    pub keeper: Option<HostAddr>,
    /// The requester: `remover` for its own decisions.
    pub asked_by: String,
    /// When it was decided.
    pub decided: Millis,
    /// When the removal ended.
    pub at: Millis,
    /// The answer of the host, or why there is none.
    pub ending: Ending,
}

impl RemovalBook {
    /// An empty book over `names`.
    pub fn new(names: NameTable) -> Self {
        RemovalBook { names, ..RemovalBook::default() }
    }

    /// The table that the book's file numbers belong to.
    pub fn names(&self) -> &NameTable {
        &self.names
    }

    /// The open removals.
    pub fn open(&self) -> &Arc<BTreeMap<CopyKey, OpenRemoval>> {
        &self.open
    }

    /// Whether this copy has an open removal.
    pub fn goes(&self, copy: CopyKey) -> bool {
        self.open.contains_key(&copy)
    }

    /// Whether this copy is the reason for running removals of others.
    pub fn is_keeper(&self, copy: CopyKey) -> bool {
        self.keeping.contains_key(&copy)
    }

    /// The keepers: copies that justify the removal of others.
    pub fn keepers(&self) -> impl Iterator<Item = CopyKey> {
        self.keeping.keys().copied()
    }

    /// Whether at `now` this copy may still vanish because a removal had no clear end.
    pub fn is_doubted(&self, copy: CopyKey, now: Millis) -> bool {
        self.doubts.get(&copy).is_some_and(|until| now < *until)
    }

    /// Every doubt, including those that have ended.
    pub fn doubts(&self) -> &Arc<BTreeMap<CopyKey, Millis>> {
        &self.doubts
    }

    /// The pinned files.
    pub fn pins(&self) -> &Arc<BTreeMap<FileId, Pin>> {
        &self.pins
    }

    /// Whether the file is pinned, so that no copy of it is removed.
    pub fn is_pinned(&self, file: FileId) -> bool {
        self.pins.contains_key(&file)
    }

    /// Ended removals and their outcomes, newest last.
    pub fn history(&self) -> &BoundedLog<RemovalRecord> {
        &self.history
    }

    /// The hosts with open removals.
    pub fn hosts_at_work(&self) -> BTreeSet<HostAddr> {
        self.open.keys().map(|(host, _)| *host).collect()
    }

    /// The number of a file's name.
    pub(in crate::remover) fn file(&self, name: &FileName) -> FileId {
        self.names.intern(name)
    }
}
