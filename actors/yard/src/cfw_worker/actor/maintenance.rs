//! Stopping all calls to a host, or only its reads, and changing the settings of calls.

use actix::prelude::*;
use reelyard_core::actor_parts::{ChangeSettings, Observer};
use tracing::info;

use crate::cfw_worker::{CfwWorker, CfwWorkerSettings, SetHostMaintenance, SetHostReading};

impl Handler<SetHostMaintenance> for CfwWorker {
    type Result = ();

    fn handle(&mut self, SetHostMaintenance { on }: SetHostMaintenance, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.in_maintenance, on) == on {
            return;
        }
        let host = self.host;
        info!(%host, on, "maintenance mode of a host changed");
        self.client.set_paused(on);
        // Its earlier answers are not valid afterwards. With the first answered probe it is read like a
        // new host.
        self.answers = None;
        self.last_failure = None;
        if on {
            self.latency = None;
        }
        self.publish_view();
        self.tick(ctx);
    }
}

impl Handler<SetHostReading> for CfwWorker {
    type Result = ();

    fn handle(&mut self, SetHostReading { on }: SetHostReading, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.is_read, on) != on && on {
            // The known state is as old as the last leadership of this node.
            self.look_schedule.at_once();
            self.disk_schedule.at_once();
            self.traffic.schedule.at_once();
            self.tick(ctx);
        }
    }
}

/// The settings, and a client that was made for them.
impl Handler<ChangeSettings<(CfwWorkerSettings, reqwest::Client)>> for CfwWorker {
    type Result = ();

    fn handle(
        &mut self,
        change: ChangeSettings<(CfwWorkerSettings, reqwest::Client)>,
        ctx: &mut Context<Self>,
    ) {
        let ChangeSettings((settings, http)) = change;
        self.breaker.change_settings(settings.breaker);
        self.client.change_settings(http, settings.clone());
        let before = std::mem::replace(&mut self.settings, settings);
        let now = &self.settings;
        // A call with a shorter interval must not wait for the end of a longer pause.
        if now.inventory_interval < before.inventory_interval
            || now.changes_interval < before.changes_interval
            || now.full_inventory_interval < before.full_inventory_interval
        {
            self.look_schedule.at_once();
        }
        if now.disk_interval < before.disk_interval {
            self.disk_schedule.at_once();
        }
        self.apply_agent_settings(&before);
        self.tick(ctx);
    }
}
