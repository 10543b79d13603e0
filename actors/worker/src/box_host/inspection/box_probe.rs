//! Checks boxes: the processes of their users, and the existing paths.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid};

use super::checks::{BoxLeftovers, LeftProcess, LeftoverTargets, Uid};
use crate::processes::table::{ProcessStatus, processes, send_signal};

/// How long the worker tries to kill leftover processes. Only a process that hangs in the kernel takes
/// longer, or one that starts others faster than they are killed.
const KILLING: Duration = Duration::from_secs(5);

/// How often it is looked whether all have ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The processes of this machine by the users they run as.
pub struct ProcessSnapshot {
    by_user: HashMap<u32, Vec<LeftProcess>>,
    sees_all: bool,
}

impl ProcessSnapshot {
    /// Looks at every process there is.
    pub fn read() -> Self {
        let mut by_user: HashMap<u32, Vec<LeftProcess>> = HashMap::new();
        for pid in processes() {
            let (mut users, Some(process)) = (users_of(pid), ProcessStatus::of(pid)) else {
                continue;
            };
            users.sort_unstable();
            users.dedup();
            for user in users {
                let (pid, name) = (pid.as_raw_nonzero().get(), process.name.clone());
                by_user.entry(user).or_default().push(LeftProcess { pid, name });
            }
        }
        // The first process is visible to everybody, unless /proc is mounted to hide others' processes.
        ProcessSnapshot { by_user, sees_all: std::fs::read("/proc/1/status").is_ok() }
    }

    /// The leftovers of a box.
    pub fn inspect(&self, sought: &LeftoverTargets) -> BoxLeftovers {
        let mut found = BoxLeftovers::default();
        if let Some(uid) = sought.uid {
            if uid.get() == geteuid().as_raw() {
                found.unseen.push(format!("user {uid} of the box is the worker's own"));
            } else if !self.sees_all {
                let why = "/proc hides the processes of other users: run the worker as root";
                found.unseen.push(why.to_owned());
            }
            found.processes = Some((uid, self.of_user(uid)));
        }
        for path in &sought.directories {
            if is_there(path, &mut found.unseen) {
                found.directories.push(path.clone());
            }
        }
        for path in &sought.cgroups {
            if is_there(path, &mut found.unseen) {
                found.cgroups.push((path.clone(), members(path)));
            }
        }
        found
    }

    fn of_user(&self, uid: Uid) -> Vec<LeftProcess> {
        self.by_user.get(&uid.get()).cloned().unwrap_or_default()
    }
}

fn is_there(path: &Path, unseen: &mut Vec<String>) -> bool {
    match std::fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            false
        }
        Err(error) => {
            unseen.push(format!("{} cannot be checked: {error}", path.display()));
            false
        }
    }
}

/// The users of a process: the real one, and those that give it its rights.
fn users_of(pid: Pid) -> Vec<u32> {
    let Ok(status) = std::fs::read(format!("/proc/{pid}/status")) else { return Vec::new() };
    let users = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"));
    let users = users.and_then(|users| std::str::from_utf8(users).ok()).unwrap_or_default();
    users.split_ascii_whitespace().filter_map(|user| user.parse().ok()).collect()
}

/// The processes in a control group and in all below it.
fn members(group: &Path) -> Vec<LeftProcess> {
    let (mut found, mut groups) = (Vec::new(), vec![group.to_owned()]);
    while let Some(group) = groups.pop() {
        found.extend(pids_in(&group).into_iter().filter_map(|pid| {
            let name = ProcessStatus::of(pid)?.name;
            Some(LeftProcess { pid: pid.as_raw_nonzero().get(), name })
        }));
        let inside = std::fs::read_dir(&group).into_iter().flatten().flatten();
        let is_group = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|t| t.is_dir());
        groups.extend(inside.filter(is_group).map(|entry| entry.path()));
    }
    found.sort_unstable();
    found
}

fn pids_in(group: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

/// Kills leftover processes of a box, and returns them. Processes of root and of the worker are
/// excluded, except in a control group of the box.
pub fn kill_left(sought: &LeftoverTargets) -> Vec<LeftProcess> {
    let began = Instant::now();
    let mut killed: Vec<LeftProcess> = Vec::new();
    let uid = sought.uid.filter(|uid| uid.get() != geteuid().as_raw());
    loop {
        let of_user = uid.map(|uid| ProcessSnapshot::read().of_user(uid)).unwrap_or_default();
        let in_groups: Vec<(&PathBuf, Vec<LeftProcess>)> =
            sought.cgroups.iter().map(|group| (group, members(group))).collect();
        if of_user.is_empty() && in_groups.iter().all(|(_, left)| left.is_empty()) {
            break;
        }
        for left in of_user.iter().chain(in_groups.iter().flat_map(|(_, left)| left)) {
            if !killed.contains(left) {
                killed.push(left.clone());
            }
        }
        for (group, left) in in_groups.iter().filter(|(_, left)| !left.is_empty()) {
            // All at once, if the kernel supports it (5.14), otherwise one by one.
            if std::fs::write(group.join("cgroup.kill"), "1").is_err() {
                kill_each(left, |pid| members(group).iter().any(|left| is(left, pid)));
            }
        }
        if let Some(uid) = uid {
            kill_each(&of_user, |pid| users_of(pid).contains(&uid.get()));
        }
        if began.elapsed() >= KILLING {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    killed
}

fn kill_each(left: &[LeftProcess], is_meant: impl Fn(Pid) -> bool) {
    for pid in left.iter().filter_map(|left| Pid::from_raw(left.pid)) {
        // The next check of the box finds processes that cannot be killed.
        send_signal(pid, Signal::KILL, &is_meant);
    }
}

fn is(left: &LeftProcess, pid: Pid) -> bool {
    left.pid == pid.as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_groups_that_are_there_are_found() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::os::unix::fs::symlink("/nowhere", at("link")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir_all(at("group/inner")).unwrap();
        let own = std::process::id();
        std::fs::write(at("group/inner/cgroup.procs"), format!("{own}\n")).unwrap();
        let sought = LeftoverTargets {
            uid: None,
            directories: vec![at("gone"), at("link"), at("file/below")],
            cgroups: vec![at("group"), at("no-group")],
        };
        let found = ProcessSnapshot::read().inspect(&sought);
        assert_eq!(found.directories, [at("link")], "also one that leads nowhere");
        assert_eq!(found.cgroups.len(), 1);
        assert_eq!(found.cgroups[0].1.len(), 1);
        assert!(is(&found.cgroups[0].1[0], rustix::process::getpid()));
        assert!(found.unseen.is_empty() && !found.is_clean());
        let long = LeftoverTargets {
            directories: vec![at(&"x".repeat(300))],
            ..LeftoverTargets::default()
        };
        let found = ProcessSnapshot::read().inspect(&long);
        assert!(found.unseen[0].contains("cannot be checked"), "{found}");
    }

    #[test]
    fn a_process_is_found_by_its_user() {
        let own = users_of(rustix::process::getpid());
        assert_eq!(own.len(), 4);
        let snapshot = ProcessSnapshot::read();
        let left = &snapshot.by_user[&geteuid().as_raw()];
        assert!(left.iter().any(|left| is(left, rustix::process::getpid())));
        if let Some(uid) = Uid::new(geteuid().as_raw()) {
            let found =
                snapshot.inspect(&LeftoverTargets { uid: Some(uid), ..LeftoverTargets::default() });
            assert!(found.to_string().contains("the worker's own"), "{found}");
        }
    }
}
