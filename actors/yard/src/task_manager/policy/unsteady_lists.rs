//! Hosts whose lists lose files and show them again: a disk is not always mounted, or the list is wrong. Such
//! differences say nothing about other managers. In memory only, pure.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;

/// How long a lost file is remembered, and how long a list counts as unsteady after its last difference.
const REMEMBERED_FOR: Duration = Duration::from_secs(60 * 60);

/// For each host one file that its list lost.
#[derive(Clone, Debug, Default)]
pub(in crate::task_manager) struct UnsteadyLists {
    hosts: BTreeMap<HostAddr, LostFile>,
}

/// A file that a list lost although this cluster did not remove it.
#[derive(Clone, Debug)]
struct LostFile {
    name: FileName,
    came_back: bool,
    is_logged: bool,
    /// When the list of the host differed last.
    at: Millis,
}

impl UnsteadyLists {
    /// Records files that appeared on a host and disappeared from it without this cluster. Answers whether the
    /// list of the host is unsteady: a lost file came back within an hour.
    pub(in crate::task_manager) fn observe(
        &mut self,
        host: HostAddr,
        added: &[&FileName],
        lost: &[&FileName],
        now: Millis,
    ) -> bool {
        self.hosts.retain(|_, lost| now.since(lost.at) < REMEMBERED_FOR);
        if let Some(earlier) = self.hosts.get_mut(&host) {
            earlier.came_back |= added.contains(&&earlier.name);
            if earlier.came_back {
                earlier.at = now;
            }
            return earlier.came_back;
        }
        if let Some(name) = lost.first() {
            let name = (*name).clone();
            let lost = LostFile { name, came_back: false, is_logged: false, at: now };
            self.hosts.insert(host, lost);
        }
        false
    }

    /// The hosts whose lists became unsteady since the last call, each with a file that came back.
    pub(in crate::task_manager) fn due_for_log(&mut self) -> Vec<(HostAddr, FileName)> {
        let mut due = Vec::new();
        for (host, lost) in &mut self.hosts {
            if lost.came_back && !lost.is_logged {
                lost.is_logged = true;
                due.push((*host, lost.name.clone()));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_manager::samples::host;

    const HOUR: i64 = 60 * 60 * 1000;

    #[test]
    fn a_list_is_unsteady_while_lost_files_come_back() {
        let [a, b]: [FileName; 2] = ["a.mpg", "b.mpg"].map(|name| FileName::new(name).unwrap());
        let mut lists = UnsteadyLists::default();
        assert!(!lists.observe(host(1), &[], &[&a, &b], Millis(0)));
        assert!(!lists.observe(host(1), &[&b], &[], Millis(1)), "another file");
        assert!(!lists.observe(host(2), &[&a], &[], Millis(1)), "another host");
        assert_eq!(lists.due_for_log(), []);
        assert!(lists.observe(host(1), &[&a], &[], Millis(2)));
        assert_eq!(lists.due_for_log(), [(host(1), a.clone())]);
        assert!(lists.observe(host(1), &[], &[&b], Millis(HOUR)));
        assert_eq!(lists.due_for_log(), [], "it is logged once");
        assert!(!lists.observe(host(1), &[&b], &[], Millis(2 * HOUR)), "it was steady for an hour");
    }
}
