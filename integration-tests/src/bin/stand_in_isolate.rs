//! A stand-in for isolate 2.x in tests: its documented options, exit codes and behaviour, without isolation
//! and therefore without root. All its files are below `$STAND_IN_ISOLATE`.
//!
//! - `--init` prints the path of the box, and resets an existing box.
//! - `--cleanup` removes the box; a missing box is not an error. It succeeds while processes live on. With a
//!   file `busy-ID` it fails once with 2, as with processes in a control group.
//! - A box in use by another process, and an id out of range, are internal errors: 2.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};

/// The number of boxes in isolate's default configuration.
const BOXES: u32 = 1000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// The parsed command line.
#[derive(Default)]
struct IsolateInvocation {
    box_id: u32,
    command: Option<&'static str>,
}

fn called() -> Result<IsolateInvocation> {
    let mut called = IsolateInvocation::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let id = match argument.as_str() {
            "--cg" => None,
            "--init" => {
                called.command = Some("init");
                None
            }
            "--cleanup" => {
                called.command = Some("cleanup");
                None
            }
            "-b" | "--box-id" => Some(arguments.next().context("expected an id")?),
            other => match other.strip_prefix("--box-id=") {
                Some(id) => Some(id.to_owned()),
                None => bail!("unrecognized option '{other}'"),
            },
        };
        if let Some(id) = id {
            called.box_id = id.parse().context("Invalid numeric parameter")?;
        }
    }
    Ok(called)
}

fn run() -> Result<()> {
    let called = called()?;
    let root: PathBuf = std::env::var_os("STAND_IN_ISOLATE").context("no place is given")?.into();
    ensure!(called.box_id < BOXES, "Sandbox ID out of range (allowed: 0-{})", BOXES - 1);
    let id = called.box_id;
    std::fs::create_dir_all(root.join("locks"))?;
    let lock = File::create(root.join(format!("locks/{id}")))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .context("This box is currently in use by another process")?;
    let of_box = root.join(id.to_string());
    match called.command {
        Some("init") => {
            remove(&of_box)?;
            std::fs::create_dir_all(of_box.join("box"))?;
            println!("{}", of_box.display());
        }
        Some(_) if !of_box.exists() => eprintln!("Nothing to do -- box did not exist"),
        Some(_) => {
            let busy = root.join(format!("busy-{id}"));
            if busy.exists() {
                std::fs::remove_file(busy)?;
                bail!("Some processes left in control group box-{id}, failed to remove it");
            }
            remove(&of_box)?;
        }
        None => bail!("Please specify an isolate command (e.g. --init, --run)."),
    }
    Ok(())
}

fn remove(of_box: &Path) -> Result<()> {
    if of_box.exists() {
        std::fs::remove_dir_all(of_box)?;
    }
    Ok(())
}
