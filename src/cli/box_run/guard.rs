//! The two processes of `box run`: the *guard*, which a user starts and which only passes on signals and
//! the exit code, and below it the *runner*, which does the rest.
//!
//! Each survives a SIGKILL of the other and ends what the command started. Both are subreapers, so that no
//! descendant escapes them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use reelyard_actors::processes::below;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    set_parent_process_death_signal, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::signals::{self, RunnerSignals, THAT_END};
use super::{BY_SIGNAL, FAILED, print_message};

/// The process id of the guard, in the environment of its runner.
const GUARD: &str = "REELYARD_BOX_RUN_GUARD";

/// The guard of this process.
#[derive(Clone, Copy)]
pub struct Guard(pub Pid);

impl Guard {
    /// The one that started this process; none if this process is to be a guard.
    pub fn of_this_process() -> Option<Self> {
        let told = std::env::var(GUARD).ok()?;
        told.parse().ok().and_then(Pid::from_raw).map(Guard)
    }

    /// Keeps the commands that a runner starts from taking themselves for runners.
    pub fn hide(command: &mut Command) {
        command.env_remove(GUARD);
    }

    pub fn has_ended(self) -> bool {
        getppid() != Some(self.0)
    }

    /// Sends SIGKILL to `signals` once the guard has ended.
    pub fn watch(self, signals: mpsc::Sender<Signal>) -> io::Result<()> {
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        // SIGCONT also reaches a runner that is stopped.
        set_parent_process_death_signal(Some(Signal::CONT))?;
        tokio::spawn(async move {
            while !self.has_ended() {
                if continued.recv().await.is_none() {
                    return;
                }
            }
            // It fails when nobody waits for signals any more.
            let _ = signals.send(Signal::KILL).await;
        });
        Ok(())
    }
}

/// Runs this program once more as the runner, and ends with its exit code.
pub fn guard() -> io::Result<ExitCode> {
    below::become_subreaper()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        // Before the runner starts: none is lost.
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
    // What a terminal sends to the guard and to the command reaches the runner once, by way of the guard.
    command.process_group(0);
    Ok(Pid::from_child(&command.spawn()?))
}

/// What became of the runner; none while it lives. If it has stopped, this process stops as well.
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
    // A runner that ends as it should leaves nothing; one that panics may.
    let have_ended = below::end(Duration::ZERO, |_, _| ()).await;
    let Some(number) = status.terminating_signal() else {
        let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
        return ExitCode::from(code.unwrap_or(FAILED));
    };
    if THAT_END.iter().any(|one| one.as_raw() == number) {
        // The runner catches them: it had not begun to, and has neither box nor command.
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
