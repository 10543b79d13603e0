//! A host in maintenance gets no calls, and is observed like a new host afterwards.

use actix::prelude::*;
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::{FileName, NameTable};
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually};
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, CfwWorkerView, DeleteCopy, LookDue, ProbeHeartbeat,
    Refresh, SetHostMaintenance, SetHostReading, http_client,
};

/// A CfwWorker with a clock that does not advance.
fn worker(host: HostAddr, in_maintenance: bool) -> (Addr<CfwWorker>, ViewHandle<CfwWorkerView>) {
    let settings = CfwWorkerSettings::default();
    let http = http_client(&settings).unwrap();
    let (names, clock) = (NameTable::new(), Clock::manual(Millis(1_795_240_000_000)));
    let worker = CfwWorker::new(host, HostRole::Destination, settings, http, names, clock)
        .in_maintenance(in_maintenance);
    let view = worker.view();
    (worker.start(), view)
}

/// Checks that every call to the host is refused.
async fn is_left_alone(worker: &Addr<CfwWorker>) {
    let alone = AskFailure::NotAsked("it is in maintenance".to_owned());
    let probe = worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap();
    assert_eq!(probe, Err(alone.clone()));
    assert_eq!(worker.send(Refresh).await.unwrap().unwrap_err(), alone);
    let delete = DeleteCopy { name: FileName::new("a").unwrap(), epoch: Epoch(1) };
    assert_eq!(worker.send(delete).await.unwrap(), Err(alone));
    worker.send(LookDue).await.unwrap();
}

#[actix::test]
async fn maintenance_ends_every_call_and_its_end_begins_with_a_look() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "a").unwrap();
    let host = StandInCfw::start(dir.path()).unwrap();
    let (worker, view) = worker(host.addr(), false);
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    eventually("it was observed", || view.load().inventory.is_some()).await;
    worker.send(SetHostMaintenance { on: true }).await.unwrap();
    let calls = host.calls().len();
    is_left_alone(&worker).await;
    let http = http_client(&CfwWorkerSettings::default()).unwrap();
    let settings = CfwWorkerSettings::default();
    worker.send(ChangeSettings((settings, http))).await.unwrap();
    is_left_alone(&worker).await;
    assert_eq!(host.calls().len(), calls);
    let shown = view.load();
    assert_eq!((shown.in_maintenance, shown.answers), (true, None));
    assert_eq!(shown.inventory.unwrap().files, 1, "the known state remains");

    std::fs::write(dir.path().join("b"), "b").unwrap();
    worker.send(SetHostMaintenance { on: false }).await.unwrap();
    assert_eq!(host.calls().len(), calls, "it must answer a probe first");
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    let files = || view.load().inventory.map(|inventory| inventory.files);
    eventually("it was observed again", || files() == Some(2)).await;
}

#[actix::test]
async fn a_look_that_is_under_way_asks_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let host = StandInCfw::start(dir.path()).unwrap();
    let (worker, view) = worker(host.addr(), false);
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    eventually("it was observed", || view.load().inventory.is_some()).await;
    host.set_frozen(true);
    let refresh = actix::spawn(worker.send(Refresh));
    host.was_called("GET /info", 2).await;
    worker.send(SetHostMaintenance { on: true }).await.unwrap();
    let calls = host.calls();
    host.set_frozen(false);
    let refreshed = refresh.await.unwrap().unwrap();
    assert!(matches!(refreshed, Err(AskFailure::NotAsked(_))), "{refreshed:?}");
    assert_eq!(host.calls(), calls);
}

#[actix::test]
async fn a_cfw_worker_that_starts_in_maintenance_makes_no_calls() {
    let dir = tempfile::tempdir().unwrap();
    let host = StandInCfw::start(dir.path()).unwrap();
    let (worker, view) = worker(host.addr(), true);
    is_left_alone(&worker).await;
    assert!(host.calls().is_empty());
    assert_eq!(view.load().answers, None);
}

#[actix::test]
async fn a_follower_sends_probes_only_and_a_new_leader_reads_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "a").unwrap();
    let host = StandInCfw::start(dir.path()).unwrap();
    let (worker, view) = worker(host.addr(), false);
    worker.send(SetHostReading { on: false }).await.unwrap();
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    worker.send(LookDue).await.unwrap();
    let refused = worker.send(Refresh).await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("does not lead"), "{refused}");
    let reads = || host.calls().iter().any(|call| !call.contains("/hb"));
    assert!(!reads(), "{:?}", host.calls());
    let files = || view.load().inventory.map(|inventory| inventory.files);
    for count in 1..3 {
        worker.send(SetHostReading { on: true }).await.unwrap();
        eventually("it was observed", || files() == Some(count)).await;
        worker.send(SetHostReading { on: false }).await.unwrap();
        std::fs::write(dir.path().join("b"), "b").unwrap();
    }
    assert_eq!(view.load().answers, Some(true));
}
