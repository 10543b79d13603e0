//! What the others tell: the inputs, the health of hosts and what they hold.

use actix::{Context, Handler};

use super::TaskManager;
use crate::catalog::{MastersChanged, RankingChanged, RisingChanged};
use crate::cfw_worker::{HostConduct, HostObserved};
use crate::heartbeat::{Health, HealthChanged};
use crate::names::FileId;

impl Handler<RankingChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: RankingChanged, ctx: &mut Context<Self>) {
        self.planner.set_ranking(changed.0);
        self.soon(ctx);
    }
}

impl Handler<RisingChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: RisingChanged, ctx: &mut Context<Self>) {
        self.planner.set_rising(&changed.0);
        self.soon(ctx);
    }
}

impl Handler<MastersChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: MastersChanged, ctx: &mut Context<Self>) {
        self.planner.set_masters(changed.0);
        self.soon(ctx);
    }
}

impl Handler<HealthChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: HealthChanged, ctx: &mut Context<Self>) {
        if !self.hosts.health_changed(&changed) {
            return;
        }
        let unseen = |host: &super::HostState| host.role.is_destination() && host.disk.is_none();
        if changed.to == Health::Up && self.hosts.get(changed.host).is_some_and(unseen) {
            self.refresh(changed.host, ctx);
        }
        self.soon(ctx);
    }
}

impl Handler<HostConduct> for TaskManager {
    type Result = ();

    fn handle(&mut self, conduct: HostConduct, ctx: &mut Context<Self>) {
        if self.hosts.set_calls(&conduct) {
            self.soon(ctx);
        }
    }
}

impl Handler<HostObserved> for TaskManager {
    type Result = ();

    fn handle(&mut self, seen: HostObserved, ctx: &mut Context<Self>) {
        let (came, left) = self.hosts.observe(&seen);
        self.planner.came(came.iter().map(FileId));
        self.planner.left(left.iter().map(FileId), self.seat.piece(), &self.hosts);
        self.soon(ctx);
    }
}
