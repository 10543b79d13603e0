//! Requests that are repeated before their answer, and decisions meanwhile: the ShareExpiryActor over
//! messages.

use std::num::NonZeroU32;
use std::time::Duration;

use futures::future::join_all;
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_shares::share_expiry::{
    AtLimit, BeginMove, BegunMove, ChangeShare, CreateShare, EndRemoved, MoveEnd, MoveRefused,
    NewMove, NewTerms, OnlyIf, SettleMove, ShareEnding, ShareExpirySettings, ShareLifetime,
    ShareLocation, ShareLookup, ShareOwner, ShareRefusal, ShareTerm, ShareTerms,
    SharedFileIdentity,
};

use crate::expiry::expiry_yard::*;

fn ann() -> Option<ShareOwner> {
    Some(ShareOwner::new("ann").unwrap())
}

#[actix::test]
async fn a_creation_repeated_before_its_answer_does_not_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ShareExpirySettings { max_per_owner: 1, max_shares: 2, ..settings() };
    let yard = opened(dir.path(), settings, &Clock::manual(START)).await;
    let wanted =
        CreateShare { owner: ann(), request: Some(RequestId::of("once", b"a share")), ..film(60) };
    let answers = join_all((0..5).map(|_| yard.expiry.send(wanted.clone()))).await;
    let shares: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().unwrap()).collect();
    assert!(shares.iter().all(|share| share.id() == shares[0].id()));
    assert_eq!(yard.views.view().totals.created, 1);
    let other = CreateShare { request: Some(RequestId::of("once", b"another")), ..wanted };
    let refused = refused(yard.expiry.send(other).await.unwrap());
    assert_eq!(refused, ShareRefusal::OtherRequest);
    yard.closed().await;
}

#[actix::test]
async fn a_repetition_uses_no_other_clients_quota() {
    let dir = tempfile::tempdir().unwrap();
    let settings =
        ShareExpirySettings { max_shares: 3, at_limit: AtLimit::LeastRecentlyUsed, ..settings() };
    let yard = opened(dir.path(), settings, &Clock::manual(START)).await;
    for _ in 0..3 {
        yard.create(film(60)).await;
        yard.clock.advance(Duration::from_millis(1));
    }
    let repeated = CreateShare { request: Some(RequestId::of("once", b"a share")), ..film(60) };
    let wanted = [repeated.clone(), film(60), repeated.clone(), film(60), repeated];
    let answers = join_all(wanted.map(|wanted| yard.expiry.send(wanted))).await;
    for answer in answers {
        answer.unwrap().unwrap();
    }
    let view = yard.views.view();
    assert_eq!((view.shares, view.totals.created, view.totals.evicted), (3, 6, 3));
    yard.closed().await;
}

#[actix::test]
async fn a_change_repeated_before_its_answer_meets_its_own_condition() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let id = yard.create(film(60)).await.id();
    let change = NewTerms {
        lifetime: Some(ShareLifetime::Ttl(seconds(90))),
        only_if: Some(OnlyIf::Greater),
        ..NewTerms::default()
    };
    let request = RequestId::of("once", b"longer");
    let asked = ChangeShare { id, change, asked_by: "a test".to_owned(), request };
    let answers = join_all((0..3).map(|_| yard.expiry.send(asked.clone()))).await;
    for answer in answers {
        let share = answer.unwrap().unwrap();
        assert_eq!(share.deadline().instant(), Some(START.after(seconds(90))));
        assert_eq!(share.generation(), 1);
    }
    yard.closed().await;
}

#[actix::test]
async fn a_path_that_may_have_moved_since_its_check_is_checked_again() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let looked = yard.views.moves_begun(&root(), &path("d/film.mkv"));
    assert_eq!(looked, Some(0));
    yard.create(CreateShare { looked, ..film(60) }).await;
    let stale = CreateShare { looked: Some(7), ..film(60) };
    let answer = yard.expiry.send(stale).await.unwrap();
    assert_eq!(refused(answer), ShareRefusal::BeingMoved);
    yard.closed().await;
}

#[actix::test]
async fn a_full_owner_gets_another_share_only_once_one_has_expired() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ShareExpirySettings { max_per_owner: 2, ..settings() };
    let yard = opened(dir.path(), settings, &Clock::manual(START)).await;
    yard.pause(true).await;
    let short = yard.create(CreateShare { owner: ann(), ..film(60) }).await;
    yard.create(CreateShare { owner: ann(), ..film(600) }).await;
    let id = yard.create(film(600)).await.id();
    let to_ann = NewTerms { owner: Some(ann()), ..NewTerms::default() };
    let full = ShareRefusal::OwnerFull { most: 2 };
    assert_eq!(refused(yard.change(id, to_ann.clone()).await), full);
    yard.clock.advance(Duration::from_millis(59_999));
    assert_eq!(refused(yard.change(id, to_ann.clone()).await), full);
    yard.clock.advance(Duration::from_millis(1));
    assert_eq!(yard.change(id, to_ann).await.unwrap().owner(), ann().as_ref());
    assert_eq!(yard.ended(short.id()).await.why, ShareEnding::Expired);
    yard.closed().await;
}

#[actix::test]
async fn a_moving_share_does_not_end_because_its_path_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let id = yard.create(film(600)).await.id();
    let place = |path_of: &str| ShareLocation { root: root(), path: path(path_of) };
    let end = || async {
        let gone = vec![(id, place("d/film.mkv"))];
        let asked = EndRemoved { gone, asked_by: "a test".to_owned() };
        yard.expiry.send(asked).await.unwrap().unwrap()
    };
    let file = SharedFileIdentity { device: 1, inode: 2, born: None };
    let (by, request) = ("a test".to_owned(), RequestId::of("a move", b""));
    let new = NewMove { from: place("d"), to: place("e"), file, by, request };
    let BegunMove { number, .. } = yard.expiry.send(BeginMove(new)).await.unwrap().unwrap();
    assert_eq!(end().await, 0);
    assert_eq!(yard.views.moves_begun(&root(), &path("d/film.mkv")), None);
    assert_eq!(yard.views.moves_begun(&root(), &path("other")), Some(1));
    let refused = MoveEnd::NotMoved(MoveRefused::NoSource);
    let settled = yard.expiry.send(SettleMove { number, end: refused }).await.unwrap().unwrap();
    assert_eq!(settled, Err(MoveRefused::NoSource));
    assert_eq!(end().await, 1);
    yard.closed().await;
}

#[actix::test]
async fn no_limit_is_lowered_below_the_number_of_downloads() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let limited = CreateShare {
        terms: ShareTerms { max_downloads: NonZeroU32::new(3), ..ShareTerms::default() },
        ..film(600)
    };
    let id = yard.create(limited).await.id();
    for client in 0..2 {
        yard.take(id, client, false).await.unwrap();
    }
    let limit = |most: u32| NewTerms {
        terms: vec![ShareTerm::MaxDownloads(NonZeroU32::new(most))],
        ..NewTerms::default()
    };
    let fewer = ShareRefusal::FewerThanTaken { taken: 2, most: 2 };
    assert_eq!(refused(yard.change(id, limit(2)).await), fewer);
    assert_eq!(yard.change(id, limit(4)).await.unwrap().downloads().unwrap().left(), 2);
    yard.closed().await;
}

#[actix::test]
async fn downloads_of_forgotten_shares_are_aborted_too() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ShareExpirySettings { keep_tombstones: 0, ..settings() };
    let yard = opened(dir.path(), settings, &Clock::manual(START)).await;
    let id = yard.create(film(60)).await.id();
    yard.advance(60).await;
    yard.forgotten(id).await;
    assert_eq!(yard.views.find(id), ShareLookup::Unknown);
    assert!(!yard.views.is_cut(id));
    yard.revoke(&[id], true).await;
    assert!(yard.views.is_cut(id));
    yard.closed().await;
}
