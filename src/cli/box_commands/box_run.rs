//! `reelyard box run`: runs a command that holds a box until it ends.

mod command;
mod guard;
mod signals;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use reelyard_api::Span;
use reelyard_boxes::box_lease::Priority;
use rustix::process::{Signal, WaitStatus};

use super::box_run::command::RunningCommand;
use super::box_run::guard::Guard;
use super::box_run::signals::RunnerSignals;
use super::boxes::priority;
use crate::box_client::{BoxClient, BoxClientError, BoxRequest, HeldBoxes, Lost};
use crate::cli::client::NodeArgs;
use crate::cli::support::failure::{CommandFailure, NO_BOX};
use crate::cli::support::output::plain;

pub use super::box_run::command::become_command;

/// Exit code: the lease was lost before the command ended.
const LOST: u8 = 124;
/// Exit code: there is no lease, for another reason.
const FAILED: u8 = 125;
/// Exit code: the command cannot be executed.
const CANNOT_RUN: u8 = 126;
/// Exit code: the command does not exist.
const NOT_FOUND: u8 = 127;
/// Added to the number of the signal that ended the command.
const BY_SIGNAL: i32 = 128;

/// Help text below the options.
pub const AFTER_HELP: &str = "\
In the arguments of the command, {box}, {token}, {pool} and {lease} are replaced. The environment of
the command contains them as REELYARD_BOX, REELYARD_BOX_TOKEN, REELYARD_BOX_POOL and REELYARD_BOX_LEASE.

The lease is renewed while the command runs. When the command ends, all processes that it started are
ended, and the box is released. This includes processes in another session or without the environment.
SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command. During the wait for a box they leave
the queue. Signals that are ignored at the start stay ignored, as with nohup.

Two processes do this: the one that you start, and its child that holds the lease and runs the command.
If the first is killed, the second ends the command with all its processes and releases the box. It
sends SIGTERM, and SIGKILL after --grace. If the second is killed, the first kills all processes of the
command; the box is free after the ttl. There are two limits. If both are killed at the same moment,
only the command itself ends, not the processes that it started. A process of another user, for example
by a set-user-ID bit, is ended only if this command runs as root.

Ctrl-Z (SIGTSTP) also stops the command, and the lease is not renewed. After SIGCONT the command
continues if its lease is still valid; otherwise it is ended. SIGSTOP of the first process stops nothing
else. SIGSTOP of the second leaves the command running without renewal, and another holder gets its box
after the ttl. After SIGCONT it ends a command whose lease is over at once.

If no node answers, the lease is lost at the end of its ttl. A command that ignores SIGTERM then has
--grace more time. Set the grace of the pool (default 5s) to a longer time, so that the box is not
cleaned before.

Exit codes: the code of the command, 128+n if signal n ended it, or
  2    the command line is wrong
  123  no box was free within --wait
  124  the lease was lost before the command ended; the command was ended
  125  there is no box for another reason: the node refused or cannot be reached, or the process
       that holds the lease was killed
  126  the command cannot be run
  127  the command does not exist

Example: reelyard box run --pool judge --wait 5m -- isolate --box-id={box} --run -- ./solution";

/// Arguments of `reelyard box run`.
#[derive(Debug, Args)]
pub struct BoxRunArgs {
    /// Name of the pool.
    #[arg(long)]
    pool: String,
    /// Lifetime of the lease without a renewal, for example 30s [default: that of the pool].
    #[arg(long)]
    ttl: Option<Span>,
    /// Longest wait for a box, for example 5m; 0s does not wait.
    #[arg(long, default_value = "0s")]
    wait: Span,
    /// Name of the holder [default: this host and process].
    #[arg(long)]
    holder: Option<String>,
    /// Priority from -100 to 100; higher is served first.
    #[arg(long, default_value = "0", allow_negative_numbers = true, value_parser = priority)]
    priority: Priority,
    /// Idempotency key of one attempt of a job, for example job-17/2. A repeated attempt with the
    /// same key gets the same box. It is refused after the lease has ended.
    #[arg(long)]
    request_id: Option<String>,
    /// Take over the box of an ended process that used the same idempotency key.
    #[arg(long, requires = "request_id")]
    take_over: bool,
    /// Time between SIGTERM and SIGKILL for the command after the lease is lost.
    #[arg(long, default_value = "3s")]
    grace: Span,
    /// Command with its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Arguments of the process that becomes the command.
#[derive(Debug, Args)]
pub struct BecomeArgs {
    /// Process id of the runner that starts it
    parent: i32,
    /// Command with its arguments.
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// Why `box run` ended without the exit code of the command.
#[derive(Debug, thiserror::Error)]
enum BoxRunError {
    #[error(transparent)]
    NoLease(#[from] BoxClientError),
    #[error("{0}; the command was ended")]
    Lost(#[from] Lost),
    #[error("ended by signal {0} while waiting for a box")]
    Signal(i32),
    #[error("{0}")]
    CannotRun(String),
}

impl BoxRunError {
    fn exit_code(&self) -> u8 {
        match self {
            BoxRunError::NoLease(BoxClientError::NoBoxInTime(_)) => NO_BOX,
            BoxRunError::NoLease(BoxClientError::Lost(_)) | BoxRunError::Lost(_) => LOST,
            BoxRunError::NoLease(_) => FAILED,
            BoxRunError::Signal(number) => u8::try_from(BY_SIGNAL + number).unwrap_or(FAILED),
            BoxRunError::CannotRun(_) => CANNOT_RUN,
        }
    }
}

/// Runs the command.
pub fn run(node: &NodeArgs, args: BoxRunArgs) -> Result<ExitCode, CommandFailure> {
    let client = node.box_client()?;
    let ended = match Guard::of_this_process() {
        Some(guard) => lease_and_run(&client, &args, guard),
        None => guard::guard().map_err(cannot),
    };
    Ok(ended.unwrap_or_else(|ending| {
        print_message(&ending.to_string());
        ExitCode::from(ending.exit_code())
    }))
}

/// Prints a message on standard error, which the command uses too. A failure is ignored, because
/// the exit code has the same meaning.
fn print_message(what: &str) {
    let _ = writeln!(io::stderr(), "reelyard: {}", plain(what));
}

fn cannot(error: io::Error) -> BoxRunError {
    BoxRunError::CannotRun(error.to_string())
}

fn lease_and_run(
    client: &BoxClient,
    args: &BoxRunArgs,
    guard: Guard,
) -> Result<ExitCode, BoxRunError> {
    // The name in lists of processes, which would otherwise be "exe".
    let _ = std::fs::write("/proc/self/comm", "reelyard");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(cannot)?.block_on(async {
        let mut signals = RunnerSignals::of_runner(guard).map_err(cannot)?;
        // The request needs a key before it is sent, so that a grant that crosses a signal can be
        // found again.
        let wanted = wanted(args, guard).named()?;
        let mut held = tokio::select! {
            held = client.acquire(&args.pool, &wanted) => held?,
            signal = signals.next() => {
                client.withdraw(&args.pool, &wanted).await;
                return Err(BoxRunError::Signal(signal.as_raw()));
            }
        };
        // The lease was granted during a wait. This process may have been stopped for longer than
        // the lease lasts.
        if held.was_waited_for() {
            held.renew().await.map_err(BoxClientError::Lost)?;
        }
        with_box(held, args, guard, signals).await
    })
}

fn wanted(args: &BoxRunArgs, guard: Guard) -> BoxRequest {
    let by_itself = || {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        format!("{host}/{}", guard.0)
    };
    BoxRequest {
        holder: args.holder.clone().unwrap_or_else(by_itself),
        ttl: args.ttl.map(|ttl| ttl.0),
        wait: args.wait.0,
        priority: args.priority,
        count: 1,
        request_id: args.request_id.clone(),
        take_over: args.take_over,
    }
}

async fn with_box(
    mut held: HeldBoxes,
    args: &BoxRunArgs,
    guard: Guard,
    mut signals: RunnerSignals,
) -> Result<ExitCode, BoxRunError> {
    // During the wait for a box only this process could be stopped.
    let started =
        signals.catch(Signal::TSTP).and_then(|()| RunningCommand::start(&held, args, guard));
    let mut running = match started {
        Ok(running) => running,
        Err(error) => {
            give_back(held).await?;
            return Err(BoxRunError::CannotRun(format!("{:?}: {error}", args.command[0])));
        }
    };
    let lost = until_over(&mut held, &mut running, guard, &mut signals).await.err();
    let grace = grace_left(args.grace.0, held.until(), Instant::now());
    let status = running.end(grace).await;
    if let Some(lost) = lost {
        // The lease is lost by the clock of this machine; the node may still count it as held.
        let _ = held.release().await;
        return Err(lost.into());
    }
    give_back(held).await?;
    Ok(exit_code(status))
}

/// Waits until the command ends, its lease is lost, or the guard ends.
async fn until_over(
    held: &mut HeldBoxes,
    running: &mut RunningCommand,
    guard: Guard,
    signals: &mut RunnerSignals,
) -> Result<(), Lost> {
    loop {
        tokio::select! {
            // After a stop this process does not know when the command ended.
            () = running.ended() => return held.check(),
            lost = held.lost() => return Err(lost),
            signal = signals.next() => match signal {
                Signal::KILL => return Ok(()),
                Signal::TSTP => stop_together(held, running, guard).await?,
                signal => running.pass_on(signal),
            }
        }
    }
}

/// Stops the command and this process, so that the lease is not renewed. After SIGCONT the command
/// continues if the lease is still valid.
async fn stop_together(
    held: &mut HeldBoxes,
    running: &RunningCommand,
    guard: Guard,
) -> Result<(), Lost> {
    running.stop();
    if let Err(error) = signals::stop_this_process().await {
        print_message(&format!("cannot stop this process after Ctrl-Z: {error}"));
    }
    // A shell that continues the whole process group has continued the command, too.
    running.stop();
    if guard.has_ended() {
        return Ok(());
    }
    held.renew().await?;
    running.go_on();
    Ok(())
}

/// The time left for the command to end by itself. It counts from the end of the lease at the
/// latest, which a stopped process may notice late.
fn grace_left(grace: Duration, until: Instant, now: Instant) -> Duration {
    (until + grace).saturating_duration_since(now).min(grace)
}

/// Releases the box. Only a lost lease is a failure: after any other error, the command still had
/// the box until its end.
async fn give_back(held: HeldBoxes) -> Result<(), BoxRunError> {
    match held.release().await {
        Ok(()) => Ok(()),
        Err(BoxClientError::Lost(lost)) => Err(lost.into()),
        Err(error) => {
            print_message(&format!("cannot release the box, its lease ends at its ttl: {error}"));
            Ok(())
        }
    }
}

fn exit_code(status: Option<WaitStatus>) -> ExitCode {
    let code = status.and_then(|status| {
        status.exit_status().or_else(|| Some(BY_SIGNAL + status.terminating_signal()?))
    });
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_is_over_a_grace_after_the_lease() {
        let (grace, until) = (Duration::from_secs(3), Instant::now());
        let left = |after: u64| grace_left(grace, until, until + Duration::from_secs(after));
        assert_eq!(grace_left(grace, until + Duration::from_secs(9), until), grace);
        assert_eq!([left(0), left(1), left(3)], [3, 2, 0].map(Duration::from_secs));
        assert_eq!(left(1000), Duration::ZERO);
    }
}
