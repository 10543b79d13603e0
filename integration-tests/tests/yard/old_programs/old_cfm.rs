//! Real worker processes with an old cfm: they copy, and report `done` only for copies
//! in place.

use reelyard_integration_tests::fakes::worker_fake_cfm::{FakeCfm, Planned};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_until_up};

fn task(ground: &ProcessYard, name: &str) -> Planned {
    Planned {
        status: "ready".to_owned(),
        source: ground.source(0).into(),
        destination: ground.destination(0).to_string(),
        file_path: ground.path("masters").join(name).display().to_string(),
        file_name: name.to_owned(),
    }
}

#[actix::test]
async fn a_worker_does_cfms_tasks_and_reports_no_failed_copy_as_done() {
    let (ground, cfm) = (ProcessYard::new(1, 1).unwrap(), FakeCfm::start());
    let bytes = ground.master(b"a#b<&>.mpg", 300_000).unwrap();
    let node = cfm.url.trim_start_matches("http://").to_owned();
    let settings = [("node", node.as_str()), ("poll_interval", "50ms")];
    cfm.plan(1, task(&ground, "a#b<&>.mpg"));
    cfm.plan(2, task(&ground, "absent.mpg"));
    cfm.plan(3, Planned { destination: "127.0.0.1:1".to_owned(), ..task(&ground, "other's") });
    let source = ground.start_source(0, &[]).unwrap();
    // A cfm tries a task once: a source that is not up yet would end it.
    wait_until_up(ground.source(0), &source).unwrap();
    let mut destination = ground.start_destination(0, &settings).unwrap();

    eventually("the copy done", || cfm.status(1).as_deref() == Some("done")).await;
    eventually("the other given up", || cfm.status(2).as_deref() == Some("timeout")).await;
    assert!(holds(&ground.copies(0).join("a#b<&>.mpg"), &bytes));
    assert!(!ground.copies(0).join("absent.mpg").exists());
    assert_eq!(cfm.status(3).as_deref(), Some("ready"), "it is another host's");
    assert!(!cfm.patches().contains(&(2, "done".to_owned())), "{}", destination.log_text());

    // A task in progress at the death of the worker is resumed, and does not stay `working`.
    let late = ground.master(b"late.mpg", 300_000).unwrap();
    destination.kill();
    cfm.plan(4, Planned { status: "working".to_owned(), ..task(&ground, "late.mpg") });
    destination.start_again().unwrap();
    eventually("the late copy done", || cfm.status(4).as_deref() == Some("done")).await;
    assert!(holds(&ground.copies(0).join("late.mpg"), &late));
    cfm.stop().await;
}
