//! A Reelyard worker: its transfers, its outbox and its epoch guard are the code under test. Reading,
//! comparing and renaming of copies are a model of the fetcher, because the fetcher blocks on real disks.

use std::collections::BTreeMap;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_protocol::worker::{
    Blame, Report, ReportedState, Reports, ReportsTaken, TaskId, TaskOrders, WorkerInfo,
};
use reelyard_worker::downloader::copying::order::CopyOrder;
use reelyard_worker::downloader::copying::transfers::{TransferAction, Transfers};
use reelyard_worker::downloader::managers::epoch_guard::Deposed;

use super::disk::{SimulatedCopy, hash_of, joined};
use super::host::{SimulatedHost, SimulatedProgram, parsed};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::trace;

/// The longest time that the node delays a long poll, in milliseconds.
const WAIT: u64 = 8000;
/// The additional timeout of every call, in milliseconds.
const PATIENCE: u64 = 4000;
/// The bytes of a master in one read.
const STEP: u64 = 8_000_000;
/// The largest number of reports in one call.
const MOST_REPORTS: usize = 256;

/// The purpose of a pending call of the worker.
enum PendingWorkerCall {
    Orders,
    Reports(Vec<Report>),
    Read(TaskId),
    Hash(TaskId),
}

/// A copy in progress.
struct Fetch {
    order: CopyOrder,
    /// Content and size of the master at the first byte.
    master: Option<(u64, u64)>,
    got: u64,
    pieces: Vec<u64>,
    cancelled: bool,
    /// The result, once the copy is about to end.
    state: Option<ReportedState>,
}

/// The part of the worker that survives the process.
#[derive(Default)]
struct SimulatedStateStore {
    reports: BTreeMap<TaskId, Report>,
    epoch: Epoch,
}

/// The state of a worker: the part in memory and the durable part.
pub struct SimulatedWorker {
    at_once: usize,
    fetches_from_old: bool,
    nodes: usize,
    store: SimulatedStateStore,
    transfers: Transfers,
    fetches: BTreeMap<TaskId, Fetch>,
    calls: BTreeMap<u64, PendingWorkerCall>,
    /// The node that receives its calls.
    node: usize,
    failures: u32,
    delivering: bool,
    known_last: Option<Vec<TaskId>>,
}

impl SimulatedWorker {
    /// A worker that was never started.
    pub fn new(at_once: usize, fetches_from_old: bool, nodes: usize) -> Self {
        SimulatedWorker {
            at_once,
            fetches_from_old,
            nodes,
            store: SimulatedStateStore::default(),
            transfers: Transfers::new(at_once, Vec::new()),
            fetches: BTreeMap::new(),
            calls: BTreeMap::new(),
            node: 0,
            failures: 0,
            delivering: false,
            known_last: None,
        }
    }

    pub(super) fn restart(&mut self) {
        let (store, node) = (std::mem::take(&mut self.store), self.node);
        let kept = store.reports.values().cloned().collect();
        let transfers = Transfers::new(self.at_once, kept);
        *self = SimulatedWorker {
            store,
            transfers,
            node,
            ..SimulatedWorker::new(self.at_once, self.fetches_from_old, self.nodes)
        };
    }

    pub(super) fn info(&self, host: HostAddr, role: HostRole) -> SimulatedResponse {
        let mut data_listen = host.socket();
        data_listen.set_port(data_listen.port() + 1);
        let info = WorkerInfo {
            program: "reelyard".to_owned(),
            version: "0.1.0".to_owned(),
            host,
            data_listen,
            epoch: self.store.epoch,
            source: role.is_source(),
            destination: role.is_destination(),
            fetches_from_old: self.fetches_from_old,
            box_hooks: Vec::new(),
            managers: Vec::new(),
            traffic: None,
        };
        SimulatedResponse::ok(serde_json::to_vec(&info).unwrap_or_default())
    }

    /// Ends that no node has acknowledged yet.
    pub fn unacknowledged(&self) -> impl Iterator<Item = &Report> {
        self.transfers.reports().iter().filter(|report| report.is_end())
    }

    /// Whether it can fetch from old cfws too.
    pub fn fetches_from_old(&self) -> bool {
        self.fetches_from_old
    }

    /// The highest epoch it has obeyed.
    pub fn epoch(&self) -> Epoch {
        self.store.epoch
    }

    /// Handles the epoch of a leader. Returns whether the worker obeys it.
    pub(super) fn observe_epoch(&mut self, epoch: Epoch) -> bool {
        match Deposed::check(epoch, self.store.epoch) {
            Ok(true) => self.store.epoch = epoch,
            Ok(false) => {}
            Err(_) => return false,
        }
        true
    }

    /// Handles a failed call: selects the next node. Returns the delay before the next call, in milliseconds.
    fn failed(&mut self, draw: u64) -> u64 {
        self.node = (self.node + 1) % self.nodes;
        self.failures += 1;
        (100 << self.failures.min(5)) + draw
    }
}

impl SimulatedHost {
    #[allow(clippy::panic, reason = "callers have checked the program of the host")]
    fn ours(&mut self) -> &mut SimulatedWorker {
        match &mut self.program {
            SimulatedProgram::Ours(ours) => ours,
            SimulatedProgram::Old(_) => panic!("an old cfw runs here"),
        }
    }

    pub(super) fn ring_ours(&mut self, context: &mut Context, timer: PartyTimer) {
        match timer {
            PartyTimer::Ask => self.ask_for_orders(context),
            PartyTimer::Deliver => self.deliver(context),
            PartyTimer::CallIsOver(id) => self.answered_ours(context, id, None),
            PartyTimer::Read(task) => self.read_on(context, task),
            PartyTimer::Publish(task) => self.publish(context, task),
            PartyTimer::Keep(task) => self.keep(context, task),
            PartyTimer::GivenUp(task) => self.given_up(context, task),
            _ => {}
        }
    }

    pub(super) fn answered_ours(
        &mut self,
        context: &mut Context,
        id: u64,
        answer: Option<SimulatedResponse>,
    ) {
        let Some(asking) = self.ours().calls.remove(&id) else { return };
        match asking {
            PendingWorkerCall::Orders => self.ordered(context, answer),
            PendingWorkerCall::Reports(sent) => self.delivered(context, sent, answer),
            PendingWorkerCall::Read(task) => self.bytes_came(context, task, answer),
            PendingWorkerCall::Hash(task) => self.hash_came(context, task, answer),
        }
    }

    fn call_out(
        &mut self,
        context: &mut Context,
        to: Party,
        call: SimulatedCall,
        patience: u64,
        asking: PendingWorkerCall,
    ) {
        let id = context.call(self.party(), self.life, to, call, patience);
        self.ours().calls.insert(id, asking);
    }

    // The connection to the node.

    fn ask_for_orders(&mut self, context: &mut Context) {
        let host = self.addr;
        let ours = self.ours();
        let (known, to) = (ours.transfers.known(), Party::Node(ours.node));
        // After a change of nodes the worker needs an answer at once.
        let wait = if ours.failures > 0 { 0 } else { WAIT };
        let call = SimulatedCall::Orders { host, known, wait };
        self.call_out(context, to, call, wait + PATIENCE, PendingWorkerCall::Orders);
    }

    fn ordered(&mut self, context: &mut Context, answer: Option<SimulatedResponse>) {
        let (now, draw) = (self.clock(context), context.rng.u64(0..100));
        let orders = answer
            .filter(|answer| answer.status == 200)
            .and_then(|answer| serde_json::from_slice::<TaskOrders>(&answer.body).ok());
        let ours = self.ours();
        let Some(orders) = orders.filter(|orders| ours.observe_epoch(orders.epoch)) else {
            let after = ours.failed(draw);
            return context.after(after, self.party(), self.life, PartyTimer::Ask);
        };
        ours.failures = 0;
        let orders: Vec<CopyOrder> = orders.tasks.into_iter().map(CopyOrder::from).collect();
        let acts = ours.transfers.order(orders, now);
        // A node that answers at once without news usually waits for a report in transit.
        let known = ours.transfers.known();
        let after = if ours.known_last.as_ref() == Some(&known) { 100 } else { 1 };
        ours.known_last = Some(known);
        self.carry_out(context, acts);
        context.after(after, self.party(), self.life, PartyTimer::Ask);
    }

    fn deliver(&mut self, context: &mut Context) {
        let host = self.addr;
        let ours = self.ours();
        if ours.delivering || ours.transfers.reports().is_empty() {
            return;
        }
        ours.delivering = true;
        let sent: Vec<Report> =
            ours.transfers.reports().iter().take(MOST_REPORTS).cloned().collect();
        let to = Party::Node(ours.node);
        let body = serde_json::to_vec(&Reports { reports: sent.clone() }).unwrap_or_default();
        self.call_out(
            context,
            to,
            SimulatedCall::Reports { host, body },
            PATIENCE + 5000,
            PendingWorkerCall::Reports(sent),
        );
    }

    fn delivered(
        &mut self,
        context: &mut Context,
        sent: Vec<Report>,
        answer: Option<SimulatedResponse>,
    ) {
        let (now, draw) = (self.clock(context), context.rng.u64(0..100));
        let host = self.addr;
        let taken = answer
            .filter(|answer| answer.status == 200)
            .and_then(|answer| serde_json::from_slice::<ReportsTaken>(&answer.body).ok());
        let ours = self.ours();
        ours.delivering = false;
        let Some(taken) = taken.filter(|taken| ours.observe_epoch(taken.epoch)) else {
            let after = ours.failed(draw);
            return context.after(after, self.party(), self.life, PartyTimer::Deliver);
        };
        ours.failures = 0;
        let (settled, acts) = ours.transfers.taken(&sent, &taken.cancelled, now);
        for task in settled {
            if let Some(report) = ours.store.reports.remove(&task) {
                context.judge.forgotten(host, &report);
            }
        }
        self.carry_out(context, acts);
        self.news(context);
    }

    /// Schedules a delivery of reports.
    fn news(&mut self, context: &mut Context) {
        if !self.ours().delivering {
            context.after(1, self.party(), self.life, PartyTimer::Deliver);
        }
    }

    fn begin_copy(&mut self, context: &mut Context, order: CopyOrder) {
        let task = order.id;
        trace!(context, "{} begins {task} {:?}", self.party(), order.name);
        let fetch = Fetch {
            order,
            master: None,
            got: 0,
            pieces: Vec::new(),
            cancelled: false,
            state: None,
        };
        self.ours().fetches.insert(task, fetch);
        context.after(1, self.party(), self.life, PartyTimer::Read(task));
    }

    fn carry_out(&mut self, context: &mut Context, acts: Vec<TransferAction>) {
        for act in acts {
            match act {
                TransferAction::Begin(run) => {
                    run.into_iter().for_each(|order| self.begin_copy(context, order))
                }
                TransferAction::GiveUp(task) => {
                    if let Some(fetch) = self.ours().fetches.get_mut(&task) {
                        fetch.cancelled = true;
                    }
                    let after = context.rng.u64(1..300);
                    context.after(after, self.party(), self.life, PartyTimer::GivenUp(task));
                }
            }
        }
        self.news(context);
    }

    // A copy, from its first byte to its report.

    fn read_on(&mut self, context: &mut Context, task: TaskId) {
        let used = self.disk.figures().used_percent;
        let Some(fetch) = self.ours().fetches.get(&task).filter(|fetch| !fetch.cancelled) else {
            return;
        };
        if fetch.got == 0 && used > 90 {
            return self.fail(context, task, Blame::Destination, "the disk is over its limit");
        }
        let Some(source) = context.judge.party_at(fetch.order.source) else { return };
        let (name, offset) = (fetch.order.name.clone(), fetch.got);
        let call = SimulatedCall::Read { name, offset, length: STEP };
        self.call_out(context, source, call, 3000, PendingWorkerCall::Read(task));
    }

    fn bytes_came(
        &mut self,
        context: &mut Context,
        task: TaskId,
        answer: Option<SimulatedResponse>,
    ) {
        let now = self.clock(context);
        let Some(answer) = answer else {
            return self.fail(context, task, Blame::Source, "the source does not answer");
        };
        let reply = parsed(&answer).filter(|_| answer.status == 200);
        let Some((content, size, bytes)) = reply else {
            return self.fail(context, task, Blame::File, "the source cannot read it");
        };
        let Some(fetch) = self.ours().fetches.get_mut(&task).filter(|fetch| !fetch.cancelled)
        else {
            return;
        };
        let (_, whole) = *fetch.master.get_or_insert((content, size));
        if bytes == 0 {
            return self.fail(context, task, Blame::File, "it became shorter");
        }
        fetch.pieces.push(content);
        fetch.got += bytes;
        let got = fetch.got;
        if !self.disk.write(task, bytes) {
            return self.fail(context, task, Blame::Destination, "the disk is full");
        }
        self.ours().transfers.moved(task, got, now);
        self.news(context);
        if got < whole {
            let after = context.rng.u64(100..1500);
            return context.after(after, self.party(), self.life, PartyTimer::Read(task));
        }
        let Some(fetch) = self.ours().fetches.get(&task) else { return };
        let (source, name) = (fetch.order.source, fetch.order.name.clone());
        if !context.judge.is_ours(source) {
            // An old cfw sends no hash: the worker can only use the received bytes.
            let after = context.rng.u64(5..200);
            return context.after(after, self.party(), self.life, PartyTimer::Publish(task));
        }
        let Some(source) = context.judge.party_at(source) else { return };
        self.call_out(
            context,
            source,
            SimulatedCall::Hash { name },
            3000,
            PendingWorkerCall::Hash(task),
        );
    }

    fn hash_came(
        &mut self,
        context: &mut Context,
        task: TaskId,
        answer: Option<SimulatedResponse>,
    ) {
        let Some(answer) = answer.filter(|answer| answer.status == 200) else {
            return self.fail(context, task, Blame::Source, "the source sends no hash");
        };
        let there: Option<u64> = serde_json::from_slice(&answer.body).ok();
        let Some(fetch) = self.ours().fetches.get(&task) else { return };
        let first = fetch.master.map(|(content, _)| content);
        if there != first || there != Some(joined(&fetch.pieces)) {
            return self.fail(context, task, Blame::File, "the master changed meanwhile");
        }
        let after = context.rng.u64(5..200);
        context.after(after, self.party(), self.life, PartyTimer::Publish(task));
    }

    /// Gives the synced copy its name.
    fn publish(&mut self, context: &mut Context, task: TaskId) {
        let Some(fetch) = self.ours().fetches.get_mut(&task).filter(|fetch| !fetch.cancelled)
        else {
            return;
        };
        let (content, size) = (joined(&fetch.pieces), fetch.got);
        let name = fetch.order.name.clone();
        let (hash, verified) = (hash_of(content), context.judge.is_ours(fetch.order.source));
        fetch.state = Some(match verified {
            true => ReportedState::Done { size, hash },
            false => ReportedState::DoneUnverified { size, hash },
        });
        self.disk.partial.remove(&task);
        trace!(context, "{} has {name:?} of {task}", self.party());
        context.judge.published(self.addr, &name, content, Some(task), verified);
        self.disk.files.insert(name, SimulatedCopy { content, size, task: Some(task) });
        let after = context.rng.u64(1..30);
        context.after(after, self.party(), self.life, PartyTimer::Keep(task));
    }

    fn fail(&mut self, context: &mut Context, task: TaskId, blame: Blame, reason: &str) {
        let Some(fetch) = self.ours().fetches.get_mut(&task).filter(|fetch| !fetch.cancelled)
        else {
            return;
        };
        fetch.state = Some(ReportedState::Failed { blame, reason: reason.to_owned() });
        trace!(context, "{}: {task} fails: {reason}", self.party());
        self.disk.partial.remove(&task);
        context.after(1, self.party(), self.life, PartyTimer::Keep(task));
    }

    /// Makes the end durable, and then reports it.
    fn keep(&mut self, context: &mut Context, task: TaskId) {
        let at: Millis = self.clock(context);
        let ours = self.ours();
        let Some(fetch) = ours.fetches.remove(&task) else { return };
        let Some(state) = fetch.state else { return };
        let report = Report { task, name: fetch.order.name, at, state };
        ours.store.reports.insert(task, report.clone());
        let acts = ours.transfers.ended(task, Some(report), at);
        self.carry_out(context, acts);
    }

    /// Ends a withdrawn copy, unless it has ended already.
    fn given_up(&mut self, context: &mut Context, task: TaskId) {
        let now = self.clock(context);
        let ours = self.ours();
        if ours.fetches.get(&task).is_none_or(|fetch| fetch.state.is_some()) {
            return;
        }
        ours.fetches.remove(&task);
        self.disk.partial.remove(&task);
        let acts = self.ours().transfers.ended(task, None, now);
        self.carry_out(context, acts);
    }
}
