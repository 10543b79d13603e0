//! Calls of the journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use reelyard_replication::{CallKind, Transport};
use tokio::net::TcpListener;

use super::support::*;
use crate::transport::LinkSecurity;

const KINDS: [CallKind; 3] = [CallKind::Vote, CallKind::Log, CallKind::Snapshot];

#[tokio::test]
async fn a_call_is_answered_on_a_connection_per_purpose() {
    let (first, second, _listener, target) = pair();
    for _ in 0..3 {
        for kind in KINDS {
            let answer = first.transport.call(&target, kind, b"hi".to_vec()).await.unwrap();
            let expected = if kind == CallKind::Snapshot { "2" } else { "hi of node 1" };
            assert_eq!(String::from_utf8(answer).unwrap(), expected);
        }
    }
    for (view, other) in [(first.peer(2).unwrap(), 2), (second.peer(1).unwrap(), 1)] {
        assert_eq!((view.number, view.connections), (other, 3));
        assert!(view.sent > 0 && view.received > 0 && view.since_contact.is_some(), "{view:?}");
        assert_eq!(view.program.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    }
    assert!(first.peer(2).unwrap().round_trip.unwrap() < Duration::from_secs(1));
}

#[tokio::test]
async fn calls_at_the_same_time_get_their_own_answers() {
    let (first, _second, _listener, target) = pair();
    let calls = (0..500).map(|number: u32| {
        let call = first.transport.call(&target, CallKind::Log, number.to_string().into_bytes());
        async move { (number, String::from_utf8(call.await.unwrap()).unwrap()) }
    });
    for (number, answer) in join_all(calls).await {
        assert_eq!(answer, format!("{number} of node 1"));
    }
    assert_eq!(first.peer(2).unwrap().connections, 1);
}

#[tokio::test]
async fn a_dropped_call_leaves_the_connection_usable() {
    let (first, second, _listener, target) = pair();
    let waiting = first.transport.call(&target, CallKind::Vote, WAIT.to_vec());
    let waiting = tokio::spawn(waiting);
    until("the call has arrived", || second.service.waiting.load(Ordering::SeqCst) == 1).await;
    waiting.abort();
    let answer = first.transport.call(&target, CallKind::Vote, b"next".to_vec()).await.unwrap();
    assert_eq!(answer, b"next of node 1");
    // The late answer is skipped.
    second.service.gate.add_permits(1);
    let answer = first.transport.call(&target, CallKind::Vote, b"last".to_vec()).await.unwrap();
    assert_eq!(answer, b"last of node 1");
    assert_eq!(second.peer(1).unwrap().connections, 1);
}

#[tokio::test]
async fn a_failed_connection_is_reported_at_once_and_made_again() {
    let (first, second, listener, target) = pair();
    let call = || first.transport.call(&target, CallKind::Vote, b"hi".to_vec());
    call().await.unwrap();
    let address = listener.address();
    listener.stop().await;
    let began = Instant::now();
    let failed = call().await.unwrap_err();
    assert_eq!(failed.node, 2);
    assert!(began.elapsed() < Duration::from_secs(2), "{failed}");
    let _listener = second.listen_on(address, crate::transport::ListenerLimits::default());
    loop {
        match call().await {
            Ok(answer) => break assert_eq!(answer, b"hi of node 1"),
            Err(unreachable) => assert!(!unreachable.why.is_empty()),
        }
        assert!(began.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(first.peer(2).unwrap().unreachable, None);
}

#[tokio::test]
async fn many_calls_make_one_attempt_to_connect() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (first, second) = (TestNode::new(1), TestNode::new(2));
    let target = second.at(silent.local_addr().unwrap());
    let calls = (0..20).map(|_| first.transport.call(&target, CallKind::Vote, b"hi".to_vec()));
    let calls = tokio::spawn(join_all(calls));
    let (accepted, _) = silent.accept().await.unwrap();
    drop(accepted);
    let answers = calls.await.unwrap();
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    let more = tokio::time::timeout(Duration::from_millis(100), silent.accept()).await;
    assert!(more.is_err(), "a second attempt was made");
    assert!(first.peer(2).unwrap().unreachable.is_some());
}

#[tokio::test]
async fn a_connection_that_breaks_fails_its_open_calls() {
    let (first, second, listener, target) = pair();
    let waiting = tokio::spawn(first.transport.call(&target, CallKind::Log, WAIT.to_vec()));
    until("the call has arrived", || second.service.waiting.load(Ordering::SeqCst) == 1).await;
    listener.stop().await;
    let failed = waiting.await.unwrap().unwrap_err();
    assert!(failed.why.contains(&target.record.cluster_address), "{failed}");
}

#[tokio::test]
async fn a_request_over_the_limit_is_refused_before_it_is_sent() {
    let (first, second, _listener, target) = pair();
    let large = vec![0; 17 << 20];
    let failed = first.transport.call(&target, CallKind::Log, large).await.unwrap_err();
    assert!(failed.why.contains("over the limit of 16777216 bytes"), "{failed}");
    assert_eq!(second.peer(1), None);
    let whole = vec![0; (4 << 20) - 8];
    let answer = first.transport.call(&target, CallKind::Snapshot, whole).await.unwrap();
    assert_eq!(answer, b"4194296");
}

#[tokio::test]
async fn a_member_at_another_address_gets_a_new_connection() {
    let (first, second, former, target) = pair();
    first.transport.call(&target, CallKind::Vote, b"hi".to_vec()).await.unwrap();
    let current = second.listen();
    let moved = second.at(current.address());
    former.stop().await;
    let answer = first.transport.call(&moved, CallKind::Vote, b"hi".to_vec()).await.unwrap();
    assert_eq!(answer, b"hi of node 1");
}

#[tokio::test]
async fn a_receiver_of_snapshots_that_stops_delays_no_heartbeat() {
    let (first, second, _listener, target) = pair();
    // The receiver takes no part any more.
    let parts: Vec<_> = (0..100)
        .map(|_| {
            tokio::spawn(first.transport.call(&target, CallKind::Snapshot, WAIT.to_vec()));
            tokio::spawn(first.transport.call(&target, CallKind::Snapshot, vec![1; 1 << 20]))
        })
        .collect();
    until("parts have arrived", || second.service.waiting.load(Ordering::SeqCst) > 0).await;
    for _ in 0..20 {
        first.transport.call(&target, CallKind::Vote, b"hi".to_vec()).await.unwrap();
    }
    for part in parts {
        part.abort();
    }
}

#[tokio::test]
async fn heartbeats_do_not_queue_behind_parts_of_snapshots() {
    const PARTS: usize = 64;
    let (first, _second, _listener, target) = pair();
    let heartbeat = || first.transport.call(&target, CallKind::Vote, b"hi".to_vec());
    heartbeat().await.unwrap();
    let mut sent_before = Vec::new();
    for _ in 0..9 {
        let sent = Arc::new(AtomicUsize::new(0));
        let send_part = |_| {
            let part = first.transport.call(&target, CallKind::Snapshot, vec![1; 1 << 20]);
            let sent = Arc::clone(&sent);
            tokio::spawn(async move {
                part.await.unwrap();
                sent.fetch_add(1, Ordering::Relaxed);
            })
        };
        let parts: Vec<_> = (0..PARTS).map(send_part).collect();
        // Each part is in its queue before the heartbeat.
        tokio::task::yield_now().await;
        heartbeat().await.unwrap();
        sent_before.push(sent.load(Ordering::Relaxed));
        join_all(parts).await;
    }
    // In one queue with the parts, each heartbeat would come after most of them.
    sent_before.sort_unstable();
    assert!(sent_before[sent_before.len() / 2] < PARTS / 4, "{sent_before:?}");
}

#[tokio::test]
async fn the_skew_of_clocks_is_measured() {
    let here = TestNode::of(TestMember::new(1), LinkSecurity::PlainOnLoopback, clock_at(10_000));
    let there = TestNode::of(TestMember::new(2), LinkSecurity::PlainOnLoopback, clock_at(13_000));
    let listener = there.listen();
    let target = there.at(listener.address());
    here.transport.call(&target, CallKind::Vote, b"hi".to_vec()).await.unwrap();
    let skew = here.peer(2).unwrap().clock_skew_ms.unwrap();
    assert!((3_000..4_000).contains(&skew), "{skew}");
}
