//! `reelyard demo`: its claims are proven, it reads a real log, and it leaves no files behind.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::yard::wait_for;

/// The demo, small and fast, with its files below `dir`.
fn demo(dir: &Path, more: &[&str]) -> Command {
    demo_of("300KiB", dir, more)
}

/// The demo with files of `size`.
fn demo_of(size: &str, dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(binary::path());
    command
        .args(["demo", "--files", "10", "--size", size, "--megabits", "20"])
        .args(more)
        .env("TMPDIR", dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn is_empty(dir: &Path) -> Result<bool> {
    Ok(std::fs::read_dir(dir)?.next().is_none())
}

/// Whether this part of the only yard below `dir` contains a file.
fn any_in(dir: &Path, part: &str) -> Option<()> {
    let yard = std::fs::read_dir(dir).ok()?.next()?.ok()?.path();
    std::fs::read_dir(yard.join(part)).ok()?.next().map(|_| ())
}

fn interrupt(child: &Child) -> Result<()> {
    let pid = rustix::process::Pid::from_child(child);
    Ok(rustix::process::kill_process(pid, rustix::process::Signal::INT)?)
}

#[test]
fn once_places_and_verifies_everything_and_leaves_nothing() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let ended = demo(dir.path(), &["--once"]).output()?;
    let out = String::from_utf8(ended.stdout)?;
    assert!(ended.status.success(), "{out}\n{}", String::from_utf8_lossy(&ended.stderr));
    assert!(out.contains("placed and verified  9 of 9 files"), "{out}");
    assert!(out.contains("killing source") && out.contains("again"), "{out}");
    assert!(out.contains("ignored"), "the advertisement: {out}");
    assert!(is_empty(dir.path())?);
    Ok(())
}

/// Nobody watches: the show kills the leader itself, without a terminal for keys.
#[test]
fn three_nodes_lose_their_leader_and_no_change() -> Result<()> {
    let dir = tempfile::tempdir()?;
    // The copies take some seconds, in which the leader falls.
    let mut demo = demo_of("4MiB", dir.path(), &["--once", "--nodes", "3"]);
    let ended = demo.stdin(Stdio::null()).output()?;
    let (out, err) = (String::from_utf8(ended.stdout)?, String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
    assert!(out.contains("placed and verified  9 of 9 files"), "{out}");
    let killed = line_of(&out, "killing node ").context("no leader was killed")?;
    let node = killed.chars().next().context("the number of a node")?;
    let next = line_of(&out, "node ").filter(|rest| rest.contains(" leads in epoch "));
    let next = next.with_context(|| format!("no leader followed: {out}"))?;
    assert!(next.ends_with(&format!("starting node {node} again")) && !next.starts_with(node));
    assert!(out.contains("killing source"), "{out}");
    let changes = line_of(&out, "changes ").context("no summary of the changes")?;
    let acknowledged = changes.trim_start().split(' ').next().context("their number")?;
    assert!(acknowledged.parse::<u64>()? > 10, "{changes}");
    assert!(changes.contains(" 0 failed, longest gap "), "{changes}");
    assert!(out.contains("nothing was lost"), "{out}");
    assert!(is_empty(dir.path())?);
    Ok(())
}

/// The program `script` gives the demo a terminal of its own.
#[test]
fn keys_kill_a_node_and_the_terminal_is_restored() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let shown = tempfile::NamedTempFile::new()?;
    let demo = "demo --nodes 3 --files 8 --size 64KiB";
    let command = format!("stty cols 120 rows 30; {} {demo}; stty -a", binary::path().display());
    let mut terminal = Command::new("script")
        .args(["-qfc", &command, "/dev/null"])
        .env("TMPDIR", dir.path())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(shown.reopen()?)
        .spawn()?;
    let mut keys = terminal.stdin.take().context("the keyboard")?;
    let text =
        || String::from_utf8_lossy(&std::fs::read(shown.path()).unwrap_or_default()).into_owned();
    let wait_for_text = |wanted: &[&str]| {
        wait_for(&wanted.join(" or "), &[], || {
            let text = text();
            wanted.iter().any(|wanted| text.contains(wanted)).then_some(())
        })
    };
    wait_for_text(&["[1] live"])?;
    keys.write_all(b"1k")?;
    wait_for_text(&["node 1: killed by SIGKILL"])?;
    wait_for_text(&["node 2 leads, epoch", "node 3 leads, epoch"])?;
    keys.write_all(b"k")?;
    wait_for_text(&["node 1: started again"])?;
    keys.write_all(b"q")?;
    terminal.wait()?;
    let text = text();
    let (_, modes) = text.rsplit_once("speed ").context("the modes of the terminal")?;
    let is_on = |mode: &str| modes.split_whitespace().any(|word| word == mode);
    assert!(is_on("icanon") && is_on("echo"), "{modes}");
    assert!(is_empty(dir.path())?, "{text}");
    Ok(())
}

/// The rest of the first line that begins with `start`.
fn line_of<'a>(out: &'a str, start: &str) -> Option<&'a str> {
    out.lines().find_map(|line| line.strip_prefix(start))
}

/// The demo also works on a machine whose disk is fuller than any limit of a destination.
#[test]
fn the_demo_works_on_a_nearly_full_disk() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let place = dir.path().join("disk");
    std::fs::create_dir(&place)?;
    let _disk = SmallDisk::mount(&place, 400);
    let other = std::fs::File::create(place.join("of another program"))?;
    rustix::fs::fallocate(&other, rustix::fs::FallocateFlags::empty(), 0, 290 << 20)?;
    let yard = place.join("yard");
    std::fs::create_dir(&yard)?;

    let ended = demo(&yard, &["--once"]).output()?;
    let out = String::from_utf8(ended.stdout)?;
    assert!(ended.status.success(), "{out}\n{}", String::from_utf8_lossy(&ended.stderr));
    assert!(out.contains("placed and verified  9 of 9 files"), "{out}");
    Ok(())
}

#[test]
fn a_recorded_log_becomes_the_catalogue_and_its_hot_files_are_reported() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let log = tempfile::NamedTempFile::new()?;
    let mut rows = String::new();
    for i in 0..120 {
        // One name in three is requested at the watched server; between the rows there is a torn one.
        let (server, name) = match i % 3 {
            0 => ("10.9.9.9", format!("missed-{}.mpg", i % 2)),
            other => ("10.0.0.7", format!("served {}-{other}.mpg", i % 5)),
        };
        let time = 1_527_951_600 + i;
        rows.push_str(&format!(
            "0x40ffff,1,{time},Server {server} Selected for Client StreamID : x, ClientID : 0, GLB \
             IP : 10.0.0.1's file({name}) Request\n"
        ));
    }
    rows.push_str("0x40ffff,1");
    std::fs::write(log.path(), rows)?;
    let log_path = log.path().display().to_string();
    let arguments = ["--once", "--event-log", &log_path, "--watch-address", "10.9.9.9"];
    let ended = demo(dir.path(), &arguments).output()?;
    let out = String::from_utf8(ended.stdout)?;
    assert!(ended.status.success(), "{out}\n{}", String::from_utf8_lossy(&ended.stderr));
    assert!(out.contains("placed and verified  10 of 10 files"), "{out}");
    assert!(out.contains("missed-0.mpg") && out.contains("served 0-1.mpg"), "{out}");
    Ok(())
}

#[test]
fn an_interrupt_ends_it_and_everything_it_started() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut child = demo(dir.path(), &[]).spawn()?;
    wait_for("its processes", &[], || any_in(dir.path(), "logs"))?;
    interrupt(&child)?;
    let status = child.wait()?;
    let mut out = String::new();
    // The pipe ends when every process with an open end has ended.
    child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut out)).transpose()?;
    assert_eq!(status.code(), Some(130), "{out}");
    assert!(is_empty(dir.path())?, "{out}");
    Ok(())
}

#[test]
fn an_interrupt_ends_it_while_the_masters_are_written() -> Result<()> {
    let dir = tempfile::tempdir()?;
    // A file that takes a while to write.
    let mut child = demo_of("256MiB", dir.path(), &[]).spawn()?;
    wait_for("the first master", &[], || any_in(dir.path(), "masters"))?;
    interrupt(&child)?;
    let status = child.wait()?;
    let mut out = String::new();
    child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut out)).transpose()?;
    assert_eq!(status.code(), Some(130), "{out}");
    assert!(!out.contains("masters of"), "it did not stop before all were written: {out}");
    assert!(is_empty(dir.path())?, "{out}");
    Ok(())
}
