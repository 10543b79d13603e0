//! Workers for tests, each on its own loopback address, and a stand-in for the node.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reelyard::worker::{Worker, WorkerSettings};
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_core::token::SharedToken;
use reelyard_protocol::signed_call::{
    Addressee, CHALLENGE_HEADER, CallText, PROOF_HEADER, SIGNATURE_HEADER, SignedCallVerifier,
    VerifiedCall,
};
use reelyard_protocol::worker::{
    Report, ReportedState, Reports, ReportsTaken, TaskId, TaskOrder, TaskOrders,
};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::probes::waiting::eventually;

/// An address whose port and next port were free a moment ago. Other test processes hardly ever use this IP.
pub fn free_address() -> HostAddr {
    let octet = || fastrand::u8(1..=254);
    for _ in 0..1000 {
        let ip = std::net::Ipv4Addr::new(127, octet(), octet(), octet());
        let port = fastrand::u16(20_000..60_000);
        let free = |port: u16| std::net::TcpListener::bind((ip, port)).is_ok();
        if free(port) && free(port + 1) {
            return HostAddr::from(std::net::SocketAddr::from((ip, port)));
        }
    }
    panic!("no free address on the loopback network");
}

/// The settings of a worker at `host` that serves files at the next port.
pub fn settings_at(host: HostAddr, state_dir: PathBuf) -> WorkerSettings {
    let mut data_listen = host.socket();
    data_listen.set_port(data_listen.port() + 1);
    WorkerSettings::new(host, data_listen, state_dir)
}

/// A worker's directories: `data` for masters, `copies`, `state`.
pub struct Rig {
    /// The listen address of the worker, which is also its id.
    pub host: HostAddr,
    /// The parent of its directories. It is deleted when the rig is dropped.
    pub place: TempDir,
}

impl Rig {
    /// Creates directories and selects an address for a worker.
    pub fn new() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        for dir in ["data", "copies"] {
            std::fs::create_dir(place.path().join(dir)).expect("a directory");
        }
        Rig { host: free_address(), place }
    }

    /// The directory of masters.
    pub fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// The directory of copies.
    pub fn copies(&self) -> PathBuf {
        self.place.path().join("copies")
    }

    /// Settings of a pure source.
    pub fn source(&self) -> WorkerSettings {
        let mut settings = settings_at(self.host, self.place.path().join("state"));
        settings.source_dirs = vec![self.data()];
        settings
    }

    /// Settings of a pure destination that gets its orders from `node`.
    pub fn destination(&self, node: &str) -> WorkerSettings {
        let mut settings = settings_at(self.host, self.place.path().join("state"));
        settings.base_dir = Some(self.copies());
        settings.storage_limit_percent = 100;
        settings.nodes = vec![node.parse().expect("the address of a node")];
        settings.long_poll = Duration::from_secs(2);
        settings.poll_interval = Duration::from_millis(50);
        settings
    }

    /// Writes a master of `size` random bytes and returns them.
    pub fn master(&self, name: &[u8], size: usize) -> Vec<u8> {
        let mut contents = vec![0; size];
        fastrand::fill(&mut contents);
        std::fs::write(self.data().join(os_name(name)), &contents).expect("a master");
        contents
    }

    /// An order to copy a master of this rig.
    pub fn order(&self, id: i64, name: &[u8]) -> TaskOrder {
        let name = FileName::new(name).expect("a file name");
        let path = self.data().join(os_name(name.as_bytes()));
        TaskOrder {
            id: TaskId(id),
            dir: self.data().display().to_string(),
            source: self.host,
            source_data: None,
            source_data_tls: false,
            source_tls: false,
            size: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            name,
            copy_speed: None,
            tickets: None,
        }
    }
}

impl Default for Rig {
    fn default() -> Self {
        Rig::new()
    }
}

/// A file name as a path of the file system.
pub fn os_name(name: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name))
}

/// Starts a worker.
///
/// # Panics
/// Panics when the worker cannot start.
pub async fn started(settings: WorkerSettings) -> Worker {
    Worker::start(settings, Clock::system()).await.expect("the worker starts")
}

/// A stand-in for a Reelyard node. It sends the orders of the test and records the worker's reports.
pub struct FakeNode {
    /// The base URL of the stand-in.
    pub url: String,
    state: Arc<FakeNodeState>,
    server: ServerHandle,
}

struct FakeNodeState {
    orders: watch::Sender<BTreeMap<TaskId, TaskOrder>>,
    epoch: Mutex<Epoch>,
    reports: Mutex<Vec<Report>>,
    /// The number of reports that end a copy.
    ends: AtomicUsize,
    /// While this is set, reports fail with 503.
    deaf: AtomicBool,
    /// The number of ends that were refused with 503.
    refused_ends: AtomicUsize,
    /// The token that signatures must match; `None` when calls need no signature.
    demanded: Mutex<Option<SharedToken>>,
    gate: SignedCallVerifier,
}

impl FakeNode {
    /// Starts a node without orders.
    pub fn start() -> Self {
        let state = Arc::new(FakeNodeState {
            orders: watch::Sender::default(),
            epoch: Mutex::new(Epoch(1)),
            reports: Mutex::default(),
            ends: 0.into(),
            deaf: false.into(),
            refused_ends: 0.into(),
            demanded: Mutex::default(),
            gate: SignedCallVerifier::default(),
        });
        let data = web::Data::from(Arc::clone(&state));
        let app = move || {
            App::new()
                .app_data(data.clone())
                .route("/api/v1/workers/{host}/tasks", web::get().to(long_poll))
                .route("/api/v1/workers/{host}/reports", web::post().to(take_reports))
        };
        let server = HttpServer::new(app).workers(1).disable_signals().shutdown_timeout(0);
        let server = server.bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        FakeNode { url, state, server: handle }
    }

    /// Orders one more copy.
    pub fn order(&self, order: TaskOrder) {
        self.state.orders.send_modify(|orders| {
            orders.insert(order.id, order);
        });
    }

    /// The number of copies with a reported end.
    pub fn ends(&self) -> usize {
        self.state.ends.load(Ordering::SeqCst)
    }

    /// Withdraws an order.
    pub fn withdraw(&self, id: i64) {
        self.state.orders.send_modify(|orders| {
            orders.remove(&TaskId(id));
        });
    }

    /// Leads in `epoch` from now on.
    pub fn lead_in(&self, epoch: u64) {
        *locked(&self.state.epoch) = Epoch(epoch);
    }

    /// Refuses reports while `deaf` is set.
    pub fn be_deaf(&self, deaf: bool) {
        self.state.deaf.store(deaf, Ordering::SeqCst);
    }

    /// The number of ends that it refused while it was deaf. Repeated reports count each time.
    pub fn refused_ends(&self) -> usize {
        self.state.refused_ends.load(Ordering::SeqCst)
    }

    /// Everything reported so far.
    pub fn reports(&self) -> Vec<Report> {
        locked(&self.state.reports).clone()
    }

    /// Answers 401 to later calls without a signature by `token`.
    pub fn demand(&self, token: &SharedToken) {
        *locked(&self.state.demanded) = Some(token.clone());
    }

    /// Waits for the end of a task.
    pub async fn end_of(&self, id: i64) -> ReportedState {
        let mut end = None;
        eventually(&format!("the end of task {id}"), || {
            let of_task = |report: &Report| report.task == TaskId(id) && report.is_end();
            end = self.reports().into_iter().find(of_task);
            end.is_some()
        })
        .await;
        end.map(|report| report.state).expect("it was waited for")
    }

    /// Stops the server.
    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The required token and the verified call.
type Proving = Option<(SharedToken, VerifiedCall)>;

/// Verifies a signed call. Returns a challenge for a call without a valid signature.
fn admit(request: &HttpRequest, body: &[u8], state: &FakeNodeState) -> Result<Proving, String> {
    let Some(token) = locked(&state.demanded).clone() else { return Ok(None) };
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    let (to, method) = (Addressee::Node, request.method().as_str());
    let text = CallText { to, method, target, epoch: b"", manager: b"" };
    let header = request.headers().get(SIGNATURE_HEADER);
    let signature = header.map(|value| value.as_bytes()).unwrap_or_default();
    match state.gate.admit(&token, &text, signature) {
        Ok(admitted) if admitted.covers(body) => Ok(Some((token, admitted))),
        _ => Err(state.gate.challenge().expect("a challenge").to_string()),
    }
}

fn unauthorized(challenge: String) -> HttpResponse {
    HttpResponse::Unauthorized().insert_header((CHALLENGE_HEADER, challenge)).finish()
}

fn answer(proving: Proving, body: String) -> HttpResponse {
    let mut answer = HttpResponse::Ok();
    if let Some((token, admitted)) = proving {
        answer.insert_header((PROOF_HEADER, admitted.prove(&token, 200, body.as_bytes())));
    }
    answer.body(body)
}

/// The rule of `wire/worker.rs`. The answer is immediate when the worker lacks a task, has a withdrawn task,
/// or has another rate.
async fn long_poll(request: HttpRequest, state: web::Data<FakeNodeState>) -> HttpResponse {
    let proving = match admit(&request, b"", &state) {
        Ok(proving) => proving,
        Err(challenge) => return unauthorized(challenge),
    };
    let query: BTreeMap<&str, &str> =
        request.query_string().split('&').filter_map(|pair| pair.split_once('=')).collect();
    let known = query.get("known").copied().unwrap_or_default();
    let known: Vec<TaskId> =
        known.split(',').filter_map(|id| id.parse().ok()).map(TaskId).collect();
    let rates = query.get("rates").and_then(|rates| rates.parse::<u32>().ok());
    let wait = query.get("wait").and_then(|wait| wait.trim_end_matches('s').parse().ok());
    let mut orders = state.orders.subscribe();
    let news = orders.wait_for(|orders| {
        orders.keys().any(|id| !known.contains(id))
            || known.iter().any(|id| !orders.contains_key(id))
            || rates.is_some_and(|entry| {
                let orders = TaskOrders::new(Epoch(0), orders.values().cloned().collect());
                Some(entry) != orders.rates
            })
    });
    let wait = Duration::from_secs(wait.expect("the worker says how long"));
    // With or without news, the answer is the current list.
    let _ = tokio::time::timeout(wait, news).await;
    let tasks = state.orders.borrow().values().cloned().collect();
    let epoch = *locked(&state.epoch);
    let orders = serde_json::to_string(&TaskOrders::new(epoch, tasks)).expect("orders are JSON");
    answer(proving, orders)
}

async fn take_reports(
    request: HttpRequest,
    body: web::Bytes,
    state: web::Data<FakeNodeState>,
) -> HttpResponse {
    let proving = match admit(&request, &body, &state) {
        Ok(proving) => proving,
        Err(challenge) => return unauthorized(challenge),
    };
    let reports: Reports = serde_json::from_slice(&body).expect("reports as the wire has them");
    if state.deaf.load(Ordering::SeqCst) {
        let ends = reports.reports.iter().filter(|report| report.is_end()).count();
        state.refused_ends.fetch_add(ends, Ordering::SeqCst);
        return HttpResponse::ServiceUnavailable().finish();
    }
    let ordered = |id: &TaskId| state.orders.borrow().contains_key(id);
    let cancelled =
        reports.reports.iter().map(|report| report.task).filter(|id| !ordered(id)).collect();
    for report in &reports.reports {
        if report.is_end() {
            state.orders.send_modify(|orders| {
                orders.remove(&report.task);
            });
        }
    }
    let ends = reports.reports.iter().filter(|report| report.is_end()).count();
    locked(&state.reports).extend(reports.reports);
    state.ends.fetch_add(ends, Ordering::SeqCst);
    let taken = ReportsTaken { epoch: *locked(&state.epoch), cancelled };
    answer(proving, serde_json::to_string(&taken).expect("an answer is JSON"))
}
