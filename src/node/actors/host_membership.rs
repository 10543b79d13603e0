//! Follows the recorded hosts: starts and stops their actors, pauses them in maintenance, and
//! informs the other actors. Only a leader reads its hosts.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::host::HostAddr;
use reelyard_journal::Journal;
use reelyard_replication::Leadership;
use reelyard_yard::cfw_worker;
use reelyard_yard::heartbeat::{self, UnwatchHost};
use reelyard_yard::task_manager::{HostRecord, HostRoster};
use tokio::sync::watch;

use super::host_actors::{HostActor, HostActorMap};
use super::wiring::Wiring;

/// Starts the task that keeps the actors of `wiring` in step with the recorded hosts. It ends when
/// `wiring` is stopped or dropped.
pub fn start_following(wiring: &Arc<Wiring>) {
    let follows = apply_changes(Arc::downgrade(wiring), wiring.host_roster.clone());
    wiring.set_following(actix_rt::spawn(follows));
}

/// Starts the task that lets `wiring` read its hosts while this node leads. It ends when the journal has stopped, or
/// `wiring` is dropped.
pub fn start_reading(wiring: &Arc<Wiring>, journal: &Journal) {
    actix_rt::spawn(read_hosts(Arc::downgrade(wiring), journal.leadership()));
}

async fn read_hosts(wiring: Weak<Wiring>, mut leadership: watch::Receiver<Leadership>) {
    loop {
        let now = *leadership.borrow_and_update();
        let Some(wiring) = wiring.upgrade() else { return };
        wiring.set_reading(now.epoch().is_some());
        drop(wiring);
        if now == Leadership::Stopped || leadership.changed().await.is_err() {
            return;
        }
    }
}

async fn apply_changes(wiring: Weak<Wiring>, roster: ViewHandle<Option<HostRoster>>) {
    let mut incarnation = None;
    let mut news = roster.news();
    news.mark_changed();
    while news.changed().await.is_ok() {
        let roster = roster.load();
        let (Some(roster), Some(wiring)) = (roster.as_ref(), wiring.upgrade()) else { continue };
        let is_joined = incarnation.replace(roster.incarnation) == Some(roster.incarnation);
        wiring.apply_membership(roster, is_joined);
    }
}

impl Wiring {
    /// Applies the recorded hosts. `is_joined` says whether this incarnation of the TaskManager was
    /// informed of hosts before.
    fn apply_membership(&self, roster: &HostRoster, is_joined: bool) {
        if !is_joined {
            self.subscribe_to_heartbeat();
        }
        let before = self.hosts.present();
        let mut present: BTreeMap<HostAddr, Arc<HostActor>> = BTreeMap::new();
        for (&addr, record) in roster.hosts.iter() {
            match before.get(&addr).filter(|host| host.role == record.role) {
                Some(host) => {
                    self.set_maintenance(addr, host, record);
                    if !is_joined {
                        self.join_host(host);
                    }
                    present.insert(addr, Arc::clone(host));
                }
                None => {
                    // Every incarnation is joined when it starts, which is after this.
                    let host = self.parts.start_host(addr, record.role, !record.is_asked());
                    present.insert(addr, Arc::new(host));
                }
            }
        }
        let is_same = before.len() == present.len()
            && before.iter().all(|(addr, host)| {
                present.get(addr).is_some_and(|present| Arc::ptr_eq(host, present))
            });
        if !is_same {
            self.hosts.set(present);
            self.stop_removed_hosts(&before);
            self.send_destinations();
        }
    }

    fn set_maintenance(&self, addr: HostAddr, host: &HostActor, record: &HostRecord) {
        let on = !record.is_asked();
        if host.in_maintenance.swap(on, Ordering::Relaxed) == on {
            return;
        }
        // The worker first, so that it is ready for the first probe after maintenance.
        host.worker.addr().do_send(cfw_worker::SetHostMaintenance { on });
        self.heartbeat.addr().do_send(heartbeat::SetHeartbeatMaintenance { host: addr, on });
    }

    fn stop_removed_hosts(&self, before: &HostActorMap) {
        let present = self.hosts.present();
        for (addr, host) in before.iter() {
            if !present.contains_key(addr) {
                self.heartbeat.addr().do_send(UnwatchHost { host: *addr });
                tracing::info!(host = %addr, "host removed from the yard");
            }
            if !present.get(addr).is_some_and(|present| Arc::ptr_eq(host, present)) {
                let worker = host.worker.clone();
                actix_rt::spawn(async move { worker.stop().await });
            }
        }
    }
}
