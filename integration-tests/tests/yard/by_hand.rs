//! Requests of an operator by hand, with real processes.

use anyhow::Result;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for};

#[test]
fn a_file_is_copied_to_the_requested_host_and_refusals_have_reasons() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"asked for.mpg", 200_000)?;
    let graded = ground.master(b"graded.mpg", 1_000)?;
    ground.master(b"AD-spot.mpg", 1_000)?;
    ground.grade(&[b"graded.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let destinations = [ground.start_destination(0, &[])?, ground.start_destination(1, &[])?];
    let node = ground.start_node(&[("ignore.prefixes", "[\"AD-\"]")])?;
    let roles = [&node, &source, &destinations[0], &destinations[1]];
    let url = format!("http://{}", ground.node);
    let to = [ground.destination(0).to_string(), ground.destination(1).to_string()];
    let copy =
        |file: &str, to: &str| binary::run(&["files", "--url", &url, "copy", file, "--to", to]);
    wait_for("graded files are placed, others are not", &roles, || {
        let on = |i: usize| holds(&ground.copies(i).join("graded.mpg"), &graded);
        (on(0) || on(1)).then_some(())
    })?;
    let begun = copy("asked for.mpg", &to[1]);
    assert_eq!(begun.code, Some(0), "{}", begun.err);
    assert!(begun.out.contains("is being copied to"), "{}", begun.out);
    wait_for("the copy exists", &roles, || {
        holds(&ground.copies(1).join("asked for.mpg"), &bytes).then_some(())
    })?;
    let line = wait_for("the history names the caller", &roles, || {
        let lines = ground.get("/api/v1/history?file=asked%20for.mpg")?;
        Some(lines["items"].as_array()?.first()?.clone())
    })?;
    assert_eq!(
        (&line["asked_by"], &line["state"]),
        (&"token admin".into(), &"done".into()),
        "{line}"
    );
    for (file, to, why) in [
        ("asked for.mpg", to[0].as_str(), "all wanted copies exist"),
        ("AD-spot.mpg", &to[0], "its name begins with an ignored prefix"),
        ("unknown.mpg", &to[0], "no source directory has it"),
        ("asked for.mpg", "192.0.2.9:80", "is not a destination of this yard"),
    ] {
        let refused = copy(file, to);
        assert_eq!(refused.code, Some(4), "{file}: {}", refused.out);
        assert!(refused.err.contains(why), "{file}: {}", refused.err);
    }
    // A pinned file may have any number of copies.
    assert_eq!(binary::run(&["files", "--url", &url, "pin", "asked for.mpg"]).code, Some(0));
    wait_for("the pin is known", &roles, || {
        let begun = copy("asked for.mpg", &to[0]);
        (begun.code == Some(0)).then_some(())
    })?;
    wait_for("both hold it", &roles, || {
        holds(&ground.copies(0).join("asked for.mpg"), &bytes).then_some(())
    })?;
    wait_for("it is on record, and no third one is made there", &roles, || {
        copy("asked for.mpg", &to[0]).err.contains("it holds the file").then_some(())
    })?;
    Ok(())
}

#[test]
fn a_cancelled_task_is_tried_again_on_request() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"slow.mpg", 4 << 20)?;
    ground.grade(&[b"slow.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let slow = ("bandwidth.destinations", "{ default = \"1Mbit/s\" }");
    let patient = ("task.back_off_base", "\"1h\"");
    let mut node = ground.start_node(&[slow, patient, ("task.back_off_cap", "\"1h\"")])?;
    let url = format!("http://{}", ground.node);
    let id = wait_for("it runs", &[&node, &source, &destination], || {
        let tasks = ground.get("/api/v1/tasks?state=working")?;
        Some(tasks["items"].as_array()?.first()?["id"].as_str()?.to_owned())
    })?;
    let tasks = |arguments: &[&str]| binary::run(&[&["tasks", "--url", &url], arguments].concat());
    let refused = tasks(&["retry", &id]);
    assert!(
        refused.err.contains("only a failed or cancelled task can be retried"),
        "{}",
        refused.err
    );
    assert_eq!(tasks(&["cancel", &id]).code, Some(0));
    wait_for("no copy runs", &[&node, &source, &destination], || {
        let tasks = ground.get("/api/v1/tasks?state=open")?;
        tasks["items"].as_array()?.is_empty().then_some(())
    })?;
    node.start_again_with(&[("bandwidth.destinations", "{}")])?;
    let again = wait_for("it is tried again", &[&node, &source, &destination], || {
        let again = tasks(&["retry", &id]);
        (again.code == Some(0)).then_some(again)
    })?;
    assert!(again.out.contains("is retried as task"), "{}", again.out);
    wait_for("it is there", &[&node, &source, &destination], || {
        holds(&ground.copies(0).join("slow.mpg"), &bytes).then_some(())
    })?;
    Ok(())
}
