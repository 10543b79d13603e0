//! The effect of each event on the piece, on both sides of each boundary.

use std::num::NonZeroU32;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::Piece;

use super::event::*;
use super::table::shards::ShareLookup;
use super::table::share::ClientKey;
use super::table::share_table::ShareTable;
use super::values::id::ShareId;
use super::values::root_id::RootId;
use super::values::share_terms::{ShareTerm, ShareTerms};
use super::values::value_types::{Deadline, ShareEnding, ShareOwner, Tombstone};
use crate::share_expiry::samples::{new_share, root};
use crate::share_expiry::state::notification::ShareNotificationKind;
use crate::share_expiry::state::table::totals::Totals;

fn created(ids: impl IntoIterator<Item = u128>) -> ShareTable {
    let mut table = ShareTable::default();
    for id in ids {
        let new = new_share(id, &format!("d/{id}"), 100);
        table.apply(Millis(0), &ShareEvent::Created(Box::new(new))).unwrap();
    }
    table
}

fn limited(most: u32) -> ShareTable {
    let mut table = ShareTable::default();
    let terms = ShareTerms { max_downloads: NonZeroU32::new(most), ..ShareTerms::default() };
    let new = NewShare { terms, ..new_share(1, "a", 100) };
    table.apply(Millis(0), &ShareEvent::Created(Box::new(new))).unwrap();
    table
}

fn reclaim(table: &mut ShareTable, at: i64, ids: &[u128]) -> u64 {
    let ids = ids.iter().copied().map(ShareId).collect();
    match table.apply(Millis(at), &ShareEvent::Reclaimed { ids }) {
        Ok(ShareOutcome::Ended { ended, .. }) => ended,
        other => panic!("{other:?}"),
    }
}

fn revoked(ids: &[u128], cut: bool) -> ShareEvent {
    let ids = ids.iter().copied().map(ShareId).collect();
    ShareEvent::Ended { ids, why: ShareEnding::Revoked, cut, by: "me".to_owned() }
}

fn taken(client: u64, at: i64) -> ShareEvent {
    ShareEvent::Taken {
        id: ShareId(1),
        client: ClientKey(client),
        resume_until: Millis(at + 20),
        forget_before: Millis(at - 20),
        request: RequestId::random(),
    }
}

fn changed(generation: u32, changes: ShareChanges) -> ShareEvent {
    ShareEvent::Changed { id: ShareId(1), generation, changes: Box::new(changes) }
}

fn deadline(at: i64) -> ShareChanges {
    let deadline = Deadline::at(Millis(at));
    ShareChanges {
        deadline: Some(NewDeadline { deadline, noticed: false }),
        ..ShareChanges::default()
    }
}

fn tombstone(table: &ShareTable, id: u128) -> Tombstone {
    match table.find(ShareId(id)) {
        ShareLookup::Ended(tombstone) => tombstone,
        other => panic!("{other:?}"),
    }
}

fn notifications(table: &ShareTable) -> Vec<(u128, ShareNotificationKind)> {
    table
        .notifications(0, 1000)
        .notifications
        .iter()
        .map(|notifications| (notifications.id.0, notifications.what))
        .collect()
}

#[test]
fn only_due_shares_are_reclaimed_and_only_once() {
    let mut table = created([1, 2]);
    assert_eq!(reclaim(&mut table, 99, &[1, 2, 3]), 0);
    assert_eq!(reclaim(&mut table, 100, &[1, 2, 3]), 2);
    assert_eq!(reclaim(&mut table, 100, &[1, 2, 3]), 0);
    assert_eq!(table.totals(), Totals { created: 2, expired: 2, ..Totals::default() });
    assert_eq!(notifications(&table).len(), 2);
    let expected = Tombstone {
        ended: Millis(100),
        why: ShareEnding::Expired,
        deadline: Deadline::at(Millis(100)),
        number: 1,
        cut: false,
    };
    assert_eq!(tombstone(&table, 2), expected);
}

#[test]
fn an_id_is_not_given_again_while_anything_is_known_of_it() {
    let mut table = created([1]);
    let again = ShareEvent::Created(Box::new(new_share(1, "b", 500)));
    assert_eq!(table.apply(Millis(0), &again), Err(ShareRefusal::IdInUse));
    reclaim(&mut table, 100, &[1]);
    assert_eq!(table.apply(Millis(0), &again), Err(ShareRefusal::IdInUse));
}

#[test]
fn shares_are_limited_in_total_and_per_owner() {
    let mut table = ShareTable::default();
    let mut create = |id: u128, owner: Option<&str>| {
        let owner = owner.map(|owner| ShareOwner::new(owner).unwrap());
        let room = ShareLimits { shares: 4, of_owner: 2 };
        let new = NewShare { owner, room, ..new_share(id, "a", 100) };
        table.apply(Millis(0), &ShareEvent::Created(Box::new(new))).map(drop)
    };
    assert!(create(1, Some("me")).is_ok() && create(2, Some("me")).is_ok());
    assert_eq!(create(3, Some("me")), Err(ShareRefusal::OwnerFull { most: 2 }));
    assert!(create(4, Some("you")).is_ok() && create(5, None).is_ok());
    assert_eq!(create(6, None), Err(ShareRefusal::Full { most: 4 }));
    table.apply(Millis(0), &revoked(&[1], false)).unwrap();
    assert_eq!(table.of_owner(&ShareOwner::new("me").unwrap()), 1);
}

#[test]
fn a_change_holds_only_at_the_generation_it_was_decided_on() {
    let mut table = created([1]);
    assert!(table.apply(Millis(0), &changed(0, deadline(200))).is_ok());
    let late = table.apply(Millis(0), &changed(0, deadline(300)));
    assert_eq!(late, Err(ShareRefusal::ChangedMeanwhile));
    assert_eq!(reclaim(&mut table, 199, &[1]), 0);
    let due = Deadline::at(Millis(300));
    let outcome = table.apply(Millis(199), &changed(1, deadline(300)));
    assert_eq!(outcome, Ok(ShareOutcome::Changed { generation: 2, due }));
    assert_eq!(table.due_from(crate::share_expiry::ShareDueKey::from(Millis(0))).count(), 1);
}

#[test]
fn an_ended_share_never_comes_back() {
    let mut table = created([1, 2]);
    // Due, but not reclaimed yet.
    let expired = Err(ShareRefusal::Ended { why: ShareEnding::Expired });
    assert_eq!(table.apply(Millis(100), &changed(0, deadline(200))), expired);
    table.apply(Millis(50), &revoked(&[1], false)).unwrap();
    let why = ShareEnding::Revoked;
    let refused = table.apply(Millis(60), &changed(0, deadline(200)));
    assert_eq!(refused, Err(ShareRefusal::Ended { why }));
    // The clock may have been set back: an ended share stays ended.
    assert_eq!(
        table.apply(Millis(-99), &changed(0, deadline(200))),
        Err(ShareRefusal::Ended { why })
    );
}

#[test]
fn a_share_that_expired_before_its_revocation_counts_as_expired() {
    let mut table = created([1, 2]);
    let outcome = table.apply(Millis(100), &revoked(&[1, 2, 3], true));
    assert_eq!(outcome, Ok(ShareOutcome::Ended { ended: 0, first: 0, next: 2 }));
    assert_eq!(table.totals(), Totals { created: 2, expired: 2, ..Totals::default() });
    // Its downloads are cut although it has ended.
    assert!(tombstone(&table, 1).cut);
}

#[test]
fn a_hard_revoke_cuts_downloads_of_softly_revoked_shares() {
    let mut table = created([1]);
    table.apply(Millis(1), &revoked(&[1], false)).unwrap();
    assert!(!tombstone(&table, 1).cut);
    table.apply(Millis(2), &revoked(&[1], true)).unwrap();
    assert!(tombstone(&table, 1).cut);
    assert_eq!((tombstone(&table, 1).ended, notifications(&table).len()), (Millis(1), 1));
    assert_eq!(table.notifications(0, 9).notifications[0].by.as_deref(), Some("me"));
}

#[test]
fn exactly_as_many_downloads_are_counted_as_are_allowed() {
    let mut table = limited(2);
    let left = |left, exhausted| Ok(ShareOutcome::Taken { left, exhausted });
    assert_eq!(table.apply(Millis(1), &taken(1, 1)), left(1, None));
    assert_eq!(table.apply(Millis(2), &taken(2, 2)), left(0, Some(0)));
    assert_eq!(table.apply(Millis(3), &taken(3, 3)), Err(ShareRefusal::Exhausted));
    assert_eq!(table.apply(Millis(3), &changed(0, deadline(9))), Err(ShareRefusal::Exhausted));
    assert_eq!(notifications(&table), [(1, ShareNotificationKind::Ended(ShareEnding::Exhausted))]);
    // It may be resumed until the 22nd millisecond, and ends then; the notification was sent before.
    assert_eq!(reclaim(&mut table, 21, &[1]), 0);
    assert_eq!(reclaim(&mut table, 22, &[1]), 1);
    assert_eq!((notifications(&table).len(), tombstone(&table, 1).number), (1, 0));
    assert_eq!(table.totals(), Totals { created: 1, exhausted: 1, ..Totals::default() });
}

#[test]
fn an_exhausted_share_ends_with_its_resume_window() {
    let mut table = limited(1);
    table.apply(Millis(2), &taken(1, 2)).unwrap();
    assert_eq!(reclaim(&mut table, 21, &[1]), 0);
    assert_eq!(reclaim(&mut table, 50, &[1]), 1);
    assert_eq!(tombstone(&table, 1).refused_since(), Millis(22));
}

#[test]
fn the_last_ten_thousand_clients_of_a_share_may_resume() {
    let mut table = limited(20_000);
    for client in 0..10_002 {
        table.apply(Millis(1), &taken(client, 1)).unwrap();
    }
    let ShareLookup::Live(share) = table.find(ShareId(1)) else { panic!("it is there") };
    let by = |client| share.downloads().unwrap().taken_by(ClientKey(client));
    assert_eq!((by(1), by(2), by(10_001)), (None, Some(Millis(1)), Some(Millis(1))));
}

#[test]
fn a_limit_may_be_raised_and_lowered_to_more_than_was_taken() {
    let mut table = limited(3);
    table.apply(Millis(1), &taken(1, 1)).unwrap();
    let limit = |most| ShareChanges {
        terms: vec![ShareTerm::MaxDownloads(NonZeroU32::new(most))],
        ..ShareChanges::default()
    };
    let fewer = table.apply(Millis(1), &changed(0, limit(1)));
    assert_eq!(fewer, Err(ShareRefusal::FewerThanTaken { taken: 1, most: 1 }));
    table.apply(Millis(1), &changed(0, limit(2))).unwrap();
    let outcome = table.apply(Millis(2), &taken(2, 2));
    assert_eq!(outcome, Ok(ShareOutcome::Taken { left: 0, exhausted: Some(0) }));
    let mut table = limited(1);
    table.apply(Millis(1), &changed(0, limit(0))).unwrap();
    assert_eq!(table.apply(Millis(2), &taken(2, 2)), Ok(ShareOutcome::AlreadySo));
}

#[test]
fn clients_of_old_downloads_are_forgotten() {
    let mut table = limited(9);
    for (client, at) in [(1, 0), (2, 10), (1, 15), (3, 30)] {
        table.apply(Millis(at), &taken(client, at)).unwrap();
    }
    let ShareLookup::Live(share) = table.find(ShareId(1)) else { panic!("it is there") };
    let by = |client| share.downloads().unwrap().taken_by(ClientKey(client));
    assert_eq!((by(1), by(2), by(3)), (Some(Millis(15)), Some(Millis(10)), Some(Millis(30))));
    table.apply(Millis(31), &taken(4, 31)).unwrap();
    let ShareLookup::Live(share) = table.find(ShareId(1)) else { panic!("it is there") };
    assert_eq!(share.downloads().unwrap().taken_by(ClientKey(2)), None);
}

#[test]
fn an_end_is_noticed_once_for_each_deadline() {
    let mut table = created([1, 2]);
    let notice = |until| ShareEvent::Noticed {
        ids: vec![ShareId(1), ShareId(2), ShareId(3)],
        until: Millis(until),
    };
    let mut apply = |event: &ShareEvent| {
        table.apply(Millis(1), event).unwrap();
        notifications(&table).len()
    };
    assert_eq!(apply(&notice(99)), 0);
    assert_eq!(apply(&notice(100)), 2);
    assert_eq!(apply(&notice(100)), 2);
    // The same deadline once more is no new one.
    assert_eq!(apply(&changed(0, deadline(100))), 2);
    assert_eq!(apply(&notice(100)), 2);
    assert_eq!(apply(&changed(1, deadline(150))), 2);
    assert_eq!(apply(&notice(150)), 3);
}

#[test]
fn tombstones_go_with_the_oldest_first_and_take_their_ids_along() {
    let mut table = created([1, 2, 3]);
    reclaim(&mut table, 100, &[2, 1, 3]);
    let forgot = |tombstones_before| ShareEvent::Forgot {
        tombstones_before,
        notifications_before: 0,
        hooks: Vec::new(),
    };
    table.apply(Millis(1), &forgot(2)).unwrap();
    assert_eq!(table.find(ShareId(1)), ShareLookup::Unknown);
    assert_eq!(table.find(ShareId(2)), ShareLookup::Unknown);
    assert_eq!((table.first_tombstone_number(), tombstone(&table, 3).number), (2, 2));
    table.apply(Millis(1), &forgot(99)).unwrap();
    assert_eq!((table.first_tombstone_number(), table.tombstone_index().len()), (3, 0));
}

#[test]
fn a_hook_cursor_moves_forward_and_never_beyond_the_last_notification() {
    let mut table = created([1, 2]);
    reclaim(&mut table, 100, &[1, 2]);
    let mut deliver = |up_to| {
        let event = ShareEvent::Delivered { hook: "hook".to_owned(), up_to };
        table.apply(Millis(1), &event).unwrap();
        table.cursors()["hook"]
    };
    assert_eq!([deliver(1), deliver(0), deliver(99)], [1, 1, 2]);
    let hooks = vec!["hook".to_owned()];
    let event = ShareEvent::Forgot { tombstones_before: 0, notifications_before: 1, hooks };
    table.apply(Millis(1), &event).unwrap();
    assert!(table.cursors().is_empty());
    let notifications = table.notifications(0, 9);
    assert_eq!(
        (
            notifications.notifications[0].number,
            notifications.notifications.len(),
            notifications.next
        ),
        (1, 1, 2)
    );
}

#[test]
fn reclaim_is_paused_and_resumed_once() {
    let mut table = created([1]);
    let (paused, resumed) =
        (ShareEvent::Paused { by: "me".to_owned() }, ShareEvent::Resumed { by: "me".to_owned() });
    let mut apply = |event| (table.apply(Millis(1), event).unwrap(), table.paused().is_some());
    assert_eq!(apply(&resumed), (ShareOutcome::AlreadySo, false));
    assert_eq!(apply(&paused), (ShareOutcome::Applied, true));
    assert_eq!(apply(&paused), (ShareOutcome::AlreadySo, true));
    assert_eq!(apply(&resumed), (ShareOutcome::Applied, false));
}

#[test]
fn a_repeated_request_takes_one_download() {
    let mut table = limited(3);
    let first = taken(1, 5);
    let counted = Ok(ShareOutcome::Taken { left: 2, exhausted: None });
    assert_eq!(table.apply(Millis(5), &first), counted);
    assert_eq!(table.apply(Millis(6), &first), counted);
    let ShareLookup::Live(share) = table.find(ShareId(1)) else { panic!("it is there") };
    assert_eq!(share.downloads().unwrap().taken(), 1);
    let another = Ok(ShareOutcome::Taken { left: 1, exhausted: None });
    assert_eq!(table.apply(Millis(7), &taken(1, 7)), another);
}

#[test]
fn the_first_id_of_a_root_stays_until_it_is_forgotten() {
    let (mut table, films) = (ShareTable::default(), root());
    let record = |id: Option<u128>| ShareEvent::RootRecorded { root: root(), id: id.map(RootId) };
    assert_eq!(table.apply(Millis(1), &record(None)), Ok(ShareOutcome::AlreadySo));
    assert_eq!(table.apply(Millis(1), &record(Some(5))), Ok(ShareOutcome::Applied));
    assert_eq!(table.apply(Millis(2), &record(Some(6))), Ok(ShareOutcome::AlreadySo));
    assert_eq!(table.root_ids().get(&films), Some(&RootId(5)));
    assert_eq!(table.apply(Millis(3), &record(None)), Ok(ShareOutcome::Applied));
    assert!(table.root_ids().is_empty());
}
