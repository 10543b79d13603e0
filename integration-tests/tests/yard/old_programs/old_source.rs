//! A real node with an old source, and a Reelyard destination that fetches from it with an external program.

use anyhow::{Context, Result};
use reelyard_integration_tests::fakes::external_program::{COPIES, is_alive, pid_in, script};
use reelyard_integration_tests::rigs::old_yard::{old_source, start_node, task_in};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};

fn destination(ground: &ProcessYard, number: usize, body: &str) -> Result<RoleProcess> {
    let program = script(ground.dir.path(), body).display().to_string();
    ground.start_destination(number, &[("external_downloader.program", &program)])
}

#[test]
fn an_old_sources_file_goes_to_a_destination_with_a_program() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"E.mpg", 50_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    // This destination cannot fetch from the source, and gets nothing.
    let without = ground.start_destination(0, &[])?;
    let with = destination(&ground, 1, COPIES)?;
    let node = start_node(&ground, &[])?;
    let roles = [&node, &without, &with];
    let done = wait_for("the copy", &roles, || task_in(&ground, "E.mpg", "done"))?;
    assert!(holds(&ground.copies(1).join("E.mpg"), &bytes));
    assert_eq!(done["hash"], blake3::hash(&bytes).to_hex().as_str());
    let text = done["reason"].as_str().context("its reason")?;
    assert!(text.contains("not compared"), "{text}");
    // The old wire has no value for "unlimited".
    assert_eq!(done["copy_speed"], 10_000_000);
    Ok(())
}

#[test]
fn a_program_that_outlived_its_worker_is_ended_by_the_next_one() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"E.mpg", 50_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let hangs_first = format!(
        "if [ ! -e \"$DIR/go\" ]; then echo $$ > \"$DIR/pid\"; while :; do sleep 600; done; fi\n{COPIES}"
    );
    let mut worker = destination(&ground, 0, &hangs_first)?;
    let node = start_node(&ground, &[])?;
    let pid = wait_for("the program runs", &[&node, &worker], || pid_in(&ground.path("pid")))?;
    worker.kill();
    assert!(is_alive(pid));
    std::fs::write(ground.path("go"), "")?;
    worker.start_again()?;
    wait_for("it has ended", &[&node, &worker], || (!is_alive(pid)).then_some(()))?;
    wait_for("the copy", &[&node, &worker], || {
        holds(&ground.copies(0).join("E.mpg"), &bytes).then_some(())
    })?;
    Ok(())
}
