//! One tick of the TaskManager: it decides due work, then plans copies, then sleeps until a change or
//! the next deadline.

use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::YardId;
use reelyard_core::names::FileId;
use reelyard_replication::{OwnerCommits, OwnerTicks};

use crate::catalog::LookUpMasters;
use crate::cfw_worker::Refresh;
use crate::task_manager::policy::last_round::LastRound;
use crate::task_manager::policy::plan::PlanningRound;
use crate::task_manager::{TaskEvent, TaskManager};

/// How long a check of masters may take before its files are skipped for a while.
pub(in crate::task_manager) const LOOK_TIMEOUT: Duration = Duration::from_secs(5);

impl TaskManager {
    /// Decides due work, and plans copies.
    pub(in crate::task_manager) fn decide(&mut self, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        self.policy.set_removals(self.collaborators.removals.load());
        let (policy, context) = self.at(now);
        let mut events = policy.due(context);
        events.extend(self.naming());
        events.extend(self.check_inputs(now));
        self.warn_of_foreign_managers();
        self.commit(events, ctx);
        self.plan(now, ctx);
        let (policy, context) = self.at(now);
        for host in policy.claims_to_check(context) {
            self.refresh(host, ctx);
        }
        let (policy, context) = self.at(now);
        let sleep = policy.sleep(context);
        self.wake_after(sleep, ctx);
    }

    /// Compares the inputs with those on record. Answers the new record, if one is due.
    fn check_inputs(&mut self, now: Millis) -> Option<TaskEvent> {
        self.policy.input_guard.has_others = self.replica.has_other_members();
        let (policy, context) = self.at(now);
        let record = policy.check_inputs(context);
        let faults = policy.input_faults(context.book);
        if policy.input_guard.is_news(&faults) {
            match faults.is_empty() {
                true => tracing::info!("the inputs can be used again: copies are planned"),
                false => {
                    let why: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    let why = why.join("; ");
                    tracing::warn!(
                        why,
                        "no copies are planned and none are removed, because of the inputs"
                    );
                }
            }
        }
        record
    }

    /// Gives the cluster its id, once.
    fn naming(&mut self) -> Option<TaskEvent> {
        let (_, context) = self.at(self.clock.now());
        let is_unnamed = context.is_cluster_unnamed();
        is_unnamed.then(|| TaskEvent::ClusterNamed { cluster: YardId::draw(self.replica.ids()) })
    }

    fn plan(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let started = self.clock.timer();
        let (policy, context) = self.at(now);
        let round = policy.round(context);
        let created = round.tasks.iter().cloned().map(TaskEvent::Created).collect();
        self.commit(created, ctx);
        self.look_up(round.to_look_up.clone(), ctx);
        let took = self.clock.timer() - started;
        self.record_round(LastRound { at: now, took, round });
    }

    /// Stores a round. Publishes it if it planned copies, or if the reason for waiting changed.
    fn record_round(&mut self, last: LastRound) {
        let PlanningRound { tasks, waiting, .. } = &last.round;
        let before =
            self.policy.last_round.as_ref().and_then(|before| before.round.waiting.as_ref());
        if !tasks.is_empty() || before != waiting.as_ref() {
            let took_us = last.took.as_micros();
            tracing::debug!(planned = tasks.len(), ?waiting, took_us, "planned a round");
        }
        self.policy.counters.round_time.record(last.took);
        self.policy.last_round = Some(last);
    }

    /// Requests a check of masters, one list at a time.
    fn look_up(&mut self, files: Vec<FileId>, ctx: &mut Context<Self>) {
        if !self.policy.begin_looking(&files) {
            return;
        }
        let asking =
            self.collaborators.look_up.recipient().send(LookUpMasters { files: files.clone() });
        let asking = tokio::time::timeout(LOOK_TIMEOUT, asking);
        ctx.spawn(asking.into_actor(self).map(move |answer, manager, ctx| {
            let seen = match answer {
                Ok(Ok(seen)) => seen,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the catalog could not check the masters");
                    Vec::new()
                }
                Err(_) => {
                    tracing::warn!("the check of the masters took too long");
                    Vec::new()
                }
            };
            manager.policy.looked(files, seen, manager.clock.now());
            manager.run_tick(ctx);
        }));
    }

    /// Reads a host. Its files are reported to all subscribers, this actor included.
    pub(in crate::task_manager) fn refresh(&mut self, host: HostAddr, ctx: &mut Context<Self>) {
        let Some(worker) = self.collaborators.refresh.to(host) else {
            return;
        };
        if !self.policy.begin_refresh(host) {
            return;
        }
        let asking = worker.send(Refresh);
        ctx.spawn(asking.into_actor(self).map(move |answer, manager, ctx| {
            manager.policy.refreshed(host, matches!(answer, Ok(Ok(_))), manager.clock.now());
            manager.soon(ctx);
        }));
    }
}
