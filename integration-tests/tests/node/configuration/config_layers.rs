//! Settings of a real process: their sources, and the refusal of wrong ones.

use std::fs;

use reelyard_integration_tests::rigs::binary::{ProgramOutput, ended, reelyard, run};

fn value<'a>(shown: &'a ProgramOutput, key: &str) -> &'a str {
    let line = shown.out.lines().find(|line| line.starts_with(&format!("{key} = ")));
    line.unwrap_or_else(|| panic!("{key} is not shown:\n{}{}", shown.out, shown.err))
}

#[test]
fn the_shipped_files_match_the_output_of_the_program() {
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
fn displayed_settings_can_be_used_as_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shown.toml");
    let hosts = "hosts.sources=10.0.0.1:8888,10.0.0.2:8888";
    let shown = run(&["config", "show", "--set", hosts, "--set", "task.copy_speed=8Mbit/s"]);
    fs::write(&file, &shown.out).unwrap();
    let again = run(&["config", "show", "--config", file.to_str().unwrap()]);
    for key in ["hosts.sources", "task.copy_speed", "event_log.window"] {
        let setting =
            |ended: &ProgramOutput| value(ended, key).split('#').next().unwrap().trim().to_owned();
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
        format!(
            "{shown}:3: heartbeat.intervall: is not a setting; did you mean heartbeat.interval?"
        ),
        format!("{shown}:4: heartbeat.down_after: "),
        "REELYARD_EVENT_LOG__TIME_ZONE: event_log.time_zone: ".to_owned(),
        "--set storage.limit_percent: ".to_owned(),
        "--set x: is not a setting".to_owned(),
        "the configuration has 6 faults:".to_owned(),
    ] {
        assert!(ended.err.contains(&place), "{place} is not in:\n{}", ended.err);
    }
}

#[test]
fn a_missing_or_broken_file_is_reported() {
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

#[test]
fn a_dotted_key_overrides_one_entry_of_a_table_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.toml");
    let text = "[hosts]\ndestinations = [\"10.0.0.1:8888\"]\n[share.roots]\ntv = \"/data/tv\"\n";
    fs::write(&file, text).unwrap();
    let shown = ended(
        reelyard(&["config", "show", "-c", file.to_str().unwrap()])
            .args(["--set", "share.roots.media=/data/media"])
            .args(["--set", "share.webhooks.billing.url=http://10.0.0.5:9000/shares"])
            .args(["--set", "share.webhooks.billing.secret=0123456789abcdef"])
            .args(["--set", "bandwidth.destinations.10.0.0.1:8888=1Gbit/s"])
            .args(["--set", "placement.weights.traffic=2"])
            .env("REELYARD_SHARE__ROOTS__NEWS", "/data/news"),
    );
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let roots = r#"share.roots = { media = "/data/media", news = "/data/news", tv = "/data/tv" }"#;
    assert!(value(&shown, "share.roots").starts_with(roots), "{}", shown.out);
    assert!(value(&shown, "share.roots").ends_with("# --set share.roots.media"), "{}", shown.out);
    assert!(value(&shown, "share.webhooks").contains("billing"), "{}", shown.out);
    let limits = r#"bandwidth.destinations = { "10.0.0.1:8888" = "1Gbit/s" }"#;
    assert!(value(&shown, "bandwidth.destinations").starts_with(limits), "{}", shown.out);
    let weights = "placement.weights = { room = 1, traffic = 2 }";
    assert!(value(&shown, "placement.weights").starts_with(weights), "{}", shown.out);
    let refused = run(&["config", "check", "--set", "task.timeout.x=1"]);
    assert!(refused.err.contains("--set task.timeout.x: is not a setting"), "{}", refused.err);
    let refused = run(&["config", "check", "--set", "share.roots.media=media"]);
    assert!(refused.err.contains("--set share.roots.media: "), "{}", refused.err);
    assert!(refused.err.contains("media is not an absolute path"), "{}", refused.err);
}

#[test]
fn a_number_without_a_unit_is_no_rate_and_no_size() {
    for (setting, forms) in [
        ("task.copy_speed=10", ["80Mbit/s", "10MiB/s", "10M"]),
        ("bandwidth.sources={ default = 8000 }", ["80Mbit/s", "10MiB/s", "10M"]),
        ("journal.reserve=64", ["64MiB", "10GB", "1500B"]),
        ("journal.reserve=\"64\"", ["64MiB", "10GB", "1500B"]),
    ] {
        let ended = run(&["config", "check", "--set", setting]);
        assert_eq!(ended.code, Some(2), "{setting}");
        for words in ["unit"].iter().chain(&forms) {
            assert!(ended.err.contains(words), "{setting}: {}", ended.err);
        }
    }
}

#[test]
fn a_low_water_mark_above_the_limit_is_refused() {
    let set = |limit: &'static str, low: &'static str| {
        let [limit, low] = [("limit", limit), ("low_water", low)]
            .map(|(key, value)| format!("storage.{key}_percent={value}"));
        run(&["config", "check", "--set", &limit, "--set", &low])
    };
    let refused = set("70", "80");
    assert_eq!(refused.code, Some(2));
    let what = "--set storage.low_water_percent: must not be above storage.limit_percent: 80 > 70";
    assert!(refused.err.contains(what), "{}", refused.err);
    assert_eq!(set("80", "80").code, Some(0), "as high as the limit it may be");
}

#[test]
fn a_check_warns_of_inputs_that_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let settings = |of: &dyn Fn(&str) -> String| {
        [
            format!("catalog.grade_info_file={}", of("grade.info")),
            format!("catalog.hitcount_history_file={}", of("history")),
            format!("event_log.dir={}", of("log")),
            format!("source_dirs=[\"{}\"]", of("masters")),
        ]
    };
    let check = |role: &str, settings: &[String]| {
        let set = settings.iter().flat_map(|setting| ["--set", setting]);
        run(&["config", "check", role].into_iter().chain(set).collect::<Vec<_>>())
    };
    let node = check("node", &settings(&path));
    assert_eq!(node.code, Some(0), "they may come later: {}", node.err);
    for (key, name) in [
        ("catalog.grade_info_file", "grade.info"),
        ("catalog.hitcount_history_file", "history"),
        ("event_log.dir", "log"),
        ("source_dirs", "masters"),
    ] {
        let message = format!("warning: {key}: {} does not exist", path(name));
        assert!(node.out.contains(&message), "{message} is not in:\n{}", node.out);
    }
    let worker = [format!("source_dirs=[\"{}\"]", path("masters")), "listen=10.0.0.1:1".into()];
    let worker = check("worker", &worker);
    let message = format!("warning: source_dirs: {} does not exist", path("masters"));
    assert!(worker.out.contains(&message), "{}{}", worker.out, worker.err);
    for name in ["log", "masters"] {
        fs::create_dir(path(name)).unwrap();
    }
    for name in ["grade.info", "history"] {
        fs::write(path(name), "").unwrap();
    }
    let there = check("node", &settings(&path));
    assert!(!there.out.contains("warning"), "{}", there.out);
    let of_another_kind = settings(&|name| path(if name == "log" { "history" } else { name }));
    let message = format!("warning: event_log.dir: {} is not a directory", path("history"));
    assert!(check("node", &of_another_kind).out.contains(&message));
}
