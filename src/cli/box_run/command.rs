//! The command of `box run`, and whatever it starts.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;

use reelyard_actors::processes::family::{Family, MarkName};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};
use tokio::task::JoinHandle;

use super::{BecomeArgs, BoxRunArgs, CANNOT_RUN, FAILED, NOT_FOUND, say};
use crate::box_client::Held;

/// Marks the processes of a command; its value is the lease.
const MARK: MarkName = "BOX_OF_REELYARD";

/// The command while it runs.
pub struct Running {
    child: Child,
    pid: Pid,
    /// Whether it leads a process group of its own. At a terminal it stays in that of this process:
    /// another one could not read from it.
    leads: bool,
    /// Marks what it starts.
    mark: PathBuf,
}

impl Running {
    /// Starts the command by way of this program, which has it die with this process.
    pub fn start(held: &Held, args: &BoxRunArgs) -> io::Result<Self> {
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

    /// Done once it has ended; it is left to be waited for.
    pub fn ended(&self) -> JoinHandle<()> {
        let pid = self.pid;
        tokio::task::spawn_blocking(move || until_ended(pid))
    }

    /// Passes on a signal that came to this process.
    pub fn pass_on(&self, signal: Signal) {
        // The terminal told it as well.
        if self.leads || !matches!(signal, Signal::INT | Signal::QUIT) {
            self.tell(signal);
        }
    }

    /// Stops it, whatever it does on SIGTSTP.
    pub fn stop(&self) {
        self.tell(Signal::STOP);
    }

    /// Has it go on after it was stopped.
    pub fn go_on(&self) {
        self.tell(Signal::CONT);
    }

    fn tell(&self, signal: Signal) {
        // It fails for what has just ended.
        let _ = match self.leads {
            true => kill_process_group(self.pid, signal),
            false => kill_process(self.pid, signal),
        };
    }

    /// Ends whoever still runs of it: the box is handed on.
    pub async fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        // Stopped, it could not do as it is told.
        self.go_on();
        let (pid, mark) = (self.pid, self.mark.clone());
        let ended = tokio::task::spawn_blocking(move || Family::of(pid, MARK, &mark).end(grace));
        if !ended.await.unwrap_or(false) {
            say("what the command started cannot be ended: see to it, the box is handed on");
        }
        self.child.wait()
    }
}

/// Waits until a child has ended, and leaves it to be waited for.
fn until_ended(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // It fails only for what is no child any more, or when a signal came.
    while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
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
