//! The command of `box run`, and whatever it starts.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use reelyard_actors::processes::below;
use rustix::process::{
    Pid, Signal, WaitStatus, getpgid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal,
};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use super::guard::Guard;
use super::{BecomeArgs, BoxRunArgs, CANNOT_RUN, FAILED, NOT_FOUND, print_message};
use crate::box_client::HeldBoxes;

/// The command while it runs.
pub struct RunningCommand {
    pid: Pid,
    /// Whether it leads a process group of its own. At a terminal it is in that of the guard: another one
    /// could not read from it.
    leads: bool,
    /// How it ended.
    status: Option<WaitStatus>,
    /// Says that a child of this process may have ended.
    changes: Stream,
}

impl RunningCommand {
    /// Starts the command by way of this program, which has it die with this process.
    pub fn start(held: &HeldBoxes, args: &BoxRunArgs, guard: Guard) -> io::Result<Self> {
        below::become_subreaper()?;
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
        Guard::hide(&mut command);
        let group = if leads { 0 } else { getpgid(Some(guard.0))?.as_raw_pid() };
        command.process_group(group);
        let changes = signal(SignalKind::child())?;
        let pid = Pid::from_child(&command.spawn()?);
        Ok(RunningCommand { pid, leads, status: None, changes })
    }

    /// Waits until it has ended. What it left to this process and has ended is collected meanwhile.
    pub async fn ended(&mut self) {
        loop {
            let RunningCommand { pid, status, .. } = self;
            below::collect(|ended, how| note(*pid, status, ended, how));
            if self.status.is_some() || self.changes.recv().await.is_none() {
                return;
            }
        }
    }

    /// Passes on a signal that came to this process.
    pub fn pass_on(&self, signal: Signal) {
        // The terminal told it as well.
        if self.leads || !matches!(signal, Signal::INT | Signal::QUIT) {
            self.send_signal(signal);
        }
    }

    /// Stops it, whatever it does on SIGTSTP.
    pub fn stop(&self) {
        self.send_signal(Signal::STOP);
    }

    /// Has it go on after it was stopped.
    pub fn go_on(&self) {
        self.send_signal(Signal::CONT);
    }

    fn send_signal(&self, signal: Signal) {
        // Once it is waited for, its number may be another process'.
        if self.status.is_none() {
            // It fails for what has just ended.
            let _ = match self.leads {
                true => kill_process_group(self.pid, signal),
                false => kill_process(self.pid, signal),
            };
        }
    }

    /// Ends it and everything that it started: the box is handed on. Answers how it ended.
    pub async fn end(&mut self, grace: Duration) -> Option<WaitStatus> {
        let RunningCommand { pid, status, .. } = self;
        if !below::end(grace, |ended, how| note(*pid, status, ended, how)).await {
            print_message(
                "cannot end the processes that the command started: find them with ps; the box is released",
            );
            self.ended().await;
        }
        self.status
    }
}

fn note(command: Pid, status: &mut Option<WaitStatus>, ended: Pid, how: WaitStatus) {
    // Once it is waited for, its number may be another process'.
    if ended == command && status.is_none() {
        *status = Some(how);
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
    // The first fails on no Linux. The parent may have ended before.
    let follows = set_parent_process_death_signal(Some(Signal::KILL));
    if follows.is_err() || getppid().map(Pid::as_raw_pid) != Some(args.parent) {
        return ExitCode::from(FAILED);
    }
    let error = Command::new(&args.command[0]).args(&args.command[1..]).exec();
    print_message(&format!("{}: {error}", args.command[0].to_string_lossy()));
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
