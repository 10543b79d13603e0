//! The HeartbeatSupervisor with a manual clock and probes that the test answers.

use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::HostAddr;
use reelyard_integration_tests::fakes::stand_in_subscriber::{Notifications, subscriber};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_yard::cfw_worker::{AskFailure, ProbeHeartbeat};
use reelyard_yard::heartbeat::health::{ProbeSchedule, Thresholds};
use reelyard_yard::heartbeat::{
    Health, HealthChanged, HeartbeatSettings, HeartbeatSupervisor, HeartbeatView, NotProbed,
    ProbeDue, ProbeNow, SetHeartbeatMaintenance, SubscribeToHealth, UnwatchHost, WatchHost,
};
use tokio::sync::{mpsc, oneshot};

type ProbeOutcome = Result<Duration, AskFailure>;

/// Stands in for a CfwWorker: the test answers each probe.
struct Prober(mpsc::UnboundedSender<oneshot::Sender<ProbeOutcome>>);

impl Actor for Prober {
    type Context = Context<Self>;
}

impl Handler<ProbeHeartbeat> for Prober {
    type Result = ResponseFuture<ProbeOutcome>;

    fn handle(&mut self, _: ProbeHeartbeat, _: &mut Context<Self>) -> Self::Result {
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).unwrap();
        // A probe that the test drops never ends.
        Box::pin(async move {
            match answered.await {
                Ok(outcome) => outcome,
                Err(_) => std::future::pending().await,
            }
        })
    }
}

/// The test's end of the probes of one host.
struct PendingProbes(mpsc::UnboundedReceiver<oneshot::Sender<ProbeOutcome>>);

impl PendingProbes {
    async fn next(&mut self) -> oneshot::Sender<ProbeOutcome> {
        tokio::time::timeout(PATIENCE, self.0.recv()).await.unwrap().unwrap()
    }

    async fn answer(&mut self) {
        self.next().await.send(Ok(Duration::from_millis(3))).unwrap();
    }

    async fn miss(&mut self) {
        let missed = AskFailure::TimedOut(Duration::from_secs(2));
        self.next().await.send(Err(missed)).unwrap();
    }
}

struct HeartbeatYard {
    supervisor: Addr<HeartbeatSupervisor>,
    view: ViewHandle<HeartbeatView>,
    changes: Notifications<HealthChanged>,
    clock: Clock,
}

impl HeartbeatYard {
    async fn new() -> HeartbeatYard {
        HeartbeatYard::probing_at_once(HeartbeatSettings::default().probes_at_once).await
    }

    async fn probing_at_once(probes_at_once: usize) -> HeartbeatYard {
        let settings = HeartbeatSettings {
            probes_at_once,
            probe_schedule: ProbeSchedule { interval: Duration::from_secs(5), jitter: 0.0 },
            thresholds: Thresholds::default(),
            ..HeartbeatSettings::default()
        };
        let clock = Clock::manual(Millis(1_795_240_000_000));
        let supervisor = HeartbeatSupervisor::new(settings, clock.clone());
        let view = supervisor.view();
        let supervisor = supervisor.start();
        let (addr, changes) = subscriber();
        supervisor.send(SubscribeToHealth { to: addr.recipient() }).await.unwrap();
        HeartbeatYard { supervisor, view, changes, clock }
    }

    async fn add(&self, host: &str) -> (HostAddr, PendingProbes) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let probe = Prober(sender).start().recipient();
        let host: HostAddr = host.parse().unwrap();
        self.supervisor.send(WatchHost { host, probe, in_maintenance: false }).await.unwrap();
        (host, PendingProbes(receiver))
    }

    /// Moves the clock to the next probes. Returns how many began.
    async fn next_round(&self) -> usize {
        self.clock.advance(Duration::from_secs(5));
        self.supervisor.send(ProbeDue).await.unwrap()
    }

    /// Waits until this number of probes of `host` have ended.
    async fn has_beats(&self, host: HostAddr, beats: usize) {
        let ended = async {
            let is_it = |view: &HeartbeatView| {
                view.hosts.iter().any(|shown| shown.host == host && shown.beats.len() == beats)
            };
            while !is_it(&self.view.load()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.unwrap();
    }

    async fn next_change(&mut self) -> (HostAddr, Health, Health) {
        let HealthChanged { host, from, to, .. } = self.changes.next().await;
        (host, from, to)
    }
}

#[actix::test]
async fn health_follows_the_probes_and_is_reported_once_per_change() {
    let mut yard = HeartbeatYard::new().await;
    let (host, mut probes) = yard.add("127.0.0.1:1").await;
    probes.answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Unknown, Health::Up));
    for beats in 2..=4 {
        assert_eq!(yard.next_round().await, 1);
        probes.miss().await;
        yard.has_beats(host, beats).await;
    }
    assert_eq!(yard.next_change().await, (host, Health::Up, Health::Suspect));
    assert_eq!(yard.next_change().await, (host, Health::Suspect, Health::Down));
    let view = yard.view.load();
    assert_eq!((view.probes, view.misses), (4, 3));
    assert_eq!(view.hosts[0].last_miss.as_deref(), Some("no answer within 2s"));
    assert_eq!(view.hosts[0].beats.len(), 4);

    yard.next_round().await;
    probes.answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Down, Health::Up));
}

#[actix::test]
async fn a_silent_host_delays_no_other_and_has_one_probe() {
    let mut yard = HeartbeatYard::new().await;
    let (_, mut silent) = yard.add("127.0.0.1:1").await;
    let (quick, mut probes) = yard.add("127.0.0.2:1").await;
    let held = silent.next().await;
    probes.answer().await;
    assert_eq!(yard.next_change().await, (quick, Health::Unknown, Health::Up));
    for beats in 2..=10 {
        assert_eq!(yard.next_round().await, 1, "only the quick one is probed again");
        probes.answer().await;
        yard.has_beats(quick, beats).await;
    }
    let shown = yard.view.load();
    let (silent, probed) = (shown.hosts[0].clone(), shown.probes);
    assert_eq!(silent.health, Health::Unknown);
    // A request for a probe of it gets the result of the one that runs.
    let asked = yard.supervisor.send(ProbeNow { host: silent.host });
    assert_eq!(yard.supervisor.send(ProbeDue).await.unwrap(), 0);
    held.send(Ok(Duration::from_secs(1))).unwrap();
    assert_eq!(asked.await.unwrap().unwrap().latency_ms, Some(1000));
    assert_eq!((yard.next_change().await.2, yard.view.load().probes), (Health::Up, probed));
}

#[actix::test]
async fn nothing_is_probed_before_its_time_unless_a_person_asks() {
    let yard = HeartbeatYard::new().await;
    let (host, mut probes) = yard.add("127.0.0.1:1").await;
    probes.answer().await;
    yard.has_beats(host, 1).await;
    // Probes of few hosts may begin a tenth of their interval early, to begin together.
    yard.clock.advance(Duration::from_millis(4499));
    assert_eq!(yard.supervisor.send(ProbeDue).await.unwrap(), 0);
    let other: HostAddr = "127.0.0.9:1".parse().unwrap();
    let refused = yard.supervisor.send(ProbeNow { host: other }).await.unwrap();
    assert_eq!(refused.unwrap_err(), NotProbed::NotWatched);
    let asked = yard.supervisor.send(ProbeNow { host });
    probes.answer().await;
    let beats = asked.await.unwrap().unwrap();
    assert_eq!((beats.health, beats.latency_ms), (Health::Up, Some(3)));
    let asked = yard.supervisor.send(ProbeNow { host });
    probes.miss().await;
    let beats = asked.await.unwrap().unwrap();
    assert_eq!((beats.health, beats.latency_ms), (Health::Suspect, None));
    assert_eq!(beats.last_miss.as_deref(), Some("no answer within 2s"));
    // The next one of the schedule comes one interval after the last probe.
    assert_eq!(yard.next_round().await, 1);
}

#[actix::test]
async fn hosts_come_and_go_and_late_probes_are_ignored() {
    let mut yard = HeartbeatYard::new().await;
    let (host, mut before) = yard.add("127.0.0.1:1").await;
    let late = before.next().await;
    yard.supervisor.send(UnwatchHost { host }).await.unwrap();
    assert!(yard.view.load().hosts.is_empty());
    let (_, mut again) = yard.add("127.0.0.1:1").await;
    late.send(Err(AskFailure::Status(500))).unwrap();
    again.answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Unknown, Health::Up));
    let view = yard.view.load();
    assert_eq!((view.hosts.len(), view.misses), (1, 0));
}

#[actix::test]
async fn a_late_subscriber_gets_the_current_state() {
    let mut yard = HeartbeatYard::new().await;
    let (host, mut probes) = yard.add("127.0.0.1:1").await;
    let (_, mut unknown) = yard.add("127.0.0.2:1").await;
    let _held = unknown.next().await;
    probes.answer().await;
    yard.next_change().await;
    let (addr, mut changes) = subscriber::<HealthChanged>();
    yard.supervisor.send(SubscribeToHealth { to: addr.recipient() }).await.unwrap();
    let known = changes.next().await;
    assert_eq!((known.host, known.from, known.to), (host, Health::Unknown, Health::Up));
    assert!(changes.already().is_none());
}

#[actix::test]
async fn a_host_in_maintenance_gets_no_probes_and_no_failures() {
    let mut yard = HeartbeatYard::new().await;
    let (host, mut probes) = yard.add("10.0.0.21:8888").await;
    probes.answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Unknown, Health::Up));
    assert_eq!(yard.next_round().await, 1);
    let late = probes.next().await;
    let set = |on| yard.supervisor.send(SetHeartbeatMaintenance { host, on });
    let asked = yard.supervisor.send(ProbeNow { host });
    set(true).await.unwrap();
    set(true).await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap_err(), NotProbed::GivenUp);
    let HealthChanged { from, to, .. } = yard.changes.next().await;
    assert_eq!((from, to), (Health::Up, Health::Unknown));
    // The answer to an earlier probe does not count.
    late.send(Err(AskFailure::TimedOut(Duration::from_secs(2)))).unwrap();
    for _ in 0..5 {
        assert_eq!(yard.next_round().await, 0);
    }
    let refused = yard.supervisor.send(ProbeNow { host }).await.unwrap();
    assert_eq!(refused.unwrap_err(), NotProbed::InMaintenance);
    let shown = yard.view.load().hosts[0].clone();
    assert_eq!((shown.health, shown.in_maintenance), (Health::Unknown, true));
    // The end of maintenance causes an immediate probe.
    yard.supervisor.send(SetHeartbeatMaintenance { host, on: false }).await.unwrap();
    probes.answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Unknown, Health::Up));
    assert!(!yard.view.load().hosts[0].in_maintenance);
}

#[actix::test]
async fn a_host_that_is_added_in_maintenance_waits_for_its_end() {
    let mut yard = HeartbeatYard::new().await;
    let (sender, receiver) = mpsc::unbounded_channel();
    let probe = Prober(sender).start().recipient();
    let host: HostAddr = "10.0.0.21:8888".parse().unwrap();
    yard.supervisor.send(WatchHost { host, probe, in_maintenance: true }).await.unwrap();
    assert_eq!(yard.next_round().await, 0);
    yard.supervisor.send(SetHeartbeatMaintenance { host, on: false }).await.unwrap();
    PendingProbes(receiver).answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Unknown, Health::Up));
}

#[actix::test]
async fn a_shorter_interval_takes_effect_before_a_longer_one_ends() {
    let mut yard = HeartbeatYard::new().await;
    let (host, mut probes) = yard.add("10.0.0.21:8888").await;
    probes.answer().await;
    assert_eq!(yard.next_change().await, (host, Health::Unknown, Health::Up));
    let probe_schedule = ProbeSchedule { interval: Duration::from_secs(1), jitter: 0.0 };
    let thresholds = Thresholds { down_after: 1, ..Thresholds::default() };
    let settings = HeartbeatSettings { probe_schedule, thresholds, ..HeartbeatSettings::default() };
    yard.supervisor.send(ChangeSettings(settings)).await.unwrap();
    yard.clock.advance(Duration::from_secs(1));
    assert_eq!(yard.supervisor.send(ProbeDue).await.unwrap(), 1);
    probes.miss().await;
    assert_eq!(yard.next_change().await, (host, Health::Up, Health::Down));
}

#[actix::test]
async fn silent_hosts_take_few_probes_and_the_longest_due_is_first() {
    const HOSTS: usize = 7;
    const AT_ONCE: usize = 2;
    let yard = HeartbeatYard::probing_at_once(AT_ONCE).await;
    let mut hosts = Vec::new();
    for last in 1..=HOSTS {
        hosts.push(yard.add(&format!("127.0.0.{last}:1")).await);
    }
    // No host is starved: each round of misses includes every host once, in the same order.
    for round in 1..=3 {
        if round > 1 {
            assert_eq!(yard.next_round().await, AT_ONCE);
        }
        let mut under_way = std::collections::VecDeque::new();
        for (_, probes) in &mut hosts {
            under_way.push_back(probes.next().await);
            let begun = yard.supervisor.send(ProbeDue).await.unwrap();
            assert_eq!(begun, 0, "the limit of parallel probes is reached");
            if under_way.len() == AT_ONCE {
                let missed = AskFailure::TimedOut(Duration::from_secs(2));
                under_way.pop_front().unwrap().send(Err(missed)).unwrap();
            }
        }
        for (host, probes) in &mut hosts {
            assert!(probes.0.try_recv().is_err(), "{host} was probed twice in a round");
        }
        let (last, _) = hosts[HOSTS - 1];
        let beats = yard.view.load().of(last).unwrap().clone();
        let before = [Health::Unknown, Health::Suspect, Health::Suspect][round - 1];
        assert_eq!((beats.health, beats.misses_in_a_row as usize), (before, round - 1));
        under_way.pop_front().unwrap().send(Err(AskFailure::Status(500))).unwrap();
        yard.has_beats(last, round).await;
    }
    assert_eq!(yard.view.load().misses, 3 * HOSTS as u64);

    // A host that a person asks for is the next one.
    assert_eq!(yard.next_round().await, AT_ONCE);
    let asked = yard.supervisor.send(ProbeNow { host: hosts[HOSTS - 1].0 });
    for number in [0, HOSTS - 1] {
        hosts[number].1.next().await.send(Ok(Duration::from_millis(3))).unwrap();
    }
    assert_eq!(asked.await.unwrap().unwrap().latency_ms, Some(3));
}
