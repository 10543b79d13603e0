//! The state of a worker after a restart.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use reelyard_core::host::BitsPerSecond;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_process::WorkerProcess;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::worker::{ReportedState, TaskOrder};
use reelyard_worker::kept_state::state_store::StateStore;

/// The program of a destination that can be killed.
const PROGRAM: &str = env!("CARGO_BIN_EXE_worker_process");

/// An order that takes over a minute, so that a test can act in the middle of its copy.
fn slow(order: TaskOrder) -> TaskOrder {
    let copy_speed = Some(BitsPerSecond(order.size * 8 / 80));
    TaskOrder { copy_speed, ..order }
}

#[actix::test]
async fn an_undelivered_report_is_delivered_after_the_restart() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 1000);
    let serving = started(source.source()).await;
    node.be_deaf(true);
    let fetching = started(destination.destination(&node.url)).await;
    node.order(source.order(1, b"E.mpg"));
    let unacknowledged = || fetching.view().downloads.unwrap().unacknowledged == 1;
    eventually("an unacknowledged end", unacknowledged).await;
    fetching.stop().await;
    node.be_deaf(false);

    let restarted = started(destination.destination(&node.url)).await;
    assert!(matches!(node.end_of(1).await, ReportedState::Done { size: 1000, .. }));
    let downloads = || restarted.view().downloads.unwrap();
    eventually("the report forgotten", || downloads().unacknowledged == 0).await;
    assert_eq!(downloads().counters.begun, 0, "it is not copied again");
    restarted.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_copy_under_way_at_a_stop_is_begun_again() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", 400_000);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;
    node.order(slow(source.order(1, b"E.mpg")));
    let under_way = || !fetching.view().downloads.unwrap().under_way.is_empty();
    eventually("a running copy", under_way).await;
    fetching.stop().await;
    assert!(!node.reports().iter().any(|report| report.is_end()));
    node.order(source.order(1, b"E.mpg"));

    let restarted = started(destination.destination(&node.url)).await;
    assert!(matches!(node.end_of(1).await, ReportedState::Done { .. }));
    assert_eq!(std::fs::read(destination.copies().join("E.mpg")).unwrap(), contents);
    restarted.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_worker_killed_in_a_copy_begins_it_again_cleanly() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", 2_000_000);
    let serving = started(source.source()).await;
    node.order(slow(source.order(1, b"E.mpg")));
    let temp = destination.copies().join("temp.downloaded");
    let temp_files = || std::fs::read_dir(&temp).map_or(0, Iterator::count);

    let first = WorkerProcess::start(PROGRAM, &destination, &node);
    eventually("a running copy", || temp_files() == 1).await;
    drop(first);
    assert_eq!(temp_files(), 1, "killed, it could not clean up");
    assert!(!destination.copies().join("E.mpg").exists());
    node.order(source.order(1, b"E.mpg"));

    let second = WorkerProcess::start(PROGRAM, &destination, &node);
    assert!(matches!(node.end_of(1).await, ReportedState::Done { size: 2_000_000, .. }));
    assert_eq!(std::fs::read(destination.copies().join("E.mpg")).unwrap(), contents);
    assert_eq!(temp_files(), 0);
    drop(second);
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_worker_killed_before_its_report_was_taken_still_delivers_it() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 1000);
    let serving = started(source.source()).await;
    node.be_deaf(true);
    node.order(source.order(1, b"E.mpg"));
    let first = WorkerProcess::start(PROGRAM, &destination, &node);
    eventually("an unacknowledged end", || node.refused_ends() > 0).await;
    drop(first);
    std::fs::remove_file(source.data().join("E.mpg")).unwrap();
    node.be_deaf(false);

    let second = WorkerProcess::start(PROGRAM, &destination, &node);
    let end = node.end_of(1).await;
    assert!(
        matches!(end, ReportedState::Done { size: 1000, .. }),
        "copied again it would fail: {end:?}"
    );
    drop(second);
    serving.stop().await;
    node.stop().await;
}

#[test]
fn reports_survive_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let mut known = 0;
    for _ in 0..5 {
        let mut keeper = Command::new(env!("CARGO_BIN_EXE_worker_report_keeper"))
            .arg(dir.path())
            .arg(known.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(keeper.stdout.take().unwrap()).lines();
        for line in lines.take(20) {
            // The keeper prints a number only after the store reported it as durable.
            known = line.unwrap().parse::<i64>().unwrap();
        }
        keeper.kill().unwrap();
        keeper.wait().unwrap();
        let reports = StateStore::open(dir.path()).unwrap().reports().unwrap();
        assert!(reports.len() as i64 >= known, "{} of {known}", reports.len());
        let in_order = reports.iter().zip(1..).all(|(report, id)| report.task.0 == id);
        assert!(in_order, "a report is missing");
        known = reports.len() as i64;
    }
    assert!(known >= 100, "{known}");
}
