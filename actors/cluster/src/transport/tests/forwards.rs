//! Streams for forwarded requests.

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::*;

#[tokio::test]
async fn a_stream_reaches_the_service_of_the_other_node() {
    let (first, second, _listener, target) = pair();
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
async fn many_streams_are_opened_at_once() {
    let (first, second, _listener, target) = pair();
    let streams = join_all((0..100).map(|_| first.transport.open_forward(&target))).await;
    assert!(streams.iter().all(Result::is_ok), "{streams:?}");
    until("all are there", || second.peer(1).is_some_and(|peer| peer.connections == 100)).await;
}

#[tokio::test]
async fn a_node_that_cannot_be_reached_gets_no_stream() {
    let (first, _second, listener, target) = pair();
    listener.stop().await;
    let failed = first.transport.open_forward(&target).await.unwrap_err();
    assert!(failed.why.contains(&target.record.cluster_address), "{failed}");
}
