//! How moves change the piece, in parts of any size and with readers in between.

use reelyard_core::clock::Millis;
use reelyard_replication::Piece;

use super::pending_move::{
    MoveEnd, MoveRefused, NewMove, PendingMove, ResolvedLocation, ShareLocation,
};
use crate::share_expiry::samples::{new_move, new_share, path, root};
use crate::share_expiry::state::event::*;
use crate::share_expiry::state::table::shards::ShareLookup;
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::RootName;
use crate::share_expiry::state::values::value_types::ShareEnding;

fn table(places: &[(u128, &str)]) -> ShareTable {
    let mut table = ShareTable::default();
    for (id, at) in places {
        apply(&mut table, ShareEvent::Created(Box::new(new_share(*id, at, 100)))).unwrap();
    }
    table
}

fn apply(table: &mut ShareTable, event: ShareEvent) -> Result<ShareOutcome, ShareRefusal> {
    table.apply(Millis(1), &event)
}

fn begin(table: &mut ShareTable, new: NewMove) -> Result<u64, ShareRefusal> {
    match apply(table, ShareEvent::MoveBegun(Box::new(new)))? {
        ShareOutcome::MoveBegun { number } => Ok(number),
        other => panic!("{other:?}"),
    }
}

fn settle(table: &mut ShareTable, number: u64, end: MoveEnd, most: u64) -> ShareOutcome {
    apply(table, ShareEvent::MoveSettled { number, end, most }).unwrap()
}

/// The path of a live share; none if it has ended.
fn recorded(table: &ShareTable, id: u128) -> Option<String> {
    match table.find(ShareId(id)) {
        ShareLookup::Live(share) => Some(format!("{}/{}", share.root(), share.path())),
        _ => None,
    }
}

fn ended(table: &ShareTable, id: u128) -> Option<ShareEnding> {
    match table.find(ShareId(id)) {
        ShareLookup::Ended(tombstone) => Some(tombstone.why),
        _ => None,
    }
}

#[test]
fn shares_follow_a_move_and_shares_of_the_replaced_target_end() {
    for most in [1, 2, 3, 100] {
        let places = [(1, "d/1"), (2, "d/deep/2"), (3, "d"), (4, "e"), (5, "e/5"), (6, "dd")];
        let mut table = table(&places);
        let number = begin(&mut table, new_move("d", "e")).unwrap();
        let mut outcome = settle(&mut table, number, MoveEnd::Moved, most);
        let mut parts = 1;
        while let ShareOutcome::MoveWent { done: false, .. } = outcome {
            let [moving] = &table.moves()[..] else { panic!("it is under way") };
            let PendingMove { number, parts: part, .. } = **moving;
            // A reader finds each share at its place, or ended; no reader finds another file.
            for id in 1..=3 {
                let ShareLookup::Live(share) = table.find(ShareId(id)) else {
                    panic!("it is there")
                };
                let place = ShareLocation { root: root(), path: share.path().clone() };
                let at = match table.moves.resolve_location(share.root(), share.path()) {
                    ResolvedLocation::AsRecorded => place,
                    ResolvedLocation::At(place) => place,
                    other => panic!("{other:?}"),
                };
                assert!(at.path.is_within(&path("e")), "{at}");
            }
            for id in [4, 5] {
                if let ShareLookup::Live(share) = table.find(ShareId(id)) {
                    let result = table.moves.resolve_location(share.root(), share.path());
                    assert_eq!(result, ResolvedLocation::Gone);
                }
            }
            outcome = apply(&mut table, ShareEvent::MoveFollowed { number, part, most }).unwrap();
            // An applied part is not applied again.
            let again = apply(&mut table, ShareEvent::MoveFollowed { number, part, most });
            assert_eq!(again, Ok(ShareOutcome::AlreadySo));
            parts += 1;
        }
        let ShareOutcome::MoveWent { followed: 3, ended: 2, lost: false, .. } = outcome else {
            panic!("{outcome:?}")
        };
        assert!(parts <= 5 / most + 1, "{parts} parts of {most}");
        let at = [1, 2, 3, 6].map(|id| recorded(&table, id).unwrap());
        assert_eq!(at, ["films/e/1", "films/e/deep/2", "films/e", "films/dd"]);
        assert_eq!([4, 5].map(|id| ended(&table, id)), [Some(ShareEnding::Removed); 2]);
        assert!(table.moves().is_empty());
        assert_eq!(table.within(&root(), &path(""), None).count(), 4);
    }
}

#[test]
fn a_failed_move_changes_nothing_and_lost_files_end_their_shares() {
    let mut table = table(&[(1, "d/1"), (2, "e")]);
    let number = begin(&mut table, new_move("d", "e")).unwrap();
    let why = MoveRefused::TargetNotEmpty;
    let outcome = settle(&mut table, number, MoveEnd::NotMoved(why), 9);
    assert!(matches!(outcome, ShareOutcome::MoveWent { refused: Some(entry), .. } if entry == why));
    assert_eq!(
        (recorded(&table, 1).as_deref(), recorded(&table, 2).as_deref()),
        (Some("films/d/1"), Some("films/e"))
    );
    assert_eq!(settle(&mut table, number, MoveEnd::Moved, 9), ShareOutcome::AlreadySo);
    let number = begin(&mut table, new_move("d", "e")).unwrap();
    assert_eq!(number, 1);
    settle(&mut table, number, MoveEnd::Lost, 9);
    assert_eq!(
        (ended(&table, 1), recorded(&table, 2).is_some()),
        (Some(ShareEnding::Removed), true)
    );
    assert!(table.moves().is_empty());
}

#[test]
fn shares_follow_into_another_root() {
    let mut table = table(&[(1, "d/1"), (2, "d/2")]);
    let mut new = new_move("d", "d");
    new.to.root = RootName::new("more").unwrap();
    let number = begin(&mut table, new).unwrap();
    settle(&mut table, number, MoveEnd::Moved, 9);
    assert_eq!(recorded(&table, 2).as_deref(), Some("more/d/2"));
    assert_eq!(table.within(&root(), &path(""), None).count(), 0);
    assert_eq!(table.within(&RootName::new("more").unwrap(), &path("d"), None).count(), 2);
    assert_eq!(table.roots().collect::<Vec<_>>(), [RootName::new("more").unwrap()]);
}

#[test]
fn a_share_whose_path_would_be_too_long_to_be_opened_ends() {
    let long = "l".repeat(200);
    let mut table = table(&[(1, &format!("d/{long}")), (2, "d")]);
    let deep = vec!["m".repeat(249); 16].join("/");
    let number = begin(&mut table, new_move("d", &deep)).unwrap();
    settle(&mut table, number, MoveEnd::Moved, 9);
    assert_eq!(
        (ended(&table, 1), recorded(&table, 2)),
        (Some(ShareEnding::Removed), Some(format!("films/{deep}")))
    );
}

#[test]
fn paths_of_a_pending_move_allow_no_new_share_or_move() {
    let mut table = table(&[]);
    let number = begin(&mut table, new_move("a/d", "e/f")).unwrap();
    for at in ["a", "a/d", "a/d/x", "e", "e/f", "e/f/x", ""] {
        let result = apply(&mut table, ShareEvent::Created(Box::new(new_share(1, at, 100))));
        assert_eq!(result, Err(ShareRefusal::BeingMoved), "{at}");
    }
    for (from, to) in [("a/d", "x"), ("x", "a/d"), ("a/d/x", "x"), ("x", "e/f/x"), ("e", "x")] {
        let result = begin(&mut table, new_move(from, to));
        assert_eq!(result, Err(MoveRefused::BeingMoved.into()), "{from} {to}");
    }
    let result = begin(&mut table, new_move("x", "x/y"));
    assert_eq!(result, Err(MoveRefused::IntoItself.into()));
    assert!(begin(&mut table, new_move("a/e", "e/g")).is_ok(), "beside it");
    apply(&mut table, ShareEvent::Created(Box::new(new_share(1, "e/ff", 100)))).unwrap();
    settle(&mut table, number, MoveEnd::Moved, 9);
    apply(&mut table, ShareEvent::Created(Box::new(new_share(2, "a/d", 100)))).unwrap();
    for n in 0..31 {
        begin(&mut table, new_move(&format!("n{n}"), &format!("m{n}"))).unwrap();
    }
    assert_eq!(begin(&mut table, new_move("k", "l")), Err(MoveRefused::TooMany.into()));
}
