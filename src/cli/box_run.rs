//! `reelyard box run`: a command that has a box for as long as it runs.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;

use clap::Args;
use reelyard_actors::box_lease::Priority;
use reelyard_actors::processes::family::{Family, MarkName};
use reelyard_actors::wire::api::Span;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::boxes::priority;
use super::client::NodeArgs;
use super::failure::Failure;
use super::output::plain;
use crate::box_client::{BoxClient, BoxClientError, Held, Lost, Wanted};

/// Marks the processes of a command; its value is the lease.
const MARK: MarkName = "BOX_OF_REELYARD";

/// No box was free in time.
const NO_BOX: u8 = 123;
/// The lease was lost before the command had ended.
const LOST: u8 = 124;
/// There is no lease, for another reason.
const FAILED: u8 = 125;
/// The command is there and cannot be run.
const CANNOT_RUN: u8 = 126;
/// The command is not there.
const NOT_FOUND: u8 = 127;
/// A command that ends by signal n ends with this and n.
const BY_SIGNAL: i32 = 128;

/// What is passed on to the command.
const PASSED_ON: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Shown below the options.
pub const AFTER_HELP: &str = "\
In the arguments of the command {box}, {token}, {pool} and {lease} stand for what it was given; its
environment has the same as REELYARD_BOX, REELYARD_BOX_TOKEN, REELYARD_BOX_POOL and REELYARD_BOX_LEASE.

The lease is renewed while the command runs. However it ends, whatever it started and left running is
ended, too, and the box is given back. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to it; while
it is waited for a box they leave the queue. If this process is killed, the command is killed with it
(unless it runs as another user by its set-user-ID bit) and the box is free once its ttl is over.

When no node answers the lease is lost as its ttl ends, and a command that ignores SIGTERM has --grace
more: give the pool a grace that is longer, and the box is left alone until then.

Exit codes: that of the command, 128+n if signal n ended it, or
  2    wrong arguments
  123  no box was free within --wait
  124  the lease was lost before the command had ended; the command was ended
  125  there is no box for another reason: the node refused or cannot be reached
  126  the command cannot be run
  127  the command is not there

Example: reelyard box run --pool judge --wait 5m -- isolate --box-id={box} --run -- ./solution";

/// Arguments of `reelyard box run`.
#[derive(Debug, Args)]
pub struct BoxRunArgs {
    /// Of which pool
    #[arg(long)]
    pool: String,
    /// For how long the box stays taken if nobody renews its lease, such as 30s; as the pool says if
    /// not given
    #[arg(long)]
    ttl: Option<Span>,
    /// For how long to wait for a box, such as 5m; tries once if not given
    #[arg(long, default_value = "0s")]
    wait: Span,
    /// Who wants it; this host and process if not given
    #[arg(long)]
    holder: Option<String>,
    /// How urgent it is, from -100 to 100
    #[arg(long, default_value = "0", allow_negative_numbers = true, value_parser = priority)]
    priority: Priority,
    /// Names the request, so that whoever repeats it gets the same box
    #[arg(long)]
    request_id: Option<String>,
    /// How long the command may take to end after SIGTERM, once the lease is lost
    #[arg(long, default_value = "5s")]
    grace: Span,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Arguments of what becomes the command.
#[derive(Debug, Args)]
pub struct BecomeArgs {
    /// Who started it
    parent: i32,
    /// The command and its arguments
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// How it ended, if not with the command.
#[derive(Debug, thiserror::Error)]
enum Ending {
    #[error(transparent)]
    NoLease(#[from] BoxClientError),
    #[error("{0}; the command was ended")]
    Lost(#[from] Lost),
    #[error("ended by signal {0} while waiting for a box")]
    Signal(i32),
    #[error("{0}")]
    CannotRun(String),
}

impl Ending {
    fn exit_code(&self) -> u8 {
        match self {
            Ending::NoLease(BoxClientError::NoBoxInTime(_)) => NO_BOX,
            Ending::NoLease(BoxClientError::Lost(_)) | Ending::Lost(_) => LOST,
            Ending::NoLease(_) => FAILED,
            Ending::Signal(number) => u8::try_from(BY_SIGNAL + number).unwrap_or(FAILED),
            Ending::CannotRun(_) => CANNOT_RUN,
        }
    }
}

/// Runs the command.
pub fn run(node: &NodeArgs, args: BoxRunArgs) -> Result<ExitCode, Failure> {
    let client = node.box_client()?;
    Ok(lease_and_run(&client, &args).unwrap_or_else(|ending| {
        say(&ending.to_string());
        ExitCode::from(ending.exit_code())
    }))
}

/// Tells on standard error, which is the command's as well. Where even that is closed the exit code
/// still tells.
fn say(what: &str) {
    let _ = writeln!(io::stderr(), "reelyard: {}", plain(what));
}

fn lease_and_run(client: &BoxClient, args: &BoxRunArgs) -> Result<ExitCode, Ending> {
    let cannot = |error: io::Error| Ending::CannotRun(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(cannot)?.block_on(async {
        let mut signals = signals().map_err(cannot)?;
        let wanted = wanted(args);
        let held = tokio::select! {
            held = client.acquire(&args.pool, &wanted) => held?,
            Some(signal) = signals.recv() => return Err(Ending::Signal(signal.as_raw())),
        };
        with_box(held, args, signals).await
    })
}

fn wanted(args: &BoxRunArgs) -> Wanted {
    let by_itself = || {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        format!("{host}/{}", std::process::id())
    };
    Wanted {
        holder: args.holder.clone().unwrap_or_else(by_itself),
        ttl: args.ttl.map(|ttl| ttl.0),
        wait: args.wait.0,
        priority: args.priority,
        count: 1,
        request_id: args.request_id.clone(),
    }
}

/// Whatever is passed on comes here from now on, instead of ending this process.
fn signals() -> io::Result<mpsc::Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel(16);
    for passed_on in PASSED_ON {
        let mut coming = signal(SignalKind::from_raw(passed_on.as_raw()))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while coming.recv().await.is_some() {
                // Sixteen that were not passed on yet are enough.
                let _ = sender.try_send(passed_on);
            }
        });
    }
    Ok(receiver)
}

/// The command while it runs.
struct Running {
    child: Child,
    pid: Pid,
    /// Whether it leads a process group of its own. At a terminal it stays in that of this process:
    /// another one could not read from it.
    leads: bool,
    /// Marks what it starts.
    mark: PathBuf,
}

async fn with_box(
    mut held: Held,
    args: &BoxRunArgs,
    mut signals: mpsc::Receiver<Signal>,
) -> Result<ExitCode, Ending> {
    let mut running = match Running::start(&held, args) {
        Ok(running) => running,
        Err(error) => {
            give_back(held).await?;
            return Err(Ending::CannotRun(format!("{:?}: {error}", args.command[0])));
        }
    };
    let pid = running.pid;
    let mut ended = tokio::task::spawn_blocking(move || until_ended(pid));
    let lost = loop {
        tokio::select! {
            _ = &mut ended => break None,
            lost = held.lost() => break Some(lost),
            Some(signal) = signals.recv() => running.pass_on(signal),
        }
    };
    let status =
        running.end(args.grace.0).await.map_err(|error| Ending::CannotRun(error.to_string()));
    if let Some(lost) = lost {
        // What else was held of it is given back.
        drop(held);
        return Err(lost.into());
    }
    give_back(held).await?;
    Ok(exit_code(status?))
}

/// Gives the box back. Only a lease that was lost is a failure: whatever else keeps the node from
/// taking it back, the command had it until its end.
async fn give_back(held: Held) -> Result<(), Ending> {
    match held.release().await {
        Ok(()) => Ok(()),
        Err(BoxClientError::Lost(lost)) => Err(lost.into()),
        Err(error) => {
            say(&format!("the box is not given back, its ttl ends the lease: {error}"));
            Ok(())
        }
    }
}

/// Waits until a child has ended, and leaves it to be waited for.
fn until_ended(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // It fails only for what is no child any more, or when a signal came.
    while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| Some(BY_SIGNAL + status.signal()?));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}

impl Running {
    /// Starts the command by way of this program, which has it die with this process.
    fn start(held: &Held, args: &BoxRunArgs) -> io::Result<Self> {
        let lease = held.leases().first().map(|told| told.lease_id.to_string()).unwrap_or_default();
        let given = [
            ("box", "REELYARD_BOX", held.box_id().to_string()),
            ("token", "REELYARD_BOX_TOKEN", held.token().to_string()),
            ("pool", "REELYARD_BOX_POOL", args.pool.clone()),
            ("lease", "REELYARD_BOX_LEASE", lease.clone()),
        ];
        let leads = !io::stdin().is_terminal();
        let mut command = Command::new("/proc/self/exe");
        command.args(["box", "become", &std::process::id().to_string(), "--"]);
        for argument in &args.command {
            let places = given.iter().map(|(name, _, value)| (*name, value.as_str()));
            command.arg(filled(argument, places));
        }
        for (_, variable, value) in &given {
            command.env(variable, value);
        }
        let mark = PathBuf::from(format!("/{lease}"));
        command.env(MARK, &mark);
        if leads {
            command.process_group(0);
        }
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        Ok(Running { child, pid, leads, mark })
    }

    fn pass_on(&self, signal: Signal) {
        // It fails for what has just ended.
        let _ = match signal {
            _ if self.leads => kill_process_group(self.pid, signal),
            // The terminal told it as well.
            Signal::INT | Signal::QUIT => Ok(()),
            _ => kill_process(self.pid, signal),
        };
    }

    /// Ends whoever still runs of it: the box is handed on.
    async fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        let (pid, mark) = (self.pid, self.mark.clone());
        let ended = tokio::task::spawn_blocking(move || Family::of(pid, MARK, &mark).end(grace));
        if !ended.await.unwrap_or(false) {
            say("what the command started cannot be ended: see to it, the box is handed on");
        }
        self.child.wait()
    }
}

/// An argument with what was given in its places. One that is no text has none.
fn filled<'a>(argument: &OsStr, places: impl Iterator<Item = (&'a str, &'a str)>) -> OsString {
    let Some(text) = argument.to_str() else { return argument.to_owned() };
    let fill =
        |text: String, (name, value): (&str, &str)| text.replace(&format!("{{{name}}}"), value);
    places.fold(text.to_owned(), fill).into()
}

/// Becomes the command, which from then on dies with whoever started it.
pub fn become_command(args: BecomeArgs) -> ExitCode {
    // It fails on no Linux. The parent may have died before.
    let follows = set_parent_process_death_signal(Some(Signal::KILL));
    if follows.is_err() || getppid().map(Pid::as_raw_pid) != Some(args.parent) {
        return ExitCode::from(FAILED);
    }
    let error = Command::new(&args.command[0]).args(&args.command[1..]).exec();
    say(&format!("{}: {error}", args.command[0].to_string_lossy()));
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    ExitCode::from(if is_missing { NOT_FOUND } else { CANNOT_RUN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_stands_in_its_places_and_all_else_stays() {
        let filled = |text: &str| {
            let places = [("box", "3"), ("token", "17")];
            filled(OsStr::new(text), places.into_iter()).into_string().unwrap()
        };
        assert_eq!(filled("--box-id={box}"), "--box-id=3");
        assert_eq!(filled("{box}{box}/{token}"), "33/17");
        for kept in ["{print $1}", "{}", "{ box }", "{boxes}", "plain"] {
            assert_eq!(filled(kept), kept);
        }
    }
}
