//! How events change the piece. Deterministic: the piece, the event and its time decide alone.

use std::sync::Arc;

use ShareOutcome::{AlreadySo, Applied};
use reelyard_core::clock::Millis;
use reelyard_core::event::{EncodedEvent, PieceId, RequestId};
use reelyard_replication::{FrozenPiece, OnFullDisk, Piece, UnreadableEvent};

use super::constants::MOST_TAKERS;
use super::download_cache::CountedDownload;
use super::event::{NewShare, ShareChanges, ShareEvent, ShareOutcome, ShareRefusal};
use super::event_v1;
use super::event_v2;
use super::snapshot::{FrozenShareTable, thaw_row};
use super::table::shards::ShareLookup;
use super::table::share::{
    ClientKey, ColdShareFields, DownloadClient, DownloadCounts, Exhausted, Share, ShareInit,
};
use super::table::share_table::{NotificationRecord, ShareTable, TombstoneKey};
use super::values::id::ShareId;
use super::values::path::RootName;
use super::values::root_id::RootId;
use super::values::share_terms::ShareTerm;
use super::values::text::SharedText;
use super::values::value_types::{ShareEnding, Tombstone};
use crate::share_expiry::state::notification::ShareNotificationKind;

type ShareApplyResult = Result<ShareOutcome, ShareRefusal>;

impl Piece for ShareTable {
    const ID: PieceId = PieceId::Shares;
    const EVENT_VERSION: u8 = 3;

    type Event = ShareEvent;
    type Outcome = ShareOutcome;
    type Refusal = ShareRefusal;

    fn decode(event: &EncodedEvent) -> Result<ShareEvent, UnreadableEvent> {
        let piece = Self::ID;
        let read = match event.version {
            1 => event_v1::read(&event.body),
            2 => event_v2::read(&event.body),
            Self::EVENT_VERSION => postcard::from_bytes(&event.body),
            version => return Err(UnreadableEvent::Version { piece, version }),
        };
        read.map_err(|error| UnreadableEvent::Body { piece, error: error.to_string() })
    }

    fn on_full_disk(event: &ShareEvent) -> OnFullDisk {
        match event {
            ShareEvent::Ended { why: ShareEnding::Revoked, .. } => OnFullDisk::UseReserve,
            _ => OnFullDisk::Refuse,
        }
    }

    fn apply(&mut self, at: Millis, event: &ShareEvent) -> ShareApplyResult {
        let outcome = self.apply_event(at, event)?;
        self.time = match event {
            ShareEvent::TimeSet { to, .. } => Some(*to),
            _ => self.time.max(Some(at)),
        };
        Ok(outcome)
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenShareTable::of(self))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(self, row)
    }

    fn emptied(&self) -> Self {
        ShareTable::default()
    }
}

impl ShareTable {
    fn apply_event(&mut self, at: Millis, event: &ShareEvent) -> ShareApplyResult {
        match event {
            ShareEvent::TimeRecorded | ShareEvent::TimeSet { .. } => Ok(Applied),
            ShareEvent::Created(new) => self.create(at, new),
            ShareEvent::Changed { id, generation, changes } => {
                self.change(at, *id, *generation, changes)
            }
            ShareEvent::Reclaimed { ids } => {
                Ok(self.end_all(ids, |table, id| table.end_if_due(at, id)))
            }
            ShareEvent::Ended { ids, why, cut, by } => {
                let by = SharedText::new(by.as_str());
                Ok(self.end_all(ids, |table, id| table.end(at, id, *why, *cut, &by)))
            }
            ShareEvent::EndedWithin { root, path, why, most, by } => {
                let by = SharedText::new(by.as_str());
                let most = usize::try_from(*most).unwrap_or(usize::MAX);
                let ids: Vec<ShareId> =
                    self.within(root, path, None).take(most).map(|share| share.id()).collect();
                Ok(self.end_all(&ids, |table, id| table.end(at, id, *why, false, &by)))
            }
            ShareEvent::Taken { id, client, resume_until, forget_before, request } => {
                let taker = DownloadClient { client: *client, at, in_part: false };
                self.once(at, *request, |table| {
                    table.count_download(*id, taker, *resume_until, *forget_before)
                })
            }
            ShareEvent::TakenInPart { id, client, resume_until, forget_before, request } => {
                let taker = DownloadClient { client: *client, at, in_part: true };
                self.once(at, *request, |table| {
                    table.count_download(*id, taker, *resume_until, *forget_before)
                })
            }
            ShareEvent::WholeBegun { id, client, request } => {
                self.once(at, *request, |table| table.begin_whole(at, *id, *client))
            }
            ShareEvent::MoveBegun(new) => self.begin_move(new),
            ShareEvent::MoveSettled { number, end, most } => {
                self.settle_move(at, *number, *end, *most)
            }
            ShareEvent::MoveFollowed { number, part, most } => {
                self.on_move_continued(at, *number, *part, *most)
            }
            ShareEvent::Noticed { ids, until } => Ok(self.notice(at, ids, *until)),
            ShareEvent::Paused { by } => Ok(self.pause(Some(by))),
            ShareEvent::Resumed { .. } => Ok(self.pause(None)),
            ShareEvent::Forgot { tombstones_before, notifications_before, hooks } => {
                Ok(self.forget(*tombstones_before, *notifications_before, hooks))
            }
            ShareEvent::Delivered { hook, up_to } => Ok(self.deliver(hook, *up_to)),
            ShareEvent::RootRecorded { root, id } => Ok(self.record_root(root, *id)),
        }
    }

    fn record_root(&mut self, root: &RootName, id: Option<RootId>) -> ShareOutcome {
        if id.is_some() == self.root_ids.contains_key(root) {
            return AlreadySo;
        }
        let root_ids = Arc::make_mut(&mut self.root_ids);
        match id {
            Some(id) => root_ids.insert(root.clone(), id),
            None => root_ids.remove(root),
        };
        Applied
    }

    fn create(&mut self, at: Millis, new: &NewShare) -> ShareApplyResult {
        if self.find(new.id) != ShareLookup::Unknown {
            return Err(ShareRefusal::IdInUse);
        }
        // A move may have begun since the decision.
        if self.is_moving(&new.root, &new.path) {
            return Err(ShareRefusal::BeingMoved);
        }
        let room = new.room;
        if room.shares > 0 && self.live >= room.shares {
            return Err(ShareRefusal::Full { most: room.shares });
        }
        if let Some(owner) = &new.owner
            && room.of_owner > 0
            && self.of_owner(owner) >= room.of_owner
        {
            return Err(ShareRefusal::OwnerFull { most: room.of_owner });
        }
        let NewShare { id, root, path, kind, deadline, noticed, owner, terms, room: _ } =
            new.clone();
        let cold = ColdShareFields { terms, counts: DownloadCounts::default() };
        let (created, generation) = (at, 0);
        let init =
            ShareInit { id, root, path, kind, owner, created, deadline, cold, generation, noticed };
        self.insert(Share::new(init), None);
        self.totals.created += 1;
        Ok(ShareOutcome::Created { id })
    }

    fn change(
        &mut self,
        at: Millis,
        id: ShareId,
        generation: u32,
        changes: &ShareChanges,
    ) -> ShareApplyResult {
        let former = self.live_at(id, at)?;
        if former.exhausted().is_some() {
            return Err(ShareRefusal::Exhausted);
        }
        if former.generation() != generation {
            return Err(ShareRefusal::ChangedMeanwhile);
        }
        former.allows(&changes.terms)?;
        if let Some(new) = &changes.owner
            && let Some(owner) = new.owner.as_ref().filter(|owner| former.owner() != Some(owner))
            && new.most > 0
            && self.of_owner(owner) >= new.most
        {
            return Err(ShareRefusal::OwnerFull { most: new.most });
        }
        let share = self.insert(former.changed(changes), Some(&former));
        Ok(ShareOutcome::Changed { generation: share.generation(), due: share.due() })
    }

    fn end_all(
        &mut self,
        ids: &[ShareId],
        mut end: impl FnMut(&mut Self, ShareId) -> bool,
    ) -> ShareOutcome {
        let first = self.next_notification();
        let ended = ids.iter().filter(|id| end(self, **id)).count() as u64;
        ShareOutcome::Ended { ended, first, next: self.next_notification() }
    }

    /// Ends a share if its deadline has passed. Returns whether it ended.
    fn end_if_due(&mut self, at: Millis, id: ShareId) -> bool {
        let number = self.next_notification();
        let replaced = self.shards.replace_with_tombstone(id, |share| {
            (!share.is_live(at)).then(|| {
                // The end of the last download was reported then.
                let number = share.exhausted().map_or(number, |exhausted| exhausted.number);
                let until = share.exhausted().and(share.due().instant());
                let ended = until.map_or(at, |until| until.min(at));
                Tombstone::of(share, ended, share.why_due(), number, false)
            })
        });
        let Some((share, tombstone)) = replaced else { return false };
        self.record_end(at, share, tombstone, None);
        true
    }

    /// Ends a share before its deadline, too. A share past its deadline has already ended.
    pub(in crate::share_expiry) fn end(
        &mut self,
        at: Millis,
        id: ShareId,
        why: ShareEnding,
        cut: bool,
        by: &SharedText,
    ) -> bool {
        if self.end_if_due(at, id) {
            if cut {
                self.shards.cut(id);
            }
            return false;
        }
        let number = self.next_notification();
        let replaced = self
            .shards
            .replace_with_tombstone(id, |share| Some(Tombstone::of(share, at, why, number, cut)));
        let ended = replaced.is_some();
        if let Some((share, tombstone)) = replaced {
            self.record_end(at, share, tombstone, Some(by));
        } else if cut {
            self.shards.cut(id);
        }
        ended
    }

    /// The tombstone of a share.
    fn record_end(
        &mut self,
        at: Millis,
        share: Arc<Share>,
        tombstone: Tombstone,
        by: Option<&SharedText>,
    ) {
        let why = tombstone.why;
        self.remove(&share, None);
        self.live -= 1;
        self.totals.count(why);
        self.tombstone_index.push(TombstoneKey { ended: at, id: share.id() });
        if why != ShareEnding::Exhausted {
            self.record_notification(at, share, ShareNotificationKind::Ended(why), by);
        }
    }

    fn record_notification(
        &mut self,
        at: Millis,
        share: Arc<Share>,
        what: ShareNotificationKind,
        by: Option<&SharedText>,
    ) {
        self.notification_log.push(NotificationRecord { at, share, by: by.cloned(), what });
    }

    fn count_download(
        &mut self,
        id: ShareId,
        taker: DownloadClient,
        resume_until: Millis,
        forget_before: Millis,
    ) -> ShareApplyResult {
        let DownloadClient { client, at, .. } = taker;
        let former = self.live_at(id, at)?;
        let Some(downloads) = former.downloads() else {
            return Ok(AlreadySo);
        };
        let left = downloads.left().checked_sub(1).ok_or(ShareRefusal::Exhausted)?;
        let mut counts = downloads.counts.clone();
        counts.taken += 1;
        counts.takers.retain(|taker| taker.client != client && taker.at >= forget_before);
        // The first ones are the oldest.
        let too_many = (counts.takers.len() + 1).saturating_sub(MOST_TAKERS);
        counts.takers.drain(..too_many);
        counts.takers.push(taker);
        let number = self.next_notification();
        counts.exhausted = (left == 0).then_some(Exhausted { at, resume_until, number });
        let exhausted = counts.exhausted.map(|_| number);
        let mut share = former.to_change();
        share.change_cold_fields(|cold| cold.counts = counts);
        let share = self.insert(share, Some(&former));
        if exhausted.is_some() {
            self.record_notification(
                at,
                share,
                ShareNotificationKind::Ended(ShareEnding::Exhausted),
                None,
            );
        }
        Ok(ShareOutcome::Taken { left, exhausted })
    }

    /// A download that began with a part continues with the whole file, once.
    fn begin_whole(&mut self, at: Millis, id: ShareId, client: ClientKey) -> ShareApplyResult {
        let former = self.live_at(id, at)?;
        let Some(downloads) = former.downloads() else {
            return Ok(AlreadySo);
        };
        let left = downloads.left();
        let mut counts = downloads.counts.clone();
        let is_its = |taker: &&mut DownloadClient| taker.client == client && taker.in_part;
        let taker = counts.takers.iter_mut().find(is_its).ok_or(ShareRefusal::Exhausted)?;
        taker.in_part = false;
        let mut share = former.to_change();
        share.change_cold_fields(|cold| cold.counts = counts);
        self.insert(share, Some(&former));
        Ok(ShareOutcome::Taken { left, exhausted: None })
    }

    /// Records a request for bytes, unless the same request was recorded a moment ago.
    fn once(
        &mut self,
        at: Millis,
        request: RequestId,
        then: impl FnOnce(&mut Self) -> ShareApplyResult,
    ) -> ShareApplyResult {
        if let Some(left) = self.taken_before(request) {
            return Ok(ShareOutcome::Taken { left, exhausted: None });
        }
        let taken = then(self)?;
        if let ShareOutcome::Taken { left, .. } = taken {
            self.download_cache.insert(CountedDownload { at, request, left });
        }
        Ok(taken)
    }

    fn notice(&mut self, at: Millis, ids: &[ShareId], until: Millis) -> ShareOutcome {
        let first = self.next_notification();
        for id in ids {
            let Ok(former) = self.live_at(*id, at) else { continue };
            let soon = former.deadline().instant().is_some_and(|deadline| deadline <= until);
            if !soon || former.is_noticed() || former.exhausted().is_some() {
                continue;
            }
            let mut share = former.to_change();
            share.noticed = true;
            let share = self.insert(share, Some(&former));
            self.record_notification(at, share, ShareNotificationKind::Notice, None);
        }
        ShareOutcome::Noticed { first, next: self.next_notification() }
    }

    fn pause(&mut self, by: Option<&String>) -> ShareOutcome {
        if self.paused.is_some() == by.is_some() {
            return AlreadySo;
        }
        self.paused = by.cloned();
        Applied
    }

    fn forget(&mut self, tombstones: u64, notifications: u64, hooks: &[String]) -> ShareOutcome {
        let going = tombstones.saturating_sub(self.first_tombstone_number());
        let stay = self.tombstone_index.first().saturating_add(going);
        for (_, tombstone) in
            self.tombstone_index.oldest_first().take_while(|(number, _)| *number < stay)
        {
            self.shards.forget(tombstone.id);
        }
        self.tombstone_index.forget_before(stay);
        self.notification_log.forget_before(notifications);
        self.cursors.retain(|hook, _| !hooks.contains(hook));
        Applied
    }

    fn deliver(&mut self, hook: &str, up_to: u64) -> ShareOutcome {
        let up_to = up_to.min(self.next_notification());
        match self.cursors.get_mut(hook) {
            Some(cursor) if *cursor >= up_to => AlreadySo,
            Some(cursor) => {
                *cursor = up_to;
                Applied
            }
            None => {
                self.cursors.insert(hook.to_owned(), up_to);
                Applied
            }
        }
    }
}

impl Tombstone {
    fn of(share: &Share, ended: Millis, why: ShareEnding, number: u64, cut: bool) -> Self {
        Tombstone { ended, why, deadline: share.deadline(), number, cut }
    }
}

impl Share {
    /// Whether these terms are allowed: a new limit must be higher than the number of counted downloads.
    pub(in crate::share_expiry) fn allows(&self, terms: &[ShareTerm]) -> Result<(), ShareRefusal> {
        let taken = self.downloads().map_or(0, |downloads| downloads.taken());
        for term in terms {
            if let ShareTerm::MaxDownloads(Some(most)) = term
                && most.get() <= taken
            {
                return Err(ShareRefusal::FewerThanTaken { taken, most: most.get() });
            }
        }
        Ok(())
    }

    /// The share with other terms.
    pub(in crate::share_expiry) fn changed(&self, changes: &ShareChanges) -> Share {
        let mut share = self.to_change();
        share.generation += 1;
        if let Some(new) = changes.deadline.filter(|new| new.deadline != self.deadline) {
            share.deadline = new.deadline;
            share.noticed = new.noticed;
        }
        if let Some(new) = &changes.owner {
            share.owner = new.owner.clone();
        }
        share.change_cold_fields(|cold| {
            changes.terms.iter().for_each(|term| cold.terms.set(term.clone()));
            if cold.terms.max_downloads.is_none() {
                cold.counts = DownloadCounts::default();
            }
        });
        share
    }
}
