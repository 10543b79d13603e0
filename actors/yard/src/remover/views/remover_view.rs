//! The read view of the Remover. Readers use it without queueing in its mailbox.

use crate::remover::policy::counters::RemoverCounters;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameTable};
use serde::Serialize;

use crate::remover::policy::disk_space::exchange_budget::ExchangeBudget;
use crate::remover::policy::disk_space::relief::Relief;
use crate::remover::policy::disk_space::room::RoomVerdict;
use crate::remover::policy::round::{Removal, RemovalProposal, RemoverWaits};
use crate::remover::settings::RemovalMode;
use crate::remover::state::event::RemovalEvent;
use crate::remover::state::reason::{Reason, Spared};
use crate::remover::state::removal_book::{CopyKey, OpenRemoval, Pin, RemovalRecord};
use crate::room::RoomMade;

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
    /// Hosts where room is being made or was made recently, and the files for which it is made.
    pub rooms_made: BTreeMap<HostAddr, RoomMade>,
    /// The pinned files.
    pub pins: Arc<BTreeMap<FileId, Pin>>,
    /// Copies that may still vanish because a removal had no clear end, and until when.
    pub doubts: Arc<BTreeMap<CopyKey, Millis>>,
    /// Ended removals and their outcomes.
    pub history: BoundedLog<RemovalRecord>,
    /// The last round; none before the first of this leader.
    pub last: Option<RemovalRound>,
    /// Counts of this node's actions as a leader since the process started.
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
    /// Hot and wanted files that fit nowhere.
    pub rooms: Vec<FileSeeksRoom>,
    /// The budget of exchanges; none without exchanges.
    pub exchange_budget: Option<ExchangeBudget>,
    /// Why no decisions were made.
    pub waits: Option<RemoverWaits>,
}

impl RemovalRound {
    /// A round without its decisions.
    pub(in crate::remover) fn of(
        at: Millis,
        took_us: u64,
        proposal: &RemovalProposal,
        names: &NameTable,
    ) -> Self {
        let rooms = proposal.rooms.iter().map(|sought| FileSeeksRoom {
            file: names.name(sought.wish.file),
            size: sought.wish.size,
            hits: sought.wish.hits,
            verdict: sought.verdict.clone(),
        });
        RemovalRound {
            at,
            took_us,
            decided: Vec::new(),
            spared: proposal.spared.clone(),
            reliefs: proposal.reliefs.clone(),
            rooms: rooms.collect(),
            exchange_budget: proposal.exchange_budget,
            waits: proposal.waits,
        }
    }

    /// A round with its decisions: the removals of `events`, and those that are kept after all.
    pub(in crate::remover) fn decided(
        at: Millis,
        took_us: u64,
        proposal: &RemovalProposal,
        (events, spared): (&[RemovalEvent], Vec<(Removal, Spared)>),
        names: &NameTable,
    ) -> Self {
        let going = events.iter().filter_map(Decided::of);
        let staying = spared.into_iter().map(|(removal, why)| Decided {
            host: removal.host,
            file: names.name(removal.file),
            size: removal.size,
            reason: removal.reason,
            keeper: removal.keeper,
            spared: Some(why),
        });
        let decided = going.chain(staying).collect();
        RemovalRound { decided, ..RemovalRound::of(at, took_us, proposal, names) }
    }
}

impl Decided {
    /// The decision of an event about a copy.
    fn of(event: &RemovalEvent) -> Option<Self> {
        let RemovalEvent::Intended(intent) = event else { return None };
        Some(Decided {
            host: intent.host,
            file: intent.name.clone(),
            size: intent.size,
            reason: intent.reason.clone(),
            keeper: intent.keeper,
            spared: None,
        })
    }
}

/// The decision on one copy that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The host that holds the copy.
    pub host: HostAddr,
    /// The file whose copy was to be removed.
    pub file: FileName,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// The rule that removes it.
    pub reason: Reason,
    /// The host whose copy is kept.
    pub keeper: Option<HostAddr>,
    /// Why it is kept. None if it is removed, or would be removed without the dry run.
    pub spared: Option<Spared>,
}

/// A file that fits nowhere: a hot one, or one with much demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSeeksRoom {
    /// Name of the file.
    pub file: FileName,
    /// Its size in bytes.
    pub size: u64,
    /// Its rising hits; 0 if only its demand counts.
    pub hits: u32,
    /// The Remover's decision on the file.
    pub verdict: RoomVerdict,
}
