//! Refusals by the hello: in words on both sides, and counted on both sides.

use reelyard_core::clock::Clock;
use reelyard_core::cluster_id::{ClusterId, StoreId};
use reelyard_protocol::cluster::{
    ConnectionUse, ElectionTimes, FormatLevels, Greeting, HelloSkips, NodeHello, PROTOCOL_VERSIONS,
    RefusalKind,
};
use reelyard_replication::{
    CallKind, CallTarget, FORMAT_LEVEL, LOWEST_FORMAT_LEVEL, MemberRecord, Transport,
};

use super::support::*;
use crate::transport::LinkSecurity;

/// Calls `target` as this member, which is refused for this reason. Returns the words.
async fn refused(
    caller: &TestNode,
    target: &CallTarget,
    kind: RefusalKind,
    is_ours: bool,
) -> String {
    let call = caller.transport.call(target, CallKind::Vote, b"hi".to_vec());
    let why = call.await.unwrap_err().why;
    let view = caller.peer(target.node).unwrap();
    let refusal = view.last_refusal.unwrap_or_else(|| panic!("not refused: {why}"));
    assert_eq!((refusal.kind, refusal.is_ours, &refusal.why), (kind, is_ours, &why));
    assert_eq!(view.refusals.get(&kind), Some(&1));
    why
}

fn node(change: impl FnOnce(&mut TestMember)) -> TestNode {
    let mut member = TestMember::new(1);
    change(&mut member);
    TestNode::of(member, LinkSecurity::PlainOnLoopback, Clock::system())
}

#[tokio::test]
async fn a_node_of_another_cluster_is_refused_in_words() {
    let (_, second, _listener, target) = pair();
    let caller = node(|member| member.identity.cluster = ClusterId::from(0xee));
    let why = refused(&caller, &target, RefusalKind::AnotherCluster, false).await;
    let ids = [ClusterId::from(0xee), ClusterId::from(CLUSTER)];
    assert!(ids.iter().all(|id| why.contains(&id.to_string())), "{why}");
    // Node 1 is no member that node 2 knows.
    assert_eq!(second.transport.refusals_of_others().get(&RefusalKind::AnotherCluster), Some(&1));
}

#[tokio::test]
async fn a_member_is_counted_under_its_number() {
    let (_, second, _listener, target) = pair();
    second.knows(1, record(1, "127.0.0.1:9"));
    let caller = node(|member| member.identity.cluster = ClusterId::from(0xee));
    refused(&caller, &target, RefusalKind::AnotherCluster, false).await;
    let view = second.peer(1).unwrap();
    assert_eq!(view.refusals.get(&RefusalKind::AnotherCluster), Some(&1));
    let refusal = view.last_refusal.unwrap();
    assert!(refusal.is_ours && refusal.why.contains("node 2 is of cluster"), "{refusal:?}");
    assert!(second.transport.refusals_of_others().is_empty());
}

#[tokio::test]
async fn an_emptied_disk_under_an_old_number_is_refused() {
    let (first, second, _listener, target) = pair();
    // The called node has another store.
    let record = MemberRecord { store: Some(StoreId::from(0xff)), ..target.record.clone() };
    let emptied = CallTarget { record, ..target.clone() };
    let why = refused(&first, &emptied, RefusalKind::AnotherNode, false).await;
    assert!(why.contains("its disk was emptied") && why.contains("cluster remove 2"), "{why}");
    // The calling node has another store.
    second.knows(1, record_of_store(0xff));
    let why = refused(&node(|_| ()), &target, RefusalKind::AnotherStore, false).await;
    assert!(why.contains("node 1") && why.contains("its disk was emptied"), "{why}");
    // A record without a store says nothing.
    let record = MemberRecord { store: None, ..target.record.clone() };
    second.member.members.lock().unwrap().clear();
    let target = CallTarget { record, ..target };
    first.transport.call(&target, CallKind::Vote, b"hi".to_vec()).await.unwrap();
}

fn record_of_store(store: u128) -> MemberRecord {
    MemberRecord { store: Some(StoreId::from(store)), ..record(1, "127.0.0.1:9") }
}

#[tokio::test]
async fn a_newer_member_is_refused_only_while_another_node_leads() {
    let (first, second, _listener, target) = pair();
    second.knows(2, record(2, "127.0.0.1:9"));
    let why = refused(&first, &target, RefusalKind::Removed, false).await;
    assert!(why.contains("node 1 was removed") && why.contains("new invitation"), "{why}");
    // The list of node 2 may be older than node 3, unless node 2 hears another leader. The name in a certificate of an
    // unknown node is not checked.
    let third = TestNode::new(3);
    *second.member.leader.lock().unwrap() = Some(2);
    let why = refused(&third, &target, RefusalKind::AnotherNode, false).await;
    assert!(why.contains("node 3 is not in the list of members"), "{why}");
    for leader in [None, Some(3)] {
        *second.member.leader.lock().unwrap() = leader;
        let third = TestNode::new(3);
        third.transport.call(&target, CallKind::Vote, b"hi".to_vec()).await.unwrap();
    }
    // Number 4 was given before.
    let record = MemberRecord { numbers_given: 4, ..record(2, "127.0.0.1:9") };
    *second.member.members.lock().unwrap() = vec![(2, record)];
    refused(&TestNode::new(4), &target, RefusalKind::Removed, false).await;
}

#[tokio::test]
async fn another_node_at_the_address_is_refused() {
    let (first, _second, _listener, target) = pair();
    let third = CallTarget { node: 3, ..target };
    let why = refused(&first, &third, RefusalKind::AnotherNode, false).await;
    assert!(why.contains("this is node 2, not node 3"), "{why}");
}

#[tokio::test]
async fn a_node_that_calls_itself_is_refused() {
    let (_, second, _listener, target) = pair();
    let why = refused(&second, &target, RefusalKind::AnotherNode, false).await;
    assert!(why.contains("both sides are node 2"), "{why}");
}

#[tokio::test]
async fn another_timing_is_refused_with_both_values() {
    let (_, _second, _listener, target) = pair();
    for (other, words) in [
        (ElectionTimes { heartbeat_ms: 150, ..times() }, ["heartbeat 150 ms", "heartbeat 100 ms"]),
        // The ends of leases depend on it.
        (
            ElectionTimes { clock_bound_ms: 400, ..times() },
            ["clock bound 400 ms", "clock bound 1000 ms"],
        ),
    ] {
        let caller = node(|member| member.times = other);
        let why = refused(&caller, &target, RefusalKind::Timing, false).await;
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    }
}

fn hello(caller: &TestNode, target: &CallTarget) -> NodeHello {
    let expected = reelyard_protocol::cluster::AddressedNode {
        number: target.node,
        store: target.record.store,
    };
    caller.local.hello(ConnectionUse::Vote, Some(expected))
}

#[tokio::test]
async fn a_program_without_a_common_format_level_is_refused() {
    let (first, _second, _listener, target) = pair();
    let levels = FormatLevels { min: 7, max: 9 };
    let hello = NodeHello { levels, ..hello(&first, &target) };
    let answer = greet(&target, &Greeting::Hello(Box::new(hello)).encode()).await;
    let Some(Greeting::Refused(refusal)) = answer else { panic!("{answer:?}") };
    assert_eq!(refusal.kind, RefusalKind::FormatLevel);
    assert!(refusal.why.contains("7 to 9"), "{refusal}");
}

#[tokio::test]
async fn programs_of_neighbouring_format_levels_run_together() {
    let (first, _second, _listener, target) = pair();
    for (min, max) in [(LOWEST_FORMAT_LEVEL, LOWEST_FORMAT_LEVEL), (FORMAT_LEVEL, FORMAT_LEVEL + 1)]
    {
        let levels = FormatLevels { min, max };
        let hello = NodeHello { levels, ..hello(&first, &target) };
        let answer = greet(&target, &Greeting::Hello(Box::new(hello)).encode()).await;
        let Some(Greeting::Hello(answer)) = answer else { panic!("{answer:?}") };
        let own = FormatLevels { min: LOWEST_FORMAT_LEVEL, max: FORMAT_LEVEL };
        assert_eq!(answer.levels, own);
    }
}

#[tokio::test]
async fn a_program_without_a_common_protocol_is_refused() {
    let (first, second, _listener, target) = pair();
    let mut bytes = Greeting::Hello(Box::new(hello(&first, &target))).encode();
    for other in [PROTOCOL_VERSIONS.min - 1, PROTOCOL_VERSIONS.max + 1] {
        (bytes[4], bytes[5]) = (other, other);
        let answer = greet(&target, &bytes).await;
        let Some(Greeting::Refused(refusal)) = answer else { panic!("{answer:?}") };
        assert_eq!(refusal.kind, RefusalKind::Protocol);
        let words = [format!("{other} to {other}"), "versions of reelyard that follow".to_owned()];
        assert!(words.iter().all(|word| refusal.why.contains(word)), "{refusal}");
    }
    let counted = || second.transport.refusals_of_others().get(&RefusalKind::Protocol) == Some(&2);
    until("counted", counted).await;
}

#[tokio::test]
async fn a_hello_of_a_later_program_with_a_common_version_is_accepted() {
    let (first, _second, _listener, target) = pair();
    let mut bytes = Greeting::Hello(Box::new(hello(&first, &target))).encode();
    bytes[5] += 1;
    bytes.extend([1, 2, 3]);
    let answer = greet(&target, &bytes).await;
    let Some(Greeting::Hello(answer)) = answer else { panic!("{answer:?}") };
    assert_eq!(answer.sender.unwrap().number, 2);
    assert_eq!((answer.times, answer.expected), (times(), None));
}

#[tokio::test]
async fn nodes_that_skip_different_entries_know_it_on_both_sides() {
    let (first, second, _listener, target) = pair();
    let skips = |node: &TestNode, skipped: &[(u64, u32)]| {
        *node.member.skips.lock().unwrap() = HelloSkips { log: (0, 10), skipped: skipped.to_vec() };
    };
    let skips_others =
        |node: &TestNode| node.peer(3 - node.number).is_some_and(|peer| peer.skips_others);
    let known = || [&first, &second].map(skips_others);
    skips(&first, &[]);
    skips(&second, &[(7, 1)]);
    first.transport.connect(&target).await.unwrap();
    until("both know it", || known() == [true, true]).await;
    skips(&first, &[(7, 1)]);
    first.transport.connect(&target).await.unwrap();
    until("both know that it has ended", || known() == [false, false]).await;
}

/// A program of version 7 would take all requests of a stream for those of its first client.
#[tokio::test]
async fn a_stream_has_the_highest_version_that_both_sides_know() {
    let (first, second, _listener, target) = pair();
    let to_this_one = first.transport.open_forward(&target);
    second.knows(1, record(1, "127.0.0.1:9"));
    assert_eq!(to_this_one.await.unwrap().version(), PROTOCOL_VERSIONS.max);
    let hello = second.local.hello(ConnectionUse::Forward, None);
    let mut bytes = Greeting::Hello(Box::new(hello)).encode();
    (bytes[4], bytes[5]) = (PROTOCOL_VERSIONS.min, PROTOCOL_VERSIONS.min);
    let earlier = second.at(answer_with(bytes).await);
    let to_earlier = first.transport.open_forward(&earlier).await.unwrap();
    assert_eq!(to_earlier.version(), PROTOCOL_VERSIONS.min);
}

#[tokio::test]
async fn a_caller_refuses_an_answer_of_another_node() {
    let (first, second) = (TestNode::new(1), TestNode::new(2));
    let another = node(|member| member.identity.cluster = ClusterId::from(0xee));
    let hello = NodeHello {
        purpose: ConnectionUse::Vote,
        ..another.local.hello(ConnectionUse::Vote, None)
    };
    let answer = NodeHello { expected: None, ..hello };
    let address = answer_with(Greeting::Hello(Box::new(answer)).encode()).await;
    let why = refused(&first, &second.at(address), RefusalKind::AnotherCluster, true).await;
    assert!(why.contains("is of cluster"), "{why}");
    // A program of a later version: its refusal is read, also with an unknown reason.
    let mut bytes = b"RYCL\x09\x09\x01".to_vec();
    bytes.extend(b"\x07climate\x07too hot");
    let address = answer_with(bytes).await;
    let caller = TestNode::new(1);
    let why = refused(&caller, &second.at(address), RefusalKind::Unknown, false).await;
    assert_eq!(why, "too hot");
    // Another service.
    let address = answer_with(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()).await;
    let caller = TestNode::new(1);
    let why = refused(&caller, &second.at(address), RefusalKind::Garbage, true).await;
    assert!(why.contains("does not answer as a node"), "{why}");
}
