//! New shares, and room for them. Pure.

use crate::share_expiry::messages::CreateShare;
use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::settings::AtLimit;
use crate::share_expiry::state::event::{
    NewDeadline, NewShare, ShareEvent, ShareLimits, ShareRefusal,
};
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::share_lifetime::ShareLifetime;
use crate::share_expiry::state::values::value_types::{ShareEnding, ShareOwner};

/// How many shares one commit ends at most, so that their ids fit into an entry of the journal.
pub const AT_ONCE: usize = 1900;

/// How many shares are evicted for a new one at most, so that one entry holds them all with their texts.
const MAKE_ROOM: usize = AT_ONCE * 3 / 4;

/// How many overdue shares are searched for shares of one owner.
const DUE_LOOKED_AT: usize = 10_000;

impl SharePolicy {
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
    pub(super) fn deadline(
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
    pub(super) fn room_of_owner(
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
}
