//! Pools that change, and the order in which their boxes are granted.

use reelyard_boxes::box_lease::{
    BoxLeaseRequest, BoxPhase, BoxRefusal, PoolPut, PoolSpec, RemovePool, SlotRange,
};
use reelyard_core::clock::Clock;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ask, nth_token, one, p, refused, seconds,
};
use reelyard_protocol::boxes::{PoolName, SlotId};

use super::{MS, spec, yard};

#[actix::test]
async fn a_shrinking_pool_drains_and_a_removed_one_ends_empty() {
    let (_dir, yard) = yard(spec(3)).await;
    let leases = [yard.take("a").await, yard.take("b").await, yard.take("c").await];
    assert_eq!(yard.put(spec(1)).await, PoolPut::Changed);
    assert_eq!(yard.put(spec(1)).await, PoolPut::AlreadySo);
    assert_eq!(yard.count(BoxPhase::Leased), 3, "no client loses a box");
    yard.release(&leases[2]).await.unwrap();
    let next = yard.acquire(ask("d", 60));
    yard.until_waiting(1).await;
    yard.release(&leases[1]).await.unwrap();
    assert_eq!((yard.count(BoxPhase::Leased), yard.count(BoxPhase::Free)), (1, 0));
    yard.release(&leases[0]).await.unwrap();
    let last = one(next.await);
    assert_eq!((last.box_id(), last.token), (0, nth_token(4)));
    let waiting = yard.acquire(ask("e", 60));
    yard.until_waiting(1).await;
    let remove =
        |revoke| RemovePool { pool: p(), revoke, asked_by: "a test".to_owned(), request: None };
    assert!(!yard.send(remove(false)).await.unwrap());
    let goes = BoxRefusal::PoolGoes { pool: p() };
    assert_eq!(refused(waiting.await), goes);
    assert_eq!(refused(yard.acquire(ask("f", 0)).await), goes);
    yard.renew(&last).await.unwrap();
    yard.release(&last).await.unwrap();
    let gone = BoxRefusal::NoPool { pool: p() };
    assert_eq!(yard.views.pool(&p()).err(), Some(gone.clone()));
    assert_eq!(refused(yard.acquire(ask("f", 0)).await), gone);
    // A new pool of the same name continues the tokens.
    assert_eq!(yard.put(spec(1)).await, PoolPut::Created);
    let lease = yard.take("g").await;
    assert_eq!(lease.token, nth_token(5));
    assert!(yard.send(remove(true)).await.unwrap());
    assert_eq!(yard.verify(&lease), Err(BoxRefusal::Revoked { reason: None }));
    yard.close().await;
}

#[actix::test]
async fn the_first_settings_on_record_change_no_pool_again() {
    // The file of a node alone has set it, and the API has changed it since.
    let (_dir, yard) = yard(spec(3)).await;
    yard.put(spec(5)).await;
    let by_settings = async |version| yard.put_by(p(), spec(3), Some(version)).await.unwrap();
    let size = || yard.views.pool(&p()).map(|pool| pool.spec.size);
    by_settings(1).await;
    assert_eq!(size(), Ok(5));
    // Later ones do, once.
    assert_eq!(by_settings(2).await, PoolPut::Changed);
    assert_eq!(size(), Ok(3));
    yard.put(spec(4)).await;
    assert_eq!((by_settings(2).await, size()), (PoolPut::AlreadySo, Ok(4)));
    // A pool that was removed since stays away. One that was never there is made.
    let other = PoolName::new("other").unwrap();
    let alone = || PoolSpec::of(100, 1);
    yard.put_as(other.clone(), alone()).await.unwrap();
    let (pool, asked_by) = (other.clone(), "a test".to_owned());
    yard.send(RemovePool { pool, revoke: false, asked_by, request: None }).await.unwrap();
    assert_eq!(yard.put_by(other, alone(), Some(1)).await.unwrap(), PoolPut::AlreadySo);
    // One that waits for its last lease still goes.
    let going = PoolName::new("going").unwrap();
    yard.put_as(going.clone(), alone()).await.unwrap();
    let wanted = BoxLeaseRequest { pool: going.clone(), ..ask("h", 0) };
    one(yard.acquire(wanted).await);
    let (pool, asked_by) = (going.clone(), "a test".to_owned());
    yard.send(RemovePool { pool, revoke: false, asked_by, request: None }).await.unwrap();
    assert_eq!(yard.put_by(going.clone(), alone(), Some(1)).await.unwrap(), PoolPut::AlreadySo);
    assert!(yard.views.pool(&going).unwrap().goes);
    let new = PoolName::new("new").unwrap();
    assert_eq!(yard.put_by(new, alone(), Some(1)).await.unwrap(), PoolPut::Created);
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
    // Under another leader all rest periods start again.
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
async fn a_released_box_goes_to_the_next_client_in_the_same_entry() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    let waiting = yard.acquire(ask("a", 600));
    yard.until_waiting(1).await;
    // The entry of the leader, its clocks, the pool and the first lease.
    eventually("all are counted", || yard.journal.status().commits == 4).await;
    let before = yard.journal.status().events;
    let (released, next) = futures::join!(yard.release(&held), waiting);
    released.unwrap();
    assert_eq!(one(next).token, nth_token(2));
    eventually("it is one commit of two events", || {
        let after = yard.journal.status();
        (after.commits, after.events) == (5, before + 2)
    })
    .await;
    yard.close().await;
}
