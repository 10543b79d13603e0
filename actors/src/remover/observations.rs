//! What the others tell: the inputs, the health of hosts and what they hold. Rounds come by
//! themselves: what is told makes none.

use actix::{Context, Handler};

use super::Remover;
use crate::catalog::{MastersChanged, RankingChanged, RisingChanged};
use crate::cfw_worker::{HostConduct, HostObserved};
use crate::heartbeat::HealthChanged;

impl Handler<RankingChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: RankingChanged, _: &mut Context<Self>) {
        self.desk.set_ranking(changed.0);
    }
}

impl Handler<RisingChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: RisingChanged, _: &mut Context<Self>) {
        self.desk.set_rising(&changed.0);
    }
}

impl Handler<MastersChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: MastersChanged, _: &mut Context<Self>) {
        self.desk.set_masters(changed.0);
    }
}

impl Handler<HealthChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: HealthChanged, _: &mut Context<Self>) {
        self.desk.health_changed(&changed);
    }
}

impl Handler<HostConduct> for Remover {
    type Result = ();

    fn handle(&mut self, conduct: HostConduct, _: &mut Context<Self>) {
        self.desk.set_calls(&conduct);
    }
}

impl Handler<HostObserved> for Remover {
    type Result = ();

    fn handle(&mut self, seen: HostObserved, ctx: &mut Context<Self>) {
        self.desk.observe(&seen);
        if !self.seat.piece().open().is_empty() {
            self.soon(ctx);
        }
    }
}
