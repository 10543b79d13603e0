//! The restored content of a snapshot.

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::{Piece, UnreadableEvent};

use super::event::{ShareEvent, ShareOutcome};
use super::moves::pending_move::MoveEnd;
use super::table::order::ShareDueKey;
use super::table::shards::ShareLookup;
use super::table::share::{ClientKey, Share};
use super::table::share_table::ShareTable;
use super::values::id::ShareId;
use super::values::root_id::RootId;
use super::values::value_types::{Deadline, PasswordHash, ShareEnding, ShareNote, ShareOwner};
use crate::share_expiry::samples::{new_move, new_share, path, root};

fn rows(table: &ShareTable) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    table.freeze().write(&mut |row| rows.push(row.to_vec()));
    rows
}

fn thaw(rows: &[Vec<u8>]) -> ShareTable {
    let mut thawed = ShareTable::default();
    for row in rows {
        thawed.thaw(row).unwrap();
    }
    thawed
}

/// A table with something of everything.
fn table() -> ShareTable {
    let mut table = ShareTable::default();
    let mut apply = |event: ShareEvent| table.apply(Millis(7), &event).unwrap();
    for id in 1..=200 {
        let mut new = new_share(id, &format!("d/{id}"), 100 + i64::try_from(id).unwrap());
        if id % 5 == 0 {
            new.owner = Some(ShareOwner::new("me").unwrap());
            new.terms.note = Some(ShareNote::new("a note").unwrap());
            new.terms.password = Some(PasswordHash::new("$argon2id$x").unwrap());
        }
        if id % 7 == 0 {
            new.terms.max_downloads = std::num::NonZeroU32::new(2);
        }
        if id % 11 == 0 {
            new.deadline = Deadline::NEVER;
        }
        apply(ShareEvent::Created(Box::new(new)));
    }
    for client in [1, 2] {
        apply(ShareEvent::Taken {
            id: ShareId(7),
            client: ClientKey(client),
            resume_until: Millis(99),
            forget_before: Millis(0),
            request: RequestId(client.into()),
        });
    }
    for (client, request) in [(3, 30), (4, 40)] {
        apply(ShareEvent::TakenInPart {
            id: ShareId(14),
            client: ClientKey(client),
            resume_until: Millis(99),
            forget_before: Millis(0),
            request: RequestId(request),
        });
    }
    let (id, client, request) = (ShareId(14), ClientKey(4), RequestId(41));
    apply(ShareEvent::WholeBegun { id, client, request });
    let ids: Vec<ShareId> = (101..=110).map(ShareId).collect();
    let by = "me".to_owned();
    apply(ShareEvent::Ended { ids: ids.clone(), why: ShareEnding::Revoked, cut: true, by });
    apply(ShareEvent::Noticed { ids: vec![ShareId(1), ShareId(2)], until: Millis(1000) });
    apply(ShareEvent::Forgot { tombstones_before: 3, notifications_before: 2, hooks: vec![] });
    apply(ShareEvent::Delivered { hook: "hook".to_owned(), up_to: 4 });
    apply(ShareEvent::Paused { by: "me".to_owned() });
    apply(ShareEvent::MoveBegun(Box::new(new_move("d", "e"))));
    apply(ShareEvent::RootRecorded { root: root(), id: Some(RootId(5)) });
    table
}

#[test]
fn a_table_comes_back_from_its_rows() {
    let table = table();
    let thawed = thaw(&rows(&table));
    assert_eq!(rows(&thawed), rows(&table));
    assert_eq!((thawed.len(), thawed.totals()), (190, table.totals()));
    assert_eq!(thawed.notifications(0, 100), table.notifications(0, 100));
    assert_eq!((thawed.first_tombstone_number(), thawed.tombstone_index().len()), (3, 7));
    assert!(
        thawed
            .due_from(ShareDueKey::from(Millis(0)))
            .eq(table.due_from(ShareDueKey::from(Millis(0))))
    );
    let (root, at) = (root(), path("d"));
    assert!(thawed.within(&root, &at, None).eq(table.within(&root, &at, None)));
    assert_eq!(thawed.of_owner(&ShareOwner::new("me").unwrap()), 38);
    assert_eq!((thawed.moves(), thawed.moves().len()), (table.moves(), 1));
    assert_eq!(thawed.find(ShareId(101)), ShareLookup::Unknown);
    assert_eq!(thawed.find(ShareId(104)), table.find(ShareId(104)));
    assert_eq!((thawed.next_move, thawed.paused()), (1, Some("me")));
    assert_eq!(thawed.time(), Some(Millis(7)));
    let in_part = |client| {
        let part =
            |share: &Share| share.downloads().and_then(|of| of.in_part_by(ClientKey(client)));
        thawed.look(ShareId(14), part).unwrap()
    };
    assert_eq!((in_part(3), in_part(4)), (Some(Millis(7)), None));
    assert_eq!(thawed.cursors(), table.cursors());
    assert_eq!((thawed.root_ids(), thawed.root_ids().len()), (table.root_ids(), 1));
    let taken = [1, 2, 3].map(|request| thawed.taken_before(RequestId(request)));
    assert_eq!(taken, [Some(1), Some(0), None]);
}

#[test]
fn a_table_that_came_back_goes_on_as_the_other() {
    let (mut table, mut thawed) = (table(), thaw(&rows(&table())));
    let ids = (1..=200).map(ShareId).collect();
    let event = ShareEvent::Reclaimed { ids };
    let outcome = table.apply(Millis(150), &event);
    assert!(matches!(outcome, Ok(ShareOutcome::Ended { ended: 46, .. })), "{outcome:?}");
    assert_eq!(thawed.apply(Millis(150), &event), outcome);
    assert_eq!(rows(&thawed), rows(&table));
}

#[test]
fn a_table_without_a_recorded_time_uses_its_latest_entry() {
    const TIME: u8 = 7;
    let shown = |table: &ShareTable| {
        let mut rows = rows(table);
        rows.retain(|row| row[1] != TIME);
        thaw(&rows).time()
    };
    assert_eq!(shown(&ShareTable::default()), None);
    let mut table = ShareTable::default();
    let mut new = new_share(1, "a", 100);
    new.terms.max_downloads = std::num::NonZeroU32::new(9);
    let taken = ShareEvent::Taken {
        id: ShareId(1),
        client: ClientKey(1),
        resume_until: Millis(99),
        forget_before: Millis(0),
        request: RequestId(1),
    };
    let (ids, by) = (vec![ShareId(1)], "me".to_owned());
    let revoked = ShareEvent::Ended { ids, why: ShareEnding::Revoked, cut: false, by };
    let latest = [(11, ShareEvent::Created(Box::new(new))), (12, taken), (13, revoked)];
    for (at, event) in latest {
        table.apply(Millis(at), &event).unwrap();
        assert_eq!(table.time(), Some(Millis(at)));
        assert_eq!(shown(&table), Some(Millis(at)), "{event:?}");
    }
}

#[test]
fn a_frozen_table_stays_as_it_was() {
    let mut table = table();
    let (frozen, before) = (table.freeze(), rows(&table));
    let ids = (1..=200).map(ShareId).collect();
    table.apply(Millis(150), &ShareEvent::Reclaimed { ids }).unwrap();
    table.apply(Millis(150), &ShareEvent::Resumed { by: String::new() }).unwrap();
    let end = MoveEnd::Moved;
    let settled = ShareEvent::MoveSettled { number: 0, end, most: 100 };
    table.apply(Millis(150), &settled).unwrap();
    let mut after = Vec::new();
    frozen.write(&mut |row| after.push(row.to_vec()));
    assert_eq!(after, before);
}

#[test]
fn a_row_of_another_version_is_reported() {
    let result = ShareTable::default().thaw(&[9, 0]);
    assert!(matches!(result, Err(UnreadableEvent::Version { version: 9, .. })));
}
