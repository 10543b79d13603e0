//! What others ask of the TaskManager.

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, MessageResult, ResponseActFuture};
use futures::future::{LocalBoxFuture, join_all};

use super::entries::split;
use super::plan::{Explanation, Yard};
use super::turn::LOOK_TIMEOUT;
use super::{
    Blamed, CancelTask, ChangeRefused, ChangeTask, CheckNow, ExplainFile, OldState, PlanNow,
    ReportsRefused, ResetHost, TakeReports, TaskBook, TaskEvent, TaskManager,
};
use crate::catalog::{LookUpMasters, MasterLook};
use crate::event::Epoch;
use crate::journal::{Asked, CommitError, Outcomes, Settlement};
use crate::names::FileName;
use crate::wire::worker::{ReportsTaken, TaskId};

/// Who changes tasks over cfm's wire: it does not say who calls (spec D37).
const OLD_WIRE: &str = "cfm-wire";

type Answer<T, E> = ResponseActFuture<TaskManager, Result<T, E>>;

impl Handler<ChangeTask> for TaskManager {
    type Result = Answer<(), ChangeRefused>;

    fn handle(&mut self, change: ChangeTask, _: &mut Context<Self>) -> Self::Result {
        let ChangeTask { id, to, request } = change;
        if self.seat.epoch().is_some() && self.seat.piece().never_made(id) {
            self.strangers.note_unknown_change(id, self.clock.now());
        }
        let asked = Asked::by_request(OLD_WIRE, request);
        self.answer(asked, id, to, |manager| manager.deciding(manager.clock.now()).change(id, to))
    }
}

impl Handler<CancelTask> for TaskManager {
    type Result = Answer<(), ChangeRefused>;

    fn handle(&mut self, cancel: CancelTask, _: &mut Context<Self>) -> Self::Result {
        let CancelTask { id, asked_by, request } = cancel;
        let asked = Asked::by_request(asked_by.clone(), request);
        self.answer(asked, id, None, |manager| {
            manager.deciding(manager.clock.now()).cancel(id, &asked_by)
        })
    }
}

impl TaskManager {
    fn leading(&self) -> Result<Epoch, CommitError> {
        let leader = self.journal.leader();
        self.seat.epoch().ok_or(CommitError::NotLeader { leader })
    }

    /// Decides, commits and answers one change of a task; a repeated one is answered as before.
    fn answer(
        &mut self,
        asked: Asked,
        id: TaskId,
        to: Option<OldState>,
        decide: impl FnOnce(&Self) -> Result<Vec<TaskEvent>, ChangeRefused>,
    ) -> Answer<(), ChangeRefused> {
        if let Some(outcomes) = self.seat.recall(asked.request) {
            return Box::pin(ready(change_answer(outcomes, id, to)));
        }
        let decided = self.leading().map_err(ChangeRefused::from).and_then(|_| decide(self));
        let events = match decided {
            Ok(events) => events,
            Err(refused) => return Box::pin(ready(Err(refused))),
        };
        let committing = self.seat.commit(self.clock.now(), asked, events);
        let answering = wrap_future::<_, Self>(committing).map(
            move |settlement, manager, ctx: &mut Context<Self>| {
                let outcomes = manager.settled(settlement, ctx)?;
                change_answer(outcomes, id, to)
            },
        );
        Box::pin(answering)
    }
}

/// What the outcomes of a change say of it as a whole.
fn change_answer(
    outcomes: Outcomes<TaskBook>,
    id: TaskId,
    to: Option<OldState>,
) -> Result<(), ChangeRefused> {
    for outcome in outcomes {
        outcome.map_err(|refusal| ChangeRefused::at_apply(refusal, id, to))?;
    }
    Ok(())
}

impl Handler<TakeReports> for TaskManager {
    type Result = Answer<ReportsTaken, ReportsRefused>;

    fn handle(&mut self, message: TakeReports, ctx: &mut Context<Self>) -> Self::Result {
        let TakeReports { host, reports } = message;
        if !self.hosts.get(host).is_some_and(|known| known.role.is_destination()) {
            return Box::pin(ready(Err(ReportsRefused::UnknownHost(host))));
        }
        let epoch = match self.leading() {
            Ok(epoch) => epoch,
            Err(error) => return Box::pin(ready(Err(error.into()))),
        };
        let now = self.clock.now();
        let heard = self.deciding(now).hear(host, &reports);
        for report in &reports {
            if self.seat.piece().never_made(report.task) {
                self.strangers.note_unknown_task(host, report, now);
            }
        }
        self.counters.reports += reports.len() as u64;
        for (task, bytes) in heard.signs {
            self.signs.heard(task, now, bytes);
        }
        self.soon(ctx);
        let mut commits: Vec<LocalBoxFuture<'static, Settlement<TaskBook>>> = Vec::new();
        for events in split(heard.events) {
            let asked = Asked::by_itself(&host.to_string());
            commits.push(Box::pin(self.seat.commit(now, asked, events)));
        }
        let taken = ReportsTaken { epoch, cancelled: heard.cancelled };
        let answering = wrap_future::<_, Self>(join_all(commits)).map(
            move |settlements, manager, ctx: &mut Context<Self>| {
                let settle = |settlement| manager.settled(settlement, ctx).map(drop);
                // Every one is settled, also behind one that failed.
                let settled: Vec<Result<(), CommitError>> =
                    settlements.into_iter().map(settle).collect();
                settled.into_iter().collect::<Result<(), CommitError>>()?;
                Ok(taken)
            },
        );
        Box::pin(answering)
    }
}

impl Handler<ResetHost> for TaskManager {
    type Result = Answer<usize, CommitError>;

    fn handle(&mut self, reset: ResetHost, _: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.leading() {
            return Box::pin(ready(Err(error)));
        }
        let ResetHost { host, asked_by, request } = reset;
        let held = self.seat.piece().back_offs().keys();
        let back_offs: Vec<Blamed> = held.filter(|held| held.involves(host)).cloned().collect();
        let count = back_offs.len();
        tracing::info!(%host, asked_by, back_offs = count, "a host is trusted again on request");
        if back_offs.is_empty() {
            return Box::pin(ready(Ok(0)));
        }
        // Few enough for one entry: two of the host, and one pair for each other host.
        let events = vec![TaskEvent::Forgot { tasks: Vec::new(), back_offs }];
        let asked = Asked::by_request(asked_by, request);
        let committing = self.seat.commit(self.clock.now(), asked, events);
        let answering = wrap_future::<_, Self>(committing).map(
            move |settlement, manager, ctx: &mut Context<Self>| {
                manager.settled(settlement, ctx)?;
                Ok(count)
            },
        );
        Box::pin(answering)
    }
}

impl Handler<PlanNow> for TaskManager {
    type Result = MessageResult<PlanNow>;

    fn handle(&mut self, _: PlanNow, ctx: &mut Context<Self>) -> Self::Result {
        self.turn(ctx);
        MessageResult(self.leading())
    }
}

impl Handler<CheckNow> for TaskManager {
    type Result = ();

    fn handle(&mut self, _: CheckNow, ctx: &mut Context<Self>) {
        self.turn(ctx);
    }
}

impl Handler<ExplainFile> for TaskManager {
    type Result = ResponseActFuture<TaskManager, Explanation>;

    fn handle(&mut self, ExplainFile { name }: ExplainFile, _: &mut Context<Self>) -> Self::Result {
        let file = self.seat.piece().names().find(name.as_bytes());
        let now = self.clock.now();
        let Some(file) = file.filter(|file| self.planner.wants_look(*file, now)) else {
            return Box::pin(ready(self.explain(&name)));
        };
        let look_up = self.collaborators.look_up.recipient();
        let looking = look_up.send(LookUpMasters { files: vec![file] });
        let looking = wrap_future::<_, Self>(tokio::time::timeout(LOOK_TIMEOUT, looking));
        Box::pin(looking.map(move |answer, manager, _| {
            let unknown = vec![(file, MasterLook::Unknown)];
            let seen = answer.ok().and_then(Result::ok).unwrap_or(unknown);
            manager.planner.learn(seen, &manager.settings, manager.clock.now());
            manager.explain(&name)
        }))
    }
}

impl TaskManager {
    fn explain(&mut self, name: &FileName) -> Explanation {
        let yard = Yard {
            book: self.seat.piece(),
            in_flight: self.seat.in_flight(),
            hosts: &self.hosts,
            settings: &self.settings,
            leading_since: self.signs.since(),
            now: self.clock.now(),
        };
        self.planner.explain(name, &yard)
    }
}
