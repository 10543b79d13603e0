//! The HTTP calls to a node: the long polls and reports of Reelyard workers, the changes of old cfws, and the
//! requests of the operator. Each is a task of its own, as in the HTTP server.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_protocol::legacy::cfm::{parse_change, parse_task_id};
use reelyard_protocol::worker::{Report, ReportedState, Reports, TaskId};
use reelyard_yard::task_manager::{
    CancelTask, ChangeRefused, ChangeTask, TakeReports, TaskManagerView, cfm_list,
};
use tokio::time::{Instant, timeout_at};

use super::SimulatedNode;
use super::outbox::NodeRequest;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};
use crate::simulation::environment::parties::Party;
use crate::simulation::scene::operator::OperatorAction;
use crate::trace;

/// The delay before the operator repeats a request, in milliseconds.
const ASK_AGAIN_AFTER: u64 = 3000;

impl SimulatedNode {
    pub(super) fn call(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        call: SimulatedCall,
    ) {
        match call {
            SimulatedCall::Orders { host, known, wait } => {
                self.poll(context, caller, host, known, wait);
            }
            SimulatedCall::Reports { host, body } => {
                self.take_reports(context, caller, host, &body);
            }
            SimulatedCall::Tasks => {
                let Some(process) = &self.process else { return };
                let tasks = process.tasks_view.load().tasks_for_cfws();
                let tasks = tasks.iter().map(AsRef::as_ref);
                let body = cfm_list::write_tasks(tasks, process.clock.now());
                context.answer(self.party(), caller.0, caller.1, SimulatedResponse::ok(body));
            }
            SimulatedCall::Patch { id, body } => self.change(context, caller, &id, &body),
            SimulatedCall::Share(call) => self.share_call(context, caller, call),
            SimulatedCall::Boxes(call) => self.box_call(caller, call),
            _ => {
                let nothing = SimulatedResponse::status(404);
                context.answer(self.party(), caller.0, caller.1, nothing);
            }
        }
    }

    fn knows_host(&self, host: HostAddr) -> bool {
        let known = |view: ViewHandle<TaskManagerView>| view.load().host(host).is_some();
        self.process.as_ref().is_some_and(|process| known(process.tasks_view.clone()))
    }

    /// Answers a call once a future has the answer.
    pub(super) fn answer_later(
        &mut self,
        caller: (Party, u64),
        answer: impl Future<Output = SimulatedResponse> + 'static,
    ) {
        let Some(process) = &mut self.process else { return };
        let outbox = process.outbox.clone();
        let task = process.spawn(async move {
            let answer = answer.await;
            outbox.push(NodeRequest::Answer { caller, answer });
        });
        self.open_calls.insert(caller, task);
    }

    fn poll(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        host: HostAddr,
        known: Vec<TaskId>,
        wait: u64,
    ) {
        if !self.knows_host(host) {
            let unknown = SimulatedResponse::status(403);
            return context.answer(self.party(), caller.0, caller.1, unknown);
        }
        let Some(process) = &self.process else { return };
        let view = process.tasks_view.clone();
        let known = known.into_iter().collect();
        self.answer_later(caller, orders(view, host, known, Duration::from_millis(wait)));
    }

    fn take_reports(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        host: HostAddr,
        body: &[u8],
    ) {
        let Ok(reports) = serde_json::from_slice::<Reports>(body) else {
            context.judge.fail("wire", "reports do not read".to_owned());
            return;
        };
        if !self.knows_host(host) {
            let unknown = SimulatedResponse::status(403);
            return context.answer(self.party(), caller.0, caller.1, unknown);
        }
        self.record_liveness(context, host, &reports.reports);
        let Some(process) = &self.process else { return };
        let take = TakeReports { host, reports: reports.reports };
        let taking = process.task_manager.addr.send(take);
        self.answer_later(caller, async move {
            match taking.await {
                Ok(Ok(taken)) => {
                    SimulatedResponse::ok(serde_json::to_vec(&taken).unwrap_or_default())
                }
                _ => SimulatedResponse::status(503),
            }
        });
    }

    /// Records the signs of life that a leader gets.
    fn record_liveness(&self, context: &mut Context, host: HostAddr, reports: &[Report]) {
        let Some(process) = &self.process else { return };
        let view = process.tasks_view.load();
        if view.epoch.is_none() {
            return;
        }
        let alive = reports.iter().filter(|report| {
            matches!(report.state, ReportedState::Working | ReportedState::Progress { .. })
        });
        for report in alive {
            let open = view.open.get(&report.task);
            if open.is_some_and(|task| task.destination == host && task.name == report.name) {
                context.judge.sign_of_life(self.id, report.task, process.clock.now());
            }
        }
    }

    fn change(&mut self, context: &mut Context, caller: (Party, u64), id: &str, body: &[u8]) {
        let (Some(id), Ok(to)) = (parse_task_id(id), parse_change(body)) else {
            context.judge.fail("wire", format!("a change of task {id} does not read"));
            return;
        };
        let Some(process) = &self.process else { return };
        let change = ChangeTask { id, to, request: context.request() };
        let changing = process.task_manager.addr.send(change);
        self.answer_later(caller, async move {
            SimulatedResponse::status(match changing.await {
                Ok(Ok(())) => 200,
                Ok(Err(ChangeRefused::NoSuchTask(_))) => 404,
                Ok(Err(ChangeRefused::Transition { .. })) => 409,
                Ok(Err(ChangeRefused::Commit(_))) | Err(_) => 503,
            })
        });
    }

    /// Cancels a task for the operator, over this node; the best open one if `task` is `None`. The operator
    /// repeats the request under the same id until an answer arrives.
    pub fn cancel(&mut self, context: &mut Context, task: Option<TaskId>, request: RequestId) {
        let Some(process) = &mut self.process else { return };
        let view = process.tasks_view.load();
        let Some(id) = task.or_else(|| view.open.keys().next().copied()) else { return };
        trace!(context, "the operator cancels {id}");
        let cancel = CancelTask { id, asked_by: "the operator".to_owned(), request };
        let cancelling = process.task_manager.addr.send(cancel);
        let outbox = process.outbox.clone();
        process.spawn(async move {
            if matches!(cancelling.await, Err(_) | Ok(Err(ChangeRefused::Commit(_)))) {
                let again = OperatorAction::Cancel { task: Some(id), request };
                outbox.push(NodeRequest::Again(ASK_AGAIN_AFTER, again));
            }
        });
    }
}

/// The orders for a host, once they differ from the known ones or the wait is over.
async fn orders(
    view: ViewHandle<TaskManagerView>,
    host: HostAddr,
    known: HashSet<TaskId>,
    wait: Duration,
) -> SimulatedResponse {
    let until = Instant::now() + wait;
    let mut changes = view.news();
    loop {
        changes.mark_unchanged();
        let Some(orders) = view.load().orders_for(host) else {
            return SimulatedResponse::status(503);
        };
        let is_over =
            orders.is_news_for(&known, None) || timeout_at(until, changes.changed()).await.is_err();
        if is_over {
            return SimulatedResponse::ok(serde_json::to_vec(&orders).unwrap_or_default());
        }
    }
}
