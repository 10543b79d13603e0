//! Failed copies: the blamed side, and the removal of all remains.

use std::time::{Duration, Instant};

use reelyard_core::host::BitsPerSecond;
use reelyard_core::names::FileName;
use reelyard_integration_tests::fakes::worker_fake_source::{self, SourceTrouble};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::worker::{Blame, ReportedState, TaskId, TaskOrder};

fn left_behind(rig: &Rig) -> usize {
    let count = |dir| std::fs::read_dir(dir).unwrap().count();
    // The directory of temporary files always exists.
    count(rig.copies()) - 1 + count(rig.copies().join("temp.downloaded"))
}

/// Makes a worker fetch from a source with `trouble` and returns its report.
async fn end_with(trouble: SourceTrouble) -> (Blame, String) {
    let (destination, node) = (Rig::new(), FakeNode::start());
    let mut settings = destination.destination(&node.url);
    if trouble == SourceTrouble::FallsSilent {
        settings.source_timeouts.silence = Duration::from_secs(3);
    }
    settings.resume.pause = Duration::from_millis(1);
    let fetching = started(settings).await;
    let mut order = destination.order(1, b"E.mpg");
    order.source_data = Some(worker_fake_source::start(trouble));
    node.order(order);
    let end = node.end_of(1).await;
    assert_eq!(left_behind(&destination), 0, "{trouble:?}");
    fetching.stop().await;
    node.stop().await;
    match end {
        ReportedState::Failed { blame, reason } => (blame, reason),
        other => panic!("{trouble:?} ended as {other:?}"),
    }
}

#[actix::test]
async fn a_source_that_misbehaves_is_blamed_for_it() {
    for (trouble, blamed, why) in [
        (SourceTrouble::WrongHash, Blame::Pair, "the copy differs from the master"),
        (SourceTrouble::BreaksOff, Blame::Source, "after 50000 of 100000 bytes"),
        (
            SourceTrouble::CannotRead,
            Blame::File,
            "cannot read the master after byte 50000 of 100000",
        ),
        (SourceTrouble::FallsSilent, Blame::Source, "no data arrived within the time limit"),
        (SourceTrouble::FileChanges, Blame::File, "changed while it was copied"),
        (SourceTrouble::Errs, Blame::Source, "500 for the master: disk on fire"),
        (SourceTrouble::NoLength, Blame::Source, "has no Content-Length"),
        (SourceTrouble::Babbles, Blame::Source, "is not valid HTTP"),
    ] {
        let (blame, reason) = end_with(trouble).await;
        assert_eq!(blame, blamed, "{trouble:?}: {reason}");
        assert!(reason.contains(why), "{trouble:?}: {reason}");
    }
}

/// Makes a worker fetch `name` in `dir` from a healthy source.
async fn end_of_fetching(dir: &str, name: &[u8], prepare: impl Fn(&Rig)) -> ReportedState {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    prepare(&source);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;
    let dir = dir.replace("DATA", &source.data().display().to_string());
    let name = FileName::new(name).unwrap();
    node.order(TaskOrder { dir, name, ..source.order(1, b"x") });
    let end = node.end_of(1).await;
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
    end
}

#[actix::test]
async fn a_missing_master_or_a_directory_blames_the_file() {
    for (dir, name) in [("DATA", "absent"), ("DATA", "dir"), ("DATA", "link")] {
        let end = end_of_fetching(dir, name.as_bytes(), |source| {
            std::fs::create_dir(source.data().join("dir")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", source.data().join("link")).unwrap();
        })
        .await;
        assert!(
            matches!(end, ReportedState::Failed { blame: Blame::File, .. }),
            "{dir}/{name}: {end:?}"
        );
    }
}

#[actix::test]
async fn a_source_without_its_directory_is_blamed_and_no_file() {
    for (dir, name) in [("DATA/dir", "y"), ("/etc", "passwd"), ("DATA/..", "secret")] {
        let end = end_of_fetching(dir, name.as_bytes(), |source| {
            std::fs::create_dir(source.data().join("dir")).unwrap();
            std::fs::write(source.data().join("dir/y"), b"y").unwrap();
            std::fs::write(source.place.path().join("secret"), b"s").unwrap();
        })
        .await;
        let ReportedState::Failed { blame: Blame::Source, reason } = end else { panic!("{end:?}") };
        assert!(reason.contains("no source directory of this worker"), "{reason}");
    }
    let end = end_of_fetching("DATA", b"E.mpg", |_| {}).await;
    let ReportedState::Failed { blame: Blame::Source, reason } = end else { panic!("{end:?}") };
    assert!(reason.contains("is its file system mounted?"), "{reason}");
}

#[actix::test]
async fn a_source_that_is_busy_is_asked_again_and_blamed_for_nothing() {
    let (destination, node) = (Rig::new(), FakeNode::start());
    let fetching = started(destination.destination(&node.url)).await;
    let mut order = destination.order(1, b"E.mpg");
    order.source_data = Some(worker_fake_source::start(SourceTrouble::BusyAtFirst));
    node.order(order);
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { size: 100_000, .. }), "{end:?}");
    fetching.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_name_that_is_a_directory_here_is_the_files_own_fault() {
    let end = end_of_fetching("DATA", b"temp.downloaded", |source| {
        source.master(b"temp.downloaded", 10);
    })
    .await;
    assert!(matches!(end, ReportedState::Failed { blame: Blame::File, .. }), "{end:?}");
}

#[actix::test]
async fn a_source_whose_masters_are_not_mounted_is_blamed() {
    let end = end_of_fetching("DATA", b"E.mpg", |source| {
        std::fs::remove_dir(source.data()).unwrap();
    })
    .await;
    let ReportedState::Failed { blame: Blame::Source, reason } = end else { panic!("{end:?}") };
    assert!(reason.contains("source directory cannot be opened"), "{reason}");
}

#[actix::test]
async fn a_source_that_is_not_there_is_blamed() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let fetching = started(destination.destination(&node.url)).await;
    node.order(source.order(1, b"x"));
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Failed { blame: Blame::Source, .. }), "{end:?}");
    fetching.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_disk_over_its_limit_takes_nothing() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 10);
    let disk = tempfile_disk_percent(&destination);
    let mut settings = destination.destination(&node.url);
    settings.storage_limit_percent = disk - 1;
    let fetching = started(settings).await;
    node.order(source.order(1, b"E.mpg"));
    let ReportedState::Failed { blame: Blame::Destination, reason } = node.end_of(1).await else {
        panic!("it must fail for the destination's disk")
    };
    assert!(reason.contains("over the limit"), "{reason}");
    fetching.stop().await;
    node.stop().await;
}

/// The use of the disk with the copies in percent; at least 1, so that a test can set a lower limit.
fn tempfile_disk_percent(rig: &Rig) -> u32 {
    let base = reelyard_worker::downloader::disk::base_dir::BaseDir::open(&rig.copies()).unwrap();
    let percent = base.disk().unwrap().used_percent;
    assert!(percent > 0, "this test needs a disk that is not empty");
    percent
}

#[actix::test]
async fn a_withdrawn_task_ends_at_once_and_leaves_nothing() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 10_000_000);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;
    node.order(TaskOrder {
        // Nearly three hours.
        copy_speed: Some(BitsPerSecond(8_000)),
        ..source.order(1, b"E.mpg")
    });
    let progress = || {
        node.reports()
            .iter()
            .any(|r| matches!(r.state, ReportedState::Progress { bytes } if bytes > 0))
    };
    eventually("progress", progress).await;
    node.withdraw(1);
    let given_up = || fetching.view().downloads.unwrap().counters.given_up == 1;
    eventually("the copy given up", given_up).await;
    assert_eq!(left_behind(&destination), 0);
    assert!(!node.reports().iter().any(|report| report.is_end()));
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn copy_speed_is_kept() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 600_000);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;
    let began = Instant::now();
    let copy_speed = Some(BitsPerSecond(4_000_000));
    node.order(TaskOrder { copy_speed, ..source.order(1, b"E.mpg") });
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");
    // 4.8 Mbit at 4 Mbit/s, less the burst of a tenth of a second.
    assert!(began.elapsed() >= Duration::from_millis(1100), "{:?}", began.elapsed());
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

#[actix::test]
async fn a_deposed_leader_orders_nothing() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    source.master(b"E.mpg", 10);
    let serving = started(source.source()).await;
    let fetching = started(destination.destination(&node.url)).await;
    node.lead_in(7);
    node.order(source.order(1, b"E.mpg"));
    node.end_of(1).await;
    node.lead_in(6);
    node.order(source.order(2, b"E.mpg"));
    let refused = || {
        fetching.view().node.unwrap().error.is_some_and(|e| e.contains("epoch 6 is out of date"))
    };
    eventually("the old leader refused", refused).await;
    assert!(!node.reports().iter().any(|report| report.task == TaskId(2)));
    assert_eq!(fetching.view().epoch.0, 7);
    node.lead_in(8);
    node.end_of(2).await;
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}
