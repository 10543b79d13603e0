//! Only the owner can read stored files, and named inputs must be files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::worker::worker_rig::free_address;
use reelyard_integration_tests::rigs::yard::{RoleProcess, wait_for};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn files_and_backups_of_a_node_are_readable_by_their_owner_only() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let (data, token) = (at("data"), at("token"));
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    fs::write(&token, "0123456789abcdef0123456789abcdef").unwrap();
    fs::set_permissions(&token, Permissions::from_mode(0o644)).unwrap();
    let settings = set(&[
        ("listen", "127.0.0.1:0"),
        ("data_dir", data.to_str().unwrap()),
        ("token_file", token.to_str().unwrap()),
    ]);
    let mut node = RoleProcess::start("node", &settings, at("log")).unwrap();
    wait_for("the node starts", &[&node], || {
        node.log_text().contains("node started").then_some(())
    })
    .unwrap();
    let log = node.log_text();
    let clock = data.join("share-clock");
    wait_for("the clock is noted", &[&node], || clock.exists().then_some(())).unwrap();
    node.kill();
    assert_eq!(
        [mode(&data), mode(&data.join("journal")), mode(&data.join("journal/sled"))],
        [0o700; 3]
    );
    assert_eq!(mode(&clock), 0o600);
    assert_eq!([mode(&data.join("journal/sled/db")), mode(&data.join("journal/mark"))], [0o600; 2]);
    assert!(log.contains("directory closed to other users"), "{log}");
    assert!(log.contains("lets others read it: chmod 600"), "{log}");
    // All files of an earlier run belong to the node, so the directory is closed again.
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    node.start_again().unwrap();
    wait_for("the directory is closed", &[&node], || (mode(&data) == 0o700).then_some(())).unwrap();
    node.kill();

    let backup = at("backup");
    let dir = data.to_str().unwrap();
    let ended = run(&["store", "backup", backup.to_str().unwrap(), "--data-dir", dir]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(mode(&backup), 0o600);
    let restored = at("new/data");
    let dir = restored.to_str().unwrap();
    let ended = run(&["store", "restore", backup.to_str().unwrap(), "--data-dir", dir]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!([mode(&restored), mode(&restored.join("journal"))], [0o700; 2]);
}

#[test]
fn only_the_owner_reads_files_of_a_worker() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let (state, copies) = (at("state"), at("copies"));
    for dir in [&state, &copies] {
        fs::create_dir(dir).unwrap();
        fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(state.join("of-another-program"), "").unwrap();
    let settings = set(&[
        ("listen", &free_address().to_string()),
        ("node", "127.0.0.1:9"),
        ("base_dir", copies.to_str().unwrap()),
        ("state_dir", state.to_str().unwrap()),
    ]);
    let mut worker = RoleProcess::start("worker", &settings, at("log")).unwrap();
    let result = "it contains foreign files";
    wait_for("the warning", &[&worker], || worker.log_text().contains(result).then_some(()))
        .unwrap();
    worker.kill();
    assert_eq!([mode(&state.join("db")), mode(&state), mode(&copies)], [0o600, 0o755, 0o755]);
    fs::remove_file(state.join("of-another-program")).unwrap();
    let mut worker = RoleProcess::start("worker", &settings, at("log")).unwrap();
    wait_for("it is narrowed", &[&worker], || (mode(&state) == 0o700).then_some(())).unwrap();
    worker.kill();
}

#[test]
fn an_input_that_is_not_a_file_is_refused_at_once() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe-cfm.yml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (pipe, dir) = (pipe.to_str().unwrap(), place.path().to_str().unwrap());
    let data = place.path().join("data");
    let token = format!("token_file={pipe}");
    for (arguments, entry) in [
        (vec!["config", "check", "node", "--config", pipe], "no process wrote to it"),
        (vec!["config", "check", "node", "--config", "/dev/zero"], "a device"),
        (vec!["config", "check", "node", "--config", dir], "a directory"),
        (vec!["config", "check", "node", "--set", &token], "it is a pipe"),
        (vec!["config", "import", pipe], "no process wrote to it"),
        (vec!["config", "import", "--program", "cfm", "/dev/zero"], "a device"),
        (vec!["simulate", "--event-log", "/dev/zero"], "a device"),
        (
            vec!["store", "restore", pipe, "--data-dir", data.to_str().unwrap()],
            "not a regular file",
        ),
    ] {
        let ended = run(&arguments);
        assert_ne!(ended.code, Some(0), "{arguments:?}");
        assert!(ended.err.contains(entry), "{arguments:?}: {}", ended.err);
    }
}
