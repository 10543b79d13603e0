//! The actor of one host, and its view.

mod call_status;
mod deletion;
mod due_calls;
mod look;
mod maintenance;
mod subscribers;
mod traffic;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use reelyard_protocol::legacy::cfw::DiskFigures;

use reelyard_core::actor_parts::{Observer, ObserverShell, SubscriberList, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::names::NameTable;
use reelyard_core::token::WorkerKeys;
use reelyard_protocol::inventory::additions::AdditionLimiter;

use crate::cfw_worker::breaker::circuit_breaker::{self, CircuitBreaker};
use crate::cfw_worker::breaker::circuit_state::CircuitState;
use crate::cfw_worker::calls::ask_failure::{AskFailure, TokenTrouble};
use crate::cfw_worker::calls::client::{HostClient, HostProgram, WorkerStatus};
use crate::cfw_worker::calls::refresh_reply::RefreshReply;
use crate::cfw_worker::lists::holdings::HeldFiles;
use crate::cfw_worker::lists::schedule::PollSchedule;
use crate::cfw_worker::load::traffic_watch::TrafficWatch;
use crate::cfw_worker::messages::{HostCallStatus, HostObserved};
use crate::cfw_worker::settings::CfwWorkerSettings;
use crate::cfw_worker::views::{CfwWorkerView, FailureView, InventoryView};

/// The actor of one host.
pub struct CfwWorker {
    shell: ObserverShell<CfwWorkerView, Infallible>,
    host: HostAddr,
    role: HostRole,
    names: NameTable,
    settings: CfwWorkerSettings,
    client: HostClient,
    /// Where its calls run. None for the threads of the caller.
    call_threads: Option<Handle>,
    program: HostProgram,
    /// Whether the host gets no calls.
    in_maintenance: bool,
    /// Whether the host gets other calls than probes.
    is_read: bool,
    /// Whether the host answered its last probe, and if not, why; none before the first.
    answers: Option<Result<(), AskFailure>>,
    latency: Option<Duration>,
    breaker: CircuitBreaker,
    /// The state of the circuit breaker at the last report.
    notified_circuit: CircuitState,
    call_status_subscribers: SubscriberList<HostCallStatus>,
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
    subscribers: SubscriberList<HostObserved>,
    /// Why the worker and this node do not take each other's calls, as of the last look.
    token_trouble: Option<TokenTrouble>,
    /// Why a list was refused, as in [`CfwWorkerView`].
    refused_list: Option<String>,
    /// The last failure. The same one is not logged twice in a row.
    last_failure: Option<FailureView>,
    looks: u64,
    failed_looks: u64,
    /// How many lists were complete.
    whole_lists: u64,
    copies_deleted: u64,
}

impl CfwWorker {
    /// The actor for `host`. `http` comes from `http_client` and is shared by all actors of a process, and
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
                AdditionLimiter::new(clock.now()),
            ),
            call_threads: None,
            shell: ObserverShell::new(clock, ViewHandle::new(CfwWorkerView::unasked(host, role))),
            names,
            program: HostProgram { kind: HostKind::Unknown, version: None },
            in_maintenance: false,
            is_read: true,
            answers: None,
            latency: None,
            breaker: CircuitBreaker::new(settings.breaker, circuit_breaker::seed(host)),
            notified_circuit: CircuitState::Closed,
            call_status_subscribers: SubscriberList::default(),
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
            subscribers: SubscriberList::default(),
            token_trouble: None,
            refused_list: None,
            last_failure: None,
            looks: 0,
            failed_looks: 0,
            whole_lists: 0,
            copies_deleted: 0,
            settings,
        }
    }

    /// Sets the name under which our workers see this caller, from now on.
    pub fn with_manager_identity(mut self, identity: ManagerIdentity) -> Self {
        self.client.set_manager_identity(identity);
        self
    }

    /// Sets the keys of workers with a token of their own, from now on.
    pub fn with_keys(mut self, keys: WorkerKeys) -> Self {
        self.client.set_keys(keys);
        self
    }

    /// Makes all calls on these threads, from now on.
    pub fn calling_on(mut self, threads: Handle) -> Self {
        self.call_threads = Some(threads);
        self
    }

    /// Sets whether it starts in maintenance. The actor that restarts a CfwWorker knows the mode.
    pub fn in_maintenance(mut self, on: bool) -> Self {
        self.in_maintenance = on;
        self.client.set_paused(on);
        self
    }

    /// Sets whether it reads its host from the start, as a leader does.
    pub fn reading(mut self, on: bool) -> Self {
        self.is_read = on;
        self
    }

    /// The handle of its view, also after the actor was started.
    pub fn view(&self) -> ViewHandle<CfwWorkerView> {
        self.shell.view().clone()
    }
}

impl Observer for CfwWorker {
    type View = CfwWorkerView;
    type Change = Infallible;

    fn shell(&mut self) -> &mut ObserverShell<CfwWorkerView, Infallible> {
        &mut self.shell
    }

    fn build_view(&mut self) -> CfwWorkerView {
        let inventory = self.holdings.inventory().map(|inventory| InventoryView {
            files: inventory.files.len(),
            unreadable_names: inventory.unreadable_names,
            at: inventory.at,
            whole_at: self.holdings.whole_at(),
            follows_changes: self.holdings.follows_changes(),
        });
        let traffic = self.known_traffic(self.shell.now());
        CfwWorkerView {
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
            calls: self.breaker.state(self.shell.now()),
            trouble: self.breaker.trouble().cloned(),
            token_trouble: self.token_trouble,
            refused_list: self.refused_list.clone(),
            last_failure: self.last_failure.clone(),
            looks: self.looks,
            failed_looks: self.failed_looks,
            whole_lists: self.whole_lists,
            deleted: self.copies_deleted,
        }
    }

    /// Makes the due calls, and sleeps until the next time.
    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.call_if_due(ctx, PollSchedule::is_due);
    }
}

impl Actor for CfwWorker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.sleep_until_due(ctx);
    }
}
