//! Copies from old cfws as sources with cfw's own external program. It uses real processes, and a
//! whole process group ends with its copy.

use std::path::PathBuf;
use std::time::Duration;

use reelyard::worker::{ExternalSettings, Worker, WorkerSettings};
use reelyard_core::host::BitsPerSecond;
use reelyard_core::settings::SettingValue;
use reelyard_integration_tests::fakes::external_program::{COPIES, is_alive, pid_in, script};
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::fakes::worker_fake_cfm::{FakeCfm, Planned};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::worker::{Blame, ContentHash, ReportedState, TaskOrder};
use reelyard_worker::downloader::settings::{ExternalDownloaderConfig, Pattern};

/// Starts two processes that ignore SIGTERM, one of them in its own session, and hangs.
const HANGS: &str = r#"
trap '' TERM
sh -c 'trap "" TERM; echo $$ > "$0/child"; while :; do sleep 600; done' "$DIR" &
setsid sh -c 'trap "" TERM; echo $$ > "$0/stray"; while :; do sleep 600; done' "$DIR" &
echo part > "$2"
echo "it begins" >&2
echo $$ > "$DIR/leader"
while :; do sleep 600; done
"#;

/// A yard of an old source, a Reelyard destination with a program, and a stand-in for the node.
struct ExternalDownloaderYard {
    source: Rig,
    destination: Rig,
    cfw: StandInCfw,
    node: FakeNode,
}

impl ExternalDownloaderYard {
    fn new() -> Self {
        let source = Rig::new();
        let cfw = StandInCfw::start(&source.data()).unwrap();
        ExternalDownloaderYard { source, destination: Rig::new(), cfw, node: FakeNode::start() }
    }

    fn program(&self, body: &str) -> ExternalSettings {
        let program = script(self.destination.place.path(), body);
        let config = ExternalDownloaderConfig {
            program: Some(program),
            success_pattern: Pattern::from_text("Success(fully)?").unwrap(),
            stop_grace: Duration::from_millis(100),
            ..ExternalDownloaderConfig::default()
        };
        ExternalSettings::of(&config).unwrap()
    }

    fn settings(&self, external: Option<ExternalSettings>) -> WorkerSettings {
        WorkerSettings { external, ..self.destination.destination(&self.node.url) }
    }

    async fn worker(&self, body: &str) -> Worker {
        started(self.settings(Some(self.program(body)))).await
    }

    fn order(&self, id: i64, name: &[u8]) -> TaskOrder {
        let copy_speed = Some(BitsPerSecond(80_000_000));
        TaskOrder { source: self.cfw.addr(), copy_speed, ..self.source.order(id, name) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.destination.place.path().join(name)
    }

    fn temp_is_empty(&self) -> bool {
        let temp = self.destination.copies().join("temp.downloaded");
        std::fs::read_dir(temp).unwrap().next().is_none()
    }

    /// Waits until the program and its processes run. Returns a check whether any still runs.
    async fn running(&self) -> impl Fn() -> bool + use<> {
        let mut pids = Vec::new();
        for name in ["leader", "child", "stray"] {
            let path = self.file(name);
            eventually("the program runs", || pid_in(&path).is_some()).await;
            pids.push(pid_in(&path).unwrap());
        }
        assert!(pids.iter().all(|pid| is_alive(*pid)));
        move || pids.iter().any(|pid| is_alive(*pid))
    }
}

#[actix::test]
async fn a_program_gets_cfws_arguments_and_its_copy_is_not_verified() {
    let old = ExternalDownloaderYard::new();
    let contents = old.source.master(b"a b#\xff.mpg", 300_000);
    let body = format!("printf '%s\\n' \"$#\" \"$1\" \"$2\" \"$4\" > \"$DIR/called\"\n{COPIES}");
    let worker = old.worker(&body).await;
    old.node.order(old.order(7, b"a b#\xff.mpg"));

    let hash = ContentHash(*blake3::hash(&contents).as_bytes());
    assert_eq!(old.node.end_of(7).await, ReportedState::DoneUnverified { size: 300_000, hash });
    let copy = old.destination.order(7, b"a b#\xff.mpg").name;
    let copy =
        reelyard_integration_tests::rigs::worker::worker_rig::os_name(copy.as_bytes()).to_owned();
    assert_eq!(std::fs::read(old.destination.copies().join(copy)).unwrap(), contents);
    let temp = old.destination.copies().canonicalize().unwrap().join("temp.downloaded/7");
    let called = std::fs::read_to_string(old.file("called")).unwrap();
    let ip = old.cfw.addr().ip();
    assert_eq!(called, format!("4\n{ip}\n{}\n80000000\n", temp.display()));
    assert!(old.temp_is_empty());
    assert_eq!(worker.view().downloads.unwrap().counters.done, 1);
    worker.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn every_failure_of_a_program_is_reported_and_its_remains_are_removed() {
    let cases = [
        (
            "echo half > \"$2\"; echo 'cannot open /data2' >&2; exit 3",
            Blame::Pair,
            "exit status: 3",
        ),
        ("cp \"$3\" \"$2\"; echo Successfully", Blame::Pair, "did not write"),
        ("echo Successfully >&2", Blame::Pair, "left no file"),
        ("ln -s \"$3\" \"$2\"; echo Successfully >&2", Blame::Destination, "disk"),
        ("head -c 5 \"$3\" > \"$2\"; echo Successfully >&2", Blame::File, "5 bytes"),
        ("echo x > \"$2\"; kill -9 $$", Blame::Pair, "SIGKILL"),
    ];
    let old = ExternalDownloaderYard::new();
    let body: String = (1..)
        .zip(cases)
        .map(|(id, (body, ..))| format!("case \"$2\" in */{id}) {body};; esac\n"))
        .collect();
    let worker = old.worker(&body).await;
    for (id, (body, blamed, words)) in (1..).zip(cases) {
        old.source.master(b"E.mpg", 1000);
        old.node.order(old.order(id, b"E.mpg"));
        let ReportedState::Failed { blame, reason } = old.node.end_of(id).await else {
            panic!("{body}")
        };
        assert_eq!(blame, blamed, "{body}: {reason}");
        assert!(reason.contains(words), "{body}: {reason}");
    }
    let first = old.node.end_of(1).await;
    assert!(
        matches!(first, ReportedState::Failed { reason, .. } if reason.contains("cannot open /data2"))
    );
    assert!(old.temp_is_empty());
    assert!(!old.destination.copies().join("E.mpg").exists());
    worker.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn nothing_of_a_program_that_hangs_outlives_its_time_out() {
    let old = ExternalDownloaderYard::new();
    old.source.master(b"E.mpg", 1000);
    // Long enough for a slow machine to start three shells.
    let program = ExternalSettings { timeout: Duration::from_secs(10), ..old.program(HANGS) };
    let worker = started(old.settings(Some(program))).await;
    old.node.order(old.order(1, b"E.mpg"));
    let any_lives = old.running().await;
    let ReportedState::Failed { blame, reason } = old.node.end_of(1).await else {
        panic!("it hangs")
    };
    assert_eq!(blame, Blame::Pair);
    assert!(reason.contains("did not end within 10s"), "{reason}");
    assert!(!any_lives());
    assert!(old.temp_is_empty());
    worker.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn a_program_ends_with_its_order_and_with_its_worker() {
    let old = ExternalDownloaderYard::new();
    old.source.master(b"E.mpg", 1000);
    let worker = old.worker(HANGS).await;
    old.node.order(old.order(1, b"E.mpg"));
    let any_lives = old.running().await;
    old.node.withdraw(1);
    eventually("it is given up", || worker.view().downloads.unwrap().counters.given_up == 1).await;
    assert!(!any_lives());
    assert!(old.temp_is_empty());

    for name in ["leader", "child", "stray"] {
        std::fs::remove_file(old.file(name)).unwrap();
    }
    old.node.order(old.order(2, b"E.mpg"));
    let any_lives = old.running().await;
    worker.stop().await;
    assert!(!any_lives());
    assert!(old.temp_is_empty());
    assert!(!old.node.reports().iter().any(|report| report.is_end()));
    old.node.stop().await;
}

#[actix::test]
async fn leftover_processes_of_a_program_are_not_waited_for() {
    let old = ExternalDownloaderYard::new();
    old.source.master(b"E.mpg", 1000);
    let body = format!("sleep 600 & echo $! > \"$DIR/child\"\n{COPIES}");
    let worker = old.worker(&body).await;
    old.node.order(old.order(1, b"E.mpg"));
    assert!(matches!(old.node.end_of(1).await, ReportedState::DoneUnverified { size: 1000, .. }));
    assert!(!is_alive(pid_in(&old.file("child")).unwrap()));
    worker.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn growth_of_the_file_is_progress() {
    let old = ExternalDownloaderYard::new();
    old.source.master(b"E.mpg", 1000);
    let body = format!(
        "head -c 500 \"$3\" > \"$2\"\nwhile [ ! -e \"$DIR/go\" ]; do sleep 0.05; done\n{COPIES}"
    );
    let worker = old.worker(&body).await;
    old.node.order(old.order(1, b"E.mpg"));
    let progress = |report: &reelyard_protocol::worker::Report| {
        report.state == ReportedState::Progress { bytes: 500 }
    };
    eventually("progress", || old.node.reports().iter().any(progress)).await;
    std::fs::write(old.file("go"), "").unwrap();
    assert!(matches!(old.node.end_of(1).await, ReportedState::DoneUnverified { .. }));
    worker.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn without_a_program_an_old_source_is_refused_with_the_reason() {
    let old = ExternalDownloaderYard::new();
    old.source.master(b"E.mpg", 1000);
    let worker = started(old.settings(None)).await;
    old.node.order(old.order(1, b"E.mpg"));
    let ReportedState::Failed { blame, reason } = old.node.end_of(1).await else {
        panic!("no program")
    };
    assert_eq!(blame, Blame::Pair);
    assert!(reason.contains("external_downloader.program"), "{reason}");
    worker.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn a_task_of_an_old_cfm_with_an_old_source_is_done() {
    let old = ExternalDownloaderYard::new();
    let cfm = FakeCfm::start();
    let contents = old.source.master(b"E.mpg", 100_000);
    let task = Planned {
        status: "ready".into(),
        source: old.cfw.addr(),
        destination: old.destination.host.to_string(),
        file_path: format!("{}/E.mpg", old.source.data().display()),
        file_name: "E.mpg".into(),
    };
    cfm.plan(1, task.clone());
    cfm.plan(2, Planned { file_path: "/nowhere/E.mpg".into(), ..task });
    let external = Some(old.program(&format!("echo \"$4\" > \"$DIR/bps\"\n{COPIES}")));
    let settings = WorkerSettings { external, ..old.destination.destination(&cfm.url) };
    let worker = started(settings).await;
    eventually("done", || cfm.status(1).as_deref() == Some("done")).await;
    eventually("failed", || cfm.status(2).as_deref() == Some("timeout")).await;
    assert_eq!(std::fs::read(old.destination.copies().join("E.mpg")).unwrap(), contents);
    assert_eq!(std::fs::read_to_string(old.file("bps")).unwrap(), "80000000\n");
    worker.stop().await;
    cfm.stop().await;
    old.node.stop().await;
}

#[actix::test]
async fn a_program_that_preallocates_its_file_shows_signs_of_life() {
    let old = ExternalDownloaderYard::new();
    old.source.master(b"E.mpg", 10);
    let body = "printf 0123456789 > \"$2\"\nwhile [ ! -e \"$DIR/go\" ]; do sleep 0.01; done\n\
        echo Success >&2";
    let worker = old.worker(body).await;
    old.node.order(old.order(1, b"E.mpg"));
    let reports = || {
        let reports = old.node.reports();
        reports.iter().filter(|one| one.state == ReportedState::Progress { bytes: 10 }).count()
    };
    eventually("full progress is reported twice", || reports() >= 2).await;
    std::fs::write(old.file("go"), b"").unwrap();
    let end = old.node.end_of(1).await;
    assert!(matches!(end, ReportedState::DoneUnverified { size: 10, .. }), "{end:?}");
    worker.stop().await;
}
