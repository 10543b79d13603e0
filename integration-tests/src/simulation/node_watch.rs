//! What a node does to know its hosts: probes and looks, after the HeartbeatSupervisor and the
//! CfwWorkers. Health, schedules, lists and holdings are the code under test.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::FileId;
use reelyard_protocol::inventory::listing::{ListForm, ListLimits, ListReader};
use reelyard_protocol::inventory::new_names::NewNameLimiter;
use reelyard_protocol::legacy::cfw::{DiskFigures, parse_df};
use reelyard_protocol::worker::WorkerInfo;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::cfw_worker::holdings::{Extent, HeldFiles, InventoryAnswer};
use reelyard_yard::cfw_worker::schedule::PollSchedule;
use reelyard_yard::heartbeat::HealthChanged;
use reelyard_yard::heartbeat::health::{HostHealth, Rhythm, Thresholds};

use super::context::Context;
use super::messages::{SimulatedCall, SimulatedResponse};
use super::node::SimulatedNode;
use super::parties::PartyTimer;

/// How often hosts are probed.
const RHYTHM: Rhythm = Rhythm { interval: Duration::from_secs(5), jitter: 0.1 };
/// How long a probe waits, in milliseconds.
const PROBE_TIMEOUT: u64 = 2000;
/// How long other calls wait, in milliseconds.
const CALL_TIMEOUT: u64 = 3000;
/// How often a whole list is asked for.
const LIST_EVERY: Duration = Duration::from_secs(30);
/// How often the disk is asked for.
const DISK_EVERY: Duration = Duration::from_secs(15);
/// For how many of those intervals its answer is good.
const DISK_KEPT: u32 = 4;

/// What a node has asked a host.
#[derive(Clone, Copy, Debug)]
pub enum PendingHostCall {
    Probe,
    /// The first question of a look, asked at.
    Info(Millis),
    /// Asked at, and when that truly was.
    List(Millis, u64),
    /// The disk, as part of a look or alone, asked at.
    Disk(Millis, bool),
}

/// A look under way.
struct PendingObservation {
    asked: Millis,
    lists: bool,
    disks: bool,
    listed: bool,
    /// Whether a Refresh waits for it.
    refresh: bool,
}

/// One host, as a node knows it.
pub struct HostWatch {
    health: HostHealth,
    next_probe: Millis,
    probing: bool,
    answers: Option<bool>,
    kind: HostKind,
    holdings: HeldFiles,
    /// When the list was truly asked for that the holdings are made from.
    listed: Option<u64>,
    /// The same of what the TaskManager was told.
    told: Option<u64>,
    disk: Option<(DiskFigures, Millis)>,
    list_schedule: PollSchedule,
    disk_schedule: PollSchedule,
    look: Option<PendingObservation>,
    /// Another look is wanted after this one, and whether a Refresh waits for that.
    look_again: Option<bool>,
    disk_asked: bool,
}

impl HostWatch {
    /// A host that was never asked.
    pub fn new(now: Millis) -> Self {
        HostWatch {
            health: HostHealth::default(),
            next_probe: now,
            probing: false,
            answers: None,
            kind: HostKind::Unknown,
            holdings: HeldFiles::default(),
            listed: None,
            told: None,
            disk: None,
            list_schedule: PollSchedule::new(LIST_EVERY),
            disk_schedule: PollSchedule::new(DISK_EVERY),
            look: None,
            look_again: None,
            disk_asked: false,
        }
    }

    fn observed(&self, host: HostAddr, now: Millis) -> Option<HostObserved> {
        (self.kind != HostKind::Unknown).then(|| HostObserved {
            host,
            kind: self.kind,
            inventory: self.holdings.inventory().cloned(),
            disk: self.disk.filter(|(_, at)| now.since(*at) <= DISK_EVERY * DISK_KEPT),
            traffic: None,
            at: now,
        })
    }
}

impl SimulatedNode {
    /// Probes a host and looks at it, as far as that is due.
    pub(super) fn watch(&mut self, context: &mut Context, host: HostAddr) {
        let now = self.clock(context);
        let is_destination =
            self.desk.hosts().get(host).is_some_and(|host| host.role.is_destination());
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if !watch.probing && RHYTHM.is_due(watch.next_probe, now) {
            watch.probing = true;
            watch.next_probe = RHYTHM.next(now, context.rng.f64());
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
                self.look(context, host, false);
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

    fn look(&mut self, context: &mut Context, host: HostAddr, refresh: bool) {
        let now = self.clock(context);
        let Some(watch) = self.watches.get_mut(&host) else { return };
        watch.look = Some(PendingObservation {
            asked: now,
            lists: false,
            disks: false,
            listed: false,
            refresh,
        });
        // A simulated worker tells everything each time.
        watch.holdings.asked(now, Duration::ZERO);
        self.ask(context, host, SimulatedCall::Info, CALL_TIMEOUT, PendingHostCall::Info(now));
    }

    /// Looks at a host now, or once more after the look that is under way.
    fn look_soon(&mut self, context: &mut Context, host: HostAddr, refresh: bool) {
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if watch.look.is_some() {
            watch.look_again = Some(refresh || watch.look_again == Some(true));
        } else {
            self.look(context, host, refresh);
        }
    }

    /// The TaskManager has a host looked at.
    pub(super) fn refresh(&mut self, context: &mut Context, host: HostAddr) {
        if !self.desk.begin_refresh(host) {
            return;
        }
        if self.watches.get(&host).is_some_and(|watch| watch.answers == Some(true)) {
            self.look_soon(context, host, true);
        } else {
            self.refreshed(context, host, false);
        }
    }

    fn refreshed(&mut self, context: &mut Context, host: HostAddr, seen: bool) {
        let now = self.clock(context);
        self.desk.refreshed(host, seen, now);
        self.soon(context);
    }

    /// A call has its answer, or has waited long enough.
    pub(super) fn answered(
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
            PendingHostCall::Info(asked) => self.told_what_it_is(context, host, asked, ok),
            PendingHostCall::List(asked, truly) => self.listed(context, host, (asked, truly), ok),
            PendingHostCall::Disk(asked, of_look) => {
                self.disk_told(context, host, asked, ok, of_look)
            }
        }
    }

    fn probed(&mut self, context: &mut Context, host: HostAddr, answered: bool) {
        let now = self.clock(context);
        let Some(watch) = self.watches.get_mut(&host) else { return };
        watch.probing = false;
        let is_new_or_back = answered && watch.answers != Some(true);
        watch.answers = Some(answered);
        let outcome =
            if answered { Ok(Duration::from_millis(3)) } else { Err("no answer".to_owned()) };
        let change = watch.health.observe(Thresholds::default(), now, outcome);
        if is_new_or_back {
            self.look_soon(context, host, false);
        }
        if let Some((from, to)) = change {
            crate::tell!(context, "{}: {host} is {to:?}", self.party());
            let changed = HealthChanged { host, from, to, at: now };
            self.desk.health_changed(&changed);
            self.soon(context);
        }
    }

    fn told_what_it_is(
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
                Some(HostKind::Reelyard { data_addr, fetches_from_old })
            }
            _ => None,
        });
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let Some(kind) = kind else {
            return self.looked(context, host, false);
        };
        watch.kind = kind;
        if !self.desk.hosts().get(host).is_some_and(|host| host.role.is_destination()) {
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
        let names = self.names.clone();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let form = match watch.kind {
            HostKind::Cfw => ListForm::Names,
            _ => ListForm::Inventory,
        };
        let listed = answer.and_then(|answer| {
            let limits = ListLimits::of(100_000);
            let new_names = NewNameLimiter::full(limits, asked);
            let mut reader = ListReader::new(form, names, limits, new_names);
            reader.push(&answer.body).ok()?;
            reader.finish().ok()
        });
        let whole = listed.is_some();
        if let Some(listed) = listed {
            let answered = InventoryAnswer { extent: Extent::Whole, cursor: None, listed };
            watch.holdings.answered(answered, asked);
            watch.listed = Some(truly);
        }
        if let Some(look) = &mut watch.look {
            look.lists = true;
            look.listed = whole;
        }
        self.look_may_be_over(context, host);
    }

    fn disk_told(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        asked: Millis,
        answer: Option<SimulatedResponse>,
        of_look: bool,
    ) {
        let now = self.clock(context);
        let draw = context.rng.f64();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let disk = answer.and_then(|answer| parse_df(&answer.body).ok());
        // A look that began meanwhile asks again: this answer may come behind its own.
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
            self.tell_again(context, host);
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

    /// A look is over.
    fn looked(&mut self, context: &mut Context, host: HostAddr, brought: bool) {
        let now = self.clock(context);
        let draw = context.rng.f64();
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let Some(look) = watch.look.take() else { return };
        watch.holdings.not_answered();
        if brought {
            watch.list_schedule.answered(look.asked, LIST_EVERY, draw);
            self.tell_again(context, host);
        } else {
            watch.list_schedule.failed(now);
        }
        if look.refresh {
            self.refreshed(context, host, brought);
        }
        let Some(watch) = self.watches.get_mut(&host) else { return };
        if let Some(refresh) = watch.look_again.take() {
            if watch.answers == Some(true) {
                self.look(context, host, refresh);
            } else if refresh {
                self.refreshed(context, host, false);
            }
        }
    }

    /// Tells the TaskManager what is known of a host.
    pub(super) fn tell_again(&mut self, context: &mut Context, host: HostAddr) {
        let now = self.clock(context);
        let Some(watch) = self.watches.get_mut(&host) else { return };
        let Some(seen) = watch.observed(host, now) else { return };
        watch.told = watch.listed;
        self.desk.observe(&seen, self.own.piece());
        self.soon(context);
    }

    /// When the list was asked for that the TaskManager last had of each host.
    pub(super) fn lists_told(&self) -> BTreeMap<HostAddr, u64> {
        let told = |(host, watch): (&HostAddr, &HostWatch)| Some((*host, watch.told?));
        self.watches.iter().filter_map(told).collect()
    }

    /// A copy arrived on a host, as the TaskManager says.
    pub(super) fn arrived(&mut self, context: &mut Context, host: HostAddr, file: FileId) {
        let changed = self.watches.get_mut(&host).is_some_and(|watch| watch.holdings.arrived(file));
        if changed {
            self.tell_again(context, host);
        }
    }

    /// What is known of every host's health, told anew to a TaskManager that was started anew.
    pub(super) fn health_again(&mut self, context: &Context) {
        let now = self.clock(context);
        for (&host, watch) in &self.watches {
            if let Some(at) = watch.health.changed() {
                let from = reelyard_yard::heartbeat::Health::Unknown;
                let to = watch.health.health();
                let at = at.min(now);
                self.desk.health_changed(&HealthChanged { host, from, to, at });
            }
        }
    }
}
