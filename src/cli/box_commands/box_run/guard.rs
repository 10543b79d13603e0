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
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    set_parent_process_death_signal, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::signals::{self, RunnerSignals, THAT_END};
use super::{BY_SIGNAL, FAILED, print_message};

/// Environment variable of the runner with the process id of its guard.
const GUARD: &str = "REELYARD_BOX_RUN_GUARD";

/// The guard process of this runner.
#[derive(Clone, Copy)]
pub struct Guard(pub Pid);

impl Guard {
    /// The guard that started this process; none if this process must become the guard.
    pub fn of_this_process() -> Option<Self> {
        let value = std::env::var(GUARD).ok()?;
        value.parse().ok().and_then(Pid::from_raw).map(Guard)
    }

    /// Removes the variable from the environment of a command, so that a nested `box run` starts
    /// its own guard.
    pub fn hide(command: &mut Command) {
        command.env_remove(GUARD);
    }

    pub fn has_ended(self) -> bool {
        getppid() != Some(self.0)
    }

    /// Sends SIGKILL to `signals` when the guard has ended.
    pub fn watch(self, signals: mpsc::Sender<Signal>) -> io::Result<()> {
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        // SIGCONT also reaches a stopped runner.
        set_parent_process_death_signal(Some(Signal::CONT))?;
        tokio::spawn(async move {
            while !self.has_ended() {
                if continued.recv().await.is_none() {
                    return;
                }
            }
            // It fails when the receiver is gone.
            let _ = signals.send(Signal::KILL).await;
        });
        Ok(())
    }
}

/// Runs this program again as the runner, and exits with its exit code.
pub fn guard() -> io::Result<ExitCode> {
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
    command.env(GUARD, getpid().to_string());
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
