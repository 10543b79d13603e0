//! Probes and observations of hosts, and what the owners receive of them.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::inventory::additions::AdditionLimiter;
use reelyard_protocol::inventory::limits::ListLimits;
use reelyard_protocol::inventory::listing::{FileListing, ListForm, ListReader};
use reelyard_protocol::legacy::cfw::parse_df;
use reelyard_protocol::worker::WorkerInfo;
use reelyard_yard::cfw_worker::AskFailure;
use reelyard_yard::cfw_worker::holdings::{Extent, InventoryAnswer};
use reelyard_yard::heartbeat::health::{ProbeSchedule, Thresholds};
use reelyard_yard::heartbeat::{Health, HealthChanged};

use super::{DISK_EVERY, HostWatch, LIST_EVERY, PendingHostCall, PendingObservation};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};
use crate::simulation::environment::parties::PartyTimer;
use crate::simulation::node::SimulatedNode;
use crate::simulation::node::outbox::ListReply;
use crate::trace;

/// The interval of probes.
const PROBE_SCHEDULE: ProbeSchedule =
    ProbeSchedule { interval: Duration::from_secs(5), jitter: 0.1 };
/// The timeout of a probe, in milliseconds.
const PROBE_TIMEOUT: u64 = 2000;
/// The timeout of other calls, in milliseconds.
const CALL_TIMEOUT: u64 = 3000;

impl SimulatedNode {
    /// Probes and observes a host if that is due.
    pub(in crate::simulation::node) fn watch(&mut self, context: &mut Context, host: HostAddr) {
        let now = self.clock();
        let is_destination = self.is_destination(host);
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if !watch.probing && PROBE_SCHEDULE.is_due(watch.next_probe, now) {
            watch.probing = true;
            watch.next_probe = PROBE_SCHEDULE.next(now, context.rng.f64());
            self.ask(
                context,
                host,
                SimulatedCall::Heartbeat,
                PROBE_TIMEOUT,
                PendingHostCall::Probe,
            );
        }
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if watch.answers == Some(true) && watch.look.is_none() {
            if watch.list_schedule.is_due(now) {
                self.look(context, host, Vec::new());
            } else if watch.disk_schedule.is_due(now)
                && !watch.disk_asked
                && is_destination
                && watch.kind != HostKind::Unknown
            {
                watch.disk_asked = true;
                self.ask(
                    context,
                    host,
                    SimulatedCall::Disk,
                    CALL_TIMEOUT,
                    PendingHostCall::Disk(now, false),
                );
            }
        }
        let after = context.rng.u64(1500..2500);
        context.after(after, self.party(), self.life, PartyTimer::Watch(host));
    }

    fn ask(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        call: SimulatedCall,
        patience: u64,
        asking: PendingHostCall,
    ) {
        let Some(to) = context.judge.party_at(host) else { return };
        let id = context.call(self.party(), self.life, to, call, patience);
        self.calls.insert(id, (host, asking));
    }

    pub(in crate::simulation::node) fn is_destination(&self, host: HostAddr) -> bool {
        let mut hosts = self.scene.hosts.iter();
        hosts.any(|plan| plan.addr == host && plan.role.is_destination())
    }

    fn look(&mut self, context: &mut Context, host: HostAddr, refresh: Vec<ListReply>) {
        let now = self.clock();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        watch.look = Some(PendingObservation {
            asked: now,
            lists: false,
            disks: false,
            listed: false,
            refresh,
        });
        // A simulated worker sends a complete list each time.
        watch.holdings.asked(now, Duration::ZERO);
        self.ask(context, host, SimulatedCall::Info, CALL_TIMEOUT, PendingHostCall::Info(now));
    }

    /// Observes a host now, or again after the observation in progress.
    pub(in crate::simulation::node) fn look_soon(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        refresh: Vec<ListReply>,
    ) {
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if watch.look.is_some() {
            watch.look_again.get_or_insert_default().extend(refresh);
        } else {
            self.look(context, host, refresh);
        }
    }

    /// Observes a host for an owner.
    pub(in crate::simulation::node) fn refresh(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        reply: ListReply,
    ) {
        if self.watches.get(&host).is_some_and(|watch| watch.answers == Some(true)) {
            self.look_soon(context, host, vec![reply]);
        } else {
            self.refreshed(host, vec![reply], false);
        }
    }

    /// Answers the Refreshes that waited for an observation.
    fn refreshed(&self, host: HostAddr, refreshes: Vec<ListReply>, seen: bool) {
        let Some(watch) = self.watches.get(&host) else { return };
        for refresh in refreshes {
            let answer = match seen {
                true => Ok(watch.holdings.inventory().cloned().unwrap_or_default()),
                false => Err(AskFailure::TimedOut(Duration::from_millis(CALL_TIMEOUT))),
            };
            // An owner that ended waits no more.
            let _ = refresh.send(answer);
        }
    }

    /// Handles the answer to a call, or its timeout.
    pub(in crate::simulation::node) fn answered(
        &mut self,
        context: &mut Context,
        id: u64,
        answer: Option<SimulatedResponse>,
    ) {
        let Some((host, asking)) = self.calls.remove(&id) else { return };
        let ok = answer
            .filter(|answer| answer.status == 200 || matches!(asking, PendingHostCall::Info(_)));
        match asking {
            PendingHostCall::Probe => self.probed(context, host, ok.is_some()),
            PendingHostCall::Info(asked) => self.receive_kind(context, host, asked, ok),
            PendingHostCall::List(asked, truly) => self.listed(context, host, (asked, truly), ok),
            PendingHostCall::Disk(asked, of_look) => {
                self.receive_disk(context, host, asked, ok, of_look)
            }
        }
    }

    fn probed(&mut self, context: &mut Context, host: HostAddr, answered: bool) {
        let now = self.clock();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        watch.probing = false;
        let is_new_or_back = answered && watch.answers != Some(true);
        watch.answers = Some(answered);
        let outcome =
            if answered { Ok(Duration::from_millis(3)) } else { Err("no answer".to_owned()) };
        let change = watch.health.observe(Thresholds::default(), now, outcome);
        if is_new_or_back {
            self.look_soon(context, host, Vec::new());
        }
        if let Some((from, to)) = change {
            trace!(context, "{}: {host} is {to:?}", self.party());
            let changed = HealthChanged { host, from, to, at: now };
            self.report_health(changed);
        }
    }

    fn receive_kind(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        asked: Millis,
        answer: Option<SimulatedResponse>,
    ) {
        let kind = answer.and_then(|answer| match answer.status {
            404 => Some(HostKind::Cfw),
            200 => {
                let info: WorkerInfo = serde_json::from_slice(&answer.body).ok()?;
                let (data_addr, fetches_from_old) = (info.data_listen, info.fetches_from_old);
                Some(HostKind::Reelyard { data_addr, fetches_from_old, data_tls: false })
            }
            _ => None,
        });
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let Some(kind) = kind else {
            return self.looked(context, host, false);
        };
        watch.kind = kind;
        if !self.is_destination(host) {
            return self.looked(context, host, true);
        }
        let list =
            if kind == HostKind::Cfw { SimulatedCall::Files } else { SimulatedCall::Inventory };
        let listing = PendingHostCall::List(asked, context.now());
        self.ask(context, host, list, CALL_TIMEOUT, listing);
        self.ask(
            context,
            host,
            SimulatedCall::Disk,
            CALL_TIMEOUT,
            PendingHostCall::Disk(asked, true),
        );
    }

    fn listed(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        (asked, truly): (Millis, u64),
        answer: Option<SimulatedResponse>,
    ) {
        let Some(names) = self.process.as_ref().map(|process| process.names.clone()) else {
            return;
        };
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let form = match watch.kind {
            HostKind::Cfw => ListForm::Names,
            _ => ListForm::Inventory,
        };
        let listed = answer.and_then(|answer| {
            let limits = ListLimits::of(100_000);
            let (known, additions) = (FileListing::default().files, AdditionLimiter::new(asked));
            let mut reader = ListReader::new(form, names, limits, &known, additions);
            reader.push(&answer.body).ok()?;
            reader.finish().ok()
        });
        let whole = listed.is_some();
        if let Some(listed) = listed {
            let answered =
                InventoryAnswer { extent: Extent::Whole, cursor: None, listed, body: None };
            watch.holdings.answered(answered, asked);
            watch.listed = Some(truly);
        }
        if let Some(look) = &mut watch.look {
            look.lists = true;
            look.listed = whole;
        }
        self.look_may_be_over(context, host);
    }

    fn receive_disk(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        asked: Millis,
        answer: Option<SimulatedResponse>,
        of_look: bool,
    ) {
        let now = self.clock();
        let draw = context.rng.f64();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let disk = answer.and_then(|answer| parse_df(&answer.body).ok());
        // An observation that began meanwhile asks again, because this answer may be older than its own.
        if !of_look {
            watch.disk_asked = false;
        }
        if of_look || watch.look.is_none() {
            match disk {
                Some(disk) => {
                    watch.disk = Some((disk, asked));
                    watch.disk_schedule.answered(asked, DISK_EVERY, draw);
                }
                None => watch.disk_schedule.failed(now),
            }
        }
        if of_look {
            if let Some(look) = &mut watch.look {
                look.disks = true;
            }
            self.look_may_be_over(context, host);
        } else if disk.is_some() && watch.look.is_none() {
            self.report_again(host);
        }
    }

    fn look_may_be_over(&mut self, context: &mut Context, host: HostAddr) {
        let Some(look) = self.watches.get(&host).and_then(|watch| watch.look.as_ref()) else {
            return;
        };
        if look.lists && look.disks {
            let listed = look.listed;
            self.looked(context, host, listed);
        }
    }

    /// Ends an observation.
    fn looked(&mut self, context: &mut Context, host: HostAddr, has_list: bool) {
        let now = self.clock();
        let draw = context.rng.f64();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let Some(look) = watch.look.take() else { return };
        watch.holdings.not_answered();
        if has_list {
            watch.list_schedule.answered(look.asked, LIST_EVERY, draw);
            self.report_again(host);
        } else {
            watch.list_schedule.failed(now);
        }
        self.refreshed(host, look.refresh, has_list);
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if let Some(refresh) = watch.look_again.take() {
            if watch.answers == Some(true) {
                self.look(context, host, refresh);
            } else {
                self.refreshed(host, refresh, false);
            }
        }
    }

    /// Sends the knowledge of a host to the owners.
    pub(in crate::simulation::node) fn report_again(&mut self, host: HostAddr) {
        let now = self.clock();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let Some(seen) = watch.observed(host, now) else { return };
        watch.reported = watch.listed;
        if let Some((_, at)) = seen.disk {
            let latest = self.latest_reports.entry(host).or_insert(at);
            *latest = at.max(*latest);
        }
        match seen.disk {
            Some(disk) => self.reported_disks.insert(host, disk),
            None => self.reported_disks.remove(&host),
        };
        if let Some(process) = &self.process {
            process.remover.addr.do_send(seen.clone());
            process.task_manager.addr.do_send(seen);
        }
    }

    /// The request time of the list that the TaskManager received last, for each host.
    pub(in crate::simulation::node) fn reported_lists(&self) -> BTreeMap<HostAddr, u64> {
        let reported = |(host, watch): (&HostAddr, &HostWatch)| Some((*host, watch.reported?));
        self.watches.iter().filter_map(reported).collect()
    }

    /// Handles a message of the TaskManager that a copy arrived on a host.
    pub(in crate::simulation::node) fn arrived(&mut self, host: HostAddr, file: FileId) {
        let changed = self.watches.get_mut(&host).is_some_and(|watch| watch.holdings.arrived(file));
        if changed {
            self.report_again(host);
        }
    }

    /// The program at a host that answers; `None` for one that does not.
    pub(in crate::simulation::node) fn kind_of(&self, host: HostAddr) -> Option<HostKind> {
        let watch = self.watches.get(&host)?;
        (watch.answers == Some(true)).then_some(watch.kind)
    }

    /// Records that a copy is gone from a host.
    pub(in crate::simulation::node) fn gone(&mut self, host: HostAddr, name: &FileName) {
        let Some(process) = &self.process else { return };
        let file = process.names.intern(name);
        if self.watches.get_mut(&host).is_some_and(|watch| watch.holdings.gone(file)) {
            self.report_again(host);
        }
    }

    fn report_health(&self, changed: HealthChanged) {
        if let Some(process) = &self.process {
            process.remover.addr.do_send(changed.clone());
            process.task_manager.addr.do_send(changed);
        }
    }

    /// Sends the health of every host to a TaskManager that has restarted.
    pub(in crate::simulation::node) fn health_again(&self) {
        let now = self.clock();
        for (&host, watch) in &self.watches {
            if let Some(at) = watch.health.changed() {
                let from = Health::Unknown;
                let to = watch.health.health();
                let at = at.min(now);
                self.report_health(HealthChanged { host, from, to, at });
            }
        }
    }
}
