//! Reports of other actors: the inputs, the health of hosts and their files.

use actix::{Context, Handler};
use reelyard_core::display_text::word;

use crate::catalog::{MastersChanged, RankingChanged, RisingChanged};
use crate::cfw_worker::{HostCallStatus, HostObserved};
use crate::changes::YardChange;
use crate::heartbeat::HealthChanged;
use crate::task_manager::TaskManager;
use crate::task_manager::policy::foreign_managers::{ForeignManager, OwnLeadership};
use reelyard_replication::OwnerTicks;

impl Handler<RankingChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: RankingChanged, ctx: &mut Context<Self>) {
        self.policy.set_ranking(changed.0);
        self.soon(ctx);
    }
}

impl Handler<RisingChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: RisingChanged, ctx: &mut Context<Self>) {
        self.policy.set_rising(&changed.0);
        self.soon(ctx);
    }
}

impl Handler<MastersChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: MastersChanged, ctx: &mut Context<Self>) {
        self.policy.set_masters(changed.0);
        self.soon(ctx);
    }
}

impl Handler<HealthChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: HealthChanged, ctx: &mut Context<Self>) {
        if self.policy.health_changed(&changed) {
            self.soon(ctx);
        }
    }
}

impl TaskManager {
    /// Logs signs of another manager, each at most once an hour.
    pub(in crate::task_manager) fn warn_of_foreign_managers(&mut self) {
        for manager in self.policy.foreign_managers_to_log(self.clock.now()) {
            self.replica.publish_change(manager.last, YardChange::ForeignManager(manager.clone()));
            let ForeignManager { host, sign, sure, what, times, last, .. } = manager;
            let host = host.map(|host| host.to_string());
            let claim = if sure { "another manager manages" } else { "another manager may manage" };
            let sign = word(&sign);
            tracing::warn!(host, sign, sure, times, seen_last = %last, what, "{claim} this yard too");
        }
        for (host, file) in self.policy.unsteady_lists_to_log() {
            tracing::warn!(%host, %file, "the list of a host changes back and forth: a file disappeared and came \
                back. Check its disks and mounts");
        }
    }
}

impl Handler<HostCallStatus> for TaskManager {
    type Result = ();

    fn handle(&mut self, call_status: HostCallStatus, ctx: &mut Context<Self>) {
        let us = self.replica.epoch().zip(self.replica.piece().cluster());
        let us = us.map(|(epoch, cluster)| OwnLeadership { cluster, epoch });
        let changes = self.policy.record_call_status(&call_status, us);
        self.warn_of_foreign_managers();
        if changes {
            self.soon(ctx);
        }
    }
}

impl Handler<HostObserved> for TaskManager {
    type Result = ();

    fn handle(&mut self, seen: HostObserved, ctx: &mut Context<Self>) {
        self.policy.observe(&seen, self.replica.piece());
        self.soon(ctx);
    }
}
