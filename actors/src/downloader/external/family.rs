//! All processes of one external download, and their end.
//!
//! They are known by their process group, and by a variable in their environment, which also those
//! have that left the group, and by which those are found that outlived a worker that was killed:
//! no number of a process has to be kept anywhere, and none is ever taken for another's.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// The variable that marks the processes of a download; its value is the path of its temporary
/// file.
pub const MARK: &str = "DOWNLOAD_OF_REELYARD";

/// How long what an earlier run left behind may take to end after SIGTERM.
pub const LEFTOVER_GRACE: Duration = Duration::from_secs(5);

/// How often it is looked whether all have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long the end is waited for after SIGKILL. Only what hangs in the kernel takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The processes of one download, or of all downloads to one directory.
pub struct Family<'a> {
    leader: Option<Pid>,
    mark: Marked<'a>,
}

enum Marked<'a> {
    With(&'a Path),
    Below(&'a Path),
}

impl Marked<'_> {
    fn is(&self, mark: &[u8]) -> bool {
        match self {
            Marked::With(path) => mark == path.as_os_str().as_bytes(),
            Marked::Below(dir) => Path::new(OsStr::from_bytes(mark)).parent() == Some(dir),
        }
    }
}

impl<'a> Family<'a> {
    /// What `leader` started, a child that leads its own group and is not waited for yet.
    pub fn of(leader: Pid, target: &'a Path) -> Self {
        Family { leader: Some(leader), mark: Marked::With(target) }
    }

    /// Ends all of them: SIGTERM, and SIGKILL for whoever lives after `grace`. Answers whether
    /// nobody lives.
    pub fn end(&self, grace: Duration) -> bool {
        self.tell(Signal::TERM, grace) || self.tell(Signal::KILL, PATIENCE)
    }

    fn tell(&self, signal: Signal, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut told = HashSet::new();
        loop {
            let living = self.living();
            if living.is_empty() {
                return true;
            }
            for pid in living {
                if told.insert(pid) {
                    // It fails for one that has just ended, and for one that is not ours to end:
                    // that one is still there when the time is over.
                    let _ = kill_process(pid, signal);
                }
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn living(&self) -> Vec<Pid> {
        let own = getpid();
        let is_member = |pid: &Pid| {
            *pid != own
                && group_of_living(*pid).is_some_and(|group| {
                    Some(group) == self.leader
                        || mark_of(*pid).is_some_and(|mark| self.mark.is(&mark))
                })
        };
        processes().filter(is_member).collect()
    }
}

/// Ends the downloads into `temp_dir` that an earlier run of the worker left behind, and answers
/// the names of their temporary files. Only for whoever holds the lock of that directory.
pub fn end_leftovers(temp_dir: &Path, grace: Duration) -> Vec<std::ffi::OsString> {
    let left = Family { leader: None, mark: Marked::Below(temp_dir) };
    let living = left.living();
    if living.is_empty() {
        return Vec::new();
    }
    let files = living.iter().filter_map(|pid| mark_of(*pid));
    let files =
        files.filter_map(|mark| Some(Path::new(OsStr::from_bytes(&mark)).file_name()?.to_owned()));
    let files: HashSet<_> = files.collect();
    let processes = living.len();
    if left.end(grace) {
        tracing::info!(processes, "external downloaders of an earlier run ended");
    } else {
        tracing::error!(processes, "external downloaders of an earlier run cannot be ended");
    }
    files.into_iter().collect()
}

/// Every process there is.
fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// The process group of a process that has not ended.
fn group_of_living(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold any others.
    let after_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(&stat[after_name + 1..]).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let (state, group) = (fields.next()?, fields.nth(1)?);
    if matches!(state, "Z" | "X") { None } else { Pid::from_raw(group.parse().ok()?) }
}

/// The mark in the environment of a process, as it was when its program began.
fn mark_of(pid: Pid) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = |variable: &[u8]| {
        let value = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
        Some(value.to_owned())
    };
    variables.find_map(value)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(mark: &Path) -> Child {
        Command::new("sleep").arg("600").env(MARK, mark).process_group(0).spawn().unwrap()
    }

    #[test]
    fn only_the_family_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("1"), dir.path().join("2"));
        let mut leader = sleeper(&own);
        let mut marked_elsewhere = sleeper(&own);
        let mut stranger = sleeper(&other);
        assert!(Family::of(Pid::from_child(&leader), &own).end(Duration::from_secs(60)));
        assert!(!leader.wait().unwrap().success());
        assert!(!marked_elsewhere.wait().unwrap().success());
        assert!(stranger.try_wait().unwrap().is_none());

        let nested = dir.path().join("deeper");
        assert!(end_leftovers(&nested, Duration::from_secs(60)).is_empty());
        assert_eq!(end_leftovers(dir.path(), Duration::from_secs(60)), ["2"]);
        assert!(!stranger.wait().unwrap().success());
    }

    #[test]
    fn whoever_ignores_the_request_is_killed() {
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
        let family = Family::of(Pid::from_child(&deaf), &own);
        assert!(family.end(Duration::from_millis(50)));
        assert!(!deaf.wait().unwrap().success());
    }
}
