//! Small copies in one batch: requested together, over one connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, os_name, started};
use reelyard_protocol::worker::{Blame, ReportedState, TaskOrder};

/// A proxy between a destination and a source's data port.
struct ThrottledProxy {
    addr: SocketAddr,
    state: Arc<ThrottledProxyState>,
}

#[derive(Default)]
struct ThrottledProxyState {
    connections: AtomicUsize,
    /// The number of answer bytes that the first connection passes on.
    first_lets_through: usize,
    passed: AtomicUsize,
    /// Whether it delays the remaining bytes.
    is_shut: Mutex<bool>,
    opened: Condvar,
}

impl ThrottledProxy {
    fn start(to: SocketAddr, state: ThrottledProxyState) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(state);
        let of_thread = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, source) = (client.unwrap(), TcpStream::connect(to).unwrap());
                let is_first = of_thread.connections.fetch_add(1, Ordering::SeqCst) == 0;
                let (from, into) = (client.try_clone().unwrap(), source.try_clone().unwrap());
                thread::spawn(move || io::copy(&mut &from, &mut &into));
                let state = Arc::clone(&of_thread);
                thread::spawn(move || state.answer(source, client, is_first));
            }
        });
        ThrottledProxy { addr, state }
    }

    fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    fn open(&self) {
        *self.state.is_shut.lock().unwrap() = false;
        self.state.opened.notify_all();
    }
}

impl ThrottledProxyState {
    fn answer(&self, mut source: TcpStream, mut client: TcpStream, is_first: bool) {
        let mut left = if is_first { self.first_lets_through } else { usize::MAX };
        let mut buffer = [0; 8192];
        while left > 0 {
            let most = left.min(buffer.len());
            let Ok(read @ 1..) = source.read(&mut buffer[..most]) else { break };
            if client.write_all(&buffer[..read]).is_err() {
                break;
            }
            self.passed.fetch_add(read, Ordering::SeqCst);
            left -= read;
        }
        let is_shut = self.is_shut.lock().unwrap();
        drop(self.opened.wait_while(is_shut, |is_shut| *is_shut).unwrap());
        let _ = client.shutdown(Shutdown::Both);
    }
}

/// A batch of `copies` small files over one connection, cut after `lets_through` bytes of the answers, and
/// the rest afterwards.
async fn all_arrive(copies: i64, lets_through: usize) -> usize {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let settings = source.source();
    let state =
        ThrottledProxyState { first_lets_through: lets_through, ..ThrottledProxyState::default() };
    let between = ThrottledProxy::start(settings.data_listen, state);
    let serving = started(settings).await;
    let mut contents = Vec::new();
    for id in 1..=copies {
        let name = format!("{id}.mpg");
        // The last file is empty.
        contents.push(source.master(name.as_bytes(), (copies - id) as usize * 20_000));
        node.order(TaskOrder {
            source_data: Some(between.addr),
            ..source.order(id, name.as_bytes())
        });
    }
    let mut settings = destination.destination(&node.url);
    settings.copies_at_once = 1;
    let fetching = started(settings).await;
    for (id, contents) in (1..).zip(&contents) {
        let end = node.end_of(id).await;
        assert!(matches!(end, ReportedState::Done { .. }), "{id}: {end:?}");
        let copy = std::fs::read(destination.copies().join(format!("{id}.mpg"))).unwrap();
        assert!(copy == *contents, "{id}");
    }
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
    between.connections()
}

#[actix::test]
async fn a_batch_comes_over_one_connection() {
    assert_eq!(all_arrive(12, usize::MAX).await, 1);
}

#[actix::test]
async fn a_batch_whose_connection_breaks_still_arrives() {
    for lets_through in [0, 10, 100_000, 500_000] {
        // One more byte, to check that the byte at the break is readable.
        let connections = all_arrive(12, lets_through).await;
        assert!((2..=3).contains(&connections), "{lets_through}: {connections}");
    }
}

#[actix::test]
async fn a_master_that_is_gone_fails_by_itself() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let serving = started(source.source()).await;
    let names = [b"a.mpg", b"b.mpg", b"c.mpg", b"d.mpg"];
    for (id, name) in (1..).zip(names) {
        let contents = source.master(name, 10_000);
        node.order(source.order(id, name));
        match name {
            b"b.mpg" => std::fs::remove_file(source.data().join("b.mpg")).unwrap(),
            // Its size differs from the plan.
            b"c.mpg" => std::fs::write(source.data().join("c.mpg"), &contents[..500]).unwrap(),
            _ => {}
        }
    }
    let mut settings = destination.destination(&node.url);
    settings.copies_at_once = 1;
    let fetching = started(settings).await;
    for (id, name) in (1..).zip(names) {
        match node.end_of(id).await {
            ReportedState::Failed { blame, .. } => {
                assert_eq!((blame, name), (Blame::File, b"b.mpg"))
            }
            ReportedState::Done { size, .. } => {
                assert_eq!(size, if name == b"c.mpg" { 500 } else { 10_000 });
                let (copy, master) = (destination.copies(), source.data());
                let [copy, master] =
                    [copy, master].map(|dir| std::fs::read(dir.join(os_name(name))).unwrap());
                assert!(copy == master);
            }
            other => panic!("{id} ended as {other:?}"),
        }
    }
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_withdrawn_copy_does_not_delay_its_batch() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let settings = source.source();
    let state = ThrottledProxyState {
        first_lets_through: 15_000,
        is_shut: Mutex::new(true),
        ..ThrottledProxyState::default()
    };
    let between = ThrottledProxy::start(settings.data_listen, state);
    let serving = started(settings).await;
    for id in 1..=5 {
        let name = format!("{id}.mpg");
        source.master(name.as_bytes(), 10_000);
        let order = source.order(id, name.as_bytes());
        node.order(TaskOrder { source_data: Some(between.addr), ..order });
    }
    let mut settings = destination.destination(&node.url);
    settings.copies_at_once = 1;
    let fetching = started(settings).await;
    let passed = || between.state.passed.load(Ordering::SeqCst) == 15_000;
    eventually("half of the second", passed).await;
    node.withdraw(2);
    node.withdraw(4);
    for id in [1, 3, 5] {
        assert!(matches!(node.end_of(id).await, ReportedState::Done { .. }), "{id}");
    }
    between.open();
    fetching.stop().await;
    assert!(!destination.copies().join("2.mpg").exists());
    assert!(!destination.copies().join("4.mpg").exists());
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_master_that_has_grown_does_not_delay_its_batch() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let settings = source.source();
    let state = ThrottledProxyState {
        first_lets_through: 1_000_000,
        is_shut: Mutex::new(true),
        ..ThrottledProxyState::default()
    };
    let between = ThrottledProxy::start(settings.data_listen, state);
    let serving = started(settings).await;
    for id in 1..=5 {
        let name = format!("{id}.mpg");
        source.master(name.as_bytes(), 10_000);
        let order = source.order(id, name.as_bytes());
        node.order(TaskOrder { source_data: Some(between.addr), ..order });
    }
    // The second file has grown since the plan.
    source.master(b"2.mpg", 3_000_000);
    let mut settings = destination.destination(&node.url);
    settings.copies_at_once = 1;
    let fetching = started(settings).await;
    let passed = || between.state.passed.load(Ordering::SeqCst) >= 1_000_000;
    eventually("a part of the second", passed).await;
    for id in [1, 3, 4, 5] {
        assert!(matches!(node.end_of(id).await, ReportedState::Done { .. }), "{id}");
    }
    assert!(!destination.copies().join("2.mpg").exists(), "the others waited for it");
    between.open();
    assert!(matches!(node.end_of(2).await, ReportedState::Done { size: 3_000_000, .. }));
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}
