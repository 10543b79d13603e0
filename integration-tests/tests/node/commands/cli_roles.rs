//! The roles as an operator starts and stops them, and the client commands with a real yard.

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, wait_for};
use serde_json::Value;

#[test]
fn a_wrong_configuration_ends_a_role_with_2_and_every_fault() {
    for role in ["node", "worker"] {
        let wrong = ["--set", "listen=nowhere", "--set", "log.level=loud", "--set", "such.key=1"];
        let ended = run(&[&[role], &wrong[..]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        for key in ["--set listen: ", "--set log.level: ", "--set such.key: is not a setting"] {
            assert!(ended.err.contains(key), "{role}: {}", ended.err);
        }
    }
}

#[test]
fn a_second_node_is_refused_and_the_first_stops_in_order() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let mut node = ground.start_node(&[])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status"))?;
    let data_dir = format!("data_dir={}", ground.path("node").display());
    let second = run(&["node", "--set", &data_dir, "--set", "listen=127.0.0.1:0"]);
    assert_eq!(second.code, Some(1), "{}", second.err);
    assert!(second.err.contains("in use"), "{}", second.err);
    let listen = format!("listen={}", ground.node);
    let other = format!("data_dir={}", ground.path("other").display());
    let third = run(&["node", "--set", &other, "--set", &listen]);
    assert_eq!(third.code, Some(1), "{}", third.err);
    let words = format!("cannot listen on {}: Address already in use (os error 98)\n", ground.node);
    assert!(third.err.ends_with(&words), "{}", third.err);
    assert_eq!(node.terminate()?.code(), Some(0), "{}", node.log_text());
    Ok(())
}

#[test]
fn the_client_commands_show_a_real_yard() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.master(b"placed.mpg", 10_000)?;
    ground.grade(&[b"placed.mpg", b"nowhere.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let node = ground.start_node(&[])?;
    let url = format!("http://{}", ground.node);
    let ask =
        |arguments: &[&str]| -> ProgramOutput { run(&[arguments, &["--url", &url]].concat()) };
    let json = |arguments: &[&str]| -> Option<Value> {
        let ended = ask(&[arguments, &["--json"]].concat());
        serde_json::from_str(&ended.out).ok()
    };
    let task = wait_for("the copy is done", &[&node, &source, &destination], || {
        let tasks = json(&["tasks", "--state", "done"])?;
        Some(tasks["items"].get(0)?["id"].as_str()?.to_owned())
    })?;
    let files = ask(&["files"]).out;
    assert!(files.contains("placed.mpg") && files.contains("no master"), "{files}");
    let hosts = ask(&["hosts"]).out;
    assert!(hosts.contains(&ground.destination(0).to_string()), "{hosts}");
    let plan = ask(&["plan"]);
    assert!(plan.out.starts_with("last round "), "{}{}", plan.out, plan.err);
    let shown = json(&["tasks", "show", &task]).context("the task is shown")?;
    assert_eq!((&shown["state"], &shown["rank"]), (&"done".into(), &1.into()), "{shown}");
    let open = json(&["tasks", "--state", "open"]).context("open tasks are listed")?;
    assert_eq!(open["items"], Value::Array(Vec::new()));
    let cancelled = ask(&["tasks", "cancel", &task]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.err);
    let gone = ask(&["tasks", "show", &task]);
    assert_eq!(gone.code, Some(4), "{}", gone.out);
    assert!(gone.err.contains(&format!("task {task} does not exist")), "{}", gone.err);
    // For a placed file the dashboard shows the master without any task.
    let url = format!("http://{}/dashboard/filemetas", ground.node);
    let page = std::process::Command::new("curl").args(["-s", "-m", "10", &url]).output()?;
    let master = format!("<td>{}</td></tr>", ground.path("masters/placed.mpg").display());
    let page = String::from_utf8(page.stdout)?;
    assert!(page.contains(&master), "{master} is not in {page}");
    Ok(())
}

#[test]
fn a_name_that_nothing_knows_is_pinned_only_by_force() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.master(b"known.mpg", 1_000)?;
    ground.grade(&[b"known.mpg", b"graded only.mpg"])?;
    let node = ground.start_node(&[])?;
    let url = format!("http://{}", ground.node);
    let ask =
        |arguments: &[&str]| -> ProgramOutput { run(&[arguments, &["--url", &url]].concat()) };
    wait_for("the files are ranked", &[&node], || {
        let files = ground.get("/api/v1/files?limit=10")?;
        (files["items"].as_array()?.len() == 2).then_some(())
    })?;
    let refused = ask(&["files", "pin", "knwon.mpg"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(4), ""), "{}", refused.err);
    for words in ["No file is named 'knwon.mpg'", "--force"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    for name in ["known.mpg", "graded only.mpg"] {
        let pinned = ask(&["files", "pin", name]);
        assert_eq!(pinned.code, Some(0), "{name}: {}", pinned.err);
    }
    let forced = ask(&["files", "pin", "knwon.mpg", "--force"]);
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    let again = ask(&["files", "pin", "knwon.mpg"]);
    assert_eq!(again.code, Some(0), "it is pinned already: {}", again.err);
    let unpinned = ask(&["files", "unpin", "knwon.mpg"]);
    assert_eq!(unpinned.code, Some(0), "{}", unpinned.err);
    Ok(())
}

#[test]
fn a_node_is_ready_before_the_load_balancer_has_written_a_log() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.grade(&[])?;
    let watching = ground.watching();
    let watching: Vec<_> = watching.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let node = ground.start_node(&watching)?;
    wait_for("it is ready and warns", &[&node], || {
        let status = ground.get("/api/v1/status")?;
        let mut warnings = status["warnings"].as_array()?.iter().filter_map(Value::as_str);
        let warns = warnings.any(|what| what.starts_with("There is no event log yet"));
        (status["ready"] == true && warns).then_some(())
    })?;
    ground.hit(b"a.mpg", 1)?;
    wait_for("the copy exists", &[&node], || {
        let status = ground.get("/api/v1/status")?;
        (!status["warnings"].to_string().contains("no event log")).then_some(())
    })
}

#[test]
fn readiness_warns_while_no_destination_is_up() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    ground.grade(&[])?;
    let source = ground.start_source(0, &[])?;
    let node = ground.start_node(&[])?;
    let ready = || {
        let url = format!("http://{}/readyz", ground.node);
        let output = std::process::Command::new("curl").args(["-s", "-m", "10", &url]).output();
        output.ok().and_then(|output| String::from_utf8(output.stdout).ok())
    };
    let warning = "warning: No destination is up, so no copies are possible.";
    // It is ready nevertheless.
    wait_for("it warns", &[&node, &source], || {
        let text = ready()?;
        (text.starts_with("ready\n") && text.contains(warning)).then_some(())
    })?;
    let destination = ground.start_destination(0, &[])?;
    wait_for("one is up", &[&node, &source, &destination], || {
        (!ready()?.contains("No destination is up")).then_some(())
    })
}
