//! The HeartbeatSupervisor and CfwWorkers with real sockets.

use std::time::Duration;

use actix::prelude::*;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::NameTable;
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::fakes::stand_in_subscriber::subscriber;
use reelyard_yard::cfw_worker::{CfwWorker, CfwWorkerSettings, http_client};
use reelyard_yard::heartbeat::{
    Health, HealthChanged, HeartbeatSettings, HeartbeatSupervisor, ProbeNow, SubscribeToHealth,
    WatchHost,
};

fn worker_of(host: HostAddr) -> Addr<CfwWorker> {
    let settings = CfwWorkerSettings::default();
    let http = http_client(&settings).unwrap();
    let clock = Clock::manual(Millis(1_795_240_000_000));
    CfwWorker::new(host, HostRole::Destination, settings, http, NameTable::new(), clock).start()
}

#[actix::test]
async fn frozen_hosts_delay_no_other_host_and_come_back() {
    let dir = tempfile::TempDir::new().unwrap();
    let hosts: Vec<_> = (0..4).map(|_| StandInCfw::start(dir.path()).unwrap()).collect();
    for host in &hosts[..3] {
        host.set_frozen(true);
    }
    let settings =
        HeartbeatSettings { timeout: Duration::from_secs(2), ..HeartbeatSettings::default() };
    let clock = Clock::manual(Millis(1_795_240_000_000));
    let supervisor = HeartbeatSupervisor::new(settings, clock);
    let view = supervisor.view();
    let supervisor = supervisor.start();
    let (addr, mut changes) = subscriber::<HealthChanged>();
    supervisor.send(SubscribeToHealth { to: addr.recipient() }).await.unwrap();
    for host in &hosts {
        let probe = worker_of(host.addr()).recipient();
        supervisor
            .send(WatchHost { host: host.addr(), probe, in_maintenance: false })
            .await
            .unwrap();
    }

    // The host that answers is up while the others still have time to answer.
    let first = changes.next().await;
    assert_eq!((first.host, first.to), (hosts[3].addr(), Health::Up));
    let checked = view.load().hosts.iter().filter(|host| host.checked.is_some()).count();
    assert_eq!(checked, 1);

    // All three hosts miss their probes at the same time, not in sequence.
    for _ in 0..3 {
        assert_eq!(changes.next().await.to, Health::Suspect);
    }
    for host in &hosts[..3] {
        host.set_frozen(false);
    }
    let probed = hosts[..3].iter().map(|host| supervisor.send(ProbeNow { host: host.addr() }));
    for asked in futures::future::join_all(probed).await {
        assert!(asked.unwrap().unwrap().latency_ms.is_some());
    }
    for _ in 0..3 {
        let back = changes.next().await;
        assert_eq!((back.from, back.to), (Health::Suspect, Health::Up));
    }
}
