//! The guard of a runner, as the runner sees it.

use std::io;
use std::process::Command;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

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

    /// Makes this process the guard of a runner that `command` starts.
    pub fn name_in(command: &mut Command) {
        command.env(GUARD, getpid().to_string());
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
            // This fails if the receiver no longer exists.
            let _ = signals.send(Signal::KILL).await;
        });
        Ok(())
    }
}
