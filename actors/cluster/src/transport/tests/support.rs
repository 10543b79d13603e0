//! Nodes for tests, and a service that answers with what it got.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::cluster_id::{ClusterId, StoreId};
use reelyard_core::task_threads::TaskThreads;
use reelyard_protocol::cluster::{
    ElectionTimes, Greeting, HelloSkips, JoinAnswer, JoinOutcome, JoinRequest, LARGEST_GREETING,
    SettingsDigest,
};
use reelyard_replication::{CallKind, CallTarget, MemberRecord, NodeIdentity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::transport::framing::{read_frame, write_frame};
use crate::transport::{
    ClusterListener, ClusterService, ClusterTransport, LinkSecurity, ListenError, ListenerLimits,
    LocalMember, LocalNode, NodeStream, PeerView,
};

/// All tests of this crate are of this cluster.
pub(super) const CLUSTER: u128 = 0xc1;
/// A request with this text waits until the test opens the gate.
pub(super) const WAIT: &[u8] = b"wait";

pub(super) fn times() -> ElectionTimes {
    ElectionTimes {
        heartbeat_ms: 100,
        election_min_ms: 250,
        election_max_ms: 500,
        clock_bound_ms: 1000,
    }
}

/// The facts of a node. Tests change them.
pub(super) struct TestMember {
    pub(super) identity: NodeIdentity,
    pub(super) times: ElectionTimes,
    pub(super) members: Mutex<Vec<(u64, MemberRecord)>>,
    pub(super) leader: Mutex<Option<u64>>,
    pub(super) skips: Mutex<HelloSkips>,
}

impl TestMember {
    pub(super) fn new(number: u64) -> Self {
        TestMember {
            identity: identity(number),
            times: times(),
            members: Mutex::default(),
            leader: Mutex::default(),
            skips: Mutex::default(),
        }
    }
}

impl LocalMember for TestMember {
    fn identity(&self) -> NodeIdentity {
        self.identity
    }

    fn times(&self) -> ElectionTimes {
        self.times
    }

    fn settings(&self) -> SettingsDigest {
        SettingsDigest([7; 32])
    }

    fn skips(&self) -> HelloSkips {
        self.skips.lock().unwrap().clone()
    }

    fn members(&self) -> Vec<(u64, MemberRecord)> {
        self.members.lock().unwrap().clone()
    }

    fn present_leader(&self) -> Option<u64> {
        *self.leader.lock().unwrap()
    }
}

pub(super) fn identity(number: u64) -> NodeIdentity {
    let store = StoreId::from(0xb0 + u128::from(number));
    NodeIdentity { cluster: ClusterId::from(CLUSTER), number, store }
}

pub(super) fn record(number: u64, address: &str) -> MemberRecord {
    MemberRecord {
        store: Some(identity(number).store),
        cluster_address: address.to_owned(),
        api_address: String::new(),
        format_level: 1,
        numbers_given: number,
    }
}

/// Answers a call with its request and the number of the caller.
pub(super) struct TestService {
    pub(super) gate: Semaphore,
    pub(super) waiting: AtomicUsize,
    /// How long a forwarding stream may be silent.
    pub(super) silence_ms: AtomicU32,
}

impl Default for TestService {
    fn default() -> Self {
        TestService {
            gate: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
            silence_ms: AtomicU32::new(0),
        }
    }
}

/// The service of a listener, which the test keeps too.
struct SharedService(Arc<TestService>);

impl ClusterService for SharedService {
    fn answer(
        &self,
        kind: CallKind,
        from: NodeIdentity,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Vec<u8>> {
        let service = Arc::clone(&self.0);
        async move {
            if request == WAIT {
                service.waiting.fetch_add(1, Ordering::SeqCst);
                service.gate.acquire().await.unwrap().forget();
            }
            if kind == CallKind::Snapshot {
                return request.len().to_string().into_bytes();
            }
            let request = String::from_utf8_lossy(&request);
            format!("{request} of node {}", from.number).into_bytes()
        }
        .boxed()
    }

    fn join(&self, _: SocketAddr, request: JoinRequest) -> BoxFuture<'static, JoinOutcome> {
        let outcome = if request.secret.0 == "right" {
            let cluster = ClusterId::from(CLUSTER);
            JoinOutcome::Accepted(JoinAnswer { cluster, number: 4, members: Vec::new() })
        } else {
            let why = "the secret is wrong: ask for a new invitation".to_owned();
            JoinOutcome::Refused { kind: "secret".to_owned(), why }
        };
        async { outcome }.boxed()
    }

    fn forward(&self, from: NodeIdentity, mut stream: NodeStream) -> BoxFuture<'static, ()> {
        let service = Arc::clone(&self.0);
        async move {
            let silence = rustix::net::sockopt::tcp_user_timeout(stream.socket()).unwrap();
            service.silence_ms.store(silence, Ordering::SeqCst);
            let mut request = [0; 5];
            while stream.read_exact(&mut request).await.is_ok() {
                let answer =
                    format!("{} of node {}", String::from_utf8_lossy(&request), from.number);
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
        .boxed()
    }
}

/// A node with its transport, and with a listener if the test starts one.
pub(super) struct TestNode {
    pub(super) number: u64,
    pub(super) member: Arc<TestMember>,
    pub(super) local: Arc<LocalNode>,
    pub(super) transport: ClusterTransport,
    pub(super) service: Arc<TestService>,
    pub(super) runtime: TaskThreads,
}

impl TestNode {
    pub(super) fn new(number: u64) -> Self {
        TestNode::of(TestMember::new(number), LinkSecurity::PlainOnLoopback, Clock::system())
    }

    pub(super) fn of(member: TestMember, security: LinkSecurity, clock: Clock) -> Self {
        let (number, member) = (member.identity.number, Arc::new(member));
        let shown: Arc<dyn LocalMember> = member.clone();
        let local = LocalNode::new(shown, security, clock);
        let runtime = TaskThreads::start("cluster", 2).unwrap();
        let transport = ClusterTransport::new(runtime.handle().clone(), Arc::clone(&local));
        let service = Arc::default();
        TestNode { number, member, local, transport, service, runtime }
    }

    /// A listener on a free port.
    pub(super) fn listen(&self) -> ClusterListener {
        self.listen_on("127.0.0.1:0".parse().unwrap(), ListenerLimits::default())
    }

    pub(super) fn listen_on(&self, address: SocketAddr, limits: ListenerLimits) -> ClusterListener {
        self.try_listen(address, limits).unwrap()
    }

    pub(super) fn try_listen(
        &self,
        address: SocketAddr,
        limits: ListenerLimits,
    ) -> Result<ClusterListener, ListenError> {
        let service = Arc::new(SharedService(Arc::clone(&self.service)));
        let (runtime, local) = (self.runtime.handle(), Arc::clone(&self.local));
        ClusterListener::start(runtime, local, service, address, limits)
    }

    /// This node as a target at `address`.
    pub(super) fn at(&self, address: SocketAddr) -> CallTarget {
        CallTarget { node: self.number, record: record(self.number, &address.to_string()) }
    }

    /// The view of a peer.
    pub(super) fn peer(&self, number: u64) -> Option<PeerView> {
        self.transport.peers().into_iter().find(|peer| peer.number == number)
    }

    pub(super) fn knows(&self, number: u64, record: MemberRecord) {
        self.member.members.lock().unwrap().push((number, record));
    }
}

/// Two nodes, and the second one with a listener.
pub(super) fn pair() -> (TestNode, TestNode, ClusterListener, CallTarget) {
    let (first, second) = (TestNode::new(1), TestNode::new(2));
    let listener = second.listen();
    let target = second.at(listener.address());
    (first, second, listener, target)
}

/// Waits until the condition holds.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let limit = tokio::time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(tokio::time::Instant::now() < limit, "{what}: not after 20 s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A clock that stands at this instant.
pub(super) fn clock_at(at: i64) -> Clock {
    Clock::manual(Millis(at))
}

/// Sends these bytes as the first frame, and reads the greeting of the answer.
pub(super) async fn greet(target: &CallTarget, bytes: &[u8]) -> Option<Greeting> {
    let mut stream = TcpStream::connect(&target.record.cluster_address).await.unwrap();
    write_frame(&mut stream, LARGEST_GREETING, &[], bytes).await.unwrap();
    let frame = read_frame(&mut stream, LARGEST_GREETING).await.unwrap()?;
    Greeting::read(&frame).unwrap().greeting
}

/// A listener that answers one caller with this frame, whatever it sends.
pub(super) async fn answer_with(frame: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_frame(&mut stream, LARGEST_GREETING).await.unwrap();
        write_frame(&mut stream, LARGEST_GREETING, &[], &frame).await.unwrap();
    });
    address
}
