//! The ShareExpiryActor over messages: a real journal, a manual clock.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use reelyard_api::{Change, ChangeEvent, ShareChange};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::change_feed::{Feed, ListenFrom};
use reelyard_core::clock::Clock;
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_shares::share_expiry::{
    AtLimit, CreateShare, DownloadAdmission, EndRemoved, FetchNotifications, GetDeliveryCursor,
    NewTerms, OnlyIf, ReclaimNow, RecordDelivery, Revoked, ShareEnding, ShareExpirySettings,
    ShareId, ShareLifetime, ShareLocation, ShareLookup, ShareNotificationKind, ShareOwner,
    SharePath, ShareRefusal, ShareTerms,
};

use crate::expiry::expiry_yard::*;

#[actix::test]
async fn a_share_is_refused_from_its_deadline_on_and_reclaimed_soon_after() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let share = yard.create(film(60)).await;
    assert_eq!(yard.views.find(share.id()), ShareLookup::Live(share.clone()));
    yard.advance(59).await;
    yard.clock.advance(Duration::from_millis(999));
    assert!(share.is_live(yard.clock.now()) && yard.is_there(share.id()));
    yard.clock.advance(Duration::from_millis(1));
    assert!(!share.is_live(yard.clock.now()));
    // By its own timer, which wakes it at least once a second.
    let tombstone = yard.ended(share.id()).await;
    assert_eq!((tombstone.why, tombstone.ended), (ShareEnding::Expired, START.after(seconds(60))));
    eventually("it is counted", || yard.views.view().counters.reclaimed == 1).await;
    let view = yard.views.view();
    assert_eq!((view.totals.created, view.totals.expired, view.shares), (1, 1, 0));
    assert_eq!((view.lags.count(), view.lags.sum), (1, Duration::ZERO));
    yard.closed().await;
}

#[actix::test]
async fn shares_survive_a_restart_and_expired_ones_end_first() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = opened(dir.path(), settings(), &clock).await;
    let request = Some(RequestId(7));
    let (short, long) =
        (yard.create(film(60)).await, yard.create(CreateShare { request, ..film(600) }).await);
    let revoked = yard.create(film(600)).await;
    assert_eq!(
        yard.revoke(&[revoked.id(), ShareId(5)], false).await,
        Revoked { ended: 1, others: 1 }
    );
    yard.closed().await;
    clock.advance(seconds(60));
    let yard = opened(dir.path(), settings(), &clock).await;
    assert_eq!(yard.ended(short.id()).await.why, ShareEnding::Expired);
    assert_eq!(yard.views.find(long.id()), ShareLookup::Live(long.clone()));
    assert_eq!(yard.ended(revoked.id()).await.why, ShareEnding::Revoked);
    // A repeated request gets its first answer.
    let again = yard.create(CreateShare { request, ..film(600) }).await;
    assert_eq!((again.id(), yard.views.view().totals.created), (long.id(), 3));
    yard.closed().await;
}

#[actix::test]
async fn a_share_ends_at_the_deadline_that_was_set_last() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let id = yard.create(film(60)).await.id();
    let term = |ttl, only_if| NewTerms {
        lifetime: Some(ShareLifetime::Ttl(seconds(ttl))),
        only_if,
        ..NewTerms::default()
    };
    yard.change(id, term(120, Some(OnlyIf::Greater))).await.unwrap();
    let fails = refused(yard.change(id, term(120, Some(OnlyIf::Greater))).await);
    assert!(matches!(fails, ShareRefusal::ConditionFails { .. }));
    yard.advance(119).await;
    assert!(yard.is_there(id));
    let never = NewTerms { lifetime: Some(ShareLifetime::Never), ..NewTerms::default() };
    assert!(matches!(refused(yard.change(id, never.clone()).await), ShareRefusal::Terms(_)));
    yard.change(id, term(5, None)).await.unwrap();
    yard.advance(4).await;
    assert!(yard.is_there(id));
    yard.advance(1).await;
    assert_eq!(yard.ended(id).await.ended, START.after(seconds(124)));
    let why = ShareEnding::Expired;
    assert_eq!(refused(yard.change(id, term(60, None)).await), ShareRefusal::Ended { why });
    let mut forever = settings();
    forever.lifetimes.allow_never = true;
    yard.expiry.send(ChangeSettings(forever)).await.unwrap();
    let id = yard.create(film(60)).await.id();
    yard.change(id, never).await.unwrap();
    yard.advance(1_000_000_000).await;
    assert!(yard.is_there(id));
    yard.closed().await;
}

#[actix::test]
async fn a_hard_revoke_aborts_running_downloads() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let (soft, hard) = (yard.create(film(60)).await.id(), yard.create(film(60)).await.id());
    yard.revoke(&[soft], false).await;
    yard.revoke(&[hard], true).await;
    assert!(!yard.views.is_cut(soft) && yard.views.is_cut(hard));
    assert_eq!(yard.revoke(&[soft], true).await, Revoked { ended: 0, others: 1 });
    assert!(yard.views.is_cut(soft));
    yard.closed().await;
}

#[actix::test]
async fn exactly_as_many_downloads_are_given_as_a_share_allows() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let unlimited = yard.create(film(60)).await.id();
    assert_eq!(yard.take(unlimited, 1, false).await, Ok(DownloadAdmission::Unlimited));
    let limited = CreateShare {
        terms: ShareTerms { max_downloads: NonZeroU32::new(3), ..ShareTerms::default() },
        ..film(100_000)
    };
    let id = yard.create(limited).await.id();
    let answers = join_all((0..20).map(|client| yard.take(id, client, client % 2 == 0))).await;
    let mut left: Vec<u32> = Vec::new();
    for answer in answers {
        match answer {
            Ok(DownloadAdmission::Counted { left: after }) => left.push(after),
            other => assert_eq!(refused(other), ShareRefusal::Exhausted),
        }
    }
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2]);
    assert_eq!(
        yard.notifications().await,
        [(0, id, ShareNotificationKind::Ended(ShareEnding::Exhausted))]
    );
    // The end is reported, but the share remains for clients that resume.
    assert!(yard.is_there(id));
    yard.advance(24 * 60 * 60).await;
    assert_eq!(yard.ended(id).await.why, ShareEnding::Exhausted);
    assert_eq!(yard.notifications().await.len(), 2, "the other one expired");
    yard.closed().await;
}

#[actix::test]
async fn the_parts_of_one_clients_download_count_once_and_may_be_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let limited = CreateShare {
        terms: ShareTerms { max_downloads: NonZeroU32::new(1), ..ShareTerms::default() },
        ..film(60)
    };
    let id = yard.create(limited).await.id();
    let answers = join_all((0..8).map(|_| yard.take(id, 7, true))).await;
    let counted =
        answers.iter().filter(|answer| **answer == Ok(DownloadAdmission::Counted { left: 0 }));
    assert_eq!(counted.count(), 1);
    let resumed = answers.iter().filter(|answer| **answer == Ok(DownloadAdmission::Resumed));
    assert_eq!(resumed.count(), 7);
    assert_eq!(yard.take(id, 7, true).await, Ok(DownloadAdmission::Resumed));
    // It began with a part. The complete download is its own, once.
    assert_eq!(yard.take(id, 7, false).await, Ok(DownloadAdmission::Counted { left: 0 }));
    assert_eq!(refused(yard.take(id, 7, false).await), ShareRefusal::Exhausted);
    assert_eq!(refused(yard.take(id, 8, true).await), ShareRefusal::Exhausted);
    yard.clock.advance(seconds(60));
    assert!(matches!(refused(yard.take(id, 7, true).await), ShareRefusal::Ended { .. }));
    yard.closed().await;
}

#[actix::test]
async fn a_paused_reclaim_lets_nothing_live_longer() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = opened(dir.path(), settings(), &clock).await;
    let share = yard.create(film(60)).await;
    assert!(yard.pause(true).await && !yard.pause(true).await);
    yard.advance(61).await;
    assert!(yard.is_there(share.id()) && !share.is_live(yard.clock.now()));
    let view = yard.views.view();
    assert_eq!((view.backlog, view.paused.as_deref()), (1, Some("a test")));
    yard.closed().await;
    let yard = opened(dir.path(), settings(), &clock).await;
    yard.advance(0).await;
    assert!(yard.is_there(share.id()), "it is paused after a restart, too");
    assert!(yard.pause(false).await);
    assert_eq!(yard.ended(share.id()).await.why, ShareEnding::Expired);
    yard.closed().await;
}

#[actix::test]
async fn at_the_limit_the_least_recently_used_goes() {
    let dir = tempfile::tempdir().unwrap();
    let limits = ShareExpirySettings {
        max_shares: 3,
        at_limit: AtLimit::LeastRecentlyUsed,
        max_per_owner: 2,
        ..settings()
    };
    let yard = opened(dir.path(), limits.clone(), &Clock::manual(START)).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(yard.create(film(600)).await);
        yard.clock.advance(seconds(1));
    }
    yard.views.record_use(&ids[0], yard.clock.now());
    let fourth = yard.create(film(600)).await;
    assert_eq!(yard.ended(ids[1].id()).await.why, ShareEnding::Evicted);
    assert!(yard.is_there(ids[0].id()) && yard.is_there(ids[2].id()));
    // As many requests at a time as there are shares: two of them must not evict the same share.
    for _ in 0..7 {
        let many = join_all((0..3).map(|_| yard.expiry.send(film(600)))).await;
        assert!(many.into_iter().all(|created| created.unwrap().is_ok()));
    }
    let totals = yard.views.view().totals;
    assert_eq!((totals.created, totals.evicted, yard.views.view().shares), (25, 22, 3));
    assert!(!yard.is_there(fourth.id()));
    let refuse = ShareExpirySettings { at_limit: AtLimit::Refuse, ..limits.clone() };
    yard.expiry.send(ChangeSettings(refuse)).await.unwrap();
    let full = refused(yard.expiry.send(film(60)).await.unwrap());
    assert_eq!(full, ShareRefusal::Full { most: 3 });
    yard.expiry
        .send(ChangeSettings(ShareExpirySettings { max_shares: 0, ..limits }))
        .await
        .unwrap();
    let owner = Some(ShareOwner::new("me").unwrap());
    let owned = (0..5).map(|_| yard.expiry.send(CreateShare { owner: owner.clone(), ..film(60) }));
    let created =
        join_all(owned).await.into_iter().filter(|answer| answer.as_ref().unwrap().is_ok());
    assert_eq!(created.count(), 2);
    yard.closed().await;
}

#[actix::test]
async fn any_number_of_shares_of_missing_files_end() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let kept = yard.create(film(100_000)).await;
    // One of them is due and was reported already: it ends among the first without a notification.
    let limited = CreateShare {
        terms: ShareTerms { max_downloads: NonZeroU32::new(1), ..ShareTerms::default() },
        ..film(100_000)
    };
    let taken = yard.create(limited).await;
    yard.pause(true).await;
    assert_eq!(yard.take(taken.id(), 7, false).await, Ok(DownloadAdmission::Counted { left: 0 }));
    yard.clock.advance(seconds(24 * 60 * 60));
    // More shares than one event ends.
    let others = futures::stream::iter(0..2000).map(|_| yard.create(film(60)));
    let mut others: Vec<_> = others.buffer_unordered(100).collect().await;
    others.insert(0, taken.clone());
    let ids: Vec<_> = others.iter().map(|share| share.id()).collect();
    let place = ShareLocation { root: taken.root().clone(), path: taken.path().clone() };
    let removed = |path| {
        let place = ShareLocation { path, ..place.clone() };
        let gone = ids.iter().map(|id| (*id, place.clone())).collect();
        EndRemoved { gone, asked_by: "a test".to_owned() }
    };
    // A path that has moved since the search is not missing.
    let elsewhere = SharePath::new("elsewhere").unwrap();
    assert_eq!(yard.expiry.send(removed(elsewhere)).await.unwrap(), Ok(0));
    let here = || removed(taken.path().clone());
    assert_eq!(yard.expiry.send(here()).await.unwrap(), Ok(2000));
    assert_eq!(yard.expiry.send(here()).await.unwrap(), Ok(0));
    assert_eq!(yard.ended(taken.id()).await.why, ShareEnding::Exhausted);
    assert_eq!(yard.ended(ids[2000]).await.why, ShareEnding::Removed);
    assert!(yard.is_there(kept.id()));
    let no_roots = ShareExpirySettings { roots: BTreeSet::new(), ..settings() };
    yard.expiry.send(ChangeSettings(no_roots)).await.unwrap();
    assert_eq!(yard.ended(kept.id()).await.why, ShareEnding::RootGone);
    assert_eq!(
        refused(yard.expiry.send(film(60)).await.unwrap()),
        ShareRefusal::NoRoot { root: root() }
    );
    yard.closed().await;
}

#[actix::test]
async fn a_webhook_gets_everything_after_its_cursor_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let hook = "billing".to_owned();
    let hooked = ShareExpirySettings {
        hooks: BTreeSet::from([hook.clone()]),
        notice_before: Some(seconds(10)),
        keep_notifications: 0,
        ..settings()
    };
    let yard = opened(dir.path(), hooked.clone(), &clock).await;
    let mut next = yard.views.notifications();
    let id = yard.create(film(60)).await.id();
    let short = yard.create(film(10)).await.id();
    yard.advance(49).await;
    assert_eq!(yard.ended(short).await.why, ShareEnding::Expired);
    yard.advance(1).await;
    next.wait_for(|next| *next == 2).await.unwrap();
    yard.advance(9).await;
    yard.advance(1).await;
    yard.ended(id).await;
    let notifications = || async {
        let from =
            yard.expiry.send(GetDeliveryCursor { hook: hook.clone() }).await.unwrap().unwrap();
        let notifications = yard.expiry.send(FetchNotifications { from, most: 9 }).await.unwrap();
        notifications
            .notifications
            .iter()
            .map(|notifications| (notifications.number, notifications.id, notifications.what))
            .collect::<Vec<_>>()
    };
    let expired = ShareNotificationKind::Ended(ShareEnding::Expired);
    assert_eq!(
        notifications().await,
        [(0, short, expired), (1, id, ShareNotificationKind::Notice), (2, id, expired)]
    );
    let delivered = RecordDelivery { hook: hook.clone(), up_to: 2 };
    yard.expiry.send(delivered).await.unwrap().unwrap();
    yard.closed().await;
    let yard = opened(dir.path(), hooked, &clock).await;
    let from = yard.expiry.send(GetDeliveryCursor { hook: hook.clone() }).await.unwrap().unwrap();
    let notifications = yard.expiry.send(FetchNotifications { from, most: 9 }).await.unwrap();
    assert_eq!(
        notifications
            .notifications
            .iter()
            .map(|notifications| notifications.number)
            .collect::<Vec<_>>(),
        [2]
    );
    yard.expiry.send(RecordDelivery { hook, up_to: notifications.next }).await.unwrap().unwrap();
    yard.advance(0).await;
    eventually("delivered events are deleted", || yard.views.view().notifications == 0).await;
    yard.closed().await;
}

#[actix::test]
async fn a_clock_change_is_noticed_and_revives_no_share() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let (near, far) = (yard.create(film(60)).await, yard.create(film(7200)).await);
    yard.clock.step_by(3_600_000);
    yard.expiry.send(ReclaimNow).await.unwrap().unwrap();
    assert_eq!(yard.ended(near.id()).await.why, ShareEnding::Expired);
    yard.clock.step_by(-3_600_000);
    yard.expiry.send(ReclaimNow).await.unwrap().unwrap();
    let counters = yard.views.view().counters;
    assert_eq!((counters.steps_forward, counters.steps_back), (1, 1));
    assert_eq!(yard.ended(near.id()).await.why, ShareEnding::Expired, "it stays ended");
    // The time of shares stays an hour ahead, and runs 1 % slower until the wall clock has caught up.
    yard.advance(3636).await;
    assert!(yard.is_there(far.id()));
    yard.advance(1).await;
    yard.ended(far.id()).await;
    assert_eq!(yard.views.view().counters.steps_forward, 1, "time that passed is no jump");
    yard.closed().await;
}

#[actix::test]
async fn thousands_of_due_shares_all_end_and_the_most_overdue_first() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let created: Vec<_> = futures::stream::iter(0..6000)
        .map(|n| yard.create(film(60 + n % 3)))
        .buffer_unordered(100)
        .collect()
        .await;
    yard.advance(100).await;
    eventually("all are reclaimed", || yard.views.view().counters.reclaimed == 6000).await;
    let (mut from, mut deadlines) = (0, Vec::new());
    while from < 6000 {
        let notifications =
            yard.expiry.send(FetchNotifications { from, most: 1000 }).await.unwrap();
        deadlines
            .extend(notifications.notifications.iter().map(|notifications| notifications.deadline));
        from = notifications.next;
    }
    assert!(deadlines.is_sorted() && deadlines.len() == created.len());
    yard.closed().await;
}

#[actix::test]
async fn changes_are_reported_immediately() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let journal = JournalOptions::alone(dir.path(), 1);
    let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
    let feed: Feed<ChangeEvent> = Feed::new(&clock);
    let mut listener = feed.listen(ListenFrom::Now).unwrap();
    let yard = opened_on(journal, settings(), &clock, Some(feed.publisher())).await;
    let id = yard.create(film(60)).await.id();
    // Every event is reported, at any setting of the clock.
    clock.step_by(-7_200_000);
    yard.pause(true).await;
    yard.revoke(&[id], false).await;
    let mut notifications = Vec::new();
    while notifications.len() < 3 {
        for item in listener.next(9).await {
            match &item.event.change().unwrap().change {
                Change::Share(ShareChange::Created { share }) if share.id == id => {
                    notifications.push("created")
                }
                Change::Share(ShareChange::Reclaim { paused: true, .. }) => {
                    notifications.push("paused")
                }
                Change::Share(ShareChange::Ended {
                    why: ShareEnding::Revoked, number: 0, ..
                }) => {
                    notifications.push("revoked");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(notifications, ["created", "paused", "revoked"]);
    yard.closed().await;
}
