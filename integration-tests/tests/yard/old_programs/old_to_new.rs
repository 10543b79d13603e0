//! A yard in the middle of its move from old hosts to Reelyard.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_integration_tests::fakes::stand_in_cfm::{CfmSettings, StandInCfm};
use reelyard_integration_tests::fakes::stand_in_cfw::DownloaderBehavior;
use reelyard_integration_tests::rigs::old_yard::{
    is_on, old_destination, polling, start_node, task_in,
};
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for, wait_until_up};

#[test]
fn a_reelyard_worker_replaces_an_old_cfw_and_keeps_its_files() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let first = ground.master(b"first.mpg", 5_000)?;
    ground.grade(&[b"first.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let host = old_destination(&ground, 0)?;
    let polls = polling(&ground, &host, DownloaderBehavior::Copies);
    let node = start_node(&ground, &[])?;
    wait_for("the first done", &[&node], || task_in(&ground, "first.mpg", "done"))?;
    drop((polls, host));
    let worker = ground.start_destination(0, &[])?;
    // The name is not UTF-8. Only a Reelyard worker can carry it, so its copy proves that the node knows the
    // new program.
    let second = ground.master(b"\xff.mpg", 5_000)?;
    ground.grade(&[b"first.mpg", b"\xff.mpg"])?;
    wait_for("the second", &[&node, &source, &worker], || {
        holds(&ground.copies(0).join(OsStr::from_bytes(b"\xff.mpg")), &second).then_some(())
    })?;
    assert!(holds(&ground.copies(0).join("first.mpg"), &first));
    let again = ground.get("/api/v1/tasks?limit=200").context("the tasks")?;
    let of_first = again["items"].as_array().context("a list")?.iter();
    assert_eq!(of_first.filter(|task| task["name"] == "first.mpg").count(), 1);
    Ok(())
}

#[test]
fn no_other_program_can_end_a_reelyard_copy_by_reporting_done() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"E.mpg", 2_000_000)?;
    ground.grade(&[b"E.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let node = start_node(&ground, &[("task.copy_speed", "8Mbit/s")])?;
    let roles = [&node, &source, &destination];
    let working = wait_for("it works", &roles, || task_in(&ground, "E.mpg", "working"))?;
    let id = working["id"].as_str().context("an id")?;
    // The old wire has no authentication.
    let patched = std::process::Command::new("curl")
        .args(["-sf", "-X", "PATCH", "-d", r#"{"status":"done"}"#])
        .arg(format!("http://{}/tasks/{id}", ground.node))
        .status()?;
    assert!(patched.success());
    wait_for("the copy", &roles, || holds(&ground.copies(0).join("E.mpg"), &bytes).then_some(()))?;
    let ended = wait_for("its end", &roles, || {
        let task = ground.get(&format!("/api/v1/tasks/{id}"))?;
        (task["state"] != "working").then_some(task)
    })?;
    assert_eq!(ended["state"], "done", "{ended}");
    Ok(())
}

#[test]
fn a_worker_notices_at_once_that_a_node_replaced_its_cfm() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.master(b"first.mpg", 5_000)?;
    ground.grade(&[b"first.mpg"])?;
    let source = ground.start_source(0, &[])?;
    wait_until_up(ground.source(0), &source)?;
    // A long polling interval: the worker does not notice a short absence.
    let destination = ground.start_destination(0, &[("poll_interval", "2s")])?;
    wait_until_up(ground.destination(0), &destination)?;
    let cfm = StandInCfm::start(CfmSettings {
        listen: ground.node,
        source_dirs: vec![ground.path("masters")],
        grade_info_file: ground.path("input/.grade.info"),
        hitcount_history_file: ground.path("input/.hitcount.history"),
        sources: vec![ground.source(0)],
        destinations: vec![ground.destination(0)],
        task_timeout: Duration::from_secs(3600),
        pause: Duration::from_millis(50),
    })?;
    let hosts = [&source, &destination];
    wait_for("the first by cfm's order", &hosts, || {
        (is_on(&ground, 0, b"first.mpg") && cfm.tasks().is_empty()).then_some(())
    })?;
    drop(cfm);
    ground.master(b"second.mpg", 5_000)?;
    ground.grade(&[b"first.mpg", b"second.mpg"])?;
    let node = start_node(&ground, &[])?;
    let roles = [&node, &source, &destination];
    wait_for("the second done", &roles, || task_in(&ground, "second.mpg", "done"))?;
    let log = destination.log_text();
    assert!(log.contains("speaks=\"cfm\"") && log.contains("speaks=\"reelyard\""), "{log}");
    Ok(())
}
