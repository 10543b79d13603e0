//! The Remover's memory about the hosts, the inputs and the open calls, and its reaction to reports. Pure:
//! the actor around it has the mailbox, the timers and the journal.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_replication::{AppliedEvent, InFlight};

use super::arrivals::RecentArrivals;
use super::decision_context::{Inputs, RemoverDecisionContext};
use super::disk_space::least_demanded::LeastDemanded;
use super::disk_space::room::{RoomVerdict, RoomWanted};
use super::holders::{CopyHolderStatus, CopyHolders};
use super::looked_size::LookedSize;
use super::round::{Confirmation, Removal, RemovalProposal};
use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::cfw_worker::{AskFailure, HostCallStatus, HostObserved};
use crate::heartbeat::HealthChanged;
use crate::name_traits::NameTraits;
use crate::remover::policy::counters::RemoverCounters;
use crate::remover::settings::RemoverSettings;
use crate::remover::state::ending::Ending;
use crate::remover::state::event::{RemovalEvent, RemovalOutcome};
use crate::remover::state::reason::Spared;
use crate::remover::state::removal_book::{CopyKey, RemovalBook};
use crate::room::WantsRoom;

/// How long a host that could not be read is left alone.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// How many sizes are kept. A dropped size is read again when it is needed.
const MOST_SIZES: usize = 1 << 16;

/// The state of the piece that a decision reads.
#[derive(Clone, Copy)]
pub struct RemoverPieceContext<'a> {
    /// The piece as applied.
    pub book: &'a RemovalBook,
    /// Events that are decided but not yet applied.
    pub in_flight: &'a InFlight<RemovalEvent>,
    /// The time of the decision.
    pub now: Millis,
}

/// Everything that the Remover keeps in memory only.
#[derive(Debug, Default)]
pub struct RemoverPolicy {
    settings: RemoverSettings,
    holders: CopyHolders,
    inputs: Inputs,
    traits: NameTraits,
    room_wanted: RoomWanted,
    least_demanded: LeastDemanded,
    /// The files for which the last round made room.
    room_sought: HashSet<FileId>,
    arrivals: RecentArrivals,
    relieving: BTreeSet<HostAddr>,
    looked_to: Option<FileId>,
    leading_since: Millis,
    /// Copies whose removal was requested from their hosts.
    asked: HashSet<CopyKey>,
    /// Copies whose removal call had no clear answer, and when.
    unclear: BTreeMap<CopyKey, Millis>,
    /// Hosts whose files are being read, and those that could not be read with the time of the next try.
    refreshing: BTreeMap<HostAddr, Option<Millis>>,
    /// Counters since the start of the process.
    pub(in crate::remover) counters: RemoverCounters,
}

impl RemoverPolicy {
    /// With these settings. Nothing is known of any host.
    pub fn new(settings: RemoverSettings) -> Self {
        RemoverPolicy { settings, ..RemoverPolicy::default() }
    }

    /// Whether to read a host now: one read at a time, and none soon after one that failed.
    pub fn begin_refresh(&mut self, host: HostAddr, now: Millis) -> bool {
        let waits = match self.refreshing.get(&host) {
            Some(None) => true,
            Some(Some(again)) => now < *again,
            None => false,
        };
        if !waits {
            self.refreshing.insert(host, None);
        }
        !waits
    }

    /// A read of a host has ended; `seen` says whether it succeeded.
    pub fn refreshed(&mut self, host: HostAddr, seen: bool, now: Millis) {
        if seen {
            self.refreshing.remove(&host);
        } else {
            self.refreshing.insert(host, Some(now.after(ASK_AGAIN_AFTER)));
        }
    }

    /// Applies these settings from now on, also to proposals that are being confirmed.
    pub fn change_settings(&mut self, settings: RemoverSettings, names: &NameTable) {
        self.settings = settings;
        self.learn_names(names);
    }

    fn learn_names(&mut self, names: &NameTable) {
        self.traits.learn(names, &self.settings.ignore_prefixes);
        self.inputs.ignored = Arc::clone(self.traits.ignored());
    }

    /// The settings in force.
    pub fn settings(&self) -> &RemoverSettings {
        &self.settings
    }

    /// The destinations.
    pub fn holders(&self) -> &CopyHolders {
        &self.holders
    }

    /// This node leads from `now` on. The outcomes of earlier calls are unknown.
    pub fn become_leader(&mut self, now: Millis) {
        self.refreshing.clear();
        self.leading_since = now;
        self.asked.clear();
        self.unclear.clear();
    }

    /// Sets the destinations and the recently arrived copies.
    pub fn set_hosts(
        &mut self,
        yard: impl IntoIterator<Item = (HostAddr, CopyHolderStatus)>,
        arrivals: RecentArrivals,
    ) {
        self.set_destinations(yard);
        self.set_arrivals(arrivals);
    }

    /// Sets the hosts whose copies may be removed.
    pub fn set_destinations(
        &mut self,
        yard: impl IntoIterator<Item = (HostAddr, CopyHolderStatus)>,
    ) {
        self.holders.set_hosts(yard);
    }

    /// Sets the recently arrived copies. Only rounds and their confirmation need them.
    pub fn set_arrivals(&mut self, arrivals: RecentArrivals) {
        self.arrivals = arrivals;
    }

    /// Sets the files for which the planner has no room. Answers whether one of them is new, so that no
    /// round has searched for room for it.
    pub fn set_room_wanted(&mut self, wanted: RoomWanted) -> bool {
        self.room_wanted = wanted;
        self.room_wanted.files.iter().any(|wish| !self.room_sought.contains(&wish.file))
    }

    /// Sets whether this node removes nothing by its inputs: they are worse than those on record, or not compared yet.
    pub fn refuse_inputs(&mut self, are_refused: bool) {
        self.inputs.are_refused = are_refused;
    }

    /// Acts as if a copy was removed from a host at this time.
    #[cfg(test)]
    pub(in crate::remover) fn lighten(&mut self, host: HostAddr, at: Millis) {
        self.holders.lightened(host, at);
    }

    /// Takes a new ranking.
    pub fn set_ranking(&mut self, ranking: Arc<Ranking>) {
        self.inputs.ranking = Some(ranking);
    }

    /// Takes new hot files.
    pub fn set_rising(&mut self, rising: &RisingHits) {
        self.inputs.hot = rising.hot().iter().map(|(file, _)| file.0).collect();
    }

    /// Takes a new listing of the masters.
    pub fn set_masters(&mut self, masters: Arc<Masters>) {
        self.inputs.masters = Some(masters);
        // A master that was not found may exist now.
        self.inputs
            .sizes
            .retain(|_, size| !matches!(size, LookedSize::NoMaster | LookedSize::Bytes(0)));
    }

    /// Takes the sizes of masters that were looked up.
    pub fn learn_sizes(&mut self, seen: Vec<(FileId, LookedSize)>) {
        if self.inputs.sizes.len() > MOST_SIZES {
            self.inputs.sizes.clear();
        }
        self.least_demanded.forget_hosts_of(&seen, &self.holders);
        self.inputs.sizes.extend(seen);
    }

    /// Takes a change of a host's health.
    pub fn health_changed(&mut self, changed: &HealthChanged) {
        self.holders.health_changed(changed);
    }

    /// Stores the report of a host.
    pub fn observe(&mut self, seen: &HostObserved) {
        self.holders.observe(seen);
    }

    /// Takes the circuit breaker state of a host.
    pub fn set_calls(&mut self, call_status: &HostCallStatus) {
        self.holders.set_calls(call_status);
    }

    /// The state that a decision reads.
    pub fn decision_context<'a>(
        &'a self,
        context: RemoverPieceContext<'a>,
    ) -> RemoverDecisionContext<'a> {
        let RemoverPieceContext { book, in_flight, now } = context;
        RemoverDecisionContext {
            book,
            in_flight,
            holders: &self.holders,
            inputs: &self.inputs,
            room_wanted: &self.room_wanted,
            least_demanded: &self.least_demanded,
            arrivals: &self.arrivals,
            settings: &self.settings,
            now,
            leading_since: self.leading_since,
        }
    }

    /// Proposes the removals of a round.
    pub fn propose(&mut self, context: RemoverPieceContext<'_>) -> RemovalProposal {
        self.counters.rounds += 1;
        self.learn_names(context.book.names());
        self.refresh_least_demanded(context);
        let relieving = std::mem::take(&mut self.relieving);
        let proposal = self.decision_context(context).propose(relieving, self.looked_to);
        self.relieving.clone_from(&proposal.relieving);
        self.looked_to = proposal.looked_to;
        self.room_sought = self.room_wanted.files.iter().map(|wish| wish.file).collect();
        proposal
    }

    /// The verdict on an exchange for a file that fits nowhere: see [`RemoverDecisionContext::exchange_outlook`].
    pub fn exchange_outlook(
        &self,
        file: FileId,
        size: u64,
        context: RemoverPieceContext<'_>,
    ) -> Option<RoomVerdict> {
        let deciding = self.decision_context(context);
        let grade = deciding.grade(file).unwrap_or(0);
        let old_hosts_carry = self.traits.old_hosts_carry(file);
        let hits = u32::from(self.inputs.hot.contains(file.0));
        deciding.exchange_outlook(WantsRoom { file, size, hits, grade, old_hosts_carry })
    }

    /// Only rounds that make room need it.
    fn refresh_least_demanded(&mut self, context: RemoverPieceContext<'_>) {
        let mut least_demanded = std::mem::take(&mut self.least_demanded);
        let deciding = self.decision_context(context);
        let ranking = self.inputs.ranking.as_ref().filter(|ranking| ranking.demand().is_some());
        let is_wanted = !self.room_wanted.files.is_empty();
        if let Some(ranking) = ranking.filter(|_| is_wanted) {
            least_demanded.refresh(
                &self.holders,
                ranking,
                |file| deciding.untouchable(file).is_none(),
                |file| deciding.size(file),
            );
        }
        self.least_demanded = least_demanded;
    }

    /// The part of a proposal that still holds, and the reasons against the rest.
    pub fn confirm(
        &self,
        removals: Vec<Removal>,
        seen: &Confirmation,
        context: RemoverPieceContext<'_>,
    ) -> (Vec<RemovalEvent>, Vec<(Removal, Spared)>) {
        self.decision_context(context).confirm(removals, seen)
    }

    /// Records that a host is being asked to remove a copy.
    pub fn asking(&mut self, copy: CopyKey) {
        self.asked.insert(copy);
    }

    /// The event that records a host's answer. None while the outcome is not clear.
    pub fn answered(
        &mut self,
        copy: CopyKey,
        name: &FileName,
        answer: &Result<Deleted, AskFailure>,
        now: Millis,
    ) -> Option<RemovalEvent> {
        self.asked.remove(&copy);
        let ending = match answer {
            Ok(Deleted::Removed) => Ending::Removed,
            Ok(Deleted::Absent) => Ending::Absent,
            Ok(Deleted::Directory) => Ending::Refused { why: "it is a directory".to_owned() },
            // Neither was sent.
            Err(
                failure @ (AskFailure::NotAsked(_) | AskFailure::Busy | AskFailure::NoDescriptor),
            ) => Ending::NotAsked { why: failure.to_string() },
            // A newer leader decides, and continues the removals of this one.
            Ok(Deleted::Deposed) => return None,
            Err(_) => {
                self.unclear.insert(copy, now);
                return None;
            }
        };
        Some(RemovalEvent::Ended { host: copy.0, name: name.clone(), ending })
    }

    /// The outcomes of removals whose calls had no clear result. Later lists of their hosts decide.
    pub fn cleared(&self, context: RemoverPieceContext<'_>) -> Vec<RemovalEvent> {
        let now = context.now;
        self.unresolved(context)
            .filter_map(|(copy, since)| {
                let ending = match self.holders.get(copy.0) {
                    None => {
                        Ending::NotAsked { why: "its host is no longer in the yard".to_owned() }
                    }
                    Some(host) if !host.was_listed_since(Millis(since.0 + 1)) => return None,
                    Some(host) if host.lists(copy.1) => {
                        Ending::StillThere { doubted_until: now.after(self.settings.doubt) }
                    }
                    Some(_) => Ending::Absent,
                };
                let name = context.book.names().name(copy.1);
                Some(RemovalEvent::Ended { host: copy.0, name, ending })
            })
            .collect()
    }

    /// The hosts whose files must be read to clear the outcome of removals.
    pub fn to_refresh(&self, context: RemoverPieceContext<'_>) -> BTreeSet<HostAddr> {
        let unclear = self.unresolved(context).filter(|((addr, _), since)| {
            let listed =
                |host: &super::holders::CopyHolder| host.was_listed_since(Millis(since.0 + 1));
            !self.holders.get(*addr).is_some_and(listed)
        });
        let unclear = unclear.map(|((addr, _), _)| addr);
        // A disk is read again after removals from it.
        let at_work = context.book.hosts_at_work();
        let lightened = self.holders.iter().filter(|(addr, host)| {
            host.disk.is_some() && host.present_disk().is_none() && !at_work.contains(addr)
        });
        let relieved = lightened.map(|(addr, _)| addr);
        let wanted: BTreeSet<HostAddr> = unclear.chain(relieved).collect();
        wanted.into_iter().filter(|addr| self.may_be_asked(*addr)).collect()
    }

    fn may_be_asked(&self, addr: HostAddr) -> bool {
        let host = self.holders.get(addr);
        host.is_some_and(|host| host.status != CopyHolderStatus::Apart && !host.calls.is_open())
    }

    /// Removals whose call had no clear end, and since when. No call waits for their answer.
    fn unresolved<'a>(
        &'a self,
        context: RemoverPieceContext<'a>,
    ) -> impl Iterator<Item = (CopyKey, Millis)> + 'a {
        let ending: HashSet<(HostAddr, &FileName)> = context
            .in_flight
            .events()
            .filter_map(|event| match event {
                RemovalEvent::Ended { host, name, .. } => Some((*host, name)),
                _ => None,
            })
            .collect();
        let open = context.book.open().iter();
        open.filter(move |(copy, removal)| {
            !self.asked.contains(copy) && !ending.contains(&(copy.0, &removal.intent.name))
        })
        .map(|(copy, removal)| {
            let since = self.unclear.get(copy).copied();
            (*copy, since.unwrap_or(self.leading_since.max(removal.at)))
        })
    }

    /// The event that drops history and doubts that are old enough.
    pub fn forgets(&self, context: RemoverPieceContext<'_>) -> Option<RemovalEvent> {
        let (book, now) = (context.book, context.now);
        let keep = self.settings.keep_history;
        let history = book.history();
        let too_many = history.len() > keep + keep / 10;
        let over = book.doubts().values().any(|until| *until <= now);
        let under_way =
            context.in_flight.events().any(|event| matches!(event, RemovalEvent::Forgot { .. }));
        ((too_many || over) && !under_way).then(|| RemovalEvent::Forgot {
            history_before: history.next().saturating_sub(keep),
            doubts_until: now,
        })
    }

    /// Updates the memory after an applied event. An event that a node applies before it leads is old: it
    /// is not counted.
    pub fn on_applied(
        &mut self,
        applied: &AppliedEvent<RemovalBook>,
        book: &RemovalBook,
        leads: bool,
        now: Millis,
    ) {
        match (&applied.event, &applied.result) {
            (RemovalEvent::Intended(intent), Ok(_)) if leads => {
                self.counters.count_exchange(intent, book);
            }
            (RemovalEvent::Ended { host, name, ending }, Ok(RemovalOutcome::Applied)) => {
                let copy = (*host, book.file(name));
                self.asked.remove(&copy);
                self.unclear.remove(&copy);
                if ending.is_gone() {
                    // By the clock of this node, as the time of a look at the disk: another node may have led.
                    self.holders.lightened(*host, now);
                }
                if leads {
                    self.counters.count(ending);
                    let mut ended = book.history().newest_first().map(|(_, record)| record);
                    let gone = ended.find(|one| (one.host, one.file) == copy);
                    gone.into_iter().for_each(|record| self.counters.count_gone(record));
                }
            }
            (_, Err(_)) => self.counters.refused += 1,
            _ => {}
        }
    }
}
