//! The actor: its schedule, its handlers and its reports.

mod probing;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tracing::{info, warn};

use reelyard_core::actor_parts::{
    ActorTimer, ChangeSettings, Observer, ObserverShell, SubscriberList, ViewHandle,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::display_text::word;
use reelyard_core::host::HostAddr;

use crate::cfw_worker::ProbeHeartbeat;
use crate::changes::{HostEvent, YardChange};
use crate::heartbeat::health::{Health, HostHealth};
use crate::heartbeat::messages::{
    HealthChanged, NotProbed, ProbeDue, ProbeNow, SetHeartbeatMaintenance, SubscribeToHealth,
    UnwatchHost, WatchHost,
};
use crate::heartbeat::settings::HeartbeatSettings;
use crate::heartbeat::views::{HeartbeatView, HostBeats};

/// Up to this many hosts, each change publishes and checks all of them.
const FEW_HOSTS: usize = 256;

/// How long changes are collected if there are more.
const BATCH_DELAY: Duration = Duration::from_millis(100);

/// The time of a probe that comes before all others.
const AT_ONCE: Millis = Millis(i64::MIN);

/// The actor. Owns the health of each host; none of it is durable.
pub struct HeartbeatSupervisor {
    shell: ObserverShell<HeartbeatView, YardChange>,
    settings: HeartbeatSettings,
    hosts: BTreeMap<HostAddr, WatchedHost>,
    subscribers: SubscriberList<HealthChanged>,
    /// Grows with each added host, so that a late probe of a removed host is recognized.
    last_watch: u64,
    probes: u64,
    misses: u64,
    /// Probes that have not ended, also of hosts that are no longer watched.
    under_way: usize,
    /// Whether hosts are due that wait for a probe of another to end.
    is_behind: bool,
    /// A check of the schedule, and a new view, that follow in a moment.
    due_soon: ActorTimer,
    view_soon: ActorTimer,
}

impl WatchedHost {
    fn refresh_beats(&mut self, host: HostAddr) {
        self.beats = Arc::new(beats_of(host, &self.health, self.in_maintenance));
    }
}

/// A host and its schedule.
struct WatchedHost {
    watch: u64,
    probe: Recipient<ProbeHeartbeat>,
    health: HostHealth,
    next_probe: Millis,
    is_being_probed: bool,
    in_maintenance: bool,
    beats: Arc<HostBeats>,
    /// Requests that wait for the end of the next probe.
    askers: Vec<oneshot::Sender<Arc<HostBeats>>>,
}

impl HeartbeatSupervisor {
    /// A supervisor that watches no host yet.
    pub fn new(settings: HeartbeatSettings, clock: Clock) -> Self {
        HeartbeatSupervisor {
            shell: ObserverShell::new(clock, ViewHandle::default()),
            settings,
            hosts: BTreeMap::new(),
            subscribers: SubscriberList::default(),
            last_watch: 0,
            probes: 0,
            misses: 0,
            under_way: 0,
            is_behind: false,
            due_soon: ActorTimer::default(),
            view_soon: ActorTimer::default(),
        }
    }

    /// The handle of its view, also after the actor was started.
    pub fn view(&self) -> ViewHandle<HeartbeatView> {
        self.shell.view().clone()
    }

    /// Records the end of a probe.
    fn ended(
        &mut self,
        host: HostAddr,
        watch: u64,
        outcome: Result<Duration, String>,
        ctx: &mut Context<Self>,
    ) {
        let Some(watched) = self.hosts.get_mut(&host).filter(|watched| watched.watch == watch)
        else {
            return;
        };
        watched.is_being_probed = false;
        self.misses += u64::from(outcome.is_err());
        let at = self.shell.now();
        let change = watched.health.observe(self.settings.thresholds, at, outcome);
        watched.refresh_beats(host);
        for asker in watched.askers.drain(..) {
            // An error only means that nobody waits any more.
            let _ = asker.send(watched.beats.clone());
        }
        self.publish_soon(ctx);
        let watched = self.hosts.get(&host);
        if let Some(((from, to), watched)) = change.zip(watched) {
            if to == Health::Up {
                info!(%host, from = word(&from), "host is up");
            } else {
                let why = watched.health.last_miss();
                warn!(%host, from = word(&from), to = word(&to), why, "host does not answer");
            }
            self.notify_subscribers(&HealthChanged { host, from, to, at });
        }
    }

    fn notify_subscribers(&mut self, changed: &HealthChanged) {
        self.subscribers.notify(changed);
        let HealthChanged { host, from, to, at } = *changed;
        self.shell.publish_change(at, YardChange::Host(HostEvent::Health { host, from, to }));
    }

    /// The number of one more watch over a host.
    fn new_watch(&mut self) -> u64 {
        self.last_watch += 1;
        self.last_watch
    }

    /// Whether each change may update all hosts at once.
    fn are_few(&self) -> bool {
        self.hosts.len() <= FEW_HOSTS
    }

    /// Publishes now. With many hosts it publishes in a moment, because a view of all hosts for every
    /// answer would take longer than the time between answers.
    fn publish_soon(&mut self, ctx: &mut Context<Self>) {
        if self.are_few() {
            self.publish_view();
        } else {
            self.view_soon.set_within(BATCH_DELAY, ctx, |supervisor, _| supervisor.publish_view());
        }
    }
}

impl Observer for HeartbeatSupervisor {
    type View = HeartbeatView;
    type Change = YardChange;

    fn shell(&mut self) -> &mut ObserverShell<HeartbeatView, YardChange> {
        &mut self.shell
    }

    fn build_view(&mut self) -> HeartbeatView {
        HeartbeatView {
            hosts: self.hosts.values().map(|watched| watched.beats.clone()).collect(),
            probes: self.probes,
            misses: self.misses,
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.probe_due_hosts(ctx);
    }
}

/// The published state of a host.
fn beats_of(host: HostAddr, health: &HostHealth, in_maintenance: bool) -> HostBeats {
    let last = health.last_beat();
    HostBeats {
        host,
        health: health.health(),
        in_maintenance,
        changed: health.changed(),
        checked: last.map(|beat| beat.at),
        last_answer: health.last_answer(),
        latency_ms: last.and_then(|beat| beat.latency_ms),
        misses_in_a_row: health.misses_in_a_row(),
        last_miss: health.last_miss().map(str::to_owned),
        beats: health.beats().collect(),
    }
}

impl Actor for HeartbeatSupervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.probe_due_hosts(ctx);
    }
}

impl Handler<WatchHost> for HeartbeatSupervisor {
    type Result = ();

    fn handle(&mut self, added: WatchHost, ctx: &mut Context<Self>) {
        let WatchHost { host, probe, in_maintenance } = added;
        let health = HostHealth::default();
        let watched = WatchedHost {
            watch: self.new_watch(),
            probe,
            next_probe: self.shell.now(),
            is_being_probed: false,
            in_maintenance,
            beats: Arc::new(beats_of(host, &health, in_maintenance)),
            health,
            askers: Vec::new(),
        };
        self.hosts.insert(host, watched);
        self.publish_soon(ctx);
        self.probe_soon(ctx);
    }
}

impl Handler<UnwatchHost> for HeartbeatSupervisor {
    type Result = ();

    fn handle(&mut self, UnwatchHost { host }: UnwatchHost, ctx: &mut Context<Self>) {
        self.hosts.remove(&host);
        self.publish_soon(ctx);
    }
}

impl Handler<SetHeartbeatMaintenance> for HeartbeatSupervisor {
    type Result = ();

    fn handle(&mut self, set: SetHeartbeatMaintenance, ctx: &mut Context<Self>) {
        let SetHeartbeatMaintenance { host, on } = set;
        let (watch, at) = (self.new_watch(), self.shell.now());
        let Some(watched) = self.hosts.get_mut(&host).filter(|host| host.in_maintenance != on)
        else {
            return;
        };
        watched.in_maintenance = on;
        watched.watch = watch;
        watched.askers.clear();
        watched.is_being_probed = false;
        watched.next_probe = at;
        let from = std::mem::take(&mut watched.health).health();
        watched.refresh_beats(host);
        self.publish_soon(ctx);
        if from != Health::Unknown {
            self.notify_subscribers(&HealthChanged { host, from, to: Health::Unknown, at });
        }
        self.probe_soon(ctx);
    }
}

impl Handler<ChangeSettings<HeartbeatSettings>> for HeartbeatSupervisor {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<HeartbeatSettings>, ctx: &mut Context<Self>) {
        let ChangeSettings(settings) = change;
        self.settings = settings;
        // If the new interval is shorter, the old one does not delay the next probe.
        let soonest = settings.probe_schedule.next(self.shell.now(), self.draw());
        for watched in self.hosts.values_mut() {
            watched.next_probe = watched.next_probe.min(soonest);
        }
        self.sleep_until_due(ctx);
    }
}

impl Handler<SubscribeToHealth> for HeartbeatSupervisor {
    type Result = ();

    fn handle(&mut self, SubscribeToHealth { to }: SubscribeToHealth, _: &mut Context<Self>) {
        for (&host, watched) in &self.hosts {
            if let Some(at) = watched.health.changed() {
                let health = watched.health.health();
                to.do_send(HealthChanged { host, from: Health::Unknown, to: health, at });
            }
        }
        self.subscribers.add(to);
    }
}

impl Handler<ProbeNow> for HeartbeatSupervisor {
    type Result = ResponseFuture<Result<Arc<HostBeats>, NotProbed>>;

    fn handle(&mut self, ProbeNow { host }: ProbeNow, ctx: &mut Context<Self>) -> Self::Result {
        let watched = match self.hosts.get_mut(&host) {
            None => return Box::pin(ready(Err(NotProbed::NotWatched))),
            Some(watched) if watched.in_maintenance => {
                return Box::pin(ready(Err(NotProbed::InMaintenance)));
            }
            Some(watched) => watched,
        };
        let (asker, ended) = oneshot::channel();
        watched.askers.push(asker);
        if !watched.is_being_probed {
            watched.next_probe = AT_ONCE;
            self.probe_due_hosts(ctx);
        }
        Box::pin(async move { ended.await.map_err(|_| NotProbed::GivenUp) })
    }
}

impl Handler<ProbeDue> for HeartbeatSupervisor {
    type Result = usize;

    fn handle(&mut self, _: ProbeDue, ctx: &mut Context<Self>) -> usize {
        self.probe_due_hosts(ctx)
    }
}
