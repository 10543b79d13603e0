//! The connection of a worker to the nodes: orders, and the delivery of reports.

use reelyard_protocol::worker::{Report, Reports, ReportsTaken, TaskOrders};
use reelyard_worker::downloader::copying::order::CopyOrder;
use reelyard_worker::downloader::copying::transfers::TransferAction;
use reelyard_worker::downloader::managers::node_link::MOST_REPORTS;

use super::{Fetch, PendingWorkerCall, SimulatedWorker};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::hosts::host::{SimulatedHost, SimulatedProgram};
use crate::trace;

/// The longest time that the node delays a long poll, in milliseconds.
const WAIT: u64 = 8000;
/// The additional timeout of every call, in milliseconds.
const PATIENCE: u64 = 4000;

impl SimulatedHost {
    #[allow(clippy::panic, reason = "callers have checked the program of the host")]
    pub(super) fn ours(&mut self) -> &mut SimulatedWorker {
        match &mut self.program {
            SimulatedProgram::Ours(ours) => ours,
            SimulatedProgram::Old(_) => panic!("an old cfw runs here"),
        }
    }

    pub(in crate::simulation::hosts) fn ring_ours(
        &mut self,
        context: &mut Context,
        timer: PartyTimer,
    ) {
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

    pub(in crate::simulation::hosts) fn answered_ours(
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

    pub(super) fn call_out(
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

    fn ask_for_orders(&mut self, context: &mut Context) {
        let host = self.addr;
        let ours = self.ours();
        let (known, to) = (ours.transfers.known(), Party::Node(ours.node));
        // After a change of nodes the worker needs an answer at once.
        let wait = if ours.failures > 0 { 0 } else { WAIT };
        let call = SimulatedCall::Orders { host, known, wait };
        self.call_out(context, to, call, wait + PATIENCE, PendingWorkerCall::Orders);
    }

    pub(super) fn ordered(&mut self, context: &mut Context, answer: Option<SimulatedResponse>) {
        let (now, draw) = (self.clock(context), context.rng.u64(0..100));
        let orders = answer
            .filter(|answer| answer.status == 200)
            .and_then(|answer| serde_json::from_slice::<TaskOrders>(&answer.body).ok());
        let Some(orders) = orders.filter(|orders| self.obeys(context, orders.epoch)) else {
            let after = self.ours().failed(draw);
            return context.after(after, self.party(), self.life, PartyTimer::Ask);
        };
        let ours = self.ours();
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
        self.ours().delivering = false;
        let Some(taken) = taken.filter(|taken| self.obeys(context, taken.epoch)) else {
            let after = self.ours().failed(draw);
            return context.after(after, self.party(), self.life, PartyTimer::Deliver);
        };
        let ours = self.ours();
        ours.failures = 0;
        let (reported, acts) = ours.transfers.taken(&sent, &taken.cancelled, now);
        for task in reported {
            if let Some(report) = ours.store.reports.remove(&task) {
                context.judge.forgotten(host, &report);
            }
        }
        self.carry_out(context, acts);
        self.news(context);
    }

    /// Schedules a delivery of reports.
    pub(super) fn news(&mut self, context: &mut Context) {
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

    pub(super) fn carry_out(&mut self, context: &mut Context, acts: Vec<TransferAction>) {
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
}
