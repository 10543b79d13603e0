//! The actor's upkeep besides reclaim: it sends notices of ends, forgets delivered notifications, and
//! ends shares of removed roots and above a lowered limit. Pure.

use std::time::Duration;

use reelyard_core::clock::Millis;

use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::decisions::creating::AT_ONCE;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::state::event::ShareEvent;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::value_types::ShareEnding;

/// How many tombstones and notifications one event examines, so that forgetting many needs several
/// events.
const LOOKED_AT: usize = 4000;

/// How many hooks are forgotten in one event.
const HOOKS_AT_ONCE: usize = 100;

/// The greatest age of the time on record. It is much less than the step that is followed at once, so that a
/// short restart is no jump.
const RECORDED_EVERY: Duration = Duration::from_secs(10 * 60);

impl ShareDecisionContext<'_> {
    /// Whether the time is recorded by itself. It is when the recorded time is old, and when a share has come
    /// due. `is_recent`: a due share caused a record a moment ago.
    pub(in crate::share_expiry) fn must_record_time(&self, is_recent: bool) -> bool {
        let records_time = |event: &ShareEvent| matches!(event, ShareEvent::TimeRecorded);
        if self.in_flight.events().any(records_time) {
            return false;
        }
        let is_due = !is_recent && self.table.has_come_due(self.now);
        // A table that an earlier version wrote has no time on record.
        let is_old = |record| self.now.since(record) >= RECORDED_EVERY;
        is_due || (self.table.time().is_none_or(is_old) && !self.table.is_empty())
    }
}

impl SharePolicy {
    /// Events to commit, one after the other: none while an event of the same kind is being committed.
    pub fn upkeep(&mut self, at: ShareDecisionContext<'_>) -> Vec<ShareEvent> {
        let mut events = self.hooks(at);
        events.extend(self.forgets(at));
        events.extend(self.roots_gone(at));
        events.extend(self.forgotten_roots(at));
        events.extend(self.evicts(at));
        events
    }

    /// New hooks get only later notifications.
    fn hooks(&self, at: ShareDecisionContext<'_>) -> Vec<ShareEvent> {
        let known = at.table.cursors();
        let new = self.settings.hooks.iter().filter(|hook| !known.contains_key(*hook));
        let new = new.filter(|hook| {
            let same = |event: &ShareEvent| matches!(event, ShareEvent::Delivered { hook: other, .. } if other == *hook);
            !at.in_flight.events().any(same)
        });
        let up_to = at.table.next_notification();
        new.map(|hook| ShareEvent::Delivered { hook: hook.clone(), up_to }).collect()
    }

    fn forgets(&self, at: ShareDecisionContext<'_>) -> Option<ShareEvent> {
        if at.in_flight.events().any(|event| matches!(event, ShareEvent::Forgot { .. })) {
            return None;
        }
        let (tombstones_before, notifications_before) =
            (self.tombstones(at), self.notifications(at));
        let known = at.table.cursors().keys();
        let hooks = known.filter(|hook| !self.settings.hooks.contains(*hook)).cloned();
        // The others follow in the next tick, because one journal entry may not hold all names.
        let hooks: Vec<String> = hooks.take(HOOKS_AT_ONCE).collect();
        let forgets = tombstones_before > at.table.first_tombstone_number()
            || notifications_before > at.table.first_notification()
            || !hooks.is_empty();
        forgets.then_some(ShareEvent::Forgot { tombstones_before, notifications_before, hooks })
    }

    /// The number of the first tombstone that stays.
    fn tombstones(&self, at: ShareDecisionContext<'_>) -> u64 {
        let (tombstone_index, settings) = (at.table.tombstone_index(), &self.settings);
        let too_many = tombstone_index.len().saturating_sub(settings.keep_tombstones);
        let is_old = |ended: Millis| at.now >= ended.after(settings.keep_tombstones_for);
        let going = tombstone_index
            .oldest_first()
            .map(|(_, tombstone)| tombstone)
            .zip(0_u64..)
            .take(LOOKED_AT);
        let going =
            going.take_while(|(tombstone, place)| *place < too_many || is_old(tombstone.ended));
        at.table.first_tombstone_number() + going.count() as u64
    }

    /// The number of the first notification that stays. Earlier ones reached every hook and are not among
    /// the last, or they are too old or too many.
    fn notifications(&self, at: ShareDecisionContext<'_>) -> u64 {
        let (table, settings) = (at.table, &self.settings);
        let next = table.next_notification();
        let cursors = table.cursors().iter().filter(|(hook, _)| settings.hooks.contains(*hook));
        let delivered = cursors.map(|(_, cursor)| *cursor).min().unwrap_or(next);
        let delivered = delivered.min(next.saturating_sub(settings.keep_notifications));
        let delivered = delivered.max(next.saturating_sub(settings.keep_notifications_most));
        let is_old = |number: u64| {
            let at_then = table.notification_time(number);
            at_then.is_some_and(|then| at.now >= then.after(settings.keep_notifications_for))
        };
        let last = next.min(table.first_notification() + LOOKED_AT as u64);
        let mut stays = table.first_notification();
        while stays < last && (stays < delivered || is_old(stays)) {
            stays += 1;
        }
        stays
    }

    /// The id of a root without shares is forgotten once the root is not configured.
    fn forgotten_roots(&self, at: ShareDecisionContext<'_>) -> Option<ShareEvent> {
        let is_recorded = |event: &ShareEvent| matches!(event, ShareEvent::RootRecorded { .. });
        if at.in_flight.events().any(is_recorded) {
            return None;
        }
        let has_shares = |root: &RootName| at.table.roots().any(|other| other == *root);
        let mut known = at.table.root_ids().keys();
        let gone = known.find(|root| !self.settings.roots.contains(*root) && !has_shares(root));
        gone.map(|root| ShareEvent::RootRecorded { root: root.clone(), id: None })
    }

    /// Shares of roots that are not configured end.
    fn roots_gone(&self, at: ShareDecisionContext<'_>) -> Option<ShareEvent> {
        let under_way = |event: &ShareEvent| {
            matches!(event, ShareEvent::EndedWithin { why: ShareEnding::RootGone, .. })
        };
        if at.in_flight.events().any(under_way) {
            return None;
        }
        // Before the end of a root, shares of files that move or moved out of it follow the move.
        let moves = at.table.moves();
        let is_left = |root: &RootName| moves.iter().any(|moving| moving.new.from.root == *root);
        let gone = |root: &RootName| !self.settings.roots.contains(root) && !is_left(root);
        let root = at.table.roots().filter(gone).min()?;
        let by = format!("share.roots.{root} is not configured");
        let (path, why, most) = (SharePath::root(), ShareEnding::RootGone, AT_ONCE as u64);
        Some(ShareEvent::EndedWithin { root, path, why, most, by })
    }
}
