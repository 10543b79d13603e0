//! A Reelyard worker: its transfers, its outbox and its epoch guard are the code under test. Reading,
//! comparing and renaming of copies are a model of the fetcher, because the fetcher blocks on real disks.

mod copies;
mod orders;

use std::collections::BTreeMap;

use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_protocol::worker::{Report, ReportedState, TaskId, WorkerInfo};
use reelyard_worker::downloader::copying::order::CopyOrder;
use reelyard_worker::downloader::copying::transfers::Transfers;
use reelyard_worker::kept_state::epoch_guard::Deposed;

use crate::simulation::environment::messages::SimulatedResponse;

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
            data_tls: false,
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
