//! Interrupted copies continue at the same position.

use std::path::PathBuf;
use std::time::Duration;

use reelyard::worker::{Worker, WorkerSettings};
use reelyard_core::host::BitsPerSecond;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_process::WorkerProcess;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::worker::{Blame, ReportedState, TaskId, TaskOrder};

/// The program of a destination that can be killed.
const PROGRAM: &str = env!("CARGO_BIN_EXE_worker_process");

const MIB: usize = 1 << 20;
const SIZE: usize = 48 * MIB + 5;

/// The least number of bytes that a resumed copy does not receive again.
const SPARED: u64 = 3 * MIB as u64;

/// An order that still has ten seconds left when a test acts. The test then acts in the middle of the copy,
/// on a slow machine too.
fn slow(order: TaskOrder) -> TaskOrder {
    TaskOrder { copy_speed: Some(BitsPerSecond(32_000_000)), ..order }
}

fn destination(rig: &Rig, node: &FakeNode) -> WorkerSettings {
    let mut settings = rig.destination(&node.url);
    settings.resume.keep_every = Duration::from_millis(20);
    settings
}

/// Waits until a task has received more bytes than [`SPARED`].
async fn well_under_way(node: &FakeNode, id: i64) {
    let far = |state: &ReportedState| matches!(state, ReportedState::Progress { bytes } if *bytes > SPARED + MIB as u64);
    let reached =
        || node.reports().iter().any(|report| report.task == TaskId(id) && far(&report.state));
    eventually("a copy in its middle", reached).await;
}

fn temps(rig: &Rig) -> Vec<PathBuf> {
    let dir = std::fs::read_dir(rig.copies().join("temp.downloaded")).unwrap();
    dir.map(|entry| entry.unwrap().path()).collect()
}

fn sent(worker: &Worker) -> u64 {
    worker.view().data_port.bytes
}

fn copied(rig: &Rig) -> Vec<u8> {
    std::fs::read(rig.copies().join("E.mpg")).unwrap()
}

/// A destination that was stopped in the middle of a slow copy of `E.mpg`, and its partial file.
async fn interrupted(source: &Rig, destination_rig: &Rig, node: &FakeNode) -> (Worker, PathBuf) {
    let serving = started(source.source()).await;
    let fetching = started(destination(destination_rig, node)).await;
    node.order(slow(source.order(1, b"E.mpg")));
    well_under_way(node, 1).await;
    fetching.stop().await;
    let left = temps(destination_rig);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(std::fs::metadata(&left[0]).unwrap().len() >= SPARED);
    assert!(!node.reports().iter().any(|report| report.is_end()));
    (serving, left.into_iter().next().unwrap())
}

#[actix::test]
async fn a_killed_destination_requests_only_the_missing_bytes() {
    let (source, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", SIZE);
    let serving = started(source.source()).await;
    node.order(slow(source.order(1, b"E.mpg")));
    let first = WorkerProcess::start(PROGRAM, &rig, &node);
    well_under_way(&node, 1).await;
    drop(first);
    let before = sent(&serving);
    node.order(source.order(1, b"E.mpg"));

    let second = WorkerProcess::start(PROGRAM, &rig, &node);
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    assert!(copied(&rig) == contents);
    assert!(sent(&serving) - before <= SIZE as u64 - SPARED);
    eventually("nothing left behind", || temps(&rig).is_empty()).await;
    drop(second);
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_source_that_comes_back_continues_the_same_copy() {
    let (source, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", SIZE);
    let serving = started(source.source()).await;
    let mut settings = destination(&rig, &node);
    // Enough attempts for a source that is away for long under load.
    settings.resume.tries = 8;
    let fetching = started(settings).await;
    node.order(slow(source.order(1, b"E.mpg")));
    well_under_way(&node, 1).await;
    serving.stop().await;
    node.order(source.order(1, b"E.mpg"));
    let serving = started(source.source()).await;

    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    assert!(copied(&rig) == contents);
    assert!(sent(&serving) <= SIZE as u64 - SPARED);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_master_replaced_during_the_copy_is_copied_from_its_beginning() {
    let (source, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", SIZE);
    let (serving, _) = interrupted(&source, &rig, &node).await;
    let before = sent(&serving);
    let contents = source.master(b"E.mpg", SIZE);
    node.order(source.order(1, b"E.mpg"));

    let fetching = started(destination(&rig, &node)).await;
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    assert!(copied(&rig) == contents);
    assert!(sent(&serving) - before >= SIZE as u64);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_resumed_copy_whose_hash_is_wrong_is_started_again() {
    let (source, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", SIZE);
    let (serving, left) = interrupted(&source, &rig, &node).await;
    assert!(left.exists());
    other_state(&rig);
    node.order(source.order(1, b"E.mpg"));

    let fetching = started(destination(&rig, &node)).await;
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    assert!(copied(&rig) == contents);
    assert!(temps(&rig).is_empty());
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

/// Stores the hash of other bytes for the interrupted copy.
fn other_state(rig: &Rig) {
    use reelyard_file_server::tree_hash::{TreeHasher, Trunk};
    use reelyard_worker::kept_state::state_store::StateStore;
    let store = StateStore::open(&rig.place.path().join("state")).unwrap();
    let mut partial = store.partials().unwrap().remove(0);
    let mut other = TreeHasher::resume(Trunk::default());
    let length = usize::try_from(partial.trunk.length()).unwrap();
    other.update(&vec![0; length]);
    partial.trunk = other.trunk(partial.size);
    assert_eq!(partial.trunk.length(), length as u64);
    store.keep_partial(&partial).unwrap();
}

#[actix::test]
async fn another_source_continues_the_copy_of_the_first_one() {
    let (first, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = first.master(b"E.mpg", SIZE);
    let (gone, _) = interrupted(&first, &rig, &node).await;
    gone.stop().await;
    node.withdraw(1);
    let second = Rig::new();
    std::fs::write(second.data().join("E.mpg"), &contents).unwrap();
    let serving = started(second.source()).await;
    node.order(second.order(2, b"E.mpg"));

    let fetching = started(destination(&rig, &node)).await;
    let end = node.end_of(2).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    assert!(copied(&rig) == contents);
    assert!(sent(&serving) <= SIZE as u64 - SPARED);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_lost_source_is_reported_and_its_bytes_are_kept() {
    let (source, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", SIZE);
    let serving = started(source.source()).await;
    let mut settings = destination(&rig, &node);
    settings.resume.pause = Duration::from_millis(1);
    let fetching = started(settings).await;
    node.order(slow(source.order(1, b"E.mpg")));
    well_under_way(&node, 1).await;
    serving.stop().await;

    let ReportedState::Failed { blame: Blame::Source, reason } = node.end_of(1).await else {
        panic!("it must fail for its source")
    };
    assert!(reason.contains("cannot be reached"), "{reason}");
    assert_eq!(temps(&rig).len(), 1);
    fetching.stop().await;
    node.stop().await;
}
