//! Hosts without news wake the process rarely. The time of the runtime is virtual, and the clock follows it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::boot::BootId;
use reelyard_core::clock::{Clock, ClockReading, MachineClocks, Millis};
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::NameTable;
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, ProbeHeartbeat, http_client,
};
use reelyard_yard::heartbeat::{HeartbeatSettings, HeartbeatSupervisor, WatchHost};
use tokio::sync::mpsc;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// A clock that follows the runtime's time, and counts how often it is read.
struct RuntimeClock {
    began: Instant,
    boot: BootId,
    readings: AtomicUsize,
}

impl RuntimeClock {
    fn new() -> Arc<Self> {
        let boot = Clock::manual(Millis(5)).boot();
        Arc::new(RuntimeClock { began: Instant::now(), boot, readings: AtomicUsize::new(0) })
    }
}

impl MachineClocks for RuntimeClock {
    fn reading(&self) -> ClockReading {
        self.readings.fetch_add(1, Ordering::Relaxed);
        let monotonic = self.began.elapsed();
        ClockReading { wall: Millis(1_795_240_000_000).after(monotonic), monotonic }
    }

    fn boot(&self) -> BootId {
        self.boot
    }
}

/// Stands in for a CfwWorker whose host answers at once. Reports when each probe began.
struct AnsweringProber(mpsc::UnboundedSender<Instant>);

impl Actor for AnsweringProber {
    type Context = Context<Self>;
}

impl Handler<ProbeHeartbeat> for AnsweringProber {
    type Result = Result<Duration, AskFailure>;

    fn handle(&mut self, _: ProbeHeartbeat, _: &mut Context<Self>) -> Self::Result {
        self.0.send(Instant::now()).unwrap();
        Ok(Duration::from_millis(1))
    }
}

#[actix::test]
async fn probes_of_few_hosts_begin_together() {
    const HOSTS: usize = 50;
    tokio::time::pause();
    let clock = Clock::of_machine(RuntimeClock::new());
    let supervisor = HeartbeatSupervisor::new(HeartbeatSettings::default(), clock).start();
    let (began, mut probes) = mpsc::unbounded_channel();
    for last in 1..=HOSTS {
        let host: HostAddr = format!("10.0.0.{last}:80").parse().unwrap();
        let probe = AnsweringProber(began.clone()).start().recipient();
        supervisor.send(WatchHost { host, probe, in_maintenance: false }).await.unwrap();
    }
    // The first probes begin together in any case.
    tokio::time::sleep(MINUTE).await;
    while probes.try_recv().is_ok() {}
    tokio::time::sleep(MINUTE).await;
    let mut moments = BTreeSet::new();
    let mut count = 0;
    while let Ok(at) = probes.try_recv() {
        moments.insert(at);
        count += 1;
    }
    assert!(count >= HOSTS * 14, "{count} probes");
    assert!(moments.len() <= 16, "{} moments", moments.len());
}

#[actix::test]
async fn an_actor_of_a_host_with_nothing_due_sleeps_long() {
    tokio::time::pause();
    let machine = RuntimeClock::new();
    let settings = CfwWorkerSettings::default();
    let http = http_client(&settings).unwrap();
    let host: HostAddr = "10.0.0.1:80".parse().unwrap();
    let (names, clock) = (NameTable::new(), Clock::of_machine(machine.clone()));
    let worker = CfwWorker::new(host, HostRole::Destination, settings, http, names, clock).start();
    tokio::time::sleep(MINUTE).await;
    let readings = machine.readings.load(Ordering::Relaxed);
    assert!(worker.connected() && (1..=60).contains(&readings), "{readings} readings");
}
