//! The limits of a destination, and the files that it removes.

use std::time::{Duration, SystemTime};

use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::http_client::without_tls;
use reelyard_protocol::worker::{Blame, ReportedState};
use reelyard_worker::downloader::disk::room::Capacity;

const MIB: usize = 1 << 20;

async fn df(rig: &Rig) -> serde_json::Value {
    let answer =
        without_tls().build().unwrap().get(format!("http://{}/df", rig.host)).send().await.unwrap();
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
}

#[actix::test]
async fn a_quota_is_a_disk_of_that_size_and_never_overbooked() {
    let (source, rig, node) = (Rig::new(), Rig::new(), FakeNode::start());
    std::fs::write(rig.copies().join("old.mpg"), vec![0; MIB]).unwrap();
    for name in [b"1.mpg", b"2.mpg", b"3.mpg"] {
        source.master(name, 3 * MIB);
    }
    let serving = started(source.source()).await;
    let mut settings = rig.destination(&node.url);
    settings.capacity = Capacity::Quota(8 * MIB as u64);
    let fetching = started(settings).await;
    let disk = df(&rig).await;
    assert_eq!(disk["total_size"], "8388608");
    assert_eq!(disk["used_size"], "1048576");
    assert_eq!(disk["used_percent"], 13);

    // All orders at once: there is space for two.
    for (id, name) in [(1, b"1.mpg"), (2, b"2.mpg"), (3, b"3.mpg")] {
        node.order(source.order(id, name));
    }
    let mut done = 0;
    for id in 1..=3 {
        match node.end_of(id).await {
            ReportedState::Done { .. } => done += 1,
            ReportedState::Failed { blame: Blame::Destination, reason } => {
                assert!(reason.contains("has room for"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(done, 2);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn old_remains_of_cfw_are_removed_and_nothing_else() {
    let rig = Rig::new();
    let temp = rig.copies().join("temp.downloaded");
    std::fs::create_dir(&temp).unwrap();
    let old = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    let age = |path| std::fs::File::options().write(true).open(path).unwrap().set_modified(old);
    for name in ["old.mpg.1700000000000000000", "new.mpg.1700000000000000001"] {
        std::fs::write(temp.join(name), b"part").unwrap();
    }
    std::fs::write(rig.copies().join("copy.mpg"), b"copy").unwrap();
    age(temp.join("old.mpg.1700000000000000000")).unwrap();
    age(rig.copies().join("copy.mpg")).unwrap();
    let mut settings = rig.destination("127.0.0.1:1");
    settings.nodes.clear();

    let worker = started(settings).await;
    assert!(!temp.join("old.mpg.1700000000000000000").exists());
    assert!(temp.join("new.mpg.1700000000000000001").exists());
    assert!(rig.copies().join("copy.mpg").exists());
    worker.stop().await;
}
