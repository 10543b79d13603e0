//! Repeated requests, and requests whose clients leave.

use reelyard_api::AuditLine;
use reelyard_boxes::box_lease::{
    AuditCursor, AuditFilter, BoxLeaseRequest, BoxPhase, BoxRefusal, LeaseEnd, PoolSpec,
    ReleaseLease,
};
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ask, nth_token, one, p, refused, release_of,
};
use reelyard_protocol::boxes::{FenceToken, Holder};

use super::{named, spec, yard};

#[actix::test]
async fn a_repeated_request_is_granted_once() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(spec(2)).await;
    let held = [yard.take("x").await, yard.take("x").await];
    // Repeated while the request waits.
    let both = [yard.acquire(named("n", 60)), yard.acquire(named("n", 60))];
    yard.until_waiting(1).await;
    let other = BoxLeaseRequest { request: Some(RequestId::of("n", b"two boxes")), ..ask("a", 60) };
    assert_eq!(refused(yard.acquire(other.clone()).await), BoxRefusal::OtherRequest);
    yard.release(&held[0]).await.unwrap();
    let [first, second] = both;
    let lease = one(first.await);
    assert_eq!(one(second.await), lease);
    // Repeated after the grant.
    assert_eq!(one(yard.acquire(named("n", 0)).await), lease);
    assert_eq!(refused(yard.acquire(other).await), BoxRefusal::OtherRequest);
    yard.close().await;
    // Repeated under another leader.
    let yard = BoxYard::open(dir.path(), &clock).await;
    assert_eq!(one(yard.acquire(named("n", 0)).await), lease);
    assert_eq!(yard.views.pool(&p()).unwrap().totals.granted, 3);
    // Repeated after the end of the lease.
    yard.release(&lease).await.unwrap();
    assert_eq!(refused(yard.acquire(named("n", 60)).await), BoxRefusal::AlreadyReleased);
    yard.close().await;
}

#[actix::test]
async fn a_leaving_client_leaves_the_queue_and_its_grant_is_withdrawn() {
    let (_dir, yard) = yard(spec(1)).await;
    let held = yard.take("x").await;
    let (gone, next) = (yard.acquire(ask("a", 60)), yard.acquire(ask("b", 60)));
    yard.until_waiting(2).await;
    drop(gone);
    yard.until_waiting(1).await;
    yard.release(&held).await.unwrap();
    let held = one(next.await);
    assert_eq!(held.token, nth_token(2));
    yard.release(&held).await.unwrap();
    let taken_back = || yard.views.pool(&p()).unwrap().totals.ended(LeaseEnd::NotTaken);
    // The client leaves during the grant.
    drop(yard.acquire(ask("c", 60)));
    eventually("it is withdrawn", || taken_back() == 1).await;
    yard.until(BoxPhase::Free, 1).await;
    // The client leaves without reading the answer. With a name it can repeat the request as if it were new.
    let unread = yard.acquire(named("n", 60));
    yard.until(BoxPhase::Leased, 1).await;
    drop(unread);
    let lease = one(yard.acquire(named("n", 60)).await);
    eventually("it is withdrawn", || taken_back() == 2).await;
    assert_eq!((lease.token, yard.verify(&lease)), (nth_token(5), Ok(())));
    yard.release(&lease).await.unwrap();
    yard.look().await;
    let left = || yard.views.view().queues[&p()].counts.left;
    eventually("all three are counted, once", || left() == 3).await;
    yard.close().await;
}

#[actix::test]
async fn a_repeated_release_is_no_refusal() {
    let (_dir, yard) = yard(spec(1)).await;
    let lease = yard.take("a").await;
    let waiting = yard.acquire(ask("b", 60));
    yard.until_waiting(1).await;
    let repeated = ReleaseLease { may_be_repeated: true, ..release_of(&lease) };
    // The second one arrives while the first is committed.
    let (first, second) = (yard.send(repeated), yard.send(repeated));
    assert_eq!(futures::join!(first, second), (Ok(()), Ok(())));
    let next = one(waiting.await);
    assert_eq!((yard.send(repeated).await, yard.verify(&next)), (Ok(()), Ok(())));
    assert_eq!(refused(yard.release(&lease).await), BoxRefusal::AlreadyReleased);
    let foreign = ReleaseLease { token: next.token, ..repeated };
    assert_eq!(refused(yard.send(foreign).await), BoxRefusal::WrongToken);
    assert_eq!(yard.views.pool(&p()).unwrap().totals.ended(LeaseEnd::Released), 1);
    yard.close().await;
}

#[actix::test]
async fn a_client_that_leaves_without_reading_takes_nothing_from_a_repetition() {
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
    // Neither the first client nor the repeating one read the answer.
    yard.release(&other).await.unwrap();
    let unread = [yard.acquire(named("k", 60)), yard.acquire(named("k", 60))];
    yard.until(BoxPhase::Leased, 2).await;
    drop(unread);
    yard.until(BoxPhase::Leased, 1).await;
    yard.close().await;
}

#[actix::test]
async fn a_withdrawn_grant_does_not_count_for_the_quota_of_its_repetition() {
    let (_dir, yard) = yard(PoolSpec { quota: 1, ..spec(2) }).await;
    let unread = yard.acquire(named("n", 60));
    yard.until(BoxPhase::Leased, 1).await;
    drop(unread);
    let lease = one(yard.acquire(named("n", 60)).await);
    assert_eq!(lease.token, nth_token(2));
    let over = BoxRefusal::OverQuota { count: 1, most: 1 };
    assert_eq!(refused(yard.acquire(ask("a", 60)).await), over);
    yard.close().await;
}

#[actix::test]
async fn another_holder_gets_the_same_grant_only_if_it_resumes_explicitly() {
    let (_dir, yard) = yard(spec(2)).await;
    let lease = one(yard.acquire(named("n", 0)).await);
    let holder = Holder::new("b").unwrap();
    let other = BoxLeaseRequest { holder: holder.clone(), ..named("n", 0) };
    let why = BoxRefusal::RequestOfOther { holder: lease.holder.clone(), asker: holder };
    assert_eq!(refused(yard.acquire(other.clone()).await), why);
    let goes_on = BoxLeaseRequest { take_over: true, ..other.clone() };
    assert_eq!(one(yard.acquire(goes_on).await).id, lease.id);
    assert_eq!(one(yard.acquire(named("n", 0)).await).id, lease.id);
    // The same while the request waits.
    let _all = one(yard.acquire(ask("c", 0)).await);
    let _waiting = yard.acquire(named("m", 100));
    yard.until_waiting(1).await;
    let other = BoxLeaseRequest { request: named("m", 0).request, ..other };
    let refusal = refused(yard.acquire(other).await);
    assert!(matches!(refusal, BoxRefusal::RequestOfOther { .. }), "{refusal}");
    yard.close().await;
}

#[actix::test]
async fn wrong_tokens_are_counted_and_on_record() {
    let (_dir, yard) = yard(spec(1)).await;
    let lease = yard.take("a").await;
    for token in [7, 8, 9] {
        let release = ReleaseLease { token: FenceToken(token), ..release_of(&lease) };
        assert_eq!(refused(yard.send(release).await), BoxRefusal::WrongToken);
    }
    yard.look().await;
    let filter = AuditFilter { what: Some("wrong_token".to_owned()), ..AuditFilter::of(p()) };
    let lines = || yard.views.audit(&filter, AuditCursor::NEWEST, 9).lines;
    let times = || {
        let reported = lines().into_iter().map(|line| match AuditLine::from(&line) {
            AuditLine::BoxLog(log) => log.output.unwrap(),
            AuditLine::Lease(_) => panic!("a lease ended"),
        });
        reported.collect::<Vec<_>>()
    };
    eventually("all are on record", || !times().is_empty()).await;
    assert!(times()[0].starts_with("token "), "{:?}", times());
    let counted = || yard.views.view().queues.get(&p()).map(|queue| queue.counts.wrong_tokens);
    eventually("they are counted", || counted() == Some(3)).await;
    yard.close().await;
}
