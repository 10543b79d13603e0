//! The BoxLeaseActor with pools on a host: boxes are inspected, initialized and cleaned.

use std::time::Duration;

use reelyard_api::{AuditLine, BoxLogKind};
use reelyard_boxes::box_lease::{
    AcquireProgress, AuditCursor, AuditFilter, BoxError, BoxLeaseRequest, BoxLeaseSettings,
    BoxLogEvent, BoxPhase, BoxRefusal, BoxState, LeaseEnd, PoolSpec, QuarantineBox, RecheckPool,
    RemovePool, RevokeLease, SlotRange, UnquarantineBox,
};
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ScriptedHosts, ask, host, hosted, one, p, pool, refused, seconds,
};
use reelyard_protocol::boxes::{BoxNumber, HookAnswer, HookKind, HookOutput, Reason, SlotId};

const MS: Duration = Duration::from_millis(1);

fn failed(output: &str) -> HookAnswer {
    HookAnswer::Failed { output: HookOutput::cut(output) }
}

async fn yard(spec: PoolSpec, hosts: &ScriptedHosts) -> (tempfile::TempDir, BoxYard) {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), &Clock::manual(START), hosts).await;
    yard.put(spec).await;
    (dir, yard)
}

async fn opened(dir: &std::path::Path, clock: &Clock, hosts: &ScriptedHosts) -> BoxYard {
    BoxYard::open_with(dir, clock, BoxLeaseSettings::default(), hosts.clone()).await
}

fn unquarantine(number: u32) -> UnquarantineBox {
    UnquarantineBox {
        pool: p(),
        number: BoxNumber(number),
        asked_by: "an operator".to_owned(),
        request: None,
    }
}

#[actix::test]
async fn a_node_that_cannot_ask_a_host_blames_it_for_nothing() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(1), &hosts).await;
    yard.until(BoxPhase::Free, 1).await;
    hosts.run_out_of_descriptors();
    // The second probe comes after the answer to the first one was handled.
    for probes in 1..3 {
        yard.advance(seconds(4)).await;
        yard.look().await;
        eventually("the host is probed", || hosts.probes() >= probes).await;
    }
    yard.take("a").await;
    let silence = yard.views.view().queues.get(&p()).and_then(|queue| queue.silence.clone());
    assert_eq!(silence, None);
    yard.close().await;
}

#[actix::test]
async fn a_box_is_looked_at_made_ready_held_and_cleaned() {
    let hosts = ScriptedHosts::default();
    hosts.stick(host(1));
    let (_dir, yard) = yard(hosted(1), &hosts).await;
    let waiting = yard.acquire(ask("a", 60));
    yard.until_waiting(1).await;
    eventually("the host is to look", || hosts.looks().len() == 1).await;
    assert_eq!((yard.count(BoxPhase::Unchecked), hosts.asked()), (1, vec![]));
    hosts.release(host(1));
    hosts.stick(host(1));
    eventually("it is made ready", || hosts.count(HookKind::Init) == 1).await;
    let hook = hosts.last().unwrap();
    assert_eq!((hook.place.host, hook.box_id, hook.token.unwrap().0), (host(1), 0, 1));
    assert_eq!(hook.holder.unwrap().as_str(), "a");
    assert_eq!(yard.count(BoxPhase::Preparing), 1);
    // The initialization does not shorten the term and does not end a wait.
    yard.advance(seconds(100)).await;
    hosts.release(host(1));
    let lease = one(waiting.await);
    assert_eq!(lease.expires_at, Some(START.after(seconds(160))));
    yard.release(&lease).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    assert_eq!(hosts.asked(), [(HookKind::Init, 0, 1), (HookKind::Cleanup, 0, 1)]);
    assert_eq!(yard.views.pool(&p()).unwrap().totals.cleaned, 1);
    yard.close().await;
}

#[actix::test]
async fn the_history_of_a_box_has_the_output_of_its_cleanup() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(1), &hosts).await;
    let lease = one(yard.acquire(ask("a", 60)).await);
    let output = HookOutput::cut("process 7 (sleep) was killed");
    hosts.answer(HookKind::Cleanup, [HookAnswer::Done { output: Some(output) }]);
    yard.release(&lease).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    let filter = AuditFilter { number: Some(BoxNumber(0)), ..AuditFilter::of(p()) };
    let story = yard.views.audit(&filter, AuditCursor::NEWEST, 9).lines;
    let [newest, _] = &story[..] else { panic!("{story:?}") };
    let AuditLine::BoxLog(shown) = AuditLine::from(newest) else { panic!("{newest:?}") };
    assert_eq!((shown.what, shown.token), (BoxLogKind::Cleaned, Some(lease.token)));
    assert_eq!(shown.output.as_deref(), Some("process 7 (sleep) was killed"));
    yard.close().await;
}

#[actix::test]
async fn a_box_that_is_found_dirty_is_cleaned_before_its_first_grant() {
    let hosts = ScriptedHosts::default();
    hosts.dirty(1, "a process of uid 60001");
    hosts.blind(host(1), 1);
    let (_dir, yard) = yard(hosted(2), &hosts).await;
    eventually("the host did not answer", || hosts.looks().len() == 1).await;
    yard.look().await;
    assert_eq!(yard.count(BoxPhase::Unchecked), 2);
    eventually("it is left alone for a second", || {
        yard.views.view().queues.get(&p()).is_some_and(|queue| queue.counts.silences == 1)
    })
    .await;
    yard.advance(seconds(1)).await;
    yard.until(BoxPhase::Free, 2).await;
    assert_eq!(hosts.asked(), [(HookKind::Cleanup, 1, 1)]);
    let log = yard.views.box_log(&p(), Some(BoxNumber(1)), u64::MAX, 9).lines;
    assert!(
        matches!(&log[1].news, BoxLogEvent::FoundDirty(output) if output.as_str().contains("60001"))
    );
    // An operator who knows that the host restarted requests another inspection.
    yard.send(RecheckPool { pool: p() }).await.unwrap();
    yard.until(BoxPhase::Free, 2).await;
    yard.close().await;
}

#[actix::test]
async fn a_failed_init_costs_the_waiter_nothing() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(3), &hosts).await;
    yard.until(BoxPhase::Free, 3).await;
    hosts.answer(HookKind::Init, [failed("no cgroup"), HookAnswer::Done { output: None }]);
    // This request does not wait at all.
    let lease = one(yard.acquire(ask("a", 0)).await);
    assert_eq!((lease.box_id(), lease.token.0), (1, 2));
    yard.until(BoxPhase::Free, 2).await;
    let totals = yard.views.pool(&p()).unwrap().totals;
    assert_eq!(
        (totals.init_failures, totals.ended(LeaseEnd::InitFailed), totals.cleaned),
        (1, 1, 1)
    );
    let log = yard.views.box_log(&p(), Some(BoxNumber(0)), u64::MAX, 9).lines;
    assert_eq!(log.last().unwrap().news, BoxLogEvent::InitFailed(HookOutput::cut("no cgroup")));
    // A request for two boxes never gets only one.
    hosts.answer(HookKind::Init, [HookAnswer::Done { output: None }, failed("no cgroup")]);
    let request = Some(RequestId(7));
    let two = BoxLeaseRequest { count: 2, request, ..ask("b", 60) };
    let grant = yard.acquire(two.clone()).await.unwrap();
    assert_eq!(grant.leases.len(), 2);
    assert_eq!(yard.count(BoxPhase::Leased), 3);
    let again = yard.acquire(two).await.unwrap();
    assert_eq!(again.leases, grant.leases);
    yard.close().await;
}

#[actix::test]
async fn a_box_that_is_never_ready_is_quarantined_in_time() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(PoolSpec { clean_attempts: 2, ..hosted(1) }, &hosts).await;
    yard.until(BoxPhase::Free, 1).await;
    hosts.answer(HookKind::Init, [failed("one"), failed("two")]);
    let waiting = yard.acquire(ask("a", 60));
    yard.until(BoxPhase::Quarantined, 1).await;
    let evidence = yard.views.boxes(&p(), BoxNumber(0), 9).unwrap().lines;
    assert!(
        matches!(&evidence[0].record.state, BoxState::Quarantined { output, by: None } if output.as_str() == "two")
    );
    yard.advance(seconds(60)).await;
    assert!(matches!(waiting.await, Err(BoxError::TimedOut { .. })));
    yard.close().await;
}

#[actix::test]
async fn a_failed_cleanup_is_tried_again_with_back_off() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(1), &hosts).await;
    let lease = one(yard.acquire(ask("a", 60)).await);
    hosts.answer(HookKind::Cleanup, [failed("busy"), failed("busy")]);
    yard.release(&lease).await.unwrap();
    for (attempt, pause) in [(1_u32, seconds(1)), (2, seconds(2))] {
        let failures = || yard.views.pool(&p()).unwrap().totals.clean_failures;
        eventually("it failed", || failures() == u64::from(attempt)).await;
        yard.look().await;
        yard.advance(pause - MS).await;
        assert_eq!(hosts.count(HookKind::Cleanup), attempt as usize);
        yard.advance(MS).await;
        eventually("it is tried again", || hosts.count(HookKind::Cleanup) == attempt as usize + 1)
            .await;
    }
    yard.until(BoxPhase::Free, 1).await;
    let kept = hosts.asked();
    assert_eq!(kept[1..], [1, 2, 3].map(|attempt| (HookKind::Cleanup, 0, attempt)));
    yard.close().await;
}

#[actix::test]
async fn a_dirty_box_is_quarantined_until_an_operator_requests_another_cleanup() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(PoolSpec { clean_attempts: 2, ..hosted(1) }, &hosts).await;
    let lease = one(yard.acquire(ask("a", 60)).await);
    hosts.answer(HookKind::Cleanup, [failed("first"), failed("a process is left")]);
    yard.release(&lease).await.unwrap();
    eventually("it failed", || yard.views.pool(&p()).unwrap().totals.clean_failures == 1).await;
    yard.look().await;
    yard.advance(seconds(1)).await;
    yard.until(BoxPhase::Quarantined, 1).await;
    assert!(matches!(yard.acquire(ask("b", 0)).await, Err(BoxError::TimedOut { .. })));
    let boxes = yard.views.boxes(&p(), BoxNumber(0), 9).unwrap().lines;
    assert!(
        matches!(&boxes[0].record.state, BoxState::Quarantined { output, by: None } if output.as_str() == "a process is left")
    );
    yard.advance(seconds(1000)).await;
    assert_eq!(hosts.count(HookKind::Cleanup), 2, "nothing is run for it");
    let waiting = yard.acquire(ask("b", 60));
    yard.send(unquarantine(0)).await.unwrap();
    assert_eq!(one(waiting.await).box_id(), 0);
    assert_eq!(hosts.asked()[3], (HookKind::Cleanup, 0, 1), "it was cleaned again first");
    assert_eq!(refused(yard.send(unquarantine(0)).await), BoxRefusal::NotQuarantined);
    yard.close().await;
}

#[actix::test]
async fn an_operator_disables_a_box_but_keeps_its_holder() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(2), &hosts).await;
    yard.until(BoxPhase::Free, 2).await;
    let lease = one(yard.acquire(ask("a", 60)).await);
    let quarantine = |number| QuarantineBox {
        pool: p(),
        number: BoxNumber(number),
        reason: Reason::new("it smells").unwrap(),
        asked_by: "an operator".to_owned(),
        request: None,
    };
    assert_eq!(refused(yard.send(quarantine(0)).await), BoxRefusal::BoxInUse);
    yard.send(quarantine(1)).await.unwrap();
    assert_eq!(refused(yard.send(quarantine(1)).await), BoxRefusal::AlreadyQuarantined);
    let none = BoxRefusal::NoBox { pool: p(), number: BoxNumber(2) };
    assert_eq!(refused(yard.send(quarantine(2)).await), none);
    yard.release(&lease).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    let in_use = BoxRefusal::PoolInUse { pool: p() };
    let moved = PoolSpec { host: Some(host(2)), ..hosted(2) };
    assert_eq!(refused(yard.put_as(p(), moved.clone()).await), in_use);
    yard.send(unquarantine(1)).await.unwrap();
    yard.until(BoxPhase::Free, 2).await;
    yard.put(moved).await;
    yard.until(BoxPhase::Free, 2).await;
    assert_eq!(hosts.looks().last().unwrap().place.host, host(2));
    yard.close().await;
}

#[actix::test]
async fn a_request_for_many_boxes_keeps_its_place_and_delays_no_other() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(2), &hosts).await;
    let held = one(yard.acquire(ask("a", 60)).await);
    let reason = Reason::new("it smells").unwrap();
    let both = yard.acquire(BoxLeaseRequest { count: 2, ..ask("b", 600) });
    let next = yard.acquire(ask("c", 600));
    yard.until_waiting(2).await;
    let (number, asked_by) = (BoxNumber(1), "an operator".to_owned());
    yard.send(QuarantineBox { pool: p(), number, reason, asked_by, request: None }).await.unwrap();
    yard.release(&held).await.unwrap();
    let next = one(next.await);
    let last = yard.acquire(ask("d", 600));
    yard.send(unquarantine(1)).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    assert_eq!(yard.views.view().waiters, 2, "one is free, and the first wants both");
    yard.release(&next).await.unwrap();
    let both = both.await.unwrap();
    assert_eq!(both.leases.len(), 2);
    yard.release(&both.leases[0]).await.unwrap();
    one(last.await);
    yard.close().await;
}

#[actix::test]
async fn boxes_that_get_their_own_numbers_as_ids_are_looked_at_first() {
    let hosts = ScriptedHosts::default();
    let slots = Some(SlotRange { first: SlotId(100), count: 4, rest: Duration::ZERO });
    let (_dir, yard) = yard(PoolSpec { slots, ..hosted(2) }, &hosts).await;
    yard.until(BoxPhase::Free, 2).await;
    let looked_at: usize = hosts.looks().iter().map(|look| look.boxes.len()).sum();
    assert_eq!(looked_at, 0, "a box without an id needs no inspection");
    hosts.dirty(1, "somebody else's");
    yard.put(hosted(2)).await;
    eventually("they are inspected", || hosts.looks().last().unwrap().boxes.len() == 2).await;
    yard.until(BoxPhase::Free, 2).await;
    assert_eq!(hosts.asked(), [(HookKind::Cleanup, 1, 1)]);
    yard.close().await;
}

#[actix::test]
async fn a_pool_with_a_box_that_cannot_be_cleaned_is_removed() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(PoolSpec { clean_attempts: 1, ..hosted(1) }, &hosts).await;
    yard.until(BoxPhase::Free, 1).await;
    hosts.answer(HookKind::Init, [failed("no room")]);
    hosts.answer(HookKind::Cleanup, [failed("a process is left")]);
    hosts.stick(host(1));
    let waiting = yard.acquire(ask("a", 600));
    yard.until(BoxPhase::Preparing, 1).await;
    let remove =
        RemovePool { pool: p(), revoke: false, asked_by: "an operator".to_owned(), request: None };
    assert_eq!(yard.send(remove).await, Ok(false), "a box is still in use");
    hosts.release(host(1));
    assert_eq!(refused(waiting.await), BoxRefusal::PoolGoes { pool: p() });
    eventually("the pool is gone", || yard.views.pool(&p()).is_err()).await;
    yard.close().await;
}

#[actix::test]
async fn a_host_that_does_not_answer_counts_against_no_box() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(PoolSpec { clean_attempts: 1, ..hosted(1) }, &hosts).await;
    let lease = one(yard.acquire(ask("a", 60)).await);
    let silent = || HookAnswer::Silent { why: "connection refused".to_owned() };
    hosts.answer(HookKind::Cleanup, [silent(), silent(), silent()]);
    yard.release(&lease).await.unwrap();
    let silences = || yard.views.view().queues.get(&p()).map_or(0, |queue| queue.counts.silences);
    let silence = || yard.views.view().queues.get(&p()).and_then(|queue| queue.silence.clone());
    for (asked, pause) in [(1_u64, 1), (2, 2), (3, 4)] {
        eventually("it did not answer", || silences() == asked).await;
        assert_eq!(silence().as_deref(), Some("connection refused"));
        yard.look().await;
        yard.advance(seconds(pause) - MS).await;
        assert_eq!(hosts.count(HookKind::Cleanup), asked as usize);
        yard.advance(MS).await;
    }
    yard.until(BoxPhase::Free, 1).await;
    eventually("it has answered", || silence().is_none()).await;
    assert_eq!(yard.views.pool(&p()).unwrap().totals.clean_failures, 0);
    // A missing answer to init is not the fault of the box: it is cleaned and granted again.
    hosts.answer(HookKind::Init, [silent()]);
    let lease = one(yard.acquire(ask("b", 60)).await);
    assert_eq!(yard.views.pool(&p()).unwrap().totals.init_failures, 0);
    assert_eq!((lease.token.0, yard.count(BoxPhase::Leased)), (3, 1));
    yard.close().await;
}

#[actix::test]
async fn a_slow_host_delays_no_other_pool() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(100), &hosts).await;
    yard.until(BoxPhase::Free, 100).await;
    let other = PoolSpec { host: Some(host(2)), ..PoolSpec::of(0, 1) };
    yard.put_as(pool("q"), other).await.unwrap();
    yard.put_as(pool("logical"), PoolSpec::of(0, 1)).await.unwrap();
    hosts.stick(host(1));
    let stuck: Vec<_> = (0..100).map(|n| yard.acquire(ask(&format!("h{n}"), 60))).collect();
    eventually("all are asked for", || hosts.count(HookKind::Init) == 100).await;
    for name in ["q", "logical"] {
        for _ in 0..3 {
            let lease =
                one(yard.acquire(BoxLeaseRequest { pool: pool(name), ..ask("a", 60) }).await);
            yard.release(&lease).await.unwrap();
        }
    }
    hosts.release(host(1));
    for waiting in stuck {
        one(waiting.await);
    }
    yard.close().await;
}

#[actix::test]
async fn a_box_whose_client_leaves_during_init_is_cleaned_afterwards() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(hosted(1), &hosts).await;
    yard.until(BoxPhase::Free, 1).await;
    hosts.stick(host(1));
    let gone = yard.acquire(ask("a", 60));
    eventually("it is made ready", || hosts.count(HookKind::Init) == 1).await;
    drop(gone);
    yard.until(BoxPhase::Draining, 1).await;
    yard.look().await;
    assert_eq!(hosts.count(HookKind::Cleanup), 0, "one thing at a time");
    hosts.release(host(1));
    yard.until(BoxPhase::Free, 1).await;
    assert_eq!(hosts.asked(), [(HookKind::Init, 0, 1), (HookKind::Cleanup, 0, 1)]);
    yard.close().await;
}

#[actix::test]
async fn a_revoked_lease_has_its_grace_and_waiting_clients_are_informed() {
    let hosts = ScriptedHosts::default();
    let (_dir, yard) = yard(PoolSpec { grace: seconds(5), ..hosted(1) }, &hosts).await;
    let lease = one(yard.acquire(ask("a", 60)).await);
    let revoke = |lease| RevokeLease {
        lease,
        reason: None,
        asked_by: "an operator".to_owned(),
        request: None,
    };
    yard.send(revoke(lease.id)).await.unwrap();
    yard.advance(seconds(5) - MS).await;
    assert_eq!((hosts.count(HookKind::Cleanup), yard.count(BoxPhase::Draining)), (0, 1));
    yard.advance(MS).await;
    yard.until(BoxPhase::Free, 1).await;
    hosts.stick(host(1));
    let waiting = yard.acquire(ask("b", 60));
    yard.until(BoxPhase::Preparing, 1).await;
    let boxes = yard.views.boxes(&p(), BoxNumber(0), 1).unwrap().lines;
    yard.send(revoke(boxes[0].lease.as_ref().unwrap().id)).await.unwrap();
    assert_eq!(refused(waiting.await), BoxRefusal::Revoked { reason: None });
    yard.close().await;
}

#[actix::test]
async fn a_new_leader_resumes_work_in_progress() {
    let (dir, hosts) = (tempfile::tempdir().unwrap(), ScriptedHosts::default());
    let clock = Clock::manual(START);
    let yard = opened(dir.path(), &clock, &hosts).await;
    yard.put(hosted(4)).await;
    yard.until(BoxPhase::Free, 4).await;
    let lease = one(yard.acquire(ask("a", 0)).await);
    let held = one(yard.acquire(ask("a", 0)).await);
    hosts.stick(host(1));
    yard.release(&lease).await.unwrap();
    let request = Some(RequestId::of("n", b"one"));
    let named = BoxLeaseRequest { request, ..ask("b", 60) };
    let waiting = (yard.acquire(named.clone()), yard.acquire(ask("c", 60)));
    eventually("both are made ready", || hosts.count(HookKind::Init) == 4).await;
    yard.close().await;
    // A new leader knows nothing of the previous leader's calls.
    let hosts = ScriptedHosts::default();
    hosts.stick(host(1));
    let yard = opened(dir.path(), &clock, &hosts).await;
    drop(waiting);
    eventually("one is made ready again, two are cleaned", || {
        (hosts.count(HookKind::Init), hosts.count(HookKind::Cleanup)) == (1, 2)
    })
    .await;
    let waiting = yard.acquire(named.clone());
    let progress = waiting.progress();
    eventually("its progress shows it", || *progress.borrow() == AcquireProgress::Preparing).await;
    let other = yard.acquire(ask("d", 60));
    hosts.release(host(1));
    let lease = one(waiting.await);
    assert_eq!((lease.holder.as_str(), yard.verify(&held)), ("b", Ok(())));
    one(other.await);
    yard.until(BoxPhase::Free, 1).await;
    let looked_at: usize = hosts.looks().iter().map(|look| look.boxes.len()).sum();
    assert_eq!(looked_at, 0, "no box was free when it began");
    let totals = yard.views.pool(&p()).unwrap().totals;
    assert_eq!((totals.cleaned, totals.ended(LeaseEnd::NotTaken)), (2, 1));
    yard.close().await;
    // A free box is inspected before it is granted.
    let hosts = ScriptedHosts::default();
    hosts.stick(host(1));
    let yard = opened(dir.path(), &clock, &hosts).await;
    eventually("the host is to look", || hosts.looks().len() == 1).await;
    let waiting = yard.acquire(ask("e", 60));
    yard.until_waiting(1).await;
    assert_eq!((hosts.count(HookKind::Init), yard.count(BoxPhase::Unchecked)), (0, 1));
    hosts.release(host(1));
    one(waiting.await);
    yard.close().await;
}

#[actix::test]
async fn a_drawn_id_is_inspected_and_a_free_box_has_none() {
    let hosts = ScriptedHosts::default();
    // Another program left processes there; the id of box 0 is in use by another program, which must not be
    // disturbed.
    hosts.dirty(100, "a process of uid 60100");
    hosts.dirty(0, "it is in use");
    let slots = SlotRange { first: SlotId(100), count: 3, rest: Duration::ZERO };
    let (_dir, yard) = yard(PoolSpec { slots: Some(slots), ..hosted(1) }, &hosts).await;
    yard.until(BoxPhase::Free, 1).await;
    assert!(hosts.looks().iter().all(|look| look.boxes.is_empty()));
    let waiting = yard.acquire(ask("a", 60));
    let lease = one(waiting.await);
    assert_eq!(lease.box_id(), 101);
    let looked_at: Vec<_> = hosts.looks().into_iter().flat_map(|look| look.boxes).collect();
    assert_eq!(looked_at, [BoxNumber(100), BoxNumber(101)]);
    assert_eq!(hosts.asked(), [(HookKind::Cleanup, 0, 1), (HookKind::Init, 0, 1)]);
    yard.release(&lease).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    assert_eq!(hosts.last().map(|hook| (hook.kind, hook.box_id)), Some((HookKind::Cleanup, 101)));
    let (cleanups, reason) = (hosts.count(HookKind::Cleanup), Reason::new("its disk").unwrap());
    let asked_by = "an operator".to_owned();
    let quarantine =
        QuarantineBox { pool: p(), number: BoxNumber(0), reason, asked_by, request: None };
    yard.send(quarantine).await.unwrap();
    yard.send(unquarantine(0)).await.unwrap();
    yard.until(BoxPhase::Free, 1).await;
    assert_eq!(hosts.count(HookKind::Cleanup), cleanups, "it has nothing that could be cleaned");
    yard.close().await;
}
