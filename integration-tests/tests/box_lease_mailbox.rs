//! The BoxLeaseActor by its messages: a real journal, a manual clock, logical pools.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use reelyard_actors::box_lease::{
    AskBoxes, BoxError, BoxNumber, BoxPhase, BoxRefusal, BoxSettings, ChangeSettings, FenceToken,
    Lease, LeaseEnd, LeaseId, PoolPut, PoolSpec, Priority, Progress, Reason, ReleaseLease,
    RemovePool, RenewLease, RevokeLease, SlotId, SlotRange,
};
use reelyard_actors::clock::Clock;
use reelyard_actors::event::RequestId;
use reelyard_integration_tests::box_yard::{BoxYard, START, ask, one, p, pool, refused, seconds};
use reelyard_integration_tests::waiting::eventually;

const MS: Duration = Duration::from_millis(1);

/// A pool without a grace.
fn spec(size: u32) -> PoolSpec {
    PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, size) }
}

fn named(name: &str, wait: u64) -> AskBoxes {
    let request = Some(RequestId::of(name, b"one box"));
    AskBoxes { request, ..ask("a", wait) }
}

async fn yard(spec: PoolSpec) -> (tempfile::TempDir, BoxYard) {
    let dir = tempfile::tempdir().unwrap();
    let yard = BoxYard::open(dir.path(), &Clock::manual(START)).await;
    yard.put(spec).await;
    (dir, yard)
}

fn timed_out<T: std::fmt::Debug>(answer: Result<T, BoxError>) -> bool {
    matches!(answer, Err(BoxError::TimedOut { .. }))
}

#[actix::test]
async fn a_box_is_leased_released_expired_and_leased_again() {
    let (_dir, yard) = yard(PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(7, 1) }).await;
    let first = yard.take("a").await;
    let told = Some(START.after(seconds(60)));
    assert_eq!((first.box_id(), first.token, first.expires_at), (7, FenceToken(1), told));
    assert!(timed_out(yard.acquire(ask("b", 0)).await));
    yard.release(&first).await.unwrap();
    let second = yard.take("b").await;
    assert_eq!((second.box_id(), second.token), (7, FenceToken(2)));
    let waiting = yard.acquire(AskBoxes { ttl: Some(seconds(10)), ..ask("c", 100) });
    yard.until_waiting(1).await;
    yard.advance(seconds(60) - MS).await;
    assert_eq!((yard.verify(&second), yard.count(BoxPhase::Leased)), (Ok(()), 1));
    yard.advance(MS).await;
    let third = one(waiting.await);
    assert_eq!(yard.verify(&second), Err(BoxRefusal::Expired));
    // Its time begins when it is granted, not when it was asked for.
    assert_eq!((third.token, third.expires_at), (FenceToken(3), Some(START.after(seconds(70)))));
    assert_eq!(refused(yard.release(&second).await), BoxRefusal::Expired);
    assert_eq!(yard.board.pool(&p()).unwrap().totals.granted, 3);
    yard.close().await;
}

#[actix::test]
async fn a_wait_ends_at_its_deadline_and_not_before() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("a").await;
    let in_time = yard.acquire(ask("b", 10));
    yard.until_waiting(1).await;
    yard.advance(seconds(10) - MS).await;
    yard.release(&held).await.unwrap();
    let held = one(in_time.await);
    let late = yard.acquire(ask("c", 10));
    yard.until_waiting(1).await;
    yard.advance(seconds(10)).await;
    assert!(timed_out(late.await));
    yard.release(&held).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    yard.close().await;
}

#[actix::test]
async fn who_does_not_wait_overtakes_nobody_and_all_or_none_are_granted() {
    let (_dir, yard) = yard(spec(3)).await;
    let held = [yard.take("a").await, yard.take("a").await];
    let two = yard.acquire(AskBoxes { count: 2, ..ask("b", 60) });
    yard.until_waiting(1).await;
    assert_eq!(yard.count(BoxPhase::Free), 1, "none of two is given");
    assert!(timed_out(yard.acquire(ask("c", 0)).await));
    let urgent = AskBoxes { priority: Priority::try_from(1).unwrap(), ..ask("d", 0) };
    let urgent = one(yard.acquire(urgent).await);
    yard.release(&held[0]).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    yard.release(&urgent).await.unwrap();
    let grant = two.await.unwrap();
    let tokens: Vec<_> = grant.leases.iter().map(|lease| lease.token.0).collect();
    assert_eq!((tokens, yard.count(BoxPhase::Leased)), (vec![4, 5], 3));
    for count in [0, 4] {
        let refusal = refused(yard.acquire(AskBoxes { count, ..ask("e", 9) }).await);
        assert_eq!(refusal, BoxRefusal::BadCount { most: 3 });
    }
    yard.close().await;
}

#[actix::test]
async fn first_come_first_served_until_a_priority_is_old_enough() {
    let (_dir, yard) = yard(spec(1)).await;
    let long = AskBoxes { ttl: Some(seconds(3600)), ..ask("first", 0) };
    let mut held = one(yard.acquire(long).await);
    let urgent =
        |holder: &str| AskBoxes { priority: Priority::try_from(1).unwrap(), ..ask(holder, 1000) };
    let mut waiting =
        vec![("a", yard.acquire(ask("a", 1000))), ("b", yard.acquire(ask("b", 1000)))];
    yard.until_waiting(2).await;
    yard.clock.advance(seconds(60) - MS);
    waiting.push(("c", yard.acquire(urgent("c"))));
    yard.until_waiting(3).await;
    yard.clock.advance(MS);
    waiting.push(("d", yard.acquire(urgent("d"))));
    yard.until_waiting(4).await;
    yard.release(&held).await.unwrap();
    let mut order = Vec::new();
    for holder in ["c", "a", "b", "d"] {
        let place = waiting.iter().position(|(waits, _)| *waits == holder).unwrap();
        held = one(waiting.remove(place).1.await);
        order.push(held.holder.as_str().to_owned());
        yard.release(&held).await.unwrap();
    }
    assert_eq!(order, ["c", "a", "b", "d"]);
    let tokens = yard.board.ended(&p(), None, u64::MAX, 9).lines;
    let tokens: Vec<u64> = tokens.iter().map(|ended| ended.lease.token.0).collect();
    assert_eq!(tokens, [5, 4, 3, 2, 1]);
    yard.close().await;
}

#[actix::test]
async fn a_request_is_granted_once_however_often_it_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(spec(2)).await;
    let held = [yard.take("x").await, yard.take("x").await];
    // While it waits.
    let both = [yard.acquire(named("n", 60)), yard.acquire(named("n", 60))];
    yard.until_waiting(1).await;
    let other = AskBoxes { request: Some(RequestId::of("n", b"two boxes")), ..ask("a", 60) };
    assert_eq!(refused(yard.acquire(other.clone()).await), BoxRefusal::OtherRequest);
    yard.release(&held[0]).await.unwrap();
    let [first, second] = both;
    let lease = one(first.await);
    assert_eq!(one(second.await), lease);
    // Afterwards.
    assert_eq!(one(yard.acquire(named("n", 0)).await), lease);
    assert_eq!(refused(yard.acquire(other).await), BoxRefusal::OtherRequest);
    yard.close().await;
    // Under another leader.
    let yard = BoxYard::open(dir.path(), &clock).await;
    assert_eq!(one(yard.acquire(named("n", 0)).await), lease);
    assert_eq!(yard.board.pool(&p()).unwrap().totals.granted, 3);
    // And once it has ended.
    yard.release(&lease).await.unwrap();
    assert_eq!(refused(yard.acquire(named("n", 60)).await), BoxRefusal::AlreadyReleased);
    yard.close().await;
}

#[actix::test]
async fn who_goes_leaves_the_queue_and_what_is_granted_meanwhile_is_taken_back() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    let (gone, next) = (yard.acquire(ask("a", 60)), yard.acquire(ask("b", 60)));
    yard.until_waiting(2).await;
    drop(gone);
    yard.until_waiting(1).await;
    yard.release(&held).await.unwrap();
    let held = one(next.await);
    assert_eq!(held.token, FenceToken(2));
    yard.release(&held).await.unwrap();
    let taken_back = || yard.board.pool(&p()).unwrap().totals.ended(LeaseEnd::NotTaken);
    // Gone while it is granted.
    drop(yard.acquire(ask("c", 60)));
    eventually("it is taken back", || taken_back() == 1).await;
    yard.until(BoxPhase::Free, 1).await;
    // Gone without reading the answer; named, it may ask again as if nothing had been.
    let unread = yard.acquire(named("n", 60));
    yard.until(BoxPhase::Leased, 1).await;
    drop(unread);
    let lease = one(yard.acquire(named("n", 60)).await);
    eventually("it is taken back", || taken_back() == 2).await;
    assert_eq!((lease.token, yard.verify(&lease)), (FenceToken(5), Ok(())));
    yard.release(&lease).await.unwrap();
    yard.look().await;
    let left = || yard.board.view().lines[&p()].counts.left;
    eventually("all three are counted, once", || left() == 3).await;
    yard.close().await;
}

#[actix::test]
async fn who_goes_without_reading_takes_nothing_from_who_repeated_the_request() {
    let (_dir, yard) = yard(spec(2)).await;
    let unread = yard.acquire(named("n", 60));
    yard.until(BoxPhase::Leased, 1).await;
    let lease = one(yard.acquire(named("n", 60)).await);
    drop(unread);
    let (first, second) = (yard.acquire(named("m", 60)), yard.acquire(named("m", 60)));
    yard.until(BoxPhase::Leased, 2).await;
    drop(first);
    let other = one(second.await);
    yard.look().await;
    assert_eq!((yard.verify(&lease), yard.verify(&other)), (Ok(()), Ok(())));
    // Nobody read it: neither the first one nor who repeated it.
    yard.release(&other).await.unwrap();
    let unread = [yard.acquire(named("k", 60)), yard.acquire(named("k", 60))];
    yard.until(BoxPhase::Leased, 2).await;
    drop(unread);
    yard.until(BoxPhase::Leased, 1).await;
    yard.close().await;
}

#[actix::test]
async fn what_is_being_taken_back_counts_against_no_quota_of_who_repeats_its_request() {
    let (_dir, yard) = yard(PoolSpec { quota: 1, ..spec(2) }).await;
    let unread = yard.acquire(named("n", 60));
    yard.until(BoxPhase::Leased, 1).await;
    drop(unread);
    let lease = one(yard.acquire(named("n", 60)).await);
    assert_eq!(lease.token, FenceToken(2));
    let over = BoxRefusal::OverQuota { count: 1, most: 1 };
    assert_eq!(refused(yard.acquire(ask("a", 60)).await), over);
    yard.close().await;
}

#[actix::test]
async fn a_full_queue_refuses_and_says_when_to_come_back() {
    let (_dir, yard) = yard(PoolSpec { queue_limit: 2, ..spec(1) }).await;
    let held = yard.take("x").await;
    let waiting = [yard.acquire(ask("a", 600)), yard.acquire(ask("b", 600))];
    yard.until_waiting(2).await;
    let full = |retry_after| BoxError::QueueFull { pool: p(), waiting: 2, retry_after };
    // Nobody has given a box back yet: as the pool says.
    assert_eq!(yard.acquire(ask("c", 600)).await, Err(full(seconds(60))));
    yard.clock.advance(seconds(24));
    yard.release(&held).await.unwrap();
    let [first, _second] = waiting;
    let _held = one(first.await);
    let _third = yard.acquire(ask("c", 600));
    yard.until_waiting(2).await;
    assert_eq!(yard.acquire(ask("d", 600)).await, Err(full(seconds(24))));
    assert!(timed_out(yard.acquire(ask("e", 0)).await), "who does not wait needs no place");
    yard.close().await;
}

#[actix::test]
async fn a_holder_has_and_waits_for_no_more_than_its_quota() {
    let (_dir, yard) = yard(PoolSpec { quota: 2, ..spec(3) }).await;
    let (held, others) = (yard.take("a").await, [yard.take("b").await, yard.take("c").await]);
    let waiting = yard.acquire(ask("a", 60));
    yard.until_waiting(1).await;
    let over = BoxRefusal::OverQuota { count: 2, most: 2 };
    assert_eq!(refused(yard.acquire(ask("a", 60)).await), over);
    yard.release(&others[0]).await.unwrap();
    let second = one(waiting.await);
    assert_eq!(refused(yard.acquire(ask("a", 60)).await), over);
    yard.release(&held).await.unwrap();
    yard.release(&second).await.unwrap();
    let both = yard.acquire(AskBoxes { count: 2, ..ask("a", 0) }).await.unwrap();
    assert_eq!(both.leases.len(), 2);
    yard.close().await;
}

#[actix::test]
async fn late_repeated_and_foreign_calls_are_told_apart_and_change_nothing() {
    let (_dir, yard) = yard(PoolSpec { grace: seconds(5), ..spec(3) }).await;
    let [released, expired, revoked] =
        [yard.take("a").await, yard.take("b").await, yard.take("c").await];
    yard.release(&released).await.unwrap();
    let reason = Reason::new("the host is needed").unwrap();
    let asked_by = "an operator".to_owned();
    let revoke = RevokeLease { lease: revoked.id, reason: Some(reason.clone()), asked_by };
    yard.send(revoke.clone()).await.unwrap();
    yard.advance(seconds(60)).await;
    yard.ended(&expired).await;
    let live = yard.take("d").await;
    let why_revoked = BoxRefusal::Revoked { reason: Some(reason) };
    let of = |lease: &Lease, token: FenceToken| (lease.id, token);
    let foreign = FenceToken(live.token.0 + 1);
    let calls = [
        (of(&released, released.token), BoxRefusal::AlreadyReleased),
        (of(&expired, expired.token), BoxRefusal::Expired),
        (of(&revoked, revoked.token), why_revoked.clone()),
        (of(&released, live.token), BoxRefusal::WrongToken),
        (of(&live, foreign), BoxRefusal::WrongToken),
        ((LeaseId(7), live.token), BoxRefusal::UnknownLease),
    ];
    let before = yard.board.look(|table| format!("{table:?}"));
    for ((lease, token), why) in calls {
        assert_eq!(refused(yard.send(ReleaseLease { lease, token }).await), why);
        let renew = RenewLease { lease, token, ttl: None };
        assert_eq!(refused(yard.send(renew).await), why);
        assert_eq!(yard.board.verify(lease, token).err(), Some(why));
    }
    assert_eq!(refused(yard.send(revoke).await), why_revoked);
    assert_eq!(yard.board.look(|table| format!("{table:?}")), before);
    let ended = yard.board.ended(&p(), Some(revoked.number), u64::MAX, 9).lines;
    assert_eq!((ended[0].how, ended[0].by.as_deref()), (LeaseEnd::Revoked, Some("an operator")));
    yard.close().await;
}

#[actix::test]
async fn a_renewal_lasts_from_then_on_but_never_beyond_the_longest_hold() {
    let longest = PoolSpec { max_hold: Some(seconds(100)), ttl_max: seconds(90), ..spec(1) };
    let (_dir, yard) = yard(longest).await;
    let lease = yard.take("a").await;
    yard.advance(seconds(59)).await;
    let renew = |ttl| RenewLease { lease: lease.id, token: lease.token, ttl: Some(ttl) };
    let bad = refused(yard.send(renew(seconds(90) + MS)).await);
    assert_eq!(bad, BoxRefusal::BadTtl { most: seconds(90) });
    assert_eq!(refused(yard.send(renew(Duration::ZERO)).await), bad);
    let renewed = yard.send(renew(seconds(40))).await.unwrap();
    assert_eq!(renewed.expires_at, Some(START.after(seconds(99))));
    // Only a second more; the wall clock has no part in it.
    yard.clock.set_by(50_000);
    let renewed = yard.renew(&lease).await.unwrap();
    assert_eq!((renewed.term, renewed.renewals), (seconds(41), 2));
    yard.advance(seconds(41) - MS).await;
    assert_eq!(yard.renew(&lease).await.unwrap().term, MS);
    yard.advance(MS).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired);
    yard.close().await;
}

#[actix::test]
async fn a_lease_ends_by_both_clocks_and_its_box_is_handed_on_after_a_grace() {
    let (_dir, yard) = yard(PoolSpec { grace: seconds(5), ..spec(1) }).await;
    let lease = yard.take("a").await;
    let next = yard.acquire(ask("b", 1000));
    yard.until_waiting(1).await;
    // The wall was set far ahead: nothing has passed.
    yard.clock.set_by(3_600_000);
    yard.advance(seconds(60) - MS).await;
    assert_eq!(yard.verify(&lease), Ok(()));
    yard.clock.advance(MS);
    assert_eq!(refused(yard.renew(&lease).await), BoxRefusal::Expired, "before the timer saw it");
    yard.look().await;
    yard.ended(&lease).await;
    yard.advance(seconds(5) - MS).await;
    assert_eq!((yard.count(BoxPhase::Draining), yard.count(BoxPhase::Leased)), (1, 0));
    yard.advance(MS).await;
    let lease = one(next.await);
    // The wall was set back: what was told holds.
    yard.clock.set_by(-1000);
    yard.advance(seconds(60)).await;
    yard.look().await;
    assert_eq!(yard.verify(&lease), Ok(()));
    yard.advance(seconds(1)).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired);
    yard.close().await;
}

#[actix::test]
async fn after_a_restart_every_lease_gets_its_full_term_again() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(PoolSpec { max_hold: Some(seconds(100)), ..spec(2) }).await;
    yard.put_as(pool("q"), spec(1)).await.unwrap();
    let lease = yard.take("a").await;
    let free = yard.acquire(AskBoxes { pool: pool("q"), ..ask("a", 0) });
    let free = one(free.await);
    clock.advance(seconds(59));
    yard.close().await;
    clock.advance(seconds(10));
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.advance(seconds(31) - MS).await;
    assert_eq!((yard.verify(&lease), yard.verify(&free)), (Ok(()), Ok(())));
    yard.advance(MS).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired, "100 s are the longest");
    yard.advance(seconds(29) - MS).await;
    assert_eq!(yard.verify(&free), Ok(()));
    yard.advance(MS).await;
    assert_eq!(yard.ended(&free).await, BoxRefusal::Expired);
    yard.close().await;
}

#[actix::test]
async fn a_pool_that_shrinks_drains_and_one_that_goes_is_gone_with_its_last_box() {
    let (_dir, yard) = yard(spec(3)).await;
    let leases = [yard.take("a").await, yard.take("b").await, yard.take("c").await];
    assert_eq!(yard.put(spec(1)).await, PoolPut::Changed);
    assert_eq!(yard.put(spec(1)).await, PoolPut::AlreadySo);
    assert_eq!(yard.count(BoxPhase::Leased), 3, "nobody loses a box");
    yard.release(&leases[2]).await.unwrap();
    let next = yard.acquire(ask("d", 60));
    yard.until_waiting(1).await;
    yard.release(&leases[1]).await.unwrap();
    assert_eq!((yard.count(BoxPhase::Leased), yard.count(BoxPhase::Free)), (1, 0));
    yard.release(&leases[0]).await.unwrap();
    let last = one(next.await);
    assert_eq!((last.box_id(), last.token), (0, FenceToken(4)));
    let waiting = yard.acquire(ask("e", 60));
    yard.until_waiting(1).await;
    let remove = |revoke| RemovePool { pool: p(), revoke, asked_by: "a test".to_owned() };
    assert!(!yard.send(remove(false)).await.unwrap());
    let goes = BoxRefusal::PoolGoes { pool: p() };
    assert_eq!(refused(waiting.await), goes);
    assert_eq!(refused(yard.acquire(ask("f", 0)).await), goes);
    yard.renew(&last).await.unwrap();
    yard.release(&last).await.unwrap();
    let gone = BoxRefusal::NoPool { pool: p() };
    assert_eq!(yard.board.pool(&p()).err(), Some(gone.clone()));
    assert_eq!(refused(yard.acquire(ask("f", 0)).await), gone);
    // One of its name goes on with the tokens.
    assert_eq!(yard.put(spec(1)).await, PoolPut::Created);
    let lease = yard.take("g").await;
    assert_eq!(lease.token, FenceToken(5));
    assert!(yard.send(remove(true)).await.unwrap());
    assert_eq!(yard.verify(&lease), Err(BoxRefusal::Revoked { reason: None }));
    yard.close().await;
}

#[actix::test]
async fn who_wants_more_than_is_left_of_a_pool_holds_up_nobody() {
    let (_dir, yard) = yard(PoolSpec::of(0, 2)).await;
    let held = yard.take("a").await;
    let both = yard.acquire(AskBoxes { count: 2, ..ask("b", 600) });
    let next = yard.acquire(ask("c", 600));
    yard.until_waiting(2).await;
    yard.put(PoolSpec::of(0, 1)).await;
    assert_eq!(refused(both.await), BoxRefusal::BadCount { most: 1 });
    yard.release(&held).await.unwrap();
    assert_eq!(one(next.await).number, BoxNumber(0));
    yard.close().await;
}

#[actix::test]
async fn an_id_that_was_drawn_rests_before_it_is_drawn_again() {
    let slots = Some(SlotRange { first: SlotId(100), count: 2, rest: seconds(30) });
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(PoolSpec { slots, ..spec(1) }).await;
    for id in [100, 101] {
        let lease = yard.take("a").await;
        assert_eq!((lease.box_id(), lease.number.0), (id, 0));
        yard.release(&lease).await.unwrap();
    }
    let waiting = yard.acquire(ask("b", 1000));
    yard.until_waiting(1).await;
    yard.advance(seconds(30) - MS).await;
    assert_eq!(yard.count(BoxPhase::Free), 1, "the box is free, its ids are not");
    yard.advance(MS).await;
    let lease = one(waiting.await);
    assert_eq!(lease.box_id(), 100);
    yard.release(&lease).await.unwrap();
    yard.close().await;
    // Under another leader all that rest begin anew.
    let yard = BoxYard::open(dir.path(), &clock).await;
    let waiting = yard.acquire(ask("c", 1000));
    yard.until_waiting(1).await;
    yard.advance(seconds(30) - MS).await;
    assert_eq!(yard.count(BoxPhase::Leased), 0);
    yard.advance(MS).await;
    assert_eq!(one(waiting.await).box_id(), 101);
    yard.close().await;
}

#[actix::test]
async fn a_wait_can_be_watched() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    yard.clock.advance(seconds(20));
    yard.release(&held).await.unwrap();
    let held = yard.take("x").await;
    let waiting = [yard.acquire(ask("a", 600)), yard.acquire(ask("b", 600))];
    let second = waiting[1].progress();
    let told = |position, estimate| Progress::Waiting { position, estimate: Some(estimate) };
    eventually("its place is told", || *second.borrow() == told(2, seconds(40))).await;
    yard.release(&held).await.unwrap();
    eventually("it is next", || matches!(*second.borrow(), Progress::Waiting { position: 1, .. }))
        .await;
    yard.close().await;
}

#[actix::test]
async fn who_comes_is_told_its_place_at_once() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    yard.clock.advance(seconds(20));
    yard.release(&held).await.unwrap();
    let held = yard.take("x").await;
    let waiting = [yard.acquire(ask("a", 600)), yard.acquire(ask("b", 600))];
    // Answered by the actor after what was sent before, and without a turn.
    let unknown = ReleaseLease { lease: LeaseId(7), token: held.token };
    assert_eq!(refused(yard.send(unknown).await), BoxRefusal::UnknownLease);
    let places = waiting.each_ref().map(|waits| *waits.progress().borrow());
    let told = |position, estimate| Progress::Waiting { position, estimate: Some(estimate) };
    assert_eq!(places, [told(1, seconds(20)), told(2, seconds(40))]);
    // Before others: a turn counts that.
    let urgent = AskBoxes { priority: Priority::try_from(9).unwrap(), ..ask("c", 600) };
    let urgent = yard.acquire(urgent);
    let (first, last) = (urgent.progress(), waiting[1].progress());
    eventually("it is told so", || *first.borrow() == told(1, seconds(20))).await;
    eventually("and the others", || *last.borrow() == told(3, seconds(60))).await;
    yard.close().await;
}

#[actix::test]
async fn a_box_that_is_given_back_goes_to_who_is_next_in_the_same_entry() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    let waiting = yard.acquire(ask("a", 600));
    yard.until_waiting(1).await;
    // The pool and the first lease.
    eventually("both are counted", || yard.journal.status().commits == 2).await;
    let before = yard.journal.status().events;
    let (released, next) = futures::join!(yard.release(&held), waiting);
    released.unwrap();
    assert_eq!(one(next).token, FenceToken(2));
    eventually("it is one commit of two events", || {
        let after = yard.journal.status();
        (after.commits, after.events) == (3, before + 2)
    })
    .await;
    yard.close().await;
}

#[actix::test]
async fn what_is_remembered_of_ended_leases_is_bounded() {
    let (_dir, yard) = yard(spec(1)).await;
    let mut ended: Vec<Arc<Lease>> = Vec::new();
    for _ in 0..3 {
        ended.push(one(yard.acquire(named(&format!("n{}", ended.len()), 0)).await));
        yard.release(&ended[ended.len() - 1]).await.unwrap();
    }
    let keep = |keep_ended| ChangeSettings(BoxSettings { keep_ended, ..BoxSettings::default() });
    yard.send(keep(1)).await;
    yard.look().await;
    eventually("two are forgotten", || yard.verify(&ended[1]) == Err(BoxRefusal::UnknownLease))
        .await;
    assert_eq!(yard.verify(&ended[2]), Err(BoxRefusal::AlreadyReleased));
    // Forgotten, a request is a new one.
    let again = one(yard.acquire(named("n0", 0)).await);
    assert_eq!(again.token, FenceToken(4));
    yard.advance(BoxSettings::default().keep_ended_for).await;
    eventually("all are", || yard.verify(&ended[2]) == Err(BoxRefusal::UnknownLease)).await;
    yard.close().await;
}

#[actix::test]
async fn who_waits_is_told_when_the_leader_stops() {
    let (_dir, yard) = yard(spec(1)).await;
    let _held = yard.take("x").await;
    let waiting = yard.acquire(ask("a", 600));
    yard.until_waiting(1).await;
    yard.journal.stop().await;
    assert_eq!(waiting.await, Err(BoxError::LeaderChanged));
}
