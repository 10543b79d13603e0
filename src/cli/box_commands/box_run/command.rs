//! The command of `box run` with its child processes.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use reelyard_worker::processes::below;
use rustix::process::{
    Pid, Signal, WaitStatus, getpgid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal,
};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use super::arguments::{BecomeArgs, BoxRunArgs};
use super::exit::{CANNOT_RUN, FAILED, NOT_FOUND, print_message};
use super::guard::Guard;
use crate::box_client::HeldBoxes;

/// The process of the command and all its descendants.
pub struct RunningCommand {
    pid: Pid,
    /// Whether it leads its own process group. On a terminal it shares the group of the guard,
    /// because another group could not read from the terminal.
    leads: bool,
    /// The wait status of the command; none while it runs.
    status: Option<WaitStatus>,
    /// Signals that a child process may have ended.
    changes: Stream,
}

impl RunningCommand {
    /// Starts the command through this program, so that it dies with this process.
    pub fn start(held: &HeldBoxes, args: &BoxRunArgs, guard: Guard) -> io::Result<Self> {
        below::become_subreaper()?;
        let lease =
            held.leases().first().map(|lease| lease.lease_id.to_string()).unwrap_or_default();
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
            let placeholders = given.iter().map(|(name, _, value)| (*name, value.as_str()));
            command.arg(filled(argument, placeholders));
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

    /// Waits until the command has ended. Also reaps orphans that became children of this process.
    pub async fn ended(&mut self) {
        loop {
            let RunningCommand { pid, status, .. } = self;
            below::collect(|ended, how| record_status(*pid, status, ended, how));
            if self.status.is_some() || self.changes.recv().await.is_none() {
                return;
            }
        }
    }

    /// Forwards a signal to the command.
    pub fn pass_on(&self, signal: Signal) {
        // The terminal already sent the signal to the command.
        if self.leads || !matches!(signal, Signal::INT | Signal::QUIT) {
            self.send_signal(signal);
        }
    }

    /// Stops the command with SIGSTOP, which it cannot ignore.
    pub fn stop(&self) {
        self.send_signal(Signal::STOP);
    }

    /// Continues the stopped command.
    pub fn go_on(&self) {
        self.send_signal(Signal::CONT);
    }

    fn send_signal(&self, signal: Signal) {
        // After it was reaped, its process id may belong to another process.
        if self.status.is_none() {
            // This fails if the process has just ended.
            let _ = match self.leads {
                true => kill_process_group(self.pid, signal),
                false => kill_process(self.pid, signal),
            };
        }
    }

    /// Ends the command and all its descendants, because another holder gets the box. Returns its
    /// wait status.
    pub async fn end(&mut self, grace: Duration) -> Option<WaitStatus> {
        let RunningCommand { pid, status, .. } = self;
        if !below::end(grace, |ended, how| record_status(*pid, status, ended, how)).await {
            print_message(
                "cannot end the processes that the command started: find them with ps; the box is released",
            );
            self.ended().await;
        }
        self.status
    }
}

fn record_status(command: Pid, status: &mut Option<WaitStatus>, ended: Pid, how: WaitStatus) {
    // After it was reaped, its process id may belong to another process.
    if ended == command && status.is_none() {
        *status = Some(how);
    }
}

/// Replaces the placeholders of an argument. An argument that is not UTF-8 has none.
fn filled<'a>(
    argument: &OsStr,
    placeholders: impl Iterator<Item = (&'a str, &'a str)>,
) -> OsString {
    let Some(text) = argument.to_str() else { return argument.to_owned() };
    let fill =
        |text: String, (name, value): (&str, &str)| text.replace(&format!("{{{name}}}"), value);
    placeholders.fold(text.to_owned(), fill).into()
}

/// Executes the command in this process, which then dies with its parent.
pub fn become_command(args: BecomeArgs) -> ExitCode {
    // The first call never fails on Linux. The parent may have ended before it.
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
    fn known_placeholders_are_filled_and_other_braces_stay() {
        let filled = |text: &str| {
            let placeholders = [("box", "3"), ("token", "17")];
            filled(OsStr::new(text), placeholders.into_iter()).into_string().unwrap()
        };
        assert_eq!(filled("--box-id={box}"), "--box-id=3");
        assert_eq!(filled("{box}{box}/{token}"), "33/17");
        for kept in ["{print $1}", "{}", "{ box }", "{boxes}", "plain"] {
            assert_eq!(filled(kept), kept);
        }
    }
}
