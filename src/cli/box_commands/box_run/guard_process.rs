//! The two processes of `box run`. The *guard* is started by the user; it only forwards signals and
//! the exit code. Its child, the *runner*, does the rest.
//!
//! Each survives a SIGKILL of the other and then ends what the command started. Both are
//! subreapers, so that no descendant escapes them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use reelyard_worker::processes::below;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use tokio::signal::unix::{SignalKind, signal};

use super::exit::{BY_SIGNAL, FAILED, print_message};
use super::guard::Guard;
use super::signals::{self, RunnerSignals, THAT_END};

/// Runs this program again as the runner, and exits with its exit code.
pub fn run() -> io::Result<ExitCode> {
    below::become_subreaper()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        // Before the runner starts, so that no signal is lost.
        let mut signals = RunnerSignals::new()?;
        THAT_END.into_iter().chain([Signal::TSTP]).try_for_each(|one| signals.catch(one))?;
        let mut changes = signal(SignalKind::child())?;
        let runner = start()?;
        loop {
            tokio::select! {
                _ = changes.recv() => if let Some(status) = change(runner).await? {
                    return Ok(exit_code(status).await);
                },
                signal = signals.next() => kill_process(runner, signal)?,
            }
        }
    })
}

fn start() -> io::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    let mut arguments = std::env::args_os();
    command.arg0(arguments.next().unwrap_or_default()).args(arguments);
    Guard::name_in(&mut command);
    // A terminal sends signals to the guard and the command. The runner must get them once, from
    // the guard.
    command.process_group(0);
    Ok(Pid::from_child(&command.spawn()?))
}

/// The wait status of the runner; none while it lives. If the runner stopped, this process stops
/// too.
async fn change(runner: Pid) -> io::Result<Option<WaitStatus>> {
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
    while let Some((_, status)) = waitpid(Some(runner), options)? {
        if !status.stopped() {
            return Ok(Some(status));
        }
        signals::stop_this_process().await?;
        kill_process(runner, Signal::CONT)?;
    }
    Ok(None)
}

async fn exit_code(status: WaitStatus) -> ExitCode {
    // A runner that ends normally leaves nothing; one that panics may leave processes.
    let have_ended = below::end(Duration::ZERO, |_, _| ()).await;
    let Some(number) = status.terminating_signal() else {
        let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
        return ExitCode::from(code.unwrap_or(FAILED));
    };
    if THAT_END.iter().any(|one| one.as_raw() == number) {
        // The runner catches these signals. It had not installed its handlers, so it has no box and
        // no command.
        return ExitCode::from(u8::try_from(BY_SIGNAL + number).unwrap_or(FAILED));
    }
    let rest = match have_ended {
        true => "all processes that the command started were killed",
        false => "cannot end the processes that the command started: find them with ps",
    };
    print_message(&format!(
        "signal {number} ended the process that ran the command; {rest}; \
         the box is free after its ttl"
    ));
    ExitCode::from(FAILED)
}
