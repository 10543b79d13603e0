//! Old configurations with every key of the old programs become valid Reelyard configurations.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use tempfile::TempDir;

/// Every key of the last cfm version.
const CFM: &str = r#"
log_dir: log
log_level: report
listen_addr: 127.0.0.1:7888
enable_coredump: true
source_dirs:
  - /data2
  - /data3
grade_info_file: /castis/.grade.info
hitcount_history_file: /castis/.hitcount.history
watch_dir: /castis/log/lb
watch_ip_string: 125.159.40.3
watch_term_min: 10
watch_hit_base: 5
ignore:
  prefixes: [M64, MN1]
servers:
  sources:
    - 127.0.0.11:28888
    - 127.0.0.12:28888
  destinations:
    - 127.0.0.21:28888
    - 127.0.0.22:28888
    - 127.0.0.21:28888
    - localhost:28888
    - das3
  heartbeat_timeout_sec: 4
  heartbeat_interval_sec: 20
remover:
  storage_usage_limit_percent: 85
  remover_sleep_sec: 30
tasker:
  task_timeout_sec: 1800
  task_copy_speed_bps: "80000000"
  tasker_sleep_sec: 60
watcher:
  fire_initial_event: true
  event_timeout_sec: 3600
  poll_interval_sec: 60
runner:
  between_events_run_interval_sec: 60
  periodic_run_interval_sec: 0
  setup_runs:
    eventRuns: [makeFmm, makeRisingHit, runRemover, runTasker]
    eventTimeoutRuns: [makeFmm]
    betweenEventsRuns: []
    periodicRuns: []
"#;

struct ImportRun {
    _dir: TempDir,
    ended: ProgramOutput,
    ours: PathBuf,
}

fn import(name: &str, text: &str) -> ImportRun {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join(name);
    fs::write(&old, text).unwrap();
    let ended = run(&["config", "import", old.to_str().unwrap()]);
    let ours = dir.path().join("ours.toml");
    fs::write(&ours, &ended.out).unwrap();
    ImportRun { _dir: dir, ended, ours }
}

fn assert_shown(shown: &ProgramOutput, settings: &[&str]) {
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for setting in settings {
        let is_it = |line: &str| line.split('#').next().unwrap_or_default().trim_end() == *setting;
        assert!(shown.out.lines().any(is_it), "{setting} is not in:\n{}", shown.out);
    }
}

#[test]
fn a_complete_cfm_yml_loads_as_a_node() {
    let imported = import("cfm.yml", CFM);
    assert_eq!(imported.ended.code, Some(0), "{}", imported.ended.err);
    let shown = run(&["config", "show", "node", "--config", imported.ours.to_str().unwrap()]);
    assert_shown(
        &shown,
        &[
            r#"listen = "127.0.0.1:7888""#,
            r#"source_dirs = ["/data2", "/data3"]"#,
            r#"catalog.grade_info_file = "/castis/.grade.info""#,
            r#"catalog.hitcount_history_file = "/castis/.hitcount.history""#,
            r#"event_log.dir = "/castis/log/lb""#,
            r#"event_log.watch_address = "125.159.40.3""#,
            r#"event_log.window = "10m""#,
            "event_log.hit_base = 5",
            r#"ignore.prefixes = ["M64", "MN1"]"#,
            r#"hosts.sources = ["127.0.0.11:28888", "127.0.0.12:28888"]"#,
            r#"hosts.destinations = ["127.0.0.21:28888", "127.0.0.22:28888", "127.0.0.1:28888"]"#,
            r#"heartbeat.timeout = "4s""#,
            r#"heartbeat.interval = "20s""#,
            "storage.limit_percent = 85",
            r#"task.timeout = "30m""#,
            r#"task.copy_speed = "80Mbit/s""#,
            r#"log.level = "info,openraft=error,openraft::replication=off,actix_server=warn""#,
            r#"task.placement = "ring""#,
            r#"remover.keep = "cfm""#,
            r#"task.mode = "on""#,
            r#"remover.mode = "on""#,
        ],
    );
}

#[test]
fn runs_that_cfm_was_not_to_make_are_switched_off() {
    let lists = |runs: &str| {
        let names = ["eventRuns", "eventTimeoutRuns", "betweenEventsRuns"];
        let lists = names.map(|name| format!("    {name}: [{runs}]\n")).concat();
        format!("runner:\n  setup_runs:\n{lists}    periodicRuns: [printFmm]\n")
    };
    for (runs, planning, removing) in [
        ("makeFmm, makeRisingHit, runTasker", "on", "off"),
        ("makeFmm, makeRisingHit, RUNREMOVER", "off", "on"),
        ("makeFmm", "off", "off"),
        ("runRemover, runTasker", "on", "on"),
        ("", "on", "on"),
    ] {
        let ImportRun { ended, ours, _dir } = import("cfm.yml", &lists(runs));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let shown = run(&["config", "show", "node", "--config", ours.to_str().unwrap()]);
        let modes =
            [format!("task.mode = \"{planning}\""), format!("remover.mode = \"{removing}\"")];
        assert_shown(&shown, &modes.each_ref().map(String::as_str));
        for (run, setting, mode) in
            [("runTasker", "task.mode", planning), ("runRemover", "remover.mode", removing)]
        {
            let message = format!("no list has {run}: kept as {setting} = \"off\"");
            assert_eq!(ended.err.contains(&message), mode == "off", "{runs}: {}", ended.err);
        }
    }
    // The default of a missing list contains both.
    let one = "runner:\n  setup_runs:\n    eventRuns: [makeFmm]\n    betweenEventsRuns: []\n";
    let ImportRun { ended, ours, _dir } = import("cfm.yml", one);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let shown = run(&["config", "show", "node", "--config", ours.to_str().unwrap()]);
    assert_shown(&shown, &["task.mode = \"on\"", "remover.mode = \"on\""]);
}

#[test]
fn several_centres_are_watched_as_a_list_or_a_pattern() {
    for (old, ours) in [
        ("125.159.40.3|125.159.40.4", r#"["125.159.40.3", "125.159.40.4"]"#),
        ("125.159.40.(3|4)", "{ pattern = \"125.159.40.(3|4)\" }"),
        (r"^125\.159\.40\.3$", r#""125.159.40.3""#),
    ] {
        let text = format!("watch_dir: /log\nwatch_ip_string: '{old}'\n");
        let imported = import("cfm.yml", &text);
        assert_eq!(imported.ended.code, Some(0), "{}", imported.ended.err);
        let file = imported.ours.to_str().unwrap();
        let shown = run(&["config", "show", "node", "--config", file]);
        assert_shown(&shown, &[&format!("event_log.watch_address = {ours}")]);
    }
    for lost in ["125.(3", "Server 125.* Selected"] {
        let text = format!("watch_dir: /log\nwatch_ip_string: '{lost}'\n");
        let ImportRun { ended, .. } = import("cfm.yml", &text);
        assert_eq!(ended.code, Some(1), "{lost}: {}", ended.out);
        assert!(ended.err.contains("event_log.dir is not set"), "{}", ended.err);
        assert!(!ended.out.contains("[event_log]"), "every request would count: {}", ended.out);
    }
}

#[test]
fn every_dropped_key_of_cfm_yml_is_reported_with_its_line() {
    let result = import("cfm.yml", CFM).ended.err;
    let meaningless: BTreeSet<&str> = result
        .lines()
        .filter(|line| line.contains(": obsolete: "))
        .filter_map(|line| line.split(": ").nth(1))
        .collect();
    let expected = BTreeSet::from([
        "log_dir",
        "enable_coredump",
        "remover.remover_sleep_sec",
        "tasker.tasker_sleep_sec",
        "watcher.fire_initial_event",
        "watcher.event_timeout_sec",
        "watcher.poll_interval_sec",
        "runner.between_events_run_interval_sec",
        "runner.periodic_run_interval_sec",
        "runner.setup_runs.eventruns",
        "runner.setup_runs.eventtimeoutruns",
        "runner.setup_runs.betweeneventsruns",
        "runner.setup_runs.periodicruns",
    ]);
    assert_eq!(meaningless, expected);
    for line in [
        "cfm.yml:2: log_dir: obsolete",
        "cfm.yml:3: log_level: translated",
        "cfm.yml:24: servers.destinations: left out: \"127.0.0.21:28888\" is listed twice",
        "cfm.yml:25: servers.destinations: translated: \"localhost:28888\" is kept as 127.0.0.1:28888",
        "cfm.yml:26: servers.destinations: left out: \"das3\" is not a host address",
    ] {
        assert!(result.contains(line), "{line} is not in:\n{result}");
    }
}

#[test]
fn a_complete_cfw_yml_loads_as_a_worker() {
    let base = tempfile::tempdir().unwrap();
    let base_dir = base.path().to_str().unwrap();
    let text = format!(
        "listen_addr: 127.0.0.21:28888\ncfm_addr: cfm.example.net:7888\nbase_dir: {base_dir}\n\
         downloader_bin: /bin/sh\ndownloader_sleep_sec: 7\n\
         storage_usage_limit_percent: 101\ndownloader_download_success_match_string: Succ.*ly\n\
         log_dir: log\nlog_level: critical\nenable_coredump: false\nif_name: eth0\n"
    );
    let imported = import("cfw.yml", &text);
    assert_eq!(imported.ended.code, Some(0), "{}", imported.ended.err);
    let shown = run(&["config", "show", "worker", "--config", imported.ours.to_str().unwrap()]);
    assert_shown(
        &shown,
        &[
            r#"listen = "127.0.0.21:28888""#,
            r#"node = "cfm.example.net:7888""#,
            &format!("base_dir = \"{base_dir}\""),
            r#"poll_interval = "7s""#,
            "storage.limit_percent = 100",
            r#"external_downloader.program = "/bin/sh""#,
            r#"external_downloader.success_pattern = "Succ.*ly""#,
            r#"log.level = "error,openraft::replication=off""#,
        ],
    );
    let result = imported.ended.err;
    for key in ["log_dir", "if_name"] {
        assert!(result.contains(&format!(": {key}: obsolete: ")), "{key}:\n{result}");
    }
}

#[test]
fn a_downloader_that_cannot_be_kept_is_reported() {
    let text = "downloader_bin: ./SampleNetIODownloader\n\
                downloader_download_success_match_string: '(Success'\n";
    let ImportRun { ended, .. } = import("cfw.yml", text);
    assert_eq!(ended.code, Some(1));
    assert!(!ended.out.contains("program"), "{}", ended.out);
    for bad in [
        "cfw.yml:1: downloader_bin: bad value: expected an absolute",
        "cfw.yml:2: downloader_downl",
    ] {
        assert!(ended.err.contains(bad), "{bad}:\n{}", ended.err);
    }
}

#[test]
fn an_import_with_a_loss_starts_nothing_until_it_is_accepted() {
    let text = "listen_addr: 127.0.0.1:7888\ntasker:\n  task_timeout_sec: soon\n";
    let ImportRun { ended, ours, _dir } = import("cfm.yml", text);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("# listen = \"127.0.0.1:7888\""), "{}", ended.out);
    assert!(ended.err.contains("cfm.yml:3: tasker.task_timeout_sec: bad value"), "{}", ended.err);
    assert!(ended.err.contains("--accept-loss"), "{}", ended.err);
    let started = run(&["config", "check", "--config", ours.to_str().unwrap()]);
    assert_eq!(started.code, Some(2), "{}", started.out);
    let old = ours.with_file_name("cfm.yml");
    let accepted = run(&["config", "import", "--accept-loss", old.to_str().unwrap()]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.err);
    assert!(accepted.out.contains("\nlisten = \"127.0.0.1:7888\""), "{}", accepted.out);
    assert!(accepted.err.contains("bad value"), "it is still reported: {}", accepted.err);
    // A host of cfm whose name cannot be resolved is an error.
    let lost = import("cfm.yml", "servers:\n  sources: [nowhere.invalid:8888]\n").ended;
    assert_eq!(lost.code, Some(1), "{}", lost.out);
    assert!(lost.err.contains("\"nowhere.invalid:8888\" cannot be resolved"), "{}", lost.err);
}

#[test]
fn a_file_without_an_old_configuration_is_refused() {
    let broken = import("cfm.yml", "listen_addr: [\n").ended;
    assert_eq!((broken.code, broken.out.as_str()), (Some(2), ""));
    assert!(broken.err.contains("is not YAML"), "{}", broken.err);
    let unnamed = import("old.yml", "listen_addr: 127.0.0.1:7888\n").ended;
    assert_eq!(unnamed.code, Some(2));
    assert!(unnamed.err.contains("--program cfm"), "{}", unnamed.err);
    assert_eq!(run(&["config", "import", "/nowhere/cfm.yml"]).code, Some(1));
}
