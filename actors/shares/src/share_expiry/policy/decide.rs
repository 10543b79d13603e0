//! The decision on a request: events, or a refusal. Pure.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_replication::InFlight;

use super::evict::Eviction;
use crate::share_expiry::messages::{CreateShare, NewTerms, TakeDownload};
use crate::share_expiry::settings::{AtLimit, ShareExpirySettings};
use crate::share_expiry::state::event::{
    NewDeadline, NewOwner, NewShare, ShareChanges, ShareEvent, ShareLimits, ShareRefusal,
};
use crate::share_expiry::state::table::order::ShareDueKey;
use crate::share_expiry::state::table::share::{ClientKey, Share};
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::share_lifetime::ShareLifetime;
use crate::share_expiry::state::values::value_types::{ShareEnding, ShareOwner};

/// How many shares one commit ends at most, so that their ids fit into an entry of the journal.
pub const AT_ONCE: usize = 1900;

/// How many shares are evicted for a new one at most, so that one entry holds them all with their texts.
const MAKE_ROOM: usize = AT_ONCE * 3 / 4;

/// How many overdue shares are searched for shares of one owner.
const DUE_LOOKED_AT: usize = 10_000;

/// The table, the settings and the times that a decision reads.
#[derive(Clone, Copy)]
pub struct ShareDecisionContext<'a> {
    /// The table of shares.
    pub table: &'a ShareTable,
    /// Pending commits.
    pub in_flight: &'a InFlight<ShareEvent>,
    /// The confirmed time, in milliseconds.
    pub now: Millis,
    /// The time for refusals: `now`, or the wall clock if it is far ahead.
    pub latest: Millis,
    /// The time until a wall clock that is far ahead is confirmed; zero if it is not far ahead.
    pub confirmed_in: Duration,
}

/// The decider: the settings, and the eviction order that they may need.
#[derive(Debug, Default)]
pub struct SharePolicy {
    /// The current settings.
    pub settings: ShareExpirySettings,
    /// The order for evicting shares.
    pub eviction: Eviction,
}

/// The decision on a download request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadDecision {
    /// It must be recorded: as a counted download, or as the whole file after a part.
    Counts(ShareEvent),
    /// It was already counted, because this request is a repetition.
    Counted {
        /// How many downloads were left at that time.
        left: u32,
    },
    /// It is part of a counted download.
    Resumes,
    /// The same, if one that is being counted comes to be.
    ResumesAfter,
    /// The share has no download limit.
    Unlimited,
}

impl SharePolicy {
    /// A planner with these `settings`.
    pub fn new(settings: ShareExpirySettings) -> Self {
        SharePolicy { settings, eviction: Eviction::default() }
    }

    /// Creates a share with this id.
    pub fn create(
        &mut self,
        asked: &CreateShare,
        id: ShareId,
        at: ShareDecisionContext<'_>,
    ) -> Result<Vec<ShareEvent>, ShareRefusal> {
        if !self.settings.roots.contains(&asked.root) {
            return Err(ShareRefusal::NoRoot { root: asked.root.clone() });
        }
        let has_moved = asked.looked.is_some_and(|looked| looked != at.table.next_move);
        if has_moved || at.is_moving(&asked.root, &asked.path) {
            return Err(ShareRefusal::BeingMoved);
        }
        let NewDeadline { deadline, noticed } = self.deadline(asked.lifetime, at)?;
        let due = match &asked.owner {
            Some(owner) => self.room_of_owner(owner, at)?,
            None => Vec::new(),
        };
        let mut events = self.make_room(due, at)?;
        let ShareLimits { shares, of_owner } = self.room();
        events.push(ShareEvent::Created(Box::new(NewShare {
            id,
            root: asked.root.clone(),
            path: asked.path.clone(),
            kind: asked.kind,
            deadline,
            noticed,
            owner: asked.owner.clone(),
            terms: asked.terms.clone(),
            room: ShareLimits { shares, of_owner },
        })));
        Ok(events)
    }

    fn room(&self) -> ShareLimits {
        ShareLimits { shares: self.settings.max_shares, of_owner: self.settings.max_per_owner }
    }

    /// The deadline of a lifetime. While a step of the wall clock is not confirmed, either clock may be right.
    /// Then the lifetime must give the same deadline by both.
    fn deadline(
        &self,
        lifetime: ShareLifetime,
        at: ShareDecisionContext<'_>,
    ) -> Result<NewDeadline, ShareRefusal> {
        let ShareDecisionContext { now, latest, confirmed_in, .. } = at;
        let deadline = self.settings.lifetimes.deadline(lifetime, now);
        if deadline != self.settings.lifetimes.deadline(lifetime, latest) {
            return Err(ShareRefusal::ClockUnconfirmed { ahead: latest.since(now), confirmed_in });
        }
        let deadline = deadline?;
        // A share with a lifetime shorter than the notice gets no notice.
        let noticed = match (self.settings.notice_before, deadline.instant()) {
            (Some(before), Some(instant)) => instant <= now.after(before),
            _ => false,
        };
        Ok(NewDeadline { deadline, noticed })
    }

    /// Whether `owner` may have one more share, once these overdue shares of the owner are reclaimed.
    fn room_of_owner(
        &self,
        owner: &ShareOwner,
        at: ShareDecisionContext<'_>,
    ) -> Result<Vec<ShareId>, ShareRefusal> {
        let most = self.settings.max_per_owner;
        let there = at.table.of_owner(owner) + at.coming_to(owner);
        if most == 0 || there < most {
            return Ok(Vec::new());
        }
        let is_theirs = |id: &ShareId| at.table.look(*id, |share| share.owner() == Some(owner));
        let (_, going) = at.coming_and_going();
        let leaving = going.iter().filter(|id| is_theirs(id) == Some(true)).count() as u64;
        let excess = (there + 1).saturating_sub(most).saturating_sub(leaving);
        let excess = usize::try_from(excess).unwrap_or(usize::MAX);
        let due = at.due(&going).take(DUE_LOOKED_AT).filter(|id| is_theirs(id) == Some(true));
        let due: Vec<ShareId> = due.take(excess.min(MAKE_ROOM)).collect();
        if due.len() < excess { Err(ShareRefusal::OwnerFull { most }) } else { Ok(due) }
    }

    /// The events that make room for one more share. The shares in `due` are always reclaimed.
    fn make_room(
        &mut self,
        mut due: Vec<ShareId>,
        at: ShareDecisionContext<'_>,
    ) -> Result<Vec<ShareEvent>, ShareRefusal> {
        let most = self.settings.max_shares;
        let mut events = Vec::new();
        let mut victims = Vec::new();
        if most > 0 && at.table.len() + (at.in_flight.len() as u64) >= most {
            let (coming, mut going) = at.coming_and_going();
            going.extend(due.iter().copied());
            let count = (at.table.len() + coming).saturating_sub(going.len() as u64);
            let excess = usize::try_from((count + 1).saturating_sub(most)).unwrap_or(usize::MAX);
            if excess > MAKE_ROOM - due.len() {
                return Err(ShareRefusal::Full { most });
            }
            let more: Vec<ShareId> = at.due(&going).take(excess).collect();
            let wanted = excess - more.len();
            going.extend(more.iter().copied());
            due.extend(more);
            if wanted > 0 {
                victims = self.eviction.victims(self.settings.at_limit, wanted, at.table, &going);
            }
            if victims.len() < wanted {
                return Err(ShareRefusal::Full { most });
            }
        }
        if !due.is_empty() {
            events.push(ShareEvent::Reclaimed { ids: due });
        }
        if !victims.is_empty() {
            let by = format!("share.at_limit = {}", self.settings.at_limit);
            events.push(ShareEvent::Ended {
                ids: victims,
                why: ShareEnding::Evicted,
                cut: false,
                by,
            });
        }
        Ok(events)
    }

    /// There are more shares than the limit, because the limit was lowered. The policy selects shares to
    /// evict, a bounded number at a time.
    pub(in crate::share_expiry) fn evicts(
        &mut self,
        at: ShareDecisionContext<'_>,
    ) -> Option<ShareEvent> {
        let (most, policy) = (self.settings.max_shares, self.settings.at_limit);
        let is_over = most > 0 && at.table.len() > most && policy != AtLimit::Refuse;
        let evicts = |event: &ShareEvent| {
            matches!(event, ShareEvent::Ended { why: ShareEnding::Evicted, .. })
        };
        if !is_over || at.in_flight.events().any(evicts) {
            return None;
        }
        let (_, mut going) = at.coming_and_going();
        let excess = (at.table.len() - most).saturating_sub(going.len() as u64);
        let excess = usize::try_from(excess).unwrap_or(usize::MAX).min(AT_ONCE);
        // Overdue shares will be reclaimed anyway.
        let due: Vec<ShareId> = at.due(&going).take(excess).collect();
        let wanted = excess - due.len();
        going.extend(due);
        let ids = self.eviction.victims(policy, wanted, at.table, &going);
        if ids.is_empty() {
            return None;
        }
        let by = format!("share.max_shares = {most}");
        Some(ShareEvent::Ended { ids, why: ShareEnding::Evicted, cut: false, by })
    }

    /// Changes the terms of a share. No events if nothing changes.
    pub fn change(
        &self,
        id: ShareId,
        change: &NewTerms,
        at: ShareDecisionContext<'_>,
    ) -> Result<Vec<ShareEvent>, ShareRefusal> {
        let share = at.as_it_will_be(id)?;
        if share.exhausted().is_some() {
            return Err(ShareRefusal::Exhausted);
        }
        let deadline = change.lifetime.map(|lifetime| self.deadline(lifetime, at)).transpose()?;
        if let Some(only_if) = change.only_if {
            let present = share.deadline();
            let wanted = deadline.map_or(present, |new| new.deadline);
            if !only_if.holds(present, wanted) {
                return Err(ShareRefusal::ConditionFails { deadline: present });
            }
        }
        share.allows(&change.terms)?;
        let due = match &change.owner {
            Some(Some(owner)) if share.owner() != Some(owner) => self.room_of_owner(owner, at)?,
            _ => Vec::new(),
        };
        let most = self.settings.max_per_owner;
        let owner = change.owner.clone().map(|owner| NewOwner { owner, most });
        let changes = ShareChanges { deadline, owner, terms: change.terms.clone() };
        let generation = share.generation();
        if changes == ShareChanges::default() {
            return Ok(Vec::new());
        }
        let changed = ShareEvent::Changed { id, generation, changes: Box::new(changes) };
        let reclaimed = (!due.is_empty()).then_some(ShareEvent::Reclaimed { ids: due });
        Ok(reclaimed.into_iter().chain([changed]).collect())
    }

    /// A client requests bytes of a share.
    pub fn admit_download(
        &self,
        asked: &TakeDownload,
        at: ShareDecisionContext<'_>,
    ) -> Result<DownloadDecision, ShareRefusal> {
        let TakeDownload { id, client, ranged, request } = *asked;
        if let Some(left) = at.table.taken_before(request) {
            return Ok(DownloadDecision::Counted { left });
        }
        if at.in_flight.contains(request) {
            return Ok(DownloadDecision::ResumesAfter);
        }
        let share = at.table.live_at(id, at.latest)?;
        let Some(downloads) = share.downloads() else { return Ok(DownloadDecision::Unlimited) };
        let within = self.settings.resume_within;
        let may_resume = |taken: Millis| at.now < taken.after(within);
        if ranged && downloads.taken_by(client).is_some_and(may_resume) {
            return Ok(DownloadDecision::Resumes);
        }
        let is_beginning = at.is_beginning_whole(id, client);
        if !ranged && !is_beginning && downloads.in_part_by(client).is_some_and(may_resume) {
            return Ok(DownloadDecision::Counts(ShareEvent::WholeBegun { id, client, request }));
        }
        let taking: Vec<ClientKey> = at.taking(id).collect();
        if ranged && taking.contains(&client) {
            return Ok(DownloadDecision::ResumesAfter);
        }
        // Downloads in flight may take the last ones.
        if taking.len() as u64 >= u64::from(downloads.left()) {
            return Err(ShareRefusal::Exhausted);
        }
        // Links are refused by the latest time. While a step of the clock is not confirmed, a download that
        // begins can still be resumed.
        let resume_until = at.latest.after(within);
        let forget_before = at.now.before(within);
        let taken = match ranged {
            true => ShareEvent::TakenInPart { id, client, resume_until, forget_before, request },
            false => ShareEvent::Taken { id, client, resume_until, forget_before, request },
        };
        Ok(DownloadDecision::Counts(taken))
    }
}

impl ShareDecisionContext<'_> {
    /// How many shares will exist after the decisions in flight, and which are about to end.
    fn coming_and_going(self) -> (u64, HashSet<ShareId>) {
        let (mut coming, mut going) = (0_u64, HashSet::new());
        for event in self.in_flight.events() {
            match event {
                ShareEvent::Created(_) => coming += 1,
                ShareEvent::Ended { ids, .. } | ShareEvent::Reclaimed { ids } => {
                    going.extend(ids.iter().copied());
                }
                _ => {}
            }
        }
        going.retain(|id| self.table.look(*id, |_| ()).is_some());
        (coming, going)
    }

    /// How many shares this owner will have after the decisions in flight: new ones, and those that change
    /// their owner.
    fn coming_to(self, owner: &ShareOwner) -> u64 {
        let is_coming = |event: &&ShareEvent| match event {
            ShareEvent::Created(new) => new.owner.as_ref() == Some(owner),
            ShareEvent::Changed { id, changes, .. } => {
                let gets =
                    changes.owner.as_ref().is_some_and(|new| new.owner.as_ref() == Some(owner));
                gets && self.table.look(*id, |share| share.owner() == Some(owner)) != Some(true)
            }
            _ => false,
        };
        self.in_flight.events().filter(is_coming).count() as u64
    }

    /// Overdue shares outside of `going`, the most overdue first. They make room before all others, also
    /// while reclaim is paused, because their links no longer work.
    fn due(self, going: &HashSet<ShareId>) -> impl Iterator<Item = ShareId> {
        let due = self.table.due_from(ShareDueKey::from(Millis(i64::MIN)));
        let due = due.take_while(move |due| due.instant() <= self.now).map(ShareDueKey::id);
        due.filter(|id| !going.contains(id))
    }

    /// A live share with the changes in flight applied.
    fn as_it_will_be(self, id: ShareId) -> Result<Arc<Share>, ShareRefusal> {
        let mut share = self.table.live_at(id, self.latest)?;
        let changes = self.in_flight.events().filter_map(|event| match event {
            ShareEvent::Changed { id: changed, generation, changes } if *changed == id => {
                Some((*generation, changes))
            }
            _ => None,
        });
        let mut changes: Vec<_> = changes.collect();
        changes.sort_unstable_by_key(|(generation, _)| *generation);
        for (generation, changes) in changes {
            // A decision on another generation is going to be refused.
            if generation == share.generation() {
                share = Arc::new(share.changed(changes));
            }
        }
        Ok(share)
    }

    /// Whether a client is requesting the whole file after a download that began with a part.
    fn is_beginning_whole(self, id: ShareId, client: ClientKey) -> bool {
        self.in_flight.events().any(|event| {
            matches!(event, ShareEvent::WholeBegun { id: of, client: by, .. }
                if *of == id && *by == client)
        })
    }

    /// A client's running request for a download of a share.
    fn taking(self, id: ShareId) -> impl Iterator<Item = ClientKey> {
        self.in_flight.events().filter_map(move |event| match event {
            ShareEvent::Taken { id: taken, client, .. }
            | ShareEvent::TakenInPart { id: taken, client, .. }
                if *taken == id =>
            {
                Some(*client)
            }
            _ => None,
        })
    }
}
