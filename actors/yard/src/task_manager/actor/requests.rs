//! Requests of other actors and of users.

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, MessageResult, ResponseActFuture};
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::worker::{ReportsTaken, TaskId};
use reelyard_replication::{
    CommitError, OwnerReply, OwnerRequests, OwnerTicks, RequestContext, reply_now,
};

use super::tick::LOOK_TIMEOUT;
use crate::catalog::LookUpMasters;
use crate::changes::{HostEvent, YardChange};
use crate::task_manager::messages::Explanation;
use crate::task_manager::{
    CancelTask, ChangeRefused, ChangeTask, CheckTasksNow, ExplainFile, PlanNow, ReportsRefused,
    ResetHost, TakeReports, TaskDecisionContext, TaskEvent, TaskManager, change_answer, forgetting,
};

/// The requester of changes over cfm's wire, which does not name the caller.
const OLD_WIRE: &str = "cfm-wire";

type TaskReply<T, E> = OwnerReply<TaskManager, T, E>;

impl Handler<ChangeTask> for TaskManager {
    type Result = TaskReply<(), ChangeRefused>;

    fn handle(&mut self, change: ChangeTask, _: &mut Context<Self>) -> Self::Result {
        let ChangeTask { id, to, request } = change;
        if self.replica.epoch().is_some() {
            let now = self.clock.now();
            let (policy, context) = self.at(now);
            policy.record_cfm_change(id, context);
        }
        self.warn_of_restart(id, to);
        let asked = RequestContext::by_request(OLD_WIRE, request);
        self.answer(asked, id, to, |decision_context| decision_context.change(id, to))
    }
}

impl Handler<CancelTask> for TaskManager {
    type Result = TaskReply<(), ChangeRefused>;

    fn handle(&mut self, cancel: CancelTask, _: &mut Context<Self>) -> Self::Result {
        let CancelTask { id, asked_by, request } = cancel;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.answer(asked, id, None, |decision_context| decision_context.cancel(id, &asked_by))
    }
}

impl TaskManager {
    /// Warns when an old cfw starts a task that it had already started.
    fn warn_of_restart(&self, id: TaskId, to: Option<OldState>) {
        let Some(task) = self.replica.piece().task(id) else { return };
        if to == Some(OldState::Working) && task.old_state() == Some(OldState::Working) {
            let (host, file) = (task.destination, &task.name);
            let begun = task.changed;
            tracing::warn!(%id, %host, file = file.to_string(), %begun, "an old cfw starts a copy again: \
                it was restarted during the copy");
        }
    }

    /// Decides, commits and answers one change of a task. A repeated one gets its earlier
    /// answer.
    fn answer(
        &mut self,
        asked: RequestContext,
        id: TaskId,
        to: Option<OldState>,
        decide: impl FnOnce(TaskDecisionContext<'_>) -> Result<Vec<TaskEvent>, ChangeRefused>,
    ) -> TaskReply<(), ChangeRefused> {
        self.answer_request(
            asked,
            |manager| {
                let (policy, context) = manager.at(manager.clock.now());
                decide(policy.decision_context(context))
            },
            move |_, outcomes| change_answer(outcomes, id, to),
        )
    }
}

impl Handler<TakeReports> for TaskManager {
    type Result = TaskReply<ReportsTaken, ReportsRefused>;

    fn handle(&mut self, message: TakeReports, ctx: &mut Context<Self>) -> Self::Result {
        let TakeReports { host, reports } = message;
        if !self.policy.hosts().get(host).is_some_and(|known| known.role.is_destination()) {
            return reply_now(Err(ReportsRefused::UnknownHost(host)));
        }
        let epoch = match self.replica.leading() {
            Ok(epoch) => epoch,
            Err(error) => return reply_now(Err(error.into())),
        };
        let now = self.clock.now();
        let (policy, context) = self.at(now);
        let effect = policy.receive_reports(host, &reports, context);
        self.soon(ctx);
        let asked = self.replica.unnamed_request(&host.to_string());
        let taken = ReportsTaken { epoch, cancelled: effect.cancelled };
        self.commit_in_parts(asked, effect.events, |_, outcomes, _| {
            outcomes?;
            Ok(taken)
        })
    }
}

impl Handler<ResetHost> for TaskManager {
    type Result = TaskReply<usize, CommitError>;

    fn handle(&mut self, reset: ResetHost, _: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error));
        }
        let ResetHost { host, asked_by, request } = reset;
        let (policy, context) = self.at(self.clock.now());
        let back_offs = policy.decision_context(context).back_offs_of(host);
        let count = back_offs.len();
        tracing::info!(%host, asked_by, back_offs = count, "backoff of a host ended on request");
        let reset = HostEvent::Reset { host, asked_by: asked_by.clone(), back_offs: count as u64 };
        if back_offs.is_empty() {
            self.publish_host_event(reset);
            return reply_now(Ok(0));
        }
        let asked = RequestContext::by_request(asked_by, request);
        // A host of a large yard may have a pair with each other host: too many for one entry.
        self.commit_in_parts(asked, forgetting(back_offs), move |manager, outcomes, _| {
            outcomes?;
            manager.publish_host_event(reset);
            Ok(count)
        })
    }
}

impl TaskManager {
    /// Publishes a change of a host that no event carries.
    fn publish_host_event(&self, event: HostEvent) {
        self.replica.publish_change(self.clock.now(), YardChange::Host(event));
    }
}

impl Handler<PlanNow> for TaskManager {
    type Result = MessageResult<PlanNow>;

    fn handle(&mut self, _: PlanNow, ctx: &mut Context<Self>) -> Self::Result {
        self.run_tick(ctx);
        MessageResult(self.replica.leading())
    }
}

impl Handler<CheckTasksNow> for TaskManager {
    type Result = ();

    fn handle(&mut self, _: CheckTasksNow, ctx: &mut Context<Self>) {
        self.run_tick(ctx);
    }
}

impl Handler<ExplainFile> for TaskManager {
    type Result = ResponseActFuture<TaskManager, Explanation>;

    fn handle(&mut self, ExplainFile { name }: ExplainFile, _: &mut Context<Self>) -> Self::Result {
        let now = self.clock.now();
        let (policy, context) = self.at(now);
        let Some(file) = policy.wants_look(&name, context) else {
            return Box::pin(ready(policy.explain(&name, context)));
        };
        let look_up = self.collaborators.look_up.recipient();
        let looking = look_up.send(LookUpMasters { files: vec![file] });
        let looking = wrap_future::<_, Self>(tokio::time::timeout(LOOK_TIMEOUT, looking));
        Box::pin(looking.map(move |answer, manager, _| {
            let seen = answer.ok().and_then(Result::ok).unwrap_or_default();
            let now = manager.clock.now();
            let (policy, context) = manager.at(now);
            policy.learn(file, seen, now);
            policy.explain(&name, context)
        }))
    }
}
