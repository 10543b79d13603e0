//! Reports of other actors: the inputs, the health of hosts and their files. A report starts no round:
//! rounds start by their timer.

use actix::{Context, Handler};

use crate::catalog::{MastersChanged, RankingChanged, RisingChanged};
use crate::cfw_worker::{HostCallStatus, HostObserved};
use crate::heartbeat::HealthChanged;
use crate::remover::Remover;
use reelyard_replication::OwnerTicks;

impl Handler<RankingChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: RankingChanged, _: &mut Context<Self>) {
        self.policy.set_ranking(changed.0);
    }
}

impl Handler<RisingChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: RisingChanged, _: &mut Context<Self>) {
        self.policy.set_rising(&changed.0);
    }
}

impl Handler<MastersChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: MastersChanged, _: &mut Context<Self>) {
        self.policy.set_masters(changed.0);
    }
}

impl Handler<HealthChanged> for Remover {
    type Result = ();

    fn handle(&mut self, changed: HealthChanged, _: &mut Context<Self>) {
        self.policy.health_changed(&changed);
    }
}

impl Handler<HostCallStatus> for Remover {
    type Result = ();

    fn handle(&mut self, call_status: HostCallStatus, _: &mut Context<Self>) {
        self.policy.set_calls(&call_status);
    }
}

impl Handler<HostObserved> for Remover {
    type Result = ();

    fn handle(&mut self, seen: HostObserved, ctx: &mut Context<Self>) {
        self.policy.observe(&seen);
        if !self.replica.piece().open().is_empty() {
            self.soon(ctx);
        }
    }
}
