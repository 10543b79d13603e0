//! Callers that misbehave cost bounded memory and one log line a minute, and members are served meanwhile.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reelyard_protocol::cluster::{
    AddressedNode, CallHead, ConnectionUse, Greeting, LARGEST_GREETING, RefusalKind,
};
use reelyard_replication::{CallKind, CallTarget, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::support::*;
use crate::transport::framing::{read_frame, write_frame};
use crate::transport::{ClusterListener, ListenerLimits};

/// A listener with this time limit for hellos, and a member that calls it.
fn listening(greeting_time: Duration) -> (TestNode, TestNode, ClusterListener, CallTarget) {
    let (first, second) = (TestNode::new(1), TestNode::new(2));
    let limits = ListenerLimits { greeting_time, ..ListenerLimits::default() };
    let listener = second.listen_on("127.0.0.1:0".parse().unwrap(), limits);
    let target = second.at(listener.address());
    (first, second, listener, target)
}

/// Connects from this loopback address.
async fn connect_from(last: u8, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 1, last), 0)))?;
    socket.connect(to).await
}

/// Whether the other side has closed the connection, perhaps after a last frame.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.is_ok()
}

fn refusals(node: &TestNode, kind: RefusalKind) -> u64 {
    node.transport.refusals_of_others().get(&kind).copied().unwrap_or_default()
}

async fn member_is_served(first: &TestNode, target: &CallTarget) {
    let answer = first.transport.call(target, CallKind::Vote, b"hi".to_vec()).await.unwrap();
    assert_eq!(answer, b"hi of node 1");
}

#[tokio::test]
async fn garbage_and_huge_lengths_end_the_connection() {
    let (first, second, listener, target) = listening(Duration::from_secs(60));
    let bodies: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        &[0xff; 64],
        &[0xff, 0xff, 0xff, 0xff, 1],
        &[0, 0, 0x10, 1, 1],
        &[0, 0, 0, 4, 1, 2, 3, 4],
    ];
    for (index, body) in bodies.iter().enumerate() {
        let mut stream = TcpStream::connect(listener.address()).await.unwrap();
        stream.write_all(body).await.unwrap();
        assert!(is_closed(&mut stream).await, "{body:?}");
        until("counted", || refusals(&second, RefusalKind::Garbage) == index as u64 + 1).await;
    }
    member_is_served(&first, &target).await;
}

#[tokio::test]
async fn half_hellos_and_callers_that_leave_are_no_members() {
    let (first, second, listener, target) = listening(Duration::from_secs(60));
    for half in [&b""[..], &[0], &[0, 0, 0, 100, b'R', b'Y']] {
        let mut stream = TcpStream::connect(listener.address()).await.unwrap();
        stream.write_all(half).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(is_closed(&mut stream).await);
    }
    until("both halves are counted", || refusals(&second, RefusalKind::Garbage) == 2).await;
    member_is_served(&first, &target).await;
}

#[tokio::test]
async fn a_caller_that_sends_slowly_is_cut_off() {
    let (first, second, listener, target) = listening(Duration::from_millis(200));
    let mut stream = TcpStream::connect(listener.address()).await.unwrap();
    // One byte every 20 ms would take 1 min for the hello.
    for byte in [0, 0, 0x0b, 0xb8].into_iter().chain(std::iter::repeat(b'R')) {
        if stream.write_all(&[byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(is_closed(&mut stream).await);
    until("counted", || refusals(&second, RefusalKind::Slow) == 1).await;
    member_is_served(&first, &target).await;
}

#[tokio::test]
async fn a_thousand_connections_leave_room_for_members() {
    let (first, second, listener, target) = listening(Duration::from_secs(60));
    member_is_served(&first, &target).await;
    let mut open = Vec::new();
    for index in 0..1000_u32 {
        let last = u8::try_from(index % 100 + 1).unwrap();
        open.push(connect_from(last, listener.address()).await.unwrap());
    }
    // 100 addresses may have 8 guests each, and all together 256.
    until("the rest is refused", || refusals(&second, RefusalKind::Busy) == 1000 - 256).await;
    first.transport.call(&target, CallKind::Log, b"hi".to_vec()).await.unwrap();
    member_is_served(&first, &target).await;
    drop(open);
    until("there is room again", || {
        let mut stream = std::net::TcpStream::connect(listener.address()).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        refusals(&second, RefusalKind::Garbage) > 0
    })
    .await;
}

#[tokio::test]
async fn one_address_cannot_take_all_connections() {
    let (_first, second, listener, _target) = listening(Duration::from_secs(60));
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(connect_from(1, listener.address()).await.unwrap());
    }
    until("the rest is refused", || refusals(&second, RefusalKind::Busy) == 12).await;
    let mut other = connect_from(2, listener.address()).await.unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    assert!(is_closed(&mut other).await);
    until("the other one is answered", || refusals(&second, RefusalKind::Garbage) == 1).await;
}

/// A connection of member 1 for votes, after both hellos.
async fn greeted(first: &TestNode, target: &CallTarget) -> TcpStream {
    let mut stream = TcpStream::connect(&target.record.cluster_address).await.unwrap();
    let expected = AddressedNode { number: target.node, store: target.record.store };
    let hello = first.local.hello(ConnectionUse::Vote, Some(expected));
    let bytes = Greeting::Hello(Box::new(hello)).encode();
    write_frame(&mut stream, LARGEST_GREETING, &[], &bytes).await.unwrap();
    let answer = read_frame(&mut stream, LARGEST_GREETING).await.unwrap().unwrap();
    assert!(matches!(Greeting::read(&answer).unwrap().greeting, Some(Greeting::Hello(_))));
    stream
}

#[tokio::test]
async fn a_bad_frame_of_a_member_ends_only_its_connection() {
    let (first, second, _listener, target) = listening(Duration::from_secs(60));
    let frames: [&[u8]; 4] =
        [&[0xff, 0xff, 0xff, 0xff], &[0, 4, 0, 1], &[0, 0, 0, 3, 1, 2, 3], &[0, 0, 0, 9, 1, 2, 3]];
    for (index, frame) in frames.iter().enumerate() {
        let mut stream = greeted(&first, &target).await;
        stream.write_all(frame).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(is_closed(&mut stream).await, "{frame:?}");
        until("counted", || refusals(&second, RefusalKind::Garbage) == index as u64 + 1).await;
    }
    member_is_served(&first, &target).await;
}

#[tokio::test]
async fn calls_without_reading_answers_use_bounded_memory() {
    let (first, second, _listener, target) = listening(Duration::from_secs(60));
    let mut stream = greeted(&first, &target).await;
    // Each call waits, so the service holds it. The listener stops to read at its limit.
    let head = CallHead { id: 1 }.encode();
    let mut sent = 0;
    let flood = async {
        loop {
            write_frame(&mut stream, 1 << 20, &head, WAIT).await.unwrap();
            sent += 1;
        }
    };
    let full = tokio::time::timeout(Duration::from_secs(60), async {
        until("the limit is reached", || {
            second.service.waiting.load(std::sync::atomic::Ordering::SeqCst) >= 64
        })
        .await;
    });
    tokio::select! {
        () = flood => {}
        reached = full => reached.unwrap(),
    }
    tokio::time::timeout(Duration::from_millis(100), async {
        loop {
            write_frame(&mut stream, 1 << 20, &head, WAIT).await.unwrap();
        }
    })
    .await
    .unwrap_err();
    let waiting = second.service.waiting.load(std::sync::atomic::Ordering::SeqCst);
    assert!(waiting <= 64, "{waiting} calls are under way");
    assert!(sent > 0);
    member_is_served(&first, &target).await;
}

/// The log lines of this process.
#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<Vec<u8>>>);

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl LogLines {
    fn with(&self, text: &str) -> usize {
        let lines = self.0.lock().unwrap();
        String::from_utf8_lossy(&lines).lines().filter(|line| line.contains(text)).count()
    }
}

#[tokio::test]
async fn a_flood_of_bad_callers_writes_one_log_line() {
    let lines = LogLines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).init();
    let (_first, second, listener, _target) = listening(Duration::from_secs(60));
    for _ in 0..200 {
        let mut stream = TcpStream::connect(listener.address()).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(is_closed(&mut stream).await);
    }
    until("all are counted", || refusals(&second, RefusalKind::Garbage) == 200).await;
    assert_eq!(lines.with("refused a connection to cluster.listen"), 1);
    assert_eq!(lines.with("listening for other nodes on this machine, without TLS"), 1);
}
