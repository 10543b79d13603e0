//! Inputs that become invalid while a node runs: it continues with the last valid catalogue and reports that.

use std::process::Command;

use anyhow::Result;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for};

/// Status and body of `GET /readyz`.
fn readyz(ground: &ProcessYard) -> Option<(u16, String)> {
    let output = Command::new("curl")
        .args(["-s", "-m", "10", "-w", "\n%{http_code}", &format!("http://{}/readyz", ground.node)])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (body, status) = text.rsplit_once('\n')?;
    Some((status.parse().ok()?, body.to_owned()))
}

#[test]
fn a_vanished_grade_file_is_reported_and_the_last_good_catalogue_stays() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let first = ground.master(b"first.mpg", 5_000)?;
    ground.grade(&[b"first.mpg", b"second.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let node = ground.start_node(&[])?;
    let roles = [&node, &source, &destination];
    wait_for("the first copy", &roles, || {
        holds(&ground.copies(0).join("first.mpg"), &first).then_some(())
    })?;
    wait_for("ready", &roles, || readyz(&ground).filter(|(status, _)| *status == 200))?;

    std::fs::remove_file(ground.path("input/.grade.info"))?;
    let (_, body) = wait_for("not ready, and why", &roles, || {
        readyz(&ground).filter(|(status, _)| *status == 503)
    })?;
    assert!(body.contains(".grade.info"), "{body}");
    // The catalogue is still in use: a new master is placed by its old grade.
    let second = ground.master(b"second.mpg", 5_000)?;
    wait_for("the second copy", &roles, || {
        holds(&ground.copies(0).join("second.mpg"), &second).then_some(())
    })?;
    let files = binary::run(&["files", "--url", &format!("http://{}", ground.node)]);
    assert!(files.code == Some(0) && (files.out + &files.err).contains(".grade.info"));
    assert!(node.log_text().contains(".grade.info"), "{}", node.log_text());

    ground.grade(&[b"first.mpg"])?;
    wait_for("ready again", &roles, || readyz(&ground).filter(|(status, _)| *status == 200))?;
    Ok(())
}
