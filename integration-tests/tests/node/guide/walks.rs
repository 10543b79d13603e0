//! Runs the commands of the guide as they are written there.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use reelyard::guide::{CHAPTERS, GuideLanguage};
use reelyard_integration_tests::probes::code_blocks::code_blocks;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use reelyard_integration_tests::rigs::worker::worker_rig::free_address;
use reelyard_integration_tests::rigs::yard::{free_addr, wait_for};

/// The exit code of `reelyard store` while a node uses the store.
const IN_USE: i32 = 6;

/// The commands below the comment `<!-- walk: name -->` in any chapter.
fn walk(name: &str) -> Result<String> {
    let all = CHAPTERS.iter().flat_map(|one| code_blocks(one.text(GuideLanguage::English)));
    let mut found = all.filter(|block| block.walk == Some(name));
    Ok(found.next().with_context(|| format!("the walk {name}"))?.code)
}

/// A shell that finds the program under test, and ends at the first failed command.
fn bash(commands: &str) -> Result<Command> {
    let beside = binary::path().parent().context("the binary's directory")?.to_owned();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH")?);
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", commands]).env("PATH", path);
    Ok(shell)
}

/// The output of a shell that must succeed.
fn output(name: &str, shell: &mut Command) -> Result<String> {
    let ended = shell.output()?;
    let (out, err) = (String::from_utf8(ended.stdout)?, String::from_utf8_lossy(&ended.stderr));
    ensure!(ended.status.success(), "{name}:\n{out}\n{err}");
    Ok(out)
}

/// Kills a shell and all processes that it started.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        // An error means that the group has ended already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// The yard of the guide with its own directory and ports, because other programs and tests run on the
/// machine too.
struct GuideYard {
    dir: tempfile::TempDir,
    node: String,
    links: String,
    workers: u32,
}

impl GuideYard {
    fn new() -> Result<Self> {
        let loopback = "127.0.0.1".parse()?;
        Ok(GuideYard {
            dir: tempfile::tempdir()?,
            node: free_addr(loopback)?.to_string(),
            links: free_addr(loopback)?.to_string(),
            workers: (std::process::id() % 20_000 + 20_000) & !1,
        })
    }

    fn own(&self, commands: &str) -> String {
        commands
            .replace("/tmp/yard", &self.dir.path().display().to_string())
            .replace("127.0.0.1:8080", &self.node)
            .replace("127.0.0.1:8081", &self.links)
            .replace(":8888", &format!(":{}", self.workers))
    }

    fn shell(&self, commands: &str) -> Result<Command> {
        let mut shell = bash(&self.own(commands))?;
        let url = format!("http://{}", self.node);
        shell.env("REELYARD_URL", url).current_dir(self.dir.path());
        Ok(shell)
    }

    fn run(&self, name: &str) -> Result<String> {
        output(name, &mut self.shell(&walk(name)?)?)
    }

    /// Starts the processes that a walk leaves in the background.
    fn start(&self, commands: &str) -> Result<Background> {
        let mut shell = self.shell(&format!("{commands}\nwait\n"))?;
        // Only the node's environment contains its address: a worker would use it as its own.
        shell.env("REELYARD_LISTEN", &self.node).process_group(0);
        Ok(Background(shell.spawn()?))
    }

    fn has_same(&self, one: &str, other: &str, name: &str) -> Option<()> {
        let read = |part: &str| std::fs::read(self.dir.path().join(part).join(name)).ok();
        (read(one)? == read(other)?).then_some(())
    }
}

#[test]
fn a_yard_is_set_up_and_used_as_written() -> Result<()> {
    let yard = GuideYard::new()?;
    let mut started = walk("node")?;
    started.push_str("unset REELYARD_LISTEN\n");
    started.push_str(&walk("workers")?);
    yard.run("prepare")?;
    let programs = yard.start(&started)?;
    wait_for("the copies", &[], || {
        yard.has_same("masters", "copies", "first.mpg")?;
        yard.has_same("masters", "copies", "second.mpg")
    })?;

    let out = yard.run("look")?;
    for shown in ["127.0.0.21", "first.mpg", "placed", "ready"] {
        assert!(out.contains(shown), "{shown} is missing in:\n{out}");
    }
    let out = yard.run("access")?;
    for shown in ["token admin", "monitoring", "yard:read metrics:read", "first.mpg", "revoked"] {
        assert!(out.contains(shown), "{shown} is missing in:\n{out}");
    }
    // The worker of this walk continues in the background: it ends with its shell's group.
    let second = walk("second destination")?.replace(" &\n", " & WORKER=$!\n");
    let out = output("second destination", &mut yard.shell(&format!("{second}kill $WORKER\n"))?)?;
    assert!(out.contains("127.0.0.22"), "{out}");

    let out = yard.run("copies")?;
    assert!(out.contains("first.mpg"), "{out}");
    yard.run("links")?;
    let out = yard.run("overview")?;
    for shown in ["Nothing is wrong", "node 1 leads", "/console"] {
        assert!(out.contains(shown), "{shown} is missing in:\n{out}");
    }
    let out = yard.run("output")?;
    for shown in ["127.0.0.21", "/console/history", "first.mpg"] {
        assert!(out.contains(shown), "{shown} is missing in:\n{out}");
    }
    yard.run("simulate")?;
    assert!(yard.dir.path().join("plots").is_dir());
    drop(programs);
    let store = yard.dir.path().join("node").display().to_string();
    wait_for("the node is gone", &[], || {
        let checked = binary::run(&["store", "check", "--data-dir", &store]);
        (checked.code != Some(IN_USE)).then_some(())
    })?;
    let out = yard.run("store")?;
    assert_eq!(out.matches("whole").count(), 2, "{out}");
    Ok(())
}

#[test]
fn a_cluster_is_formed_as_written() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let octet = || fastrand::u8(1..255);
    // Other programs and tests use the ports of 127.0.0.1.
    let ip = format!("127.{}.{}.{}", octet(), octet(), octet());
    let files = dir.path().join("config/cluster");
    std::fs::create_dir_all(&files)?;
    for file in ["a.toml", "b.toml", "c.toml"] {
        let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/cluster").join(file);
        let text = std::fs::read_to_string(written)?.replace("127.0.0.1", &ip);
        std::fs::write(files.join(file), text)?;
    }
    let shell = |commands: &str| -> Result<Command> {
        let mut shell = bash(&commands.replace("127.0.0.1", &ip))?;
        shell.current_dir(dir.path()).env("REELYARD_URL", format!("http://{ip}:8080"));
        Ok(shell)
    };
    // A node runs until it is stopped, so a person starts each in a terminal of its own.
    let start = |commands: &str| -> Result<Background> {
        let beside = |line: &str| match line.starts_with("reelyard node") {
            true => format!("{line} &\n"),
            false => format!("{line}\n"),
        };
        let commands: String = commands.lines().map(beside).collect();
        Ok(Background(shell(&format!("{commands}wait\n"))?.process_group(0).spawn()?))
    };
    let first = start(&walk("first of three")?)?;
    let invitation = walk("invite")?;
    let secret = wait_for("an invitation", &[], || {
        let out = output("invite", &mut shell(&invitation).ok()?).ok()?;
        Some(out.lines().next()?.to_owned())
    })?;
    let others = start(&walk("other two")?.replace("SECRET", &secret))?;
    let status = walk("cluster status")?;
    wait_for("three voters", &[], || {
        let out = output("status", &mut shell(&status).ok()?).ok()?;
        (out.contains("leader") && out.matches("voter").count() == 2).then_some(())
    })?;
    drop((first, others));
    Ok(())
}

#[test]
fn boxes_are_leased_as_written() -> Result<()> {
    let (boxes, dir) = (BoxNode::start(&[])?, tempfile::tempdir()?);
    let node = boxes.ground.node.to_string();
    let run = |name: &str| -> Result<String> {
        let mut shell = bash(&walk(name)?.replace("127.0.0.1:8080", &node))?;
        shell.current_dir(dir.path()).env("REELYARD_URL", format!("http://{node}"));
        output(name, &mut shell)
    };
    for name in ["boxes", "boxes by curl"] {
        let out = run(name)?;
        assert!(out.contains("released"), "{out}");
    }
    let out = run("box run")?;
    assert!(out.starts_with("box "), "{out}");
    let totals = |pool: &str| boxes.get(&format!("/pools/{pool}")).body["totals"].clone();
    let (judges, runners) = (totals("judges"), totals("runners"));
    assert_eq!((&judges["released"], &judges["renewed"]), (&2.into(), &1.into()), "{judges}");
    assert_eq!((&runners["released"], &runners["renewed"]), (&1.into(), &1.into()), "{runners}");
    Ok(())
}

#[test]
fn a_worker_cleans_a_box_as_written() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let own = |text: &str| -> Result<String> {
        // The worker uses the next port too.
        let worker = free_address().to_string();
        let place = dir.path().display().to_string();
        Ok(text.replace("/tmp/bh", &place).replace("127.0.0.1:18888", &worker))
    };
    let out = output("cleaning worker", &mut bash(&own(&walk("cleaning worker")?)?)?)?;
    assert!(out.contains("box-1"), "the look found it:\n{out}");
    assert!(!Path::new(dir.path()).join("box-1").exists(), "it was cleaned:\n{out}");
    Ok(())
}

#[test]
fn the_guide_is_printed_and_searched_as_written() -> Result<()> {
    let commands = walk("guide")?;
    // `head` ends before the chapter is printed: that is not a failure of the program.
    let out = output("guide", &mut bash(&commands)?)?;
    assert!(out.contains("# Operate a yard"), "{out}");
    assert!(out.contains("glossary: "), "{out}");
    Ok(())
}
