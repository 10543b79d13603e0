//! Observations of the host for subscribers, and copies that arrive there.

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::host::HostKind;

use crate::cfw_worker::{CfwWorker, CopyArrived, HostObserved, SubscribeToHost};

/// Disk figures are dropped when they are this many intervals old.
const DISK_KEPT_FOR_INTERVALS: u32 = 4;

impl CfwWorker {
    /// The observation for a subscriber. None while the program of the host is not known.
    fn observed(&self) -> Option<HostObserved> {
        if self.program.kind == HostKind::Unknown {
            return None;
        }
        let now = self.shell.now();
        let kept = self.settings.disk_interval * DISK_KEPT_FOR_INTERVALS;
        Some(HostObserved {
            host: self.host,
            kind: self.program.kind,
            inventory: self.holdings.inventory().cloned(),
            disk: self.disk.filter(|(_, at)| now.since(*at) <= kept),
            traffic: self.known_traffic(now).cloned(),
            at: now,
        })
    }

    pub(super) fn notify_subscribers(&mut self) {
        let Some(observed) = self.observed() else { return };
        self.subscribers.notify(&observed);
    }
}

impl Handler<SubscribeToHost> for CfwWorker {
    type Result = ();

    fn handle(&mut self, SubscribeToHost { to }: SubscribeToHost, _: &mut Context<Self>) {
        if let Some(observed) = self.observed() {
            to.do_send(observed);
        }
        self.subscribers.add(to);
    }
}

impl Handler<CopyArrived> for CfwWorker {
    type Result = ();

    fn handle(&mut self, CopyArrived { file, .. }: CopyArrived, _: &mut Context<Self>) {
        if self.holdings.arrived(file) {
            self.notify_subscribers();
            self.publish_view();
        }
    }
}
