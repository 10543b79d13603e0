//! A copy from one worker to another, over real sockets and disks, as a node orders it.

use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, os_name, started};
use reelyard_protocol::worker::{ContentHash, ReportedState};

#[actix::test]
async fn a_master_arrives_verified_and_is_reported() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let contents = source.master(b"E.mpg", 5_000_000);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;

    node.order(source.order(1, b"E.mpg"));

    let hash = ContentHash(*blake3::hash(&contents).as_bytes());
    assert_eq!(node.end_of(1).await, ReportedState::Done { size: 5_000_000, hash });
    assert_eq!(std::fs::read(destination.copies().join("E.mpg")).unwrap(), contents);
    assert_eq!(node.reports()[0].state, ReportedState::Working);
    let temp = destination.copies().join("temp.downloaded");
    assert_eq!(std::fs::read_dir(temp).unwrap().count(), 0);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn hostile_names_arrive_exactly_as_named() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let longest = [b'x'; 255];
    let names: Vec<&[u8]> = vec![
        b"a#b.mpg",
        b"c?d.mpg",
        b"%411.mpg",
        b" sp ace .mpg",
        b"\xff\xfe.mpg",
        b"line\nfeed.mpg",
        b"&<>\"'.mpg",
        "\u{c0ac}\u{b791}.mpg".as_bytes(),
        b"-rf",
        b"..mpg",
        &longest,
    ];
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;
    let mut contents = Vec::new();
    for (number, name) in names.iter().enumerate() {
        contents.push(source.master(name, 1000 + number));
        node.order(source.order(number as i64, name));
    }
    for (number, name) in names.iter().enumerate() {
        let end = node.end_of(number as i64).await;
        assert!(matches!(end, ReportedState::Done { .. }), "{name:?}: {end:?}");
        let copy = std::fs::read(destination.copies().join(os_name(name))).unwrap();
        assert!(copy == contents[number], "{name:?}");
    }
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn the_next_node_is_asked_when_one_is_gone() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 1000);
    let serving = started(source.source()).await;
    let mut settings = destination.destination("127.0.0.1:1");
    settings.nodes.push(node.url.parse().unwrap());
    let fetching = started(settings).await;
    node.order(source.order(1, b"E.mpg"));
    assert!(matches!(node.end_of(1).await, ReportedState::Done { .. }));
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_host_may_be_both_source_and_destination() {
    let (one, other, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let both = |rig: &Rig| {
        let mut settings = rig.destination(&node.url);
        settings.source_dirs = vec![rig.data()];
        settings
    };
    let contents = one.master(b"E.mpg", 100_000);
    let (first, second) = (started(both(&one)).await, started(both(&other)).await);
    // The stand-in sends all orders to all workers: both fetch the file, one from itself.
    node.order(one.order(1, b"E.mpg"));
    assert!(matches!(node.end_of(1).await, ReportedState::Done { .. }));
    let copies = [one.copies().join("E.mpg"), other.copies().join("E.mpg")];
    assert!(copies.iter().any(|copy| std::fs::read(copy).is_ok_and(|read| read == contents)));
    first.stop().await;
    second.stop().await;
    node.stop().await;
}
