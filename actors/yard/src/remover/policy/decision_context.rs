//! The state that a decision on copies reads. Pure.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use reelyard_replication::InFlight;
use roaring::RoaringBitmap;

use super::arrivals::RecentArrivals;
use super::disk_space::least_demanded::LeastDemanded;
use super::disk_space::room::RoomWanted;
use super::holders::{CopyHolder, CopyHolderStatus, CopyHolders};
use super::looked_size::LookedSize;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::remover::settings::RemoverSettings;
use crate::remover::state::event::{Intent, RemovalEvent};
use crate::remover::state::reason::Spared;
use crate::remover::state::removal_book::{CopyKey, RemovalBook};

/// The state of the Catalog, as last reported.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The ranking; none before the first.
    pub ranking: Option<Arc<Ranking>>,
    /// The listing of the masters; none before the first.
    pub masters: Option<Arc<Masters>>,
    /// The answers of looks at masters about their sizes.
    pub sizes: HashMap<FileId, LookedSize>,
    /// Files whose hits rise now.
    pub hot: RoaringBitmap,
    /// Files whose names begin with an ignored prefix.
    pub ignored: Arc<RoaringBitmap>,
    /// Whether this node does not remove by its inputs: they are worse than those on record, or not compared yet.
    pub are_refused: bool,
}

/// The state that a decision reads. A decision changes nothing.
#[derive(Clone, Copy)]
pub struct RemoverDecisionContext<'a> {
    /// The piece as applied.
    pub book: &'a RemovalBook,
    /// Events that are decided but not yet applied.
    pub in_flight: &'a InFlight<RemovalEvent>,
    /// The destinations.
    pub holders: &'a CopyHolders,
    /// Ranking, masters and hot files, as the Catalog reported them.
    pub inputs: &'a Inputs,
    /// The files for which the planner has no room.
    pub room_wanted: &'a RoomWanted,
    /// The files of each host with the least demand.
    pub least_demanded: &'a LeastDemanded,
    /// Copies that arrived recently.
    pub arrivals: &'a RecentArrivals,
    /// The settings of the Remover in force.
    pub settings: &'a RemoverSettings,
    /// The time of the decision.
    pub now: Millis,
    /// Since when this node leads.
    pub leading_since: Millis,
}

impl<'a> RemoverDecisionContext<'a> {
    /// The removals that are decided and not yet applied.
    pub(in crate::remover) fn setting_out(&self) -> impl Iterator<Item = &'a Intent> {
        self.in_flight.events().filter_map(|event| match event {
            RemovalEvent::Intended(intent) => Some(intent),
            _ => None,
        })
    }

    /// The name of a file.
    pub fn name(&self, file: FileId) -> FileName {
        self.book.names().name(file)
    }

    /// Every copy under removal, and the keepers of these removals.
    pub fn under_way(&self) -> RemovalsUnderWay {
        let mut under_way = RemovalsUnderWay {
            going: self.book.open().keys().copied().collect(),
            keeping: self.book.keepers().collect(),
        };
        for intent in self.setting_out() {
            let file = self.book.file(&intent.name);
            under_way.going.insert((intent.host, file));
            under_way.keeping.extend(intent.keeper.map(|keeper| (keeper, file)));
        }
        under_way
    }

    /// The wanted number of copies of a file.
    pub fn wanted(&self, file: FileId) -> usize {
        self.settings.copies.of(file, self.inputs.ranking.as_deref()) as usize
    }

    /// The rank of a file, 1 = best; none without a grade.
    pub fn grade(&self, file: FileId) -> Option<u32> {
        self.inputs.ranking.as_ref()?.rank(file)
    }

    /// Size of the file in bytes, from a check of its master or from hitcount.history.
    pub fn size(&self, file: FileId) -> Option<u64> {
        match self.inputs.sizes.get(&file) {
            Some(LookedSize::Bytes(size)) if *size > 0 => Some(*size),
            _ => self.inputs.ranking.as_ref()?.size(file).filter(|size| *size > 0),
        }
    }

    /// Whether the master of a file was looked up for its size, and another look gains nothing now.
    pub(super) fn has_no_size(&self, file: FileId) -> bool {
        match self.inputs.sizes.get(&file) {
            Some(LookedSize::Unknown { again }) => self.now < *again,
            looked_at => looked_at.is_some(),
        }
    }

    /// Why no copy of this file is ever removed; none if one may be.
    pub fn untouchable(&self, file: FileId) -> Option<Spared> {
        let has_master =
            self.inputs.masters.as_ref().is_some_and(|masters| masters.files.contains(file.0));
        if self.inputs.ignored.contains(file.0) {
            Some(Spared::Ignored)
        } else if !has_master {
            Some(Spared::NoMaster)
        } else if self.book.is_pinned(file) {
            Some(Spared::Pinned)
        } else {
            None
        }
    }

    /// Whether a copy may be the keeper while others are removed. Its host must be callable and must
    /// count, the host lists the copy, and the copy is neither being removed nor in doubt.
    pub fn may_keep(&self, (addr, file): CopyKey, under_way: &RemovalsUnderWay) -> bool {
        let holder = self.holders.get(addr).filter(|host| host.is_askable());
        holder.is_some_and(|host| host.status == CopyHolderStatus::Serves && host.lists(file))
            && !under_way.going.contains(&(addr, file))
            && !self.book.is_doubted((addr, file), self.now)
    }

    /// Why a host removes nothing now; none if it does.
    pub fn keeps_all(&self, host: &CopyHolder) -> Option<Spared> {
        let quiet = self.leading_since.after(self.settings.old_host_quiet);
        let may_be_asked = host.is_askable() && (host.is_ours() || self.now >= quiet);
        (!may_be_asked).then_some(Spared::HostNotAsked)
    }
}

/// The hosts and files that open removals occupy.
#[derive(Clone, Debug, Default)]
pub struct RemovalsUnderWay {
    /// Copies under removal.
    pub going: HashSet<CopyKey>,
    /// Keepers of these removals.
    pub keeping: HashSet<CopyKey>,
}

impl RemovalsUnderWay {
    /// Adds one more copy under removal.
    pub fn add(&mut self, host: HostAddr, file: FileId, keeper: Option<HostAddr>) {
        self.going.insert((host, file));
        self.keeping.extend(keeper.map(|keeper| (keeper, file)));
    }

    /// Whether copies of this host are being removed.
    pub fn is_at_work_on(&self, host: HostAddr) -> bool {
        self.going.iter().any(|(addr, _)| *addr == host)
    }
}
