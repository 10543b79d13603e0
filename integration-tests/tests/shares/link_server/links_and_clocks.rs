//! Links while the wall clock is wrong, stepped or corrected: the actor with a journal, and links to its
//! shares.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::supervision::Route;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::share_links::{LinkSite, START};
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{
    ConfirmClock, CreateShare, NewTerms, ReclaimNow, ShareEnding, ShareId, ShareLifetime,
    ShareLookup, ShareRefusal,
};

use crate::expiry::expiry_yard::{
    ShareExpiryYard, film, opened, opened_keeping, path, refused, seconds, settings,
};

const HOUR_MS: i64 = 3_600_000;
const TEN_YEARS_MS: i64 = 10 * 365 * 24 * HOUR_MS;

/// A journal with its actor, and links to its shares.
struct LinkClockYard {
    yard: ShareExpiryYard,
    site: LinkSite,
}

impl LinkClockYard {
    async fn open(dir: &Path, clock: &Clock) -> Self {
        LinkClockYard::of(opened(dir, settings(), clock).await, clock)
    }

    /// The same with the time stored in a file, as on a node.
    async fn keeping_time(dir: &Path, clock: &Clock) -> Self {
        let journal = JournalOptions::alone(dir.join("journal"), 1);
        let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
        let kept = dir.join("share-clock");
        let yard = opened_keeping(journal, settings(), clock, None, Some(&kept)).await;
        LinkClockYard::of(yard, clock)
    }

    fn of(yard: ShareExpiryYard, clock: &Clock) -> Self {
        let take = Route::fixed(yard.expiry.clone().recipient());
        let site = LinkSite::start(yard.views.clone(), take, clock.clone(), |_| {});
        site.write("a", b"film");
        LinkClockYard { yard, site }
    }

    async fn share(&self, ttl: u64) -> ShareId {
        self.yard.create(CreateShare { path: path("a"), ..film(ttl) }).await.id()
    }

    async fn shares(&self, count: u64, ttl: u64) -> Vec<ShareId> {
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(self.share(ttl).await);
        }
        ids
    }

    async fn status(&self, id: ShareId) -> u16 {
        self.site.get(id, "/file", &[]).await.status
    }

    /// The number of these links with this status.
    async fn count(&self, ids: &[ShareId], status: u16) -> usize {
        let mut count = 0;
        for id in ids {
            count += usize::from(self.status(*id).await == status);
        }
        count
    }

    /// Runs a turn and waits for its commits.
    async fn turn(&self) {
        self.yard.expiry.send(ReclaimNow).await.unwrap().unwrap();
        // An answer after its commits. Its deadline is the same by every clock.
        let late = ShareLifetime::At(Millis::LAST);
        self.yard.create(CreateShare { path: path("a"), lifetime: late, ..film(1) }).await;
    }

    async fn close(self) {
        self.site.server.stop().await;
        self.yard.closed().await;
    }
}

fn extended(ttl: u64) -> NewTerms {
    NewTerms { lifetime: Some(ShareLifetime::Ttl(seconds(ttl))), ..NewTerms::default() }
}

#[actix::test]
async fn a_start_with_a_clock_ten_years_ahead_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let ids = place.shares(20, 3600).await;
    place.close().await;
    let ahead = Clock::manual(Millis(START.0 + TEN_YEARS_MS));
    let place = LinkClockYard::open(dir.path(), &ahead).await;
    assert_eq!(place.count(&ids, 410).await, 20, "they are refused by comparison");
    place.turn().await;
    ahead.advance(seconds(60));
    place.turn().await;
    let is_there = |id: &ShareId| place.yard.is_there(*id);
    assert!(ids.iter().all(is_there), "nothing is reclaimed");
    // While the process runs.
    ahead.step_by(-TEN_YEARS_MS);
    assert_eq!(place.count(&ids, 200).await, 20, "a corrected clock brings every one back");
    place.close().await;
    // And after a start.
    let place = LinkClockYard::open(dir.path(), &Clock::manual(Millis(START.0 + 61_000))).await;
    assert_eq!(place.count(&ids, 200).await, 20);
    place.close().await;
}

#[actix::test]
async fn a_running_node_holds_a_jump_of_hours_until_it_has_lasted() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let id = place.share(3600).await;
    clock.step_by(2 * HOUR_MS);
    assert_eq!(place.status(id).await, 410);
    place.turn().await;
    clock.advance(seconds(14 * 60));
    place.turn().await;
    assert!(place.yard.is_there(id));
    assert_eq!(place.status(id).await, 410);
    clock.advance(seconds(60));
    place.turn().await;
    assert_eq!(place.yard.ended(id).await.why, ShareEnding::Expired, "it has held for clock_hold");
    place.close().await;
}

#[actix::test]
async fn refused_links_stay_refused_when_the_clock_steps_back() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let ids = place.shares(10, 60).await;
    assert!(place.yard.pause(true).await);
    clock.advance(seconds(61));
    assert_eq!(place.count(&ids, 410).await, 10);
    clock.step_by(-HOUR_MS);
    assert_eq!(place.count(&ids, 410).await, 10, "the backlog stays refused");
    let again = refused(place.yard.change(ids[0], extended(3600)).await);
    assert_eq!(again, ShareRefusal::Ended { why: ShareEnding::Expired });
    assert!(matches!(place.yard.views.find(ids[0]), ShareLookup::Live(_)), "it is not reclaimed");
    place.close().await;
}

#[actix::test]
async fn refused_links_stay_refused_at_a_start_with_a_late_clock() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let id = place.share(60).await;
    assert!(place.yard.pause(true).await);
    clock.advance(seconds(61));
    assert_eq!(place.status(id).await, 410);
    let due = Millis(START.0 + 60_000);
    let on_record = || place.yard.views.view().on_record.is_some_and(|time| time >= due);
    eventually("its end is on record though reclaim is paused", on_record).await;
    place.close().await;
    let behind = Clock::manual(Millis(START.0 - 2 * HOUR_MS));
    let place = LinkClockYard::open(dir.path(), &behind).await;
    assert_eq!(place.status(id).await, 410);
    let again = refused(place.yard.change(id, extended(3600)).await);
    assert_eq!(again, ShareRefusal::Ended { why: ShareEnding::Expired });
    place.close().await;
}

#[actix::test]
async fn time_continues_after_a_small_step_back() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    place.share(60).await;
    clock.step_by(-120_000);
    let id = place.share(3).await;
    clock.advance(Duration::from_millis(2900));
    assert_eq!(place.status(id).await, 200);
    clock.advance(Duration::from_millis(150));
    assert_eq!(place.status(id).await, 410, "it lives three seconds");
    place.turn().await;
    place.yard.ended(id).await;
    place.close().await;
}

#[actix::test]
async fn a_jump_of_an_hour_forward_is_followed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let id = place.share(60).await;
    clock.step_by(HOUR_MS);
    place.turn().await;
    assert_eq!(place.yard.ended(id).await.why, ShareEnding::Expired);
    place.close().await;
}

#[actix::test]
async fn links_that_ended_during_downtime_survive_a_clock_step_back() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::keeping_time(dir.path(), &clock).await;
    let (short, long) = (place.share(2).await, place.share(60).await);
    eventually("the time is kept", || dir.path().join("share-clock").exists()).await;
    place.close().await;
    clock.advance(seconds(3));
    clock.step_by(-2 * HOUR_MS);
    let place = LinkClockYard::keeping_time(dir.path(), &clock).await;
    assert_eq!(place.status(short).await, 410);
    assert_eq!(place.status(long).await, 200);
    place.close().await;
}

#[actix::test]
async fn a_day_off_on_a_running_machine_holds_nothing_back() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::keeping_time(dir.path(), &clock).await;
    let id = place.share(60).await;
    eventually("the time is kept", || dir.path().join("share-clock").exists()).await;
    place.close().await;
    clock.advance(seconds(24 * 3600));
    let place = LinkClockYard::keeping_time(dir.path(), &clock).await;
    place.yard.ended(id).await;
    assert_eq!(place.yard.views.view().trouble, None);
    place.close().await;
}

#[actix::test]
async fn an_operator_confirms_the_clock_either_way() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let (early, late) = (place.share(3600).await, place.share(7200).await);
    let confirm = || ConfirmClock { asked_by: "a test".to_owned(), request: RequestId::random() };
    clock.step_by(HOUR_MS + 60_000);
    place.turn().await;
    let message = place.yard.views.view().trouble.map(|trouble| trouble.to_string());
    let message = message.unwrap();
    assert!(message.contains("1h 1m ahead") && message.contains("refuses 1 link, "), "{message}");
    place.yard.expiry.send(confirm()).await.unwrap().unwrap();
    place.yard.ended(early).await;
    assert_eq!(place.yard.views.view().trouble, None);
    assert!(place.yard.pause(true).await);
    clock.advance(seconds(3600));
    assert_eq!(place.status(late).await, 410);
    place.turn().await;
    clock.step_by(-2 * HOUR_MS);
    place.turn().await;
    let message = place.yard.views.view().trouble.map(|trouble| trouble.to_string());
    assert!(message.unwrap().contains("2h behind"));
    assert_eq!(place.status(late).await, 410);
    place.yard.expiry.send(confirm()).await.unwrap().unwrap();
    assert_eq!((place.status(late).await, place.status(early).await), (200, 410));
    assert_eq!(place.yard.views.view().trouble, None);
    place.close().await;
    // It is also on record.
    let place = LinkClockYard::open(dir.path(), &clock).await;
    assert_eq!(place.status(late).await, 200);
    place.close().await;
}

#[actix::test]
async fn no_link_gets_a_deadline_that_only_a_wrong_clock_allows() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    let id = place.share(3 * 3600).await;
    clock.step_by(2 * HOUR_MS);
    let ahead = Duration::from_secs(7200);
    let held = |for_s: u64| ShareRefusal::ClockUnconfirmed { ahead, confirmed_in: seconds(for_s) };
    let create = |asked| place.yard.expiry.send(asked);
    let asked = || CreateShare { path: path("a"), ..film(60) };
    assert_eq!(refused(create(asked()).await.unwrap()), held(900));
    assert_eq!(refused(place.yard.change(id, extended(4 * 3600)).await), held(900));
    let until = Millis(START.0 + 4 * HOUR_MS);
    let both = create(CreateShare { lifetime: ShareLifetime::At(until), ..asked() })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(both.deadline().instant(), Some(until));
    clock.advance(seconds(300));
    assert_eq!(refused(create(asked()).await.unwrap()), held(600));
    // After the correction, and the same after the confirmation.
    clock.step_by(-2 * HOUR_MS);
    let share = create(asked()).await.unwrap().unwrap();
    assert_eq!(share.deadline().instant(), Some(Millis(START.0 + 360_000)));
    place.close().await;
}

#[test]
fn a_clock_whose_confirmation_is_not_on_record_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), 48);
    on_a_system(async {
        let clock = Clock::manual(START);
        let journal = JournalOptions { reserve: 12 << 20, ..JournalOptions::alone(dir.path(), 1) };
        let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
        let place = LinkClockYard::of(
            opened_keeping(journal, settings(), &clock, None, None).await,
            &clock,
        );
        let id = place.share(60).await;
        assert!(place.yard.pause(true).await);
        clock.advance(seconds(61));
        let due = Millis(START.0 + 60_000);
        let on_record = || place.yard.views.view().on_record.is_some_and(|time| time >= due);
        eventually("its end is on record", on_record).await;
        assert_eq!(place.status(id).await, 410);
        clock.step_by(-2 * HOUR_MS);
        disk.fill();
        eventually("the disk is full", || place.yard.journal.disk_full().is_some()).await;
        let confirm = ConfirmClock { asked_by: "a test".to_owned(), request: RequestId::random() };
        let failed = place.yard.expiry.send(confirm).await.unwrap().unwrap_err();
        assert!(matches!(failed, CommitError::DiskFull { .. }), "{failed}");
        assert_eq!(place.status(id).await, 410, "a refused link stays refused");
        disk.clear();
        place.close().await;
    });
}

#[actix::test]
async fn figures_of_due_shares_are_right_during_and_after_a_paused_reclaim() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let place = LinkClockYard::open(dir.path(), &clock).await;
    place.shares(50, 60).await;
    assert!(place.yard.pause(true).await);
    clock.advance(seconds(61));
    let views = &place.yard.views;
    let began = std::time::Instant::now();
    eventually("they are counted", || views.view().backlog == 50).await;
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    assert_eq!(views.view().stale(), 1.0);
    assert!(place.yard.pause(false).await);
    // No view has more due shares than exist.
    let gone = || {
        let view = views.view();
        assert!(view.backlog <= view.shares, "{} of {}", view.backlog, view.shares);
        view.shares == 0
    };
    eventually("they are reclaimed", gone).await;
    assert_eq!((views.view().backlog, views.view().stale()), (0, 0.0));
    place.close().await;
}
