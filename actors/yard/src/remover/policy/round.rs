//! One round over all copies: which copies to remove, and which of these removals still hold after
//! confirmation. Pure.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};

use super::decision_context::{RemovalsUnderWay, RemoverDecisionContext};
use super::disk_space::exchange_budget::ExchangeBudget;
use super::disk_space::room::{RoomSought, RoomVerdict};
use super::looked_size::LookedSize;
use crate::catalog::MasterLook;
use crate::remover::policy::disk_space::relief::Relief;
use crate::remover::settings::RemoverSettings;
use crate::remover::state::event::{Intent, RemovalEvent};
use crate::remover::state::reason::{Reason, Spared};

/// The name under which the Remover commits its own decisions.
pub const MYSELF: &str = "remover";

/// How many files' sizes are looked up after one round.
const MOST_SIZED: usize = 64;

/// The time after which a master is looked up again that could not be looked up.
const SIZE_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// A proposed removal of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The host that holds the copy.
    pub host: HostAddr,
    /// The file whose copy is removed.
    pub file: FileId,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// The rule that removes it, with its numbers.
    pub reason: Reason,
    /// The host whose copy is kept.
    pub keeper: Option<HostAddr>,
}

/// Input that is missing, so that a round decides nothing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RemoverWaits {
    /// grade.info was not read yet, so the ranks are unknown.
    Ranking,
    /// The source directories were not listed yet, so it is unknown which files have a master.
    Masters,
    /// The inputs of this new leader are missing, older or smaller than those on record.
    Inputs,
}

/// The removals that one round proposes, before they are confirmed.
#[derive(Clone, Debug, Default)]
pub struct RemovalProposal {
    /// The copies to remove, once they are confirmed.
    pub removals: Vec<Removal>,
    /// Number of examined copies that are kept, by reason.
    pub spared: BTreeMap<Spared, u64>,
    /// Disks over their limits.
    pub reliefs: BTreeMap<HostAddr, Relief>,
    /// Files that fit on no destination, and the decision on each.
    pub rooms: Vec<RoomSought>,
    /// The budget of exchanges after this proposal; none without exchanges.
    pub exchange_budget: Option<ExchangeBudget>,
    /// Files whose sizes have to be known before more can be proposed.
    pub to_size: BTreeSet<FileId>,
    /// Hosts whose disks are being reduced to their low-water marks.
    pub relieving: BTreeSet<HostAddr>,
    /// The last file that was examined for surplus copies.
    pub looked_to: Option<FileId>,
    /// Why no decisions are made.
    pub waits: Option<RemoverWaits>,
    /// Copies under removal and their keepers, this proposal included.
    pub under_way: RemovalsUnderWay,
    per_host: BTreeMap<HostAddr, (usize, u64)>,
}

impl RemovalProposal {
    /// Adds a removal.
    pub fn add(&mut self, removal: Removal) {
        self.under_way.add(removal.host, removal.file, removal.keeper);
        let (count, bytes) = self.per_host.entry(removal.host).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(removal.size.unwrap_or(0));
        self.removals.push(removal);
    }

    /// Requests the size of a file, unless enough files are being checked.
    pub fn wants_size(&mut self, file: FileId) {
        if self.to_size.len() < MOST_SIZED {
            self.to_size.insert(file);
        }
    }

    /// Counts `copies` that are kept for the reason `why`.
    pub fn spare(&mut self, why: Spared, copies: u64) {
        *self.spared.entry(why).or_default() += copies;
    }

    /// Whether this host has the largest number of removals in one round.
    pub fn is_full(&self, host: HostAddr, settings: &RemoverSettings) -> bool {
        self.per_host.get(&host).is_some_and(|(count, _)| *count >= settings.most_per_host)
    }

    /// Adds verdicts on exchanges of which nothing follows. An exchange replaces another verdict on its file.
    pub fn show_exchanges(&mut self, verdicts: Vec<RoomSought>) {
        for sought in verdicts.into_iter().map(RoomSought::only_shown) {
            let mut rooms = self.rooms.iter_mut();
            match rooms.find(|known| known.wish.file == sought.wish.file) {
                Some(known) if matches!(sought.verdict, RoomVerdict::Exchanged { .. }) => {
                    *known = sought;
                }
                Some(_) => {}
                None => self.rooms.push(sought),
            }
        }
    }

    /// Marks the exchanges of which a copy is kept after all.
    pub fn show_only(&mut self, spared: &[(Removal, Spared)], file: impl Fn(&FileName) -> FileId) {
        let better = spared.iter().filter_map(|(removal, _)| Some(removal.reason.better()?.0));
        let in_vain: HashSet<FileId> = better.map(file).collect();
        for sought in &mut self.rooms {
            if in_vain.contains(&sought.wish.file) {
                sought.verdict.show_only();
            }
        }
    }

    /// Bytes that are removed from this host, if their sizes are known.
    pub fn bytes_from(&self, host: HostAddr) -> u64 {
        self.per_host.get(&host).map_or(0, |(_, bytes)| *bytes)
    }

    /// The hosts that must confirm their copies before any removal.
    pub fn to_confirm(&self) -> BTreeSet<HostAddr> {
        self.removals.iter().filter_map(|removal| removal.keeper).collect()
    }

    /// The files whose masters must be checked, before a removal or to know their sizes.
    pub fn masters(&self) -> Vec<FileId> {
        let mut files = self.to_size.clone();
        files.extend(self.removals.iter().map(|removal| removal.file));
        files.into_iter().collect()
    }
}

/// The observations after a proposal that confirm it.
#[derive(Clone, Debug, Default)]
pub struct Confirmation {
    /// When the keepers' hosts were first called: lists that confirm must be newer.
    pub asked_at: Millis,
    /// The files whose masters exist.
    pub masters: HashSet<FileId>,
    /// The files whose masters were checked and do not exist.
    pub absent: HashSet<FileId>,
}

impl Confirmation {
    /// The confirmation of a proposal that was made at `asked_at`, by looks at its masters. Also answers the
    /// sizes that were learnt.
    pub fn of(
        proposal: &RemovalProposal,
        asked_at: Millis,
        looks: Vec<(FileId, MasterLook)>,
    ) -> (Self, Vec<(FileId, LookedSize)>) {
        let mut seen = Confirmation { asked_at, ..Confirmation::default() };
        let mut sizes = Vec::new();
        for (file, look) in looks {
            match look {
                MasterLook::Found { size, .. } => {
                    sizes.push((file, LookedSize::Bytes(size)));
                    seen.masters.insert(file)
                }
                MasterLook::Absent => seen.absent.insert(file),
                MasterLook::Unknown => false,
            };
        }
        for file in proposal.to_size.iter().filter(|file| !seen.masters.contains(*file)) {
            let size = match seen.absent.contains(file) {
                true => LookedSize::NoMaster,
                false => LookedSize::Unknown { again: asked_at.after(SIZE_AGAIN_AFTER) },
            };
            sizes.push((*file, size));
        }
        (seen, sizes)
    }
}

impl RemoverDecisionContext<'_> {
    /// Proposes the removals of a round. `relieving` are the hosts whose disks are being brought below
    /// their marks. `after` is where the last search for surplus copies stopped.
    pub fn propose(&self, relieving: BTreeSet<HostAddr>, after: Option<FileId>) -> RemovalProposal {
        let mut proposal = RemovalProposal {
            under_way: self.under_way(),
            relieving,
            ..RemovalProposal::default()
        };
        if self.inputs.masters.is_none() {
            proposal.waits = Some(RemoverWaits::Masters);
        } else if self.inputs.ranking.is_none() {
            proposal.waits = Some(RemoverWaits::Ranking);
        } else if self.inputs.are_refused {
            proposal.waits = Some(RemoverWaits::Inputs);
        } else {
            self.propose_duplicates(after, &mut proposal);
            self.propose_relief(&mut proposal);
            self.propose_room(&mut proposal);
            self.propose_exchanges(&mut proposal);
        }
        proposal
    }

    /// The part of a proposal that still holds, and the reasons against the rest.
    pub fn confirm(
        &self,
        removals: Vec<Removal>,
        seen: &Confirmation,
    ) -> (Vec<RemovalEvent>, Vec<(Removal, Spared)>) {
        if self.inputs.are_refused {
            return (Vec::new(), Vec::new());
        }
        let mut under_way = self.under_way();
        let vain =
            self.in_vain(&removals, |removal| self.objection(removal, seen, &under_way).is_some());
        let is_in_vain = |removal: &Removal| {
            let (better, _) = removal.reason.better()?;
            vain.contains(better).then_some(Spared::InVain)
        };
        let (mut events, mut spared) = (Vec::new(), Vec::new());
        for removal in removals {
            let objection = self.objection(&removal, seen, &under_way);
            match objection.or_else(|| is_in_vain(&removal)) {
                Some(why) => spared.push((removal, why)),
                None => {
                    under_way.add(removal.host, removal.file, removal.keeper);
                    events.push(RemovalEvent::Intended(self.intent(removal)));
                }
            }
        }
        (events, spared)
    }

    fn intent(&self, removal: Removal) -> Intent {
        let Removal { host, file, size, reason, keeper } = removal;
        let (name, asked_by) = (self.name(file), MYSELF.to_owned());
        Intent { host, name, size, reason, keeper, asked_by }
    }

    /// Why a copy that had to leave its full disk is kept after all; none if it is removed.
    fn still_wanted_away(&self, removal: &Removal) -> Option<Spared> {
        let is_for_demand = matches!(removal.reason, Reason::Exchanged { .. });
        let needed = match removal.reason.better() {
            // The mode may have changed since the proposal.
            Some(_) if is_for_demand && self.demand_in_force().is_none() => false,
            Some((better, _)) => self.room_wanted.needs(self.book.file(better), is_for_demand),
            None => true,
        };
        if self.inputs.hot.contains(removal.file.0) {
            Some(Spared::Hot)
        } else {
            (!needed).then_some(Spared::NotNeeded)
        }
    }

    /// Why a proposed removal is dropped; none if it is carried out.
    fn objection(
        &self,
        removal: &Removal,
        seen: &Confirmation,
        under_way: &RemovalsUnderWay,
    ) -> Option<Spared> {
        let Removal { host, file, .. } = *removal;
        let copy = (host, file);
        if let Some(why) = self.untouchable(file) {
            return Some(why);
        }
        if seen.absent.contains(&file) {
            return Some(Spared::NoMaster);
        }
        if !seen.masters.contains(&file) {
            return Some(Spared::MasterUnknown);
        }
        if under_way.going.contains(&copy) {
            return Some(Spared::UnderWay);
        }
        if under_way.keeping.contains(&copy) {
            return Some(Spared::Wanted);
        }
        let Some(holder) = self.holders.get(host).filter(|host| host.lists(file)) else {
            return Some(Spared::HostNotAsked);
        };
        if let Some(why) = self.keeps_all(holder) {
            return Some(why);
        }
        let Some(keeper) = removal.keeper else {
            return self.still_wanted_away(removal);
        };
        let is_fresh =
            self.holders.get(keeper).is_some_and(|host| host.was_listed_since(seen.asked_at));
        let confirmed = is_fresh && self.may_keep((keeper, file), under_way);
        (!confirmed).then_some(Spared::NotConfirmed)
    }
}
