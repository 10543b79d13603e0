//! A destination whose disk is really full: a small tmpfs, mounted as root or by sudo.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use reelyard_actors::wire::worker::{Blame, Said};
use reelyard_integration_tests::small_disk::SmallDisk;
use reelyard_integration_tests::worker_rig::{FakeNode, Rig, started};

#[actix::test]
async fn a_copy_that_does_not_fit_blames_the_destination_before_its_first_byte() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let _disk = SmallDisk::mount(&destination.copies(), 1);
    source.master(b"large.mpg", 2 << 20);
    let small = source.master(b"small.mpg", 1000);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;

    node.order(source.order(1, b"large.mpg"));
    let Said::Failed { blame: Blame::Destination, reason } = node.end_of(1).await else {
        panic!("it must fail for the destination's disk")
    };
    assert!(reason.contains("No space left"), "{reason}");
    let temp = destination.copies().join("temp.downloaded");
    assert_eq!(std::fs::read_dir(temp).unwrap().count(), 0);

    node.order(source.order(2, b"small.mpg"));
    assert!(matches!(node.end_of(2).await, Said::Done { .. }));
    assert_eq!(std::fs::read(destination.copies().join("small.mpg")).unwrap(), small);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}
