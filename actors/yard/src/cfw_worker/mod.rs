//! The CfwWorker: one actor per host, an old cfw or a Reelyard worker, and the only one that calls it.
//!
//! It owns the known files and disk figures of the host. None of it is durable. If a call fails, the last
//! known state stays and is shown with its age. It is never treated as empty. A host that does not answer
//! its probes gets only probes, and so does one whose calls keep failing (`circuit_breaker`). A host in
//! maintenance is not called at all.

pub(crate) mod breaker;
mod call_status;
pub(crate) mod calls;
mod legacy;
mod lists;
mod load;
mod maintenance;
mod messages;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;
use tokio::sync::Semaphore;
use tracing::warn;

pub use crate::cfw_worker::breaker::circuit_state::{CallTrouble, CircuitState, HostCallKind};
pub use breaker::circuit_breaker::CircuitBreakerSettings;
pub use calls::ask_failure::{AskFailure, TokenTrouble};
pub use calls::client::http_client;
pub use calls::routes::HostRoutes;
pub use lists::{holdings, schedule};
pub use messages::*;
use reelyard_protocol::legacy::cfw::DiskFigures;
pub use settings::CfwWorkerSettings;

use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::names::NameTable;
use reelyard_protocol::inventory::new_names::NewNameLimiter;

use crate::cfw_worker::calls::refresh_reply::RefreshReply;
use breaker::circuit_breaker::{self, CircuitBreaker};
use calls::client::{HostClient, HostProgram, WorkerStatus};
use lists::holdings::HeldFiles;
use lists::schedule::PollSchedule;
use load::traffic_watch::TrafficWatch;

/// The actor checks its schedule at least this often, so that jumps of the clock and suspends are
/// noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Disk figures are dropped when they are this many intervals old.
const DISK_KEPT_FOR_INTERVALS: u32 = 4;

/// Lets readers read a [`CfwWorkerView`] without asking the actor.
pub type CfwWorkerViewHandle = Arc<ArcSwap<CfwWorkerView>>;

/// The actor of one host.
pub struct CfwWorker {
    host: HostAddr,
    role: HostRole,
    clock: Clock,
    names: NameTable,
    settings: CfwWorkerSettings,
    client: HostClient,
    program: HostProgram,
    /// Whether the host gets no calls.
    in_maintenance: bool,
    /// Whether the host answered its last probe, and if not, why; none before the first.
    answers: Option<Result<(), AskFailure>>,
    latency: Option<Duration>,
    breaker: CircuitBreaker,
    /// The state of the circuit breaker at the last report.
    notified_circuit: CircuitState,
    call_status_subscribers: Vec<Recipient<HostCallStatus>>,
    /// The status that a Reelyard worker reported at the last read.
    worker_status: Option<WorkerStatus>,
    holdings: HeldFiles,
    /// The last reported disk, and the time of its request.
    disk: Option<(DiskFigures, Millis)>,
    look_schedule: PollSchedule,
    disk_schedule: PollSchedule,
    /// Callers that wait for the running look. None if no look is running.
    looking_for: Option<Vec<RefreshReply>>,
    /// Callers that wait for another read after the current one, because the current one may have started
    /// before the change that they want to see. None if no other read is wanted.
    looking_next_for: Option<Vec<RefreshReply>>,
    /// Whether only the disk is being requested, between two looks.
    disk_asked: bool,
    traffic: TrafficWatch,
    /// Limits how many deletions are sent at the same time; the others wait.
    turns: Arc<Semaphore>,
    /// Deletions sent or waiting.
    open_requests: usize,
    subscribers: Vec<Recipient<HostObserved>>,
    /// Why the worker and this node do not take each other's calls, as of the last look.
    token_trouble: Option<TokenTrouble>,
    /// The last failure that `note` logged. It does not log the same failure twice in a row.
    last_failure: Option<FailureView>,
    looks: u64,
    failed_looks: u64,
    /// How many lists were complete.
    whole_lists: u64,
    copies_deleted: u64,
    view: CfwWorkerViewHandle,
    timer: Option<SpawnHandle>,
}

impl CfwWorker {
    /// The actor for `host`. `http` comes from [`http_client`] and is shared by all actors of a process, and
    /// so is the table `names`.
    pub fn new(
        host: HostAddr,
        role: HostRole,
        settings: CfwWorkerSettings,
        http: reqwest::Client,
        names: NameTable,
        clock: Clock,
    ) -> Self {
        CfwWorker {
            host,
            role,
            client: HostClient::new(
                http,
                host,
                settings.clone(),
                NewNameLimiter::full(settings.list_limits(), clock.now()),
            ),
            clock,
            names,
            program: HostProgram { kind: HostKind::Unknown, version: None },
            in_maintenance: false,
            answers: None,
            latency: None,
            breaker: CircuitBreaker::new(settings.breaker, circuit_breaker::seed(host)),
            notified_circuit: CircuitState::Closed,
            call_status_subscribers: Vec::new(),
            worker_status: None,
            holdings: HeldFiles::default(),
            disk: None,
            look_schedule: PollSchedule::new(settings.inventory_interval),
            disk_schedule: PollSchedule::new(settings.disk_interval),
            looking_for: None,
            looking_next_for: None,
            disk_asked: false,
            traffic: TrafficWatch::new(host, &settings),
            turns: Arc::new(Semaphore::new(settings.open_calls.max(1))),
            open_requests: 0,
            subscribers: Vec::new(),
            token_trouble: None,
            last_failure: None,
            looks: 0,
            failed_looks: 0,
            whole_lists: 0,
            copies_deleted: 0,
            view: CfwWorkerViewHandle::new(ArcSwap::from_pointee(CfwWorkerView::unasked(
                host, role,
            ))),
            timer: None,
            settings,
        }
    }

    /// Publishes to `view` from now on. After a panic the restarted CfwWorker gets the handle that the
    /// readers already hold.
    pub fn publishing_to(mut self, view: CfwWorkerViewHandle) -> Self {
        self.view = view;
        self
    }

    /// Sets the name under which our workers see this caller, from now on.
    pub fn with_manager_identity(mut self, identity: ManagerIdentity) -> Self {
        self.client.set_manager_identity(identity);
        self
    }

    /// Sets whether it starts in maintenance. The actor that restarts a CfwWorker knows the mode.
    pub fn in_maintenance(mut self, on: bool) -> Self {
        self.in_maintenance = on;
        self.client.set_paused(on);
        self
    }

    /// The handle of its view, also after the actor was started.
    pub fn view(&self) -> CfwWorkerViewHandle {
        self.view.clone()
    }

    /// Why the host gets only probes now, if so.
    fn not_to_be_asked(&self) -> Option<AskFailure> {
        if self.in_maintenance {
            return Some(AskFailure::in_maintenance());
        }
        match &self.answers {
            Some(Ok(())) => self.left_alone(),
            Some(Err(failure)) => Some(failure.clone()),
            None => Some(AskFailure::NotAsked("it has not answered a probe yet".to_owned())),
        }
    }

    /// Makes the due calls, and sleeps until the next time.
    fn turn(&mut self, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        self.follow_breaker();
        if self.not_to_be_asked().is_none() {
            let is_idle = self.looking_for.is_none()
                && !self.disk_asked
                && (self.open_requests == 0 || !self.notified_circuit.on_probation());
            let may_look = if self.notified_circuit.on_probation() {
                is_idle
            } else {
                self.looking_for.is_none()
            };
            if may_look && self.look_schedule.is_due(now) {
                self.look(ctx, Vec::new());
            } else if is_idle && self.disk_schedule.is_due(now) && self.is_asked_for_copies() {
                self.ask_disk(ctx);
            }
            self.ask_traffic_if_due(ctx, now);
        }
        self.sleep(ctx);
    }

    fn sleep(&mut self, ctx: &mut Context<Self>) {
        let next = self.look_schedule.next().min(self.disk_schedule.next());
        let next = next.min(self.next_traffic().unwrap_or(next));
        let nap = next.since(self.clock.now());
        // A due call already waits for an answer or for a probe, so this need not be early.
        let nap = if nap.is_zero() { LONGEST_SLEEP } else { nap.min(LONGEST_SLEEP) };
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        self.timer = Some(ctx.run_later(nap, |worker, ctx| {
            worker.timer = None;
            worker.turn(ctx);
        }));
    }

    /// Whether this host is asked for files and disk. Only destinations are asked, and only once their
    /// program is known.
    fn is_asked_for_copies(&self) -> bool {
        self.role.is_destination() && self.program.kind != HostKind::Unknown
    }

    /// Stores a failure for the view, and logs it if it differs from the last one.
    fn record_failure(&mut self, asked: &'static str, failure: &AskFailure) {
        let failure = failure.to_string();
        let is_same = |last: &FailureView| last.asked == asked && last.failure == failure;
        if !self.last_failure.as_ref().is_some_and(is_same) {
            warn!(host = %self.host, asked, failure, "call to a host failed");
        }
        self.last_failure = Some(FailureView { asked, failure, at: self.clock.now() });
    }

    /// The observation for a subscriber. None while the program of the host is not known.
    fn observed(&self) -> Option<HostObserved> {
        if self.program.kind == HostKind::Unknown {
            return None;
        }
        let now = self.clock.now();
        let kept = self.settings.disk_interval * DISK_KEPT_FOR_INTERVALS;
        Some(HostObserved {
            host: self.host,
            kind: self.program.kind,
            inventory: self.holdings.inventory().cloned(),
            disk: self.disk.filter(|(_, at)| now.since(*at) <= kept),
            traffic: self.known_traffic(now).cloned(),
            at: now,
        })
    }

    fn notify_subscribers(&mut self) {
        let Some(observed) = self.observed() else { return };
        self.subscribers.retain(|subscriber| subscriber.connected());
        for subscriber in &self.subscribers {
            subscriber.do_send(observed.clone());
        }
    }

    fn publish(&mut self) {
        let inventory = self.holdings.inventory().map(|inventory| InventoryView {
            files: inventory.files.len(),
            unreadable_names: inventory.unreadable_names,
            at: inventory.at,
            whole_at: self.holdings.whole_at(),
            follows_changes: self.holdings.follows_changes(),
        });
        let traffic = self.known_traffic(self.clock.now());
        self.view.store(Arc::new(CfwWorkerView {
            host: self.host,
            role: self.role,
            kind: self.program.kind,
            version: self.program.version.clone(),
            in_maintenance: self.in_maintenance,
            answers: self.answers.as_ref().map(Result::is_ok),
            latency_ms: self
                .latency
                .map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX)),
            inventory,
            held: self.holdings.inventory().cloned(),
            disk: self.disk.map(|(disk, _)| disk),
            disk_at: self.disk.map(|(_, at)| at),
            traffic: traffic.map(|(traffic, _)| traffic.clone()),
            traffic_at: traffic.map(|(_, at)| *at),
            agent_failure: self.traffic.agent_failure().map(ToString::to_string),
            agent_answers: self.traffic.agent_answers(),
            open_requests: self.open_requests,
            calls: self.breaker.state(self.clock.now()),
            trouble: self.breaker.trouble().cloned(),
            token_trouble: self.token_trouble,
            last_failure: self.last_failure.clone(),
            looks: self.looks,
            failed_looks: self.failed_looks,
            whole_lists: self.whole_lists,
            deleted: self.copies_deleted,
        }));
    }
}

impl Actor for CfwWorker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.sleep(ctx);
    }
}

impl Handler<ProbeHeartbeat> for CfwWorker {
    type Result = ResponseActFuture<Self, Result<Duration, AskFailure>>;

    fn handle(
        &mut self,
        ProbeHeartbeat { timeout }: ProbeHeartbeat,
        _: &mut Context<Self>,
    ) -> Self::Result {
        if self.in_maintenance {
            return Box::pin(fut::ready(Err(AskFailure::in_maintenance())));
        }
        let client = self.client.clone();
        let probe = fut::wrap_future::<_, Self>(async move { client.probe(timeout).await });
        Box::pin(probe.map(|outcome, worker, ctx| {
            if worker.in_maintenance {
                return Err(AskFailure::in_maintenance());
            }
            match &outcome {
                Ok(latency) => {
                    worker.latency = Some(*latency);
                    let is_new_or_back = !matches!(worker.answers, Some(Ok(())));
                    worker.answers = Some(Ok(()));
                    if is_new_or_back {
                        worker.breaker.came_back(worker.clock.now());
                        worker.holdings.doubt();
                        // Another program with other files may answer there now. On probation the running
                        // call comes first.
                        if worker.is_on_trial().is_none() {
                            worker.look_soon(ctx, None);
                        } else {
                            worker.look_schedule.at_once();
                        }
                    }
                }
                // Nothing new is known of the host.
                Err(AskFailure::NoDescriptor) => {}
                Err(failure) => {
                    worker.record_failure("HEAD /hb", failure);
                    worker.answers = Some(Err(failure.clone()));
                }
            }
            worker.turn(ctx);
            worker.publish();
            outcome
        }))
    }
}

impl Handler<LookDue> for CfwWorker {
    type Result = ();

    fn handle(&mut self, _: LookDue, ctx: &mut Context<Self>) {
        self.turn(ctx);
    }
}

impl Handler<SubscribeToHost> for CfwWorker {
    type Result = ();

    fn handle(&mut self, SubscribeToHost { to }: SubscribeToHost, _: &mut Context<Self>) {
        if let Some(observed) = self.observed() {
            to.do_send(observed);
        }
        // A subscriber that panicked has a new incarnation since.
        self.subscribers.retain(|subscriber| subscriber.connected() && *subscriber != to);
        self.subscribers.push(to);
    }
}

impl Handler<CopyArrived> for CfwWorker {
    type Result = ();

    fn handle(&mut self, CopyArrived { file, .. }: CopyArrived, _: &mut Context<Self>) {
        if self.holdings.arrived(file) {
            self.notify_subscribers();
            self.publish();
        }
    }
}
