//! The HeartbeatSupervisor finds out which hosts answer.
//!
//! Every host has its own schedule and its own open probe, so a slow host delays no other. The
//! supervisor calls no host itself: it asks the CfwWorker of the host to do so.

pub mod health;
mod messages;
mod probing;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;
use tracing::{info, warn};

pub use health::Health;
pub use messages::*;
pub use settings::{HeartbeatSettings, MOST_PROBES};

use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::HostAddr;
use reelyard_core::shown_text::word;

use crate::cfw_worker::ProbeHeartbeat;
use crate::changes::{HostEvent, YardChange};
use health::HostHealth;

/// Up to this many hosts, each change publishes and checks all of them.
const FEW_HOSTS: usize = 256;

/// How long changes are collected if there are more.
const GATHERING: Duration = Duration::from_millis(100);

/// The time of a probe that comes before all others.
const AT_ONCE: Millis = Millis(i64::MIN);

/// Lets readers read the [`HeartbeatView`] without asking the actor.
pub type HeartbeatViewHandle = Arc<ArcSwap<HeartbeatView>>;

/// The actor. Owns the health of each host; none of it is durable.
pub struct HeartbeatSupervisor {
    settings: HeartbeatSettings,
    clock: Clock,
    hosts: BTreeMap<HostAddr, WatchedHost>,
    subscribers: Vec<Recipient<HealthChanged>>,
    view: HeartbeatViewHandle,
    /// Grows with each added host, so that a late probe of a removed host is recognized.
    last_watch: u64,
    probes: u64,
    misses: u64,
    timer: Option<SpawnHandle>,
    /// Probes that have not ended, also of hosts that are no longer watched.
    under_way: usize,
    /// Whether hosts are due that wait for a probe of another to end.
    is_behind: bool,
    /// Whether a check of the schedule, or a new view, follows in a moment.
    due_soon: bool,
    view_soon: bool,
    changes: Option<FeedPublisher<YardChange>>,
}

impl WatchedHost {
    fn show(&mut self, host: HostAddr) {
        self.shown = Arc::new(shown(host, &self.health, self.in_maintenance));
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
    shown: Arc<HostBeats>,
}

impl HeartbeatSupervisor {
    /// A supervisor that watches no host yet.
    pub fn new(settings: HeartbeatSettings, clock: Clock) -> Self {
        HeartbeatSupervisor {
            settings,
            clock,
            hosts: BTreeMap::new(),
            subscribers: Vec::new(),
            view: HeartbeatViewHandle::default(),
            last_watch: 0,
            probes: 0,
            misses: 0,
            timer: None,
            under_way: 0,
            is_behind: false,
            due_soon: false,
            view_soon: false,
            changes: None,
        }
    }

    /// Publishes changes on `feed` from now on.
    pub fn with_change_feed(mut self, feed: FeedPublisher<YardChange>) -> Self {
        self.changes = Some(feed);
        self
    }

    /// Publishes to `view` from now on. After a panic the restarted HeartbeatSupervisor gets the handle
    /// that the readers already hold.
    pub fn publishing_to(mut self, view: HeartbeatViewHandle) -> Self {
        self.view = view;
        self
    }

    /// The handle of its view, also after the actor was started.
    pub fn view(&self) -> HeartbeatViewHandle {
        self.view.clone()
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
        let at = self.clock.now();
        let change = watched.health.observe(self.settings.thresholds, at, outcome);
        watched.show(host);
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
        self.subscribers.retain(|subscriber| subscriber.connected());
        for subscriber in &self.subscribers {
            subscriber.do_send(changed.clone());
        }
        if let Some(feed) = &self.changes {
            let HealthChanged { host, from, to, at } = *changed;
            feed.publish(at, YardChange::Host(HostEvent::Health { host, from, to }));
        }
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
            self.publish();
        } else if !std::mem::replace(&mut self.view_soon, true) {
            ctx.run_later(GATHERING, |supervisor, _| {
                supervisor.view_soon = false;
                supervisor.publish();
            });
        }
    }

    fn publish(&self) {
        self.view.store(Arc::new(HeartbeatView {
            hosts: self.hosts.values().map(|watched| watched.shown.clone()).collect(),
            probes: self.probes,
            misses: self.misses,
        }));
    }
}

/// The published state of a host.
fn shown(host: HostAddr, health: &HostHealth, in_maintenance: bool) -> HostBeats {
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
            next_probe: self.clock.now(),
            is_being_probed: false,
            in_maintenance,
            shown: Arc::new(shown(host, &health, in_maintenance)),
            health,
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
        let (watch, at) = (self.new_watch(), self.clock.now());
        let Some(watched) = self.hosts.get_mut(&host).filter(|host| host.in_maintenance != on)
        else {
            return;
        };
        watched.in_maintenance = on;
        watched.watch = watch;
        watched.is_being_probed = false;
        watched.next_probe = at;
        let from = std::mem::take(&mut watched.health).health();
        watched.show(host);
        self.publish_soon(ctx);
        if from != Health::Unknown {
            self.notify_subscribers(&HealthChanged { host, from, to: Health::Unknown, at });
        }
        self.probe_soon(ctx);
    }
}

impl Handler<ChangeHeartbeatSettings> for HeartbeatSupervisor {
    type Result = ();

    fn handle(
        &mut self,
        ChangeHeartbeatSettings(settings): ChangeHeartbeatSettings,
        ctx: &mut Context<Self>,
    ) {
        self.settings = settings;
        // If the new interval is shorter, the old one does not delay the next probe.
        let soonest = settings.rhythm.next(self.clock.now(), fastrand::f64());
        for watched in self.hosts.values_mut() {
            watched.next_probe = watched.next_probe.min(soonest);
        }
        self.sleep(ctx);
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
        // A subscriber that panicked has a new incarnation since.
        self.subscribers.retain(|subscriber| subscriber.connected() && *subscriber != to);
        self.subscribers.push(to);
    }
}

impl Handler<ProbeNow> for HeartbeatSupervisor {
    type Result = usize;

    fn handle(&mut self, ProbeNow { host }: ProbeNow, ctx: &mut Context<Self>) -> usize {
        for (candidate, watched) in &mut self.hosts {
            if !watched.is_being_probed && host.is_none_or(|host| host == *candidate) {
                watched.next_probe = AT_ONCE;
            }
        }
        self.probe_due_hosts(ctx)
    }
}

impl Handler<ProbeDue> for HeartbeatSupervisor {
    type Result = usize;

    fn handle(&mut self, _: ProbeDue, ctx: &mut Context<Self>) -> usize {
        self.probe_due_hosts(ctx)
    }
}
