//! What operators ask about hosts: their modes, which are added and removed at run time, and which
//! a new configuration names.

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, ResponseActFuture};
use reelyard_core::host::HostAddr;
use reelyard_replication::{Owner, RequestContext};

use crate::task_manager::policy::host_rules::host_answer;
use crate::task_manager::{
    AddHost, ChangeTaskSettings, HostRefused, RemoveHost, SetHostMode, TaskDecisionContext,
    TaskEvent, TaskManager,
};

type HostReply = ResponseActFuture<TaskManager, Result<(), HostRefused>>;

impl Handler<SetHostMode> for TaskManager {
    type Result = HostReply;

    fn handle(&mut self, set: SetHostMode, _: &mut Context<Self>) -> HostReply {
        let SetHostMode { host, mode, asked_by, request } = set;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.change_host(asked, host, |deciding| deciding.set_host_mode(host, mode, &asked_by))
    }
}

impl Handler<AddHost> for TaskManager {
    type Result = HostReply;

    fn handle(&mut self, add: AddHost, _: &mut Context<Self>) -> HostReply {
        let AddHost { host, role, asked_by, request } = add;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.change_host(asked, host, |deciding| deciding.add_host(host, role, &asked_by))
    }
}

impl Handler<RemoveHost> for TaskManager {
    type Result = HostReply;

    fn handle(&mut self, remove: RemoveHost, _: &mut Context<Self>) -> HostReply {
        let RemoveHost { host, asked_by, request } = remove;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.change_host(asked, host, |deciding| deciding.remove_host(host, &asked_by))
    }
}

impl Handler<ChangeTaskSettings> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: ChangeTaskSettings, ctx: &mut Context<Self>) {
        self.policy.change_settings(changed.settings, &changed.hosts);
        self.soon(ctx);
    }
}

impl TaskManager {
    /// Decides, commits and answers one change of a host; a repeated one is answered as before.
    fn change_host(
        &mut self,
        asked: RequestContext,
        host: HostAddr,
        decide: impl FnOnce(TaskDecisionContext<'_>) -> Result<Vec<TaskEvent>, HostRefused>,
    ) -> HostReply {
        if let Some(outcomes) = self.replica.recall(asked.request) {
            return Box::pin(ready(host_answer(outcomes, host)));
        }
        let leading = self.replica.leading().map_err(HostRefused::from);
        let now = self.clock.now();
        let (policy, context) = self.at(now);
        let events = match leading.and_then(|_| decide(policy.decision_context(context))) {
            Ok(events) => events,
            Err(refused) => return Box::pin(ready(Err(refused))),
        };
        let committing = self.replica.commit(now, asked, events);
        let answering = wrap_future::<_, Self>(committing).map(
            move |settlement, manager: &mut Self, _: &mut Context<Self>| {
                let outcomes = manager.settle_request(settlement)?;
                host_answer(outcomes, host)
            },
        );
        Box::pin(answering)
    }
}
