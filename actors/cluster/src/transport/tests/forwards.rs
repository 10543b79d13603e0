//! Streams for forwarded requests.

use std::sync::atomic::Ordering;

use futures::future::join_all;
use reelyard_replication::{CallKind, Transport};
use rustix::net::sockopt::tcp_user_timeout;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::*;
use crate::transport::ListenerLimits;

#[tokio::test]
async fn a_stream_reaches_the_service_of_the_other_node() {
    let (first, second, _listener, target) = pair();
    second.knows(1, record(1, "127.0.0.1:9"));
    let mut stream = first.transport.open_forward(&target).await.unwrap();
    for request in [b"first", b"again"] {
        stream.write_all(request).await.unwrap();
        stream.flush().await.unwrap();
        let mut answer = [0; 15];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, *format!("{} of node 1", String::from_utf8_lossy(request)).as_bytes());
    }
    assert_eq!(second.peer(1).unwrap().connections, 1);
    drop(stream);
    until("the stream has ended", || second.peer(1).unwrap().connections == 0).await;
    assert_eq!(first.peer(2).unwrap().connections, 0);
}

#[tokio::test]
async fn a_slow_client_may_pause_the_answer_of_another_node() {
    let (first, second, _listener, target) = pair();
    second.knows(1, record(1, "127.0.0.1:9"));
    let stream = first.transport.open_forward(&target).await.unwrap();
    // The caller notices a vanished node soon. The other node waits for a slow client of the caller.
    assert_eq!(tcp_user_timeout(stream.socket()).unwrap(), 2_500);
    until("it waits", || second.service.silence_ms.load(Ordering::SeqCst) == 60_000).await;
}

#[tokio::test]
async fn many_streams_are_opened_at_once() {
    let (first, second, _listener, target) = pair();
    second.knows(1, record(1, "127.0.0.1:9"));
    let streams = join_all((0..100).map(|_| first.transport.open_forward(&target))).await;
    assert!(streams.iter().all(Result::is_ok), "{streams:?}");
    until("all are there", || second.peer(1).is_some_and(|peer| peer.connections == 100)).await;
}

#[tokio::test]
async fn forwarded_requests_have_a_limit_and_take_no_place_of_votes() {
    let (first, second) = (TestNode::new(1), TestNode::new(2));
    second.knows(1, record(1, "127.0.0.1:9"));
    let limits =
        ListenerLimits { forwards_per_member: 2, calls_per_member: 1, ..ListenerLimits::default() };
    let listener = second.listen_on("127.0.0.1:0".parse().unwrap(), limits);
    let target = second.at(listener.address());
    let open = || first.transport.open_forward(&target);
    let (former, _other) = (open().await.unwrap(), open().await.unwrap());
    let refused = open().await.unwrap_err();
    assert!(refused.why.contains("node 1 has too many connections"), "{refused}");
    let voted = first.transport.call(&target, CallKind::Vote, b"hello".to_vec()).await.unwrap();
    assert_eq!(voted, b"hello of node 1");
    drop(former);
    until("there is room", || second.peer(1).unwrap().connections == 2).await;
    open().await.unwrap();
}

#[tokio::test]
async fn a_node_that_cannot_be_reached_gets_no_stream() {
    let (first, _second, listener, target) = pair();
    listener.stop().await;
    let failed = first.transport.open_forward(&target).await.unwrap_err();
    assert!(failed.why.contains(&target.record.cluster_address), "{failed}");
}

#[tokio::test]
async fn only_a_known_member_vouches_for_clients() {
    let (first, _second, _listener, target) = pair();
    let refused = first.transport.open_forward(&target).await.unwrap_err();
    assert!(refused.why.contains("node 1 is not in the list of members"), "{refused}");
}
