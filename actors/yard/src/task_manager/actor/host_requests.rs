//! Requests of operators about hosts: modes, additions and removals at run time, and the hosts of a new
//! configuration.

use actix::{Context, Handler};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::host::HostAddr;
use reelyard_replication::{OwnerReply, OwnerRequests, OwnerTicks, RequestContext};

use crate::task_manager::policy::hosts_in_memory::host_rules::host_answer;
use crate::task_manager::{
    AddHost, HostRefused, HostSetting, RemoveHost, SetHostMode, TaskDecisionContext, TaskEvent,
    TaskManager, TaskSettings,
};

type HostReply = OwnerReply<TaskManager, (), HostRefused>;

impl Handler<SetHostMode> for TaskManager {
    type Result = HostReply;

    fn handle(&mut self, set: SetHostMode, _: &mut Context<Self>) -> HostReply {
        let SetHostMode { host, mode, asked_by, request } = set;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.change_host(asked, host, |decision_context| {
            decision_context.set_host_mode(host, mode, &asked_by)
        })
    }
}

impl Handler<AddHost> for TaskManager {
    type Result = HostReply;

    fn handle(&mut self, add: AddHost, _: &mut Context<Self>) -> HostReply {
        let AddHost { host, role, asked_by, request } = add;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.change_host(asked, host, |decision_context| {
            decision_context.add_host(host, role, &asked_by)
        })
    }
}

impl Handler<RemoveHost> for TaskManager {
    type Result = HostReply;

    fn handle(&mut self, remove: RemoveHost, _: &mut Context<Self>) -> HostReply {
        let RemoveHost { host, asked_by, request } = remove;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        self.change_host(asked, host, |decision_context| {
            decision_context.remove_host(host, &asked_by)
        })
    }
}

/// The settings, and the hosts that the configuration names. A leader also puts these hosts on record.
impl Handler<ChangeSettings<(TaskSettings, Vec<HostSetting>)>> for TaskManager {
    type Result = ();

    fn handle(
        &mut self,
        change: ChangeSettings<(TaskSettings, Vec<HostSetting>)>,
        ctx: &mut Context<Self>,
    ) {
        let ChangeSettings((settings, hosts)) = change;
        self.policy.change_settings(settings, &hosts);
        self.soon(ctx);
    }
}

impl TaskManager {
    /// Decides, commits and answers one change of a host. A repeated one gets its earlier answer.
    fn change_host(
        &mut self,
        asked: RequestContext,
        host: HostAddr,
        decide: impl FnOnce(TaskDecisionContext<'_>) -> Result<Vec<TaskEvent>, HostRefused>,
    ) -> HostReply {
        self.answer_request(
            asked,
            |manager| {
                let (policy, context) = manager.at(manager.clock.now());
                decide(policy.decision_context(context))
            },
            move |_, outcomes| host_answer(outcomes, host),
        )
    }
}
