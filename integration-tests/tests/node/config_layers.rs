//! Settings of a real process: where they come from, and how wrong ones are refused.

use std::fs;

use reelyard_integration_tests::binary::{Ended, ended, reelyard, run};

fn value<'a>(shown: &'a Ended, key: &str) -> &'a str {
    let line = shown.out.lines().find(|line| line.starts_with(&format!("{key} = ")));
    line.unwrap_or_else(|| panic!("{key} is not shown:\n{}{}", shown.out, shown.err))
}

#[test]
fn the_shipped_files_are_what_the_program_prints() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for role in ["node", "worker"] {
        let shipped = fs::read_to_string(format!("{root}/config/{role}.toml")).unwrap();
        assert_eq!(run(&["config", "default", role]).out, shipped, "config/{role}.toml");
    }
    let node = format!("{root}/config/node.toml");
    assert_eq!(run(&["config", "check", "node", "--config", &node]).code, Some(0));
}

#[test]
fn an_argument_goes_before_the_environment_and_that_before_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.toml");
    fs::write(&file, "node_id = 2\n[task]\ntimeout = \"2h\"\npickup_timeout = \"1m\"\n").unwrap();
    let shown = ended(
        reelyard(&["config", "show", "--set", "task.timeout=4h"])
            .env("REELYARD_CONFIG", &file)
            .env("REELYARD_TASK__TIMEOUT", "3h")
            .env("REELYARD_TASK__PICKUP_TIMEOUT", "3m"),
    );
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(value(&shown, "node_id").ends_with(&format!("# {}:1", file.display())));
    assert!(value(&shown, "task.timeout").starts_with("task.timeout = \"4h\""));
    assert!(value(&shown, "task.timeout").ends_with("# --set task.timeout"));
    assert!(value(&shown, "task.pickup_timeout").starts_with("task.pickup_timeout = \"3m\""));
    assert!(value(&shown, "task.pickup_timeout").ends_with("# REELYARD_TASK__PICKUP_TIMEOUT"));
    assert_eq!(value(&shown, "listen"), "listen = \"127.0.0.1:8080\"");
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shown.toml");
    let hosts = "hosts.sources=10.0.0.1:8888,10.0.0.2:8888";
    let shown = run(&["config", "show", "--set", hosts, "--set", "task.copy_speed=8Mbit/s"]);
    fs::write(&file, &shown.out).unwrap();
    let again = run(&["config", "show", "--config", file.to_str().unwrap()]);
    for key in ["hosts.sources", "task.copy_speed", "event_log.window"] {
        let setting =
            |ended: &Ended| value(ended, key).split('#').next().unwrap().trim().to_owned();
        assert_eq!(setting(&again), setting(&shown));
    }
}

#[test]
fn every_fault_is_listed_with_its_place_and_the_code_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.toml");
    fs::write(&file, "listen = 8080\n[heartbeat]\nintervall = \"5s\"\ndown_after = 0\n").unwrap();
    let ended = ended(
        reelyard(&["config", "check", "--set", "storage.limit_percent=200", "--set", "x=1"])
            .args(["--config", file.to_str().unwrap()])
            .env("REELYARD_EVENT_LOG__TIME_ZONE", "Mars/Olympus"),
    );
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
    let shown = file.display();
    for place in [
        format!("{shown}:1: listen: "),
        format!("{shown}:3: heartbeat.intervall: is no setting; did you mean heartbeat.interval?"),
        format!("{shown}:4: heartbeat.down_after: "),
        "REELYARD_EVENT_LOG__TIME_ZONE: event_log.time_zone: ".to_owned(),
        "--set storage.limit_percent: ".to_owned(),
        "--set x: is no setting".to_owned(),
        "the configuration has 6 faults:".to_owned(),
    ] {
        assert!(ended.err.contains(&place), "{place} is not in:\n{}", ended.err);
    }
}

#[test]
fn a_file_that_is_missing_or_broken_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.toml");
    let path = file.to_str().unwrap();
    let missing = run(&["config", "check", "--config", path]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("cannot be read"), "{}", missing.err);
    fs::write(&file, "listen = \"127.0.0.1:1\"\nnode_id = \n").unwrap();
    let broken = run(&["config", "check", "--config", path]);
    assert_eq!(broken.code, Some(2));
    assert!(broken.err.contains(&format!("{path}:2: is not TOML")), "{}", broken.err);
    fs::write(&file, b"listen = \"\xff\"\n").unwrap();
    assert!(run(&["config", "check", "--config", path]).err.contains("is not UTF-8"));
}

#[test]
fn a_token_is_shown_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "open-sesame-open-now\n").unwrap();
    let from_file = format!("token_file={}", token.display());
    for arguments in [
        &["config", "show", "--set", "token=open-sesame-open-now"][..],
        &["config", "show", "--json", "--set", "token=open-sesame-open-now"],
        &["config", "show", "--set", &from_file],
        &["config", "show", "--set", "token=open-sesame-open-now", "--set", &from_file],
        &["config", "show", "--set", "token=open-sesame-open-now\u{1}"],
    ] {
        let ended = run(arguments);
        assert!(!format!("{ended:?}").contains("sesame"), "{arguments:?}: {ended:?}");
    }
}
