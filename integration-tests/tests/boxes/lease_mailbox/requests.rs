//! Requests that are repeated, and those whose askers go.

use reelyard_actors::box_lease::{AskBoxes, BoxPhase, BoxRefusal, FenceToken, LeaseEnd, PoolSpec};
use reelyard_actors::clock::Clock;
use reelyard_actors::event::RequestId;
use reelyard_integration_tests::box_yard::{BoxYard, START, ask, one, p, refused};
use reelyard_integration_tests::waiting::eventually;

use super::{named, spec, yard};

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
