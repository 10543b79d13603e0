//! What the others tell: the inputs, the health of hosts and what they hold.

use actix::{Context, Handler};

use super::TaskManager;
use crate::catalog::{MastersChanged, RankingChanged, RisingChanged};
use crate::cfw_worker::HostObserved;
use crate::heartbeat::HealthChanged;

impl Handler<RankingChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: RankingChanged, ctx: &mut Context<Self>) {
        self.dispatcher.set_ranking(changed.0);
        self.soon(ctx);
    }
}

impl Handler<RisingChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: RisingChanged, ctx: &mut Context<Self>) {
        self.dispatcher.set_rising(&changed.0);
        self.soon(ctx);
    }
}

impl Handler<MastersChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: MastersChanged, ctx: &mut Context<Self>) {
        self.dispatcher.set_masters(changed.0);
        self.soon(ctx);
    }
}

impl Handler<HealthChanged> for TaskManager {
    type Result = ();

    fn handle(&mut self, changed: HealthChanged, ctx: &mut Context<Self>) {
        let Some(taken) = self.dispatcher.health_changed(&changed) else {
            return;
        };
        if taken.look {
            self.refresh(changed.host, ctx);
        }
        self.soon(ctx);
    }
}

impl Handler<HostObserved> for TaskManager {
    type Result = ();

    fn handle(&mut self, seen: HostObserved, ctx: &mut Context<Self>) {
        self.dispatcher.observe(&seen, self.seat.piece());
        self.soon(ctx);
    }
}
