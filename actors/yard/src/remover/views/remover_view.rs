//! What there is to see of the Remover, read without queueing in its mailbox.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use serde::{Deserialize, Serialize};

use crate::remover::policy::relief::Relief;
use crate::remover::policy::room::{RoomMade, RoomVerdict};
use crate::remover::policy::round::RemoverWaits;
use crate::remover::settings::RemovalMode;
use crate::remover::state::event::Ending;
use crate::remover::state::reason::{Reason, Spared};
use crate::remover::state::removal_book::{CopyKey, OpenRemoval, Pin, RemovalRecord};

/// Where the Remover shows itself. Clones share the board, and it outlives a restart of the actor.
#[derive(Clone, Default)]
pub struct RemoverViewHandle {
    view: Arc<ArcSwap<RemoverView>>,
}

impl RemoverViewHandle {
    /// The view as it is now.
    pub fn view(&self) -> Arc<RemoverView> {
        self.view.load_full()
    }

    /// Shows a new view.
    pub(in crate::remover) fn publish(&self, view: RemoverView) {
        self.view.store(Arc::new(view));
    }
}

/// The observable state of the Remover.
#[derive(Clone, Debug, Default)]
pub struct RemoverView {
    /// When it was made.
    pub at: Millis,
    /// The epoch this node leads in; none on a follower.
    pub epoch: Option<Epoch>,
    /// Whether copies are removed.
    pub mode: RemovalMode,
    /// The open removals.
    pub open: Arc<BTreeMap<CopyKey, OpenRemoval>>,
    /// Where room is being made or was made lately, and for which file.
    pub rooms_made: BTreeMap<HostAddr, RoomMade>,
    /// The pinned files.
    pub pins: Arc<BTreeMap<FileId, Pin>>,
    /// Copies that may still vanish because a removal had no clear end, and until when.
    pub doubts: Arc<BTreeMap<CopyKey, Millis>>,
    /// What became of the removals.
    pub history: BoundedLog<RemovalRecord>,
    /// The last round; none before the first of this leader.
    pub last: Option<RemovalRound>,
    /// Counts of what this node did while it led, since the process started.
    pub counters: RemoverCounters,
}

impl RemoverView {
    /// The files whose copies on `host` are being removed, or were removed within the reach of the
    /// history. If one vanishes, this cluster removed it.
    pub fn removed_from(&self, host: HostAddr) -> HashSet<FileId> {
        let open = self.open.keys().filter(|(addr, _)| *addr == host).map(|(_, file)| *file);
        let ended = self.history.newest_first().map(|(_, record)| record);
        let ended = ended.filter(|record| record.host == host).map(|record| record.file);
        open.chain(ended).collect()
    }
}

/// One round over all copies.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RemovalRound {
    /// When the round began.
    pub at: Millis,
    /// How long the look itself took, in microseconds.
    pub took_us: u64,
    /// The decision on each copy that was to be removed.
    pub decided: Vec<Decided>,
    /// Number of examined copies that are kept, by reason.
    pub spared: BTreeMap<Spared, u64>,
    /// Disks over their limits.
    pub reliefs: BTreeMap<HostAddr, Relief>,
    /// Hot files that fit nowhere.
    pub rooms: Vec<FileSeeksRoom>,
    /// Why nothing was decided at all.
    pub waits: Option<RemoverWaits>,
}

/// The decision on one copy that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The host that holds the copy.
    pub host: HostAddr,
    /// The file whose copy was to be removed.
    pub file: FileName,
    /// Its size in bytes, where that is known.
    pub size: Option<u64>,
    /// The rule that removes it.
    pub reason: Reason,
    /// The host whose copy is kept.
    pub keeper: Option<HostAddr>,
    /// Why it is kept after all; none when it is removed, or would be but for a dry run.
    pub spared: Option<Spared>,
}

/// A hot file that fits nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSeeksRoom {
    /// Name of the file.
    pub file: FileName,
    /// Its size in bytes.
    pub size: u64,
    /// Its rising hits.
    pub hits: u32,
    /// What the Remover does for it.
    pub verdict: RoomVerdict,
}

/// Counters since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemoverCounters {
    /// Rounds over all copies.
    pub rounds: u64,
    /// Copies that are gone.
    pub removed: u64,
    /// Bytes of those of them whose size was known.
    #[serde(default)]
    pub removed_bytes: u64,
    /// Removed copies by reason.
    #[serde(default)]
    pub removed_for: RemovedFor,
    /// Copies that were not there when their hosts were asked.
    pub absent: u64,
    /// Removals that their hosts refused.
    pub refused_by_hosts: u64,
    /// Removals that came to nothing, and whose copies are still there.
    pub still_there: u64,
    /// Removals that were not asked for after all.
    pub not_asked: u64,
    /// Events that no longer held when they were applied.
    pub refused: u64,
    /// Commits without an outcome.
    pub uncommitted: u64,
}

/// Why copies went that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemovedFor {
    /// There were more copies than there should be.
    pub duplicate: u64,
    /// Their hosts were being drained.
    pub draining: u64,
    /// Disks were over their limits.
    pub over_limit: u64,
    /// A much better file had no room anywhere.
    pub makes_room: u64,
}

impl RemovedFor {
    fn count(&mut self, reason: &Reason) {
        let count = match reason {
            Reason::Duplicate { .. } => &mut self.duplicate,
            Reason::Draining { .. } => &mut self.draining,
            Reason::OverLimit { .. } => &mut self.over_limit,
            Reason::MakesRoom { .. } => &mut self.makes_room,
        };
        *count += 1;
    }
}

impl RemoverCounters {
    /// One more copy is gone.
    pub(in crate::remover) fn count_gone(&mut self, record: &RemovalRecord) {
        if record.ending == Ending::Removed {
            self.removed_for.count(&record.reason);
            self.removed_bytes += record.size.unwrap_or(0);
        }
    }

    /// One more removal ended so.
    pub(in crate::remover) fn count(&mut self, ending: &Ending) {
        let counter = match ending {
            Ending::Removed => &mut self.removed,
            Ending::Absent => &mut self.absent,
            Ending::NotAsked { .. } => &mut self.not_asked,
            Ending::Refused { .. } => &mut self.refused_by_hosts,
            Ending::StillThere { .. } => &mut self.still_there,
        };
        *counter += 1;
    }
}
