//! The answers of a node: the long polls and reports of Reelyard workers, the changes of old cfws, and the
//! operator.

use std::collections::HashSet;

use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{ReportsTaken, TaskId};
use reelyard_replication::{ReplicaHandle, RequestContext};
use reelyard_yard::task_manager::{ChangeRefused, TaskBook, TaskManagerView};

use super::{CommitWaiter, SimulatedNode};
use crate::simulation::context::Context;
use crate::simulation::messages::SimulatedResponse;
use crate::simulation::parties::{Party, PartyTimer};
use crate::trace;

/// A delayed long poll.
pub(super) struct Poll {
    pub(super) number: u64,
    pub(super) caller: (Party, u64),
    pub(super) host: HostAddr,
    pub(super) known: HashSet<TaskId>,
}

/// Reports whose commits are in progress.
pub(super) struct PendingReports {
    pub(super) caller: (Party, u64),
    pub(super) commits: usize,
    pub(super) failed: bool,
    pub(super) taken: ReportsTaken,
}

impl SimulatedNode {
    pub(super) fn knows_host(&self, host: HostAddr) -> bool {
        self.policy.hosts().get(host).is_some()
    }

    pub(super) fn poll(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        host: HostAddr,
        known: Vec<TaskId>,
        wait: u64,
    ) {
        if !self.knows_host(host) {
            return context.answer(
                self.party(),
                caller.0,
                caller.1,
                SimulatedResponse::status(403),
            );
        }
        self.poll_numbers += 1;
        let number = self.poll_numbers;
        let known = known.into_iter().collect();
        if wait == 0 {
            let answer = self.orders(context, host).unwrap_or(SimulatedResponse::status(503));
            return context.answer(self.party(), caller.0, caller.1, answer);
        }
        let board = self.board(context);
        self.hold_or_answer(context, &board, Poll { number, caller, host, known });
        if self.polls.last().is_some_and(|poll| poll.number == number) {
            context.after(wait, self.party(), self.life, PartyTimer::PollIsOver(number));
        }
    }

    /// The published state of the TaskManager.
    pub(super) fn board(&mut self, context: &Context) -> TaskManagerView {
        let now = self.clock(context);
        let epoch = self.own.epoch();
        let (policy, piece_context) = self.at(now);
        policy.view(piece_context, epoch)
    }

    pub(super) fn hold_or_answer(
        &mut self,
        context: &mut Context,
        board: &TaskManagerView,
        poll: Poll,
    ) {
        let answer = match board.orders_for(poll.host) {
            Some(orders) if !orders.is_news_for(&poll.known, None) => return self.polls.push(poll),
            Some(orders) => SimulatedResponse::ok(serde_json::to_vec(&orders).unwrap_or_default()),
            None => SimulatedResponse::status(503),
        };
        context.answer(self.party(), poll.caller.0, poll.caller.1, answer);
    }

    pub(super) fn orders(
        &mut self,
        context: &Context,
        host: HostAddr,
    ) -> Option<SimulatedResponse> {
        let orders = self.board(context).orders_for(host)?;
        Some(SimulatedResponse::ok(serde_json::to_vec(&orders).unwrap_or_default()))
    }

    pub(super) fn take_reports(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        host: HostAddr,
        body: &[u8],
    ) {
        let Ok(reports) = serde_json::from_slice::<reelyard_protocol::worker::Reports>(body) else {
            context.judge.fail("wire", "reports do not read".to_owned());
            return;
        };
        let Some(epoch) = self.own.epoch().filter(|_| self.knows_host(host)) else {
            return context.answer(
                self.party(),
                caller.0,
                caller.1,
                SimulatedResponse::status(503),
            );
        };
        let now = self.clock(context);
        let (policy, piece_context) = self.at(now);
        let heard = policy.receive_reports(host, &reports.reports, piece_context);
        for &(task, _) in &heard.signs {
            context.judge.sign_of_life(self.id, task, now);
        }
        self.soon(context);
        self.taking_numbers += 1;
        let number = self.taking_numbers;
        let taken = ReportsTaken { epoch, cancelled: heard.cancelled };
        let commits = ReplicaHandle::<TaskBook>::parts(heard.events.clone()).len();
        self.takings.insert(number, PendingReports { caller, commits, failed: false, taken });
        if commits == 0 {
            self.reports_settled(context, number, true);
        }
        self.commit(context, heard.events, || CommitWaiter::Reports(number));
    }

    pub(super) fn reports_settled(&mut self, context: &mut Context, number: u64, committed: bool) {
        let Some(taking) = self.takings.get_mut(&number) else { return };
        taking.commits = taking.commits.saturating_sub(1);
        taking.failed |= !committed;
        if taking.commits > 0 {
            return;
        }
        let Some(taking) = self.takings.remove(&number) else { return };
        let answer = match taking.failed {
            true => SimulatedResponse::status(503),
            false => SimulatedResponse::ok(serde_json::to_vec(&taking.taken).unwrap_or_default()),
        };
        context.answer(self.party(), taking.caller.0, taking.caller.1, answer);
    }

    pub(super) fn change(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        id: &str,
        body: &[u8],
    ) {
        use reelyard_protocol::legacy::cfm::{parse_change, parse_task_id};
        let (Some(id), Ok(to)) = (parse_task_id(id), parse_change(body)) else {
            context.judge.fail("wire", format!("a change of task {id} does not read"));
            return;
        };
        let now = self.clock(context);
        if self.own.epoch().is_none() {
            return context.answer(
                self.party(),
                caller.0,
                caller.1,
                SimulatedResponse::status(503),
            );
        }
        let (policy, piece_context) = self.at(now);
        match policy.decision_context(piece_context).change(id, to) {
            Ok(events) => {
                self.commit(context, events, || CommitWaiter::Change { caller, id, to });
            }
            Err(refused) => {
                context.answer(self.party(), caller.0, caller.1, refused_answer(&refused));
            }
        }
    }

    /// Cancels a task for the operator, over this node; the best open one if `task` is `None`.
    pub fn cancel(&mut self, context: &mut Context, task: Option<TaskId>, request: RequestId) {
        let now = self.clock(context);
        let Some(id) = task.or_else(|| self.own.piece().open().keys().next().copied()) else {
            return;
        };
        if self.own.recall(request).is_some() {
            return;
        }
        trace!(context, "the operator cancels {id}");
        let (policy, piece_context) = self.at(now);
        if let Ok(events) = policy.decision_context(piece_context).cancel(id, "the operator") {
            let asked = RequestContext::by_request("the operator", request);
            let waiter = CommitWaiter::Operator { id, request };
            self.commit_one(context, now, asked, events, waiter);
            self.propose(context);
        }
    }
}

pub(super) fn refused_answer(refused: &ChangeRefused) -> SimulatedResponse {
    SimulatedResponse::status(match refused {
        ChangeRefused::NoSuchTask(_) => 404,
        ChangeRefused::Transition { .. } => 409,
        ChangeRefused::Commit(_) => 503,
    })
}
