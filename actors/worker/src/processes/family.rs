//! All processes of one run of a program, and their end.
//!
//! They are known by their process group, and by a variable in their environment. The variable also finds
//! processes that left the group or outlived a killed worker. So no process id must be stored, and none is
//! ever confused with that of another process. Only a process that left the group and also changed its
//! environment is not found here.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

use super::table::{ProcessStatus, Variable, has_ended, processes, send_signal};

/// How long processes of an earlier run may take to end after SIGTERM.
pub const LEFTOVER_GRACE: Duration = Duration::from_secs(5);

/// How often it is looked whether all have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The longest wait for the end after SIGKILL. Only processes that hang in the kernel take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest time to load a program. Until then its owner is unknown, because its environment is
/// not set yet.
const LOADING: Duration = Duration::from_secs(2);

/// The variable that marks the processes of programs of one kind; its value is a path that each run
/// has for itself.
pub type MarkName = &'static str;

/// The processes of one run, or of all runs with paths in one directory.
pub struct ProcessFamily<'a> {
    leader: Option<Pid>,
    name: MarkName,
    mark: Marked<'a>,
}

enum Marked<'a> {
    With(&'a Path),
    In(&'a Path),
}

impl Marked<'_> {
    fn is(&self, mark: &[u8]) -> bool {
        match self {
            Marked::With(path) => mark == path.as_os_str().as_bytes(),
            Marked::In(dir) => Path::new(OsStr::from_bytes(mark)).parent() == Some(dir),
        }
    }
}

/// Living processes of a family.
#[derive(Default)]
struct LiveMembers {
    members: Vec<Pid>,
    /// Whether there are processes whose family is not known yet.
    is_unsure: bool,
}

impl<'a> ProcessFamily<'a> {
    /// The processes that `leader` started. `leader` is a child that has not been waited for and
    /// leads its own group, unless it is at a terminal.
    pub fn of(leader: Pid, name: MarkName, path: &'a Path) -> Self {
        ProcessFamily { leader: Some(leader), name, mark: Marked::With(path) }
    }

    /// Ends all of them with SIGTERM, and with SIGKILL those that live after `grace`. Returns
    /// whether none is left.
    pub fn end(&self, grace: Duration) -> bool {
        self.signal(Signal::TERM, grace) || self.signal(Signal::KILL, PATIENCE)
    }

    fn signal(&self, signal: Signal, patience: Duration) -> bool {
        let began = Instant::now();
        let mut reported = HashSet::new();
        if let Some(leader) = self.leader {
            // It fails only for a group without a living process. Processes that joined the group later or
            // left it are found one by one. A leader that stayed in its parent's group, such as one at a
            // terminal, needs no mark. It is a child that was not waited for yet.
            if kill_process_group(leader, signal).is_err() && !has_ended(leader) {
                let _ = kill_process(leader, signal);
            }
        }
        loop {
            let LiveMembers { members, is_unsure } = self.living();
            let is_sure = !is_unsure || began.elapsed() >= LOADING;
            if members.is_empty() && is_sure && self.leader.is_none_or(has_ended) {
                return true;
            }
            for pid in members {
                if reported.insert(pid) {
                    // This fails for a process that has just ended, and for one that this process may not
                    // signal. The latter is still there when the time is over.
                    send_signal(pid, signal, |pid| self.has(pid) == Some(true));
                }
            }
            if began.elapsed() >= patience {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn living(&self) -> LiveMembers {
        let (own, mut living) = (getpid(), LiveMembers::default());
        for pid in processes().filter(|pid| *pid != own) {
            match self.has(pid) {
                Some(true) => living.members.push(pid),
                Some(false) => {}
                None => living.is_unsure = true,
            }
        }
        living
    }

    /// Whether a process is alive and belongs to the family; none if that is not known yet.
    fn has(&self, pid: Pid) -> Option<bool> {
        let Some(process) = ProcessStatus::of(pid) else { return Some(false) };
        if self.leader.is_some() && process.group == self.leader {
            return Some(true);
        }
        match Variable::of(pid, self.name) {
            Variable::Is(mark) => Some(self.mark.is(&mark)),
            Variable::Absent => Some(false),
            Variable::NotYet => None,
        }
    }
}

/// Processes that an earlier run of the worker left behind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Number of processes that were left.
    pub processes: usize,
    /// The names in the directory that they were marked with.
    pub names: HashSet<OsString>,
    /// Whether all of them have ended.
    pub have_ended: bool,
}

/// Ends the processes that an earlier run of the worker left behind, if they are marked with paths in
/// `dir`. The caller must hold the lock of that directory.
pub fn end_leftovers(name: MarkName, dir: &Path, grace: Duration) -> Leftovers {
    let left = ProcessFamily { leader: None, name, mark: Marked::In(dir) };
    let living = left.living().members;
    let named = |pid: &Pid| match Variable::of(*pid, name) {
        Variable::Is(mark) => Path::new(OsStr::from_bytes(&mark)).file_name().map(OsStr::to_owned),
        _ => None,
    };
    let names = living.iter().filter_map(named).collect();
    let have_ended = living.is_empty() || left.end(grace);
    Leftovers { processes: living.len(), names, have_ended }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    const MARK: MarkName = "FAMILY_OF_A_TEST";

    fn sleeper(mark: &Path) -> Child {
        Command::new("sleep").arg("600").env(MARK, mark).process_group(0).spawn().unwrap()
    }

    #[test]
    fn only_the_family_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("1"), dir.path().join("2"));
        let mut leader = sleeper(&own);
        let mut marked_elsewhere = sleeper(&own);
        let mut unrelated = sleeper(&other);
        assert!(
            ProcessFamily::of(Pid::from_child(&leader), MARK, &own).end(Duration::from_secs(60))
        );
        assert!(!leader.wait().unwrap().success());
        assert!(!marked_elsewhere.wait().unwrap().success());
        assert!(unrelated.try_wait().unwrap().is_none());

        let nested = dir.path().join("deeper");
        let end = |dir: &Path| end_leftovers(MARK, dir, Duration::from_secs(60));
        let nobody = Leftovers { have_ended: true, ..Leftovers::default() };
        assert_eq!(end(&nested), nobody);
        let names = HashSet::from(["2".into()]);
        assert_eq!(end(dir.path()), Leftovers { processes: 1, names, have_ended: true });
        assert!(!unrelated.wait().unwrap().success());
    }

    #[test]
    fn a_member_whose_program_is_just_being_loaded_is_ended_too() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..50 {
            let own = dir.path().join(number.to_string());
            // Its environment is not there yet when it is looked for.
            let mut marked = sleeper(&own);
            let left = ProcessFamily { leader: None, name: MARK, mark: Marked::With(&own) };
            assert!(left.end(Duration::from_secs(60)));
            let ended = marked.try_wait().unwrap();
            if ended.is_none() {
                marked.kill().unwrap();
            }
            assert!(ended.is_some_and(|status| !status.success()), "{number} was missed");
        }
    }

    #[test]
    fn a_process_that_ignores_the_request_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("1");
        let deaf = "trap '' TERM; touch \"$0\"; while :; do sleep 600; done";
        let mut command = Command::new("sh");
        let ready = dir.path().join("ready");
        command.args(["-c", deaf]).arg(&ready).env(MARK, &own).process_group(0);
        let mut deaf = command.spawn().unwrap();
        while !ready.exists() {
            std::thread::yield_now();
        }
        let family = ProcessFamily::of(Pid::from_child(&deaf), MARK, &own);
        assert!(family.end(Duration::from_millis(50)));
        assert!(!deaf.wait().unwrap().success());
    }
}
