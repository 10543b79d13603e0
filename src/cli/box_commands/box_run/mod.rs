//! `reelyard box run`: runs a command that holds a box until it ends.

mod arguments;
mod command;
mod exit;
mod guard;
mod guard_process;
mod signals;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use reelyard_api::WantedLease;
use reelyard_protocol::boxes::Holder;
use rustix::process::{Signal, WaitStatus};

use self::command::RunningCommand;
use self::exit::{BY_SIGNAL, CANNOT_RUN, FAILED, LOST, print_message};
use self::guard::Guard;
use self::signals::RunnerSignals;
use crate::box_client::{self, BoxClient, BoxClientError, HeldBoxes, Lost};
use crate::cli::client::NodeArgs;
use crate::cli::support::failure::{CommandFailure, NO_BOX};

pub use self::arguments::{AFTER_HELP, BecomeArgs, BoxRunArgs};
pub use self::command::become_command;

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
        None => guard_process::run().map_err(cannot),
    };
    Ok(ended.unwrap_or_else(|ending| {
        print_message(&ending.to_string());
        ExitCode::from(ending.exit_code())
    }))
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
        let wanted = wanted(args, guard)?;
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

fn wanted(args: &BoxRunArgs, guard: Guard) -> Result<WantedLease, BoxClientError> {
    let holder = match &args.holder {
        Some(holder) => holder.clone(),
        None => {
            let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
            let bad = |error| BoxClientError::BadRequest(format!("holder {host:?}: {error}"));
            Holder::new(&format!("{host}/{}", guard.0)).map_err(bad)?
        }
    };
    box_client::named(args.options.clone().request(holder, 1))
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
