//! Waiting for boxes: the order of service, refusals, and the answers to waiting clients.

use reelyard_boxes::box_lease::{
    AcquireProgress, BoxError, BoxLeaseRequest, BoxPhase, BoxRefusal, PoolSpec, Priority,
    ReleaseLease,
};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::boxes::box_yard::{
    ask, nth_token, one, p, refused, release_of, seconds,
};
use reelyard_protocol::boxes::{BoxNumber, LeaseId};

use super::{MS, spec, timed_out, yard};

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
async fn an_immediate_request_overtakes_no_other_and_gets_all_or_none() {
    let (_dir, yard) = yard(spec(3)).await;
    let held = [yard.take("a").await, yard.take("a").await];
    let two = yard.acquire(BoxLeaseRequest { count: 2, ..ask("b", 60) });
    yard.until_waiting(1).await;
    assert_eq!(yard.count(BoxPhase::Free), 1, "none of two is given");
    assert!(timed_out(yard.acquire(ask("c", 0)).await));
    let urgent = BoxLeaseRequest { priority: Priority::try_from(1).unwrap(), ..ask("d", 0) };
    let urgent = one(yard.acquire(urgent).await);
    yard.release(&held[0]).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    yard.release(&urgent).await.unwrap();
    let grant = two.await.unwrap();
    let tokens: Vec<_> = grant.leases.iter().map(|lease| lease.token).collect();
    assert_eq!((tokens, yard.count(BoxPhase::Leased)), (vec![nth_token(4), nth_token(5)], 3));
    for count in [0, 4] {
        let refusal = refused(yard.acquire(BoxLeaseRequest { count, ..ask("e", 9) }).await);
        assert_eq!(refusal, BoxRefusal::BadCount { most: 3 });
    }
    yard.close().await;
}

#[actix::test]
async fn first_come_first_served_until_a_priority_is_old_enough() {
    let (_dir, yard) = yard(spec(1)).await;
    let long = BoxLeaseRequest { ttl: Some(seconds(3600)), ..ask("first", 0) };
    let mut held = one(yard.acquire(long).await);
    let urgent = |holder: &str| BoxLeaseRequest {
        priority: Priority::try_from(1).unwrap(),
        ..ask(holder, 1000)
    };
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
    let tokens = yard.views.ended(&p(), None, u64::MAX, 9).lines;
    let tokens: Vec<_> = tokens.iter().map(|ended| ended.lease.token).collect();
    assert_eq!(tokens, [5, 4, 3, 2, 1].map(nth_token));
    yard.close().await;
}

#[actix::test]
async fn a_full_queue_refuses_and_says_when_to_come_back() {
    let (_dir, yard) = yard(PoolSpec { queue_limit: 2, ..spec(1) }).await;
    let held = yard.take("x").await;
    let waiting = [yard.acquire(ask("a", 600)), yard.acquire(ask("b", 600))];
    yard.until_waiting(2).await;
    let full = |retry_after| BoxError::QueueFull { pool: p(), waiting: 2, retry_after };
    // No client has released a box yet: the pool's setting decides.
    assert_eq!(yard.acquire(ask("c", 600)).await, Err(full(seconds(60))));
    yard.clock.advance(seconds(24));
    yard.release(&held).await.unwrap();
    let [first, _second] = waiting;
    let _held = one(first.await);
    let _third = yard.acquire(ask("c", 600));
    yard.until_waiting(2).await;
    assert_eq!(yard.acquire(ask("d", 600)).await, Err(full(seconds(24))));
    assert!(timed_out(yard.acquire(ask("e", 0)).await), "a request without a wait needs no place");
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
    let both = yard.acquire(BoxLeaseRequest { count: 2, ..ask("a", 0) }).await.unwrap();
    assert_eq!(both.leases.len(), 2);
    yard.close().await;
}

#[actix::test]
async fn a_request_for_more_than_a_pool_can_give_delays_none() {
    let (_dir, yard) = yard(PoolSpec::of(0, 2)).await;
    let held = yard.take("a").await;
    let both = yard.acquire(BoxLeaseRequest { count: 2, ..ask("b", 600) });
    let next = yard.acquire(ask("c", 600));
    yard.until_waiting(2).await;
    yard.put(PoolSpec::of(0, 1)).await;
    assert_eq!(refused(both.await), BoxRefusal::BadCount { most: 1 });
    yard.release(&held).await.unwrap();
    assert_eq!(one(next.await).number, BoxNumber(0));
    yard.close().await;
}

#[actix::test]
async fn a_wait_can_be_watched() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    yard.clock.advance(seconds(20));
    yard.release(&held).await.unwrap();
    let held = yard.take("x").await;
    let [first, waiting] = [yard.acquire(ask("a", 600)), yard.acquire(ask("b", 600))];
    let second = waiting.progress();
    let shown =
        |position, estimate| AcquireProgress::Waiting { position, estimate: Some(estimate) };
    eventually("it gets its position", || *second.borrow() == shown(2, seconds(40))).await;
    yard.release(&held).await.unwrap();
    one(first.await);
    // The actor sends positions at intervals of its clock.
    yard.clock.advance(seconds(1));
    eventually("it is next", || {
        matches!(*second.borrow(), AcquireProgress::Waiting { position: 1, .. })
    })
    .await;
    yard.close().await;
}

#[actix::test]
async fn a_new_request_gets_its_position_at_once() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    yard.clock.advance(seconds(20));
    yard.release(&held).await.unwrap();
    let held = yard.take("x").await;
    let waiting = [yard.acquire(ask("a", 600)), yard.acquire(ask("b", 600))];
    // The actor answers this after earlier messages, and without a tick.
    let unknown = ReleaseLease { lease: LeaseId(7), ..release_of(&held) };
    assert_eq!(refused(yard.send(unknown).await), BoxRefusal::UnknownLease);
    let progress = waiting.each_ref().map(|waits| *waits.progress().borrow());
    let shown =
        |position, estimate| AcquireProgress::Waiting { position, estimate: Some(estimate) };
    assert_eq!(progress, [shown(1, seconds(20)), shown(2, seconds(40))]);
    // It goes before others, which counts as a tick.
    let urgent = BoxLeaseRequest { priority: Priority::try_from(9).unwrap(), ..ask("c", 600) };
    let urgent = yard.acquire(urgent);
    let (first, last) = (urgent.progress(), waiting[1].progress());
    yard.until_waiting(3).await;
    yard.clock.advance(seconds(1));
    eventually("its progress shows it", || *first.borrow() == shown(1, seconds(20))).await;
    eventually("and the others", || *last.borrow() == shown(3, seconds(60))).await;
    yard.close().await;
}

#[actix::test]
async fn waiting_clients_are_informed_when_the_leader_stops() {
    let (_dir, yard) = yard(spec(1)).await;
    let _held = yard.take("x").await;
    let waiting = yard.acquire(ask("a", 600));
    yard.until_waiting(1).await;
    yard.journal.stop().await;
    assert_eq!(waiting.await, Err(BoxError::LeaderChanged));
}
