//! The README's walks through a yard of one's own and through boxes, done as they are written there.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use anyhow::{Context, Result};
use reelyard_integration_tests::binary;
use reelyard_integration_tests::box_node::BoxNode;
use reelyard_integration_tests::yard::{free_addr, wait_for};

/// The shell commands below the comment `<!-- walk: name -->`.
fn commands(readme: &str, name: &str) -> Result<String> {
    let (_, behind) =
        readme.split_once(&format!("<!-- walk: {name} -->")).context("the comment")?;
    let (_, block) = behind.split_once("```sh\n").context("the block")?;
    Ok(block.split_once("```").context("the block's end")?.0.to_owned())
}

/// Ends a shell and whatever it has started.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        // It has ended already when there is nobody to kill.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

#[test]
fn the_walk_through_a_yard_works_as_written() -> Result<()> {
    let readme = include_str!("../../../README.md");
    let dir = tempfile::tempdir()?;
    let node = free_addr("127.0.0.1".parse()?)?.to_string();
    // Other programs and tests are on this machine too: the walk gets a place and ports of its own.
    let own = |text: &str| {
        let port = std::process::id() % 20_000 + 20_000;
        text.replace("/tmp/yard", &dir.path().display().to_string())
            .replace("127.0.0.1:8080", &node)
            .replace(":8888", &format!(":{}", port & !1))
    };
    let beside = binary::path().parent().context("the binary's directory")?.to_owned();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH")?);
    let shell = |commands: &str| {
        let mut shell = Command::new("bash");
        shell.args(["-euc", &own(commands)]).env("PATH", &path);
        shell.env("REELYARD_URL", format!("http://{node}")).env("REELYARD_LISTEN", &node);
        shell
    };
    assert!(shell(&commands(readme, "prepare")?).status()?.success());

    let mut started = commands(readme, "node")?;
    // The node's address stands in its own environment only: a worker would take it for its own.
    started.push_str("unset REELYARD_LISTEN\n");
    started.push_str(&commands(readme, "workers")?);
    started.push_str("wait\n");
    let _yard = Background(shell(&started).process_group(0).spawn()?);
    wait_for("the copies", &[], || {
        let same = |name: &str| {
            let read = |part: &str| std::fs::read(dir.path().join(part).join(name)).ok();
            read("copies").is_some_and(|copy| Some(copy) == read("masters"))
        };
        (same("first.mpg") && same("second.mpg")).then_some(())
    })?;

    let look = shell(&commands(readme, "look")?).output()?;
    let out = String::from_utf8_lossy(&look.stdout);
    assert!(look.status.success(), "{out}\n{}", String::from_utf8_lossy(&look.stderr));
    for shown in ["127.0.0.21", "first.mpg", "placed", "ready"] {
        assert!(out.contains(shown), "{shown} is missing in:\n{out}");
    }
    Ok(())
}

#[test]
fn boxes_are_leased_as_written() -> Result<()> {
    let readme = include_str!("../../../README.md");
    let (boxes, dir) = (BoxNode::start(&[])?, tempfile::tempdir()?);
    let node = boxes.ground.node.to_string();
    let beside = binary::path().parent().context("the binary's directory")?.to_owned();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH")?);
    for name in ["boxes", "boxes by curl"] {
        let commands = commands(readme, name)?.replace("127.0.0.1:8080", &node);
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &commands]).current_dir(dir.path());
        shell.env("PATH", &path).env("REELYARD_URL", format!("http://{node}"));
        let told = shell.output()?;
        let (out, err) = (String::from_utf8_lossy(&told.stdout), told.stderr);
        assert!(told.status.success(), "{name}: {out}\n{}", String::from_utf8_lossy(&err));
        assert!(out.contains("released"), "{out}");
    }
    let run = commands(readme, "box run")?;
    let mut shell = Command::new("bash");
    let told = shell.args(["-euc", &run]).env("PATH", &path);
    let told = told.env("REELYARD_URL", format!("http://{node}")).output()?;
    let out = String::from_utf8(told.stdout)?;
    assert!(told.status.success() && out.starts_with("box "), "{out}");
    let totals = boxes.get("/pools/judges").body["totals"].clone();
    assert_eq!((&totals["released"], &totals["renewed"]), (&3.into(), &2.into()), "{totals}");
    Ok(())
}
