//! A destination whose disk is really full: a small tmpfs, mounted as root or with sudo.

use reelyard_core::event::Epoch;
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::worker::{Blame, ReportedState};
use reelyard_worker::kept_state::epoch_guard::KnownEpochs;
use reelyard_worker::kept_state::state_store::StateStore;

#[actix::test]
async fn a_copy_too_large_blames_the_destination_before_its_first_byte() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let _disk = SmallDisk::mount(&destination.copies(), 1);
    source.master(b"large.mpg", 2 << 20);
    let small = source.master(b"small.mpg", 1000);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;

    node.order(source.order(1, b"large.mpg"));
    let ReportedState::Failed { blame: Blame::Destination, reason } = node.end_of(1).await else {
        panic!("it must fail for the destination's disk")
    };
    assert!(reason.contains("has room for"), "{reason}");
    let temp = destination.copies().join("temp.downloaded");
    assert_eq!(std::fs::read_dir(temp).unwrap().count(), 0);

    node.order(source.order(2, b"small.mpg"));
    assert!(matches!(node.end_of(2).await, ReportedState::Done { .. }));
    assert_eq!(std::fs::read(destination.copies().join("small.mpg")).unwrap(), small);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[test]
fn a_state_store_whose_disk_was_full_works_again_without_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(place.path(), 24);
    let store = StateStore::open(&place.path().join("state")).unwrap();
    let raise = |epoch| store.keep_known_epochs(&KnownEpochs::only(Epoch(epoch)));
    raise(1).unwrap();
    disk.fill();
    let refused = (2..20_000).find(|epoch| raise(*epoch).is_err());
    let refused = refused.unwrap();

    disk.clear();
    let until = std::time::Instant::now() + PATIENCE;
    while let Err(error) = raise(refused) {
        assert!(std::time::Instant::now() < until, "it stays closed: {error}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(store.known_epochs().unwrap().highest(), Epoch(refused));
    drop(store);
    let again = StateStore::open(&place.path().join("state")).unwrap();
    assert_eq!(again.known_epochs().unwrap().highest(), Epoch(refused));
}
