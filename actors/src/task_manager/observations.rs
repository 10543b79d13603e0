//! What the others tell: the inputs, the health of hosts and what they hold.

use actix::{Context, Handler};

use super::TaskManager;
use super::strangers::{Stranger, Us};
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

impl TaskManager {
    /// Tells the operator of signs that somebody else manages this yard too, each once.
    pub(super) fn tell_of_strangers(&mut self) {
        for stranger in self.strangers.to_log(self.clock.now()) {
            let Stranger { host, sign, sure, what, times, .. } = stranger;
            let host = host.map(|host| host.to_string());
            tracing::warn!(host, ?sign, sure, times, what, "somebody else manages this yard too");
        }
    }
}

impl Handler<HostConduct> for TaskManager {
    type Result = ();

    fn handle(&mut self, conduct: HostConduct, ctx: &mut Context<Self>) {
        let us = self.seat.epoch().zip(self.seat.piece().cluster());
        if let Some((epoch, cluster)) = us {
            self.strangers.hear(&conduct, Us { cluster, epoch });
            self.tell_of_strangers();
        }
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
