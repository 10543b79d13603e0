//! Backoffs of the task manager: the blamed part of a failed copy gets no new copies for a while.
//! All other parts continue. [`reelyard_core::backoff`] decides the length and the return. Pure.

use std::fmt;
use std::time::Duration;

use reelyard_core::backoff::{BackOff, ExponentialBackoff};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::Blame;
use serde::{Deserialize, Serialize};

use crate::task_manager::state::task::Task;

/// The part of a copy that backs off.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blamed {
    /// A host as a source.
    Source(HostAddr),
    /// A host as a destination.
    Destination(HostAddr),
    /// A file, with any source and destination.
    File(FileName),
    /// Copies from the first to the second.
    Pair(HostAddr, HostAddr),
}

impl Blamed {
    /// The target of `blame` in the copy `task`.
    pub fn of(blame: Blame, task: &Task) -> Self {
        match blame {
            Blame::Source => Blamed::Source(task.source),
            Blame::Destination => Blamed::Destination(task.destination),
            Blame::File => Blamed::File(task.name.clone()),
            Blame::Pair => Blamed::Pair(task.source, task.destination),
        }
    }

    /// All parties of `task`: its success ends their backoff.
    pub fn all_of(task: &Task) -> [Blamed; 4] {
        [Blame::Source, Blame::Destination, Blame::File, Blame::Pair]
            .map(|blame| Blamed::of(blame, task))
    }
}

impl Blamed {
    /// The host, if `blamed` is only a host.
    pub fn host(&self) -> Option<HostAddr> {
        match self {
            Blamed::Source(host) | Blamed::Destination(host) => Some(*host),
            Blamed::File(_) | Blamed::Pair(..) => None,
        }
    }

    /// Whether `host` has a part in it.
    pub fn involves(&self, host: HostAddr) -> bool {
        match self {
            Blamed::Source(one) | Blamed::Destination(one) => *one == host,
            Blamed::Pair(one, other) => *one == host || *other == host,
            Blamed::File(_) => false,
        }
    }
}

impl fmt::Display for Blamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blamed::Source(host) => write!(f, "source {host}"),
            Blamed::Destination(host) => write!(f, "destination {host}"),
            Blamed::File(name) => write!(f, "file {name}"),
            Blamed::Pair(source, destination) => write!(f, "copies from {source} to {destination}"),
        }
    }
}

/// A back-off as an event sets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackingOff {
    /// The part that backs off.
    pub blamed: Blamed,
    /// The end; the backoff is over if `until <= now`.
    pub until: Millis,
}

/// The backoff that a failure of `task` at `now`, attributed to `blamed`, sets after the current
/// one. None if the task was created before the current backoff began, so that one cause counts
/// once. The ends for hosts are spread a little.
pub fn next(
    cool_down: ExponentialBackoff,
    blamed: Blamed,
    held: Option<&BackOff>,
    task: &Task,
    now: Millis,
) -> Option<BackingOff> {
    let failures = match held {
        Some(held) if held.holds(now) && task.created <= held.since => return None,
        Some(held) => held.failures.saturating_add(1),
        None => 1,
    };
    let time = match &blamed {
        Blamed::Source(_) | Blamed::Destination(_) => {
            cool_down.jittered(failures, task.id.0.unsigned_abs())
        }
        Blamed::File(_) | Blamed::Pair(..) => cool_down.after_failures(failures),
    };
    Some(BackingOff { blamed, until: now.after(time) })
}

/// How long a backoff is remembered after its end, at least. A file may be planned long after its
/// backoff. If the memory were shorter than `cap`, a few bad files that fail in turns would
/// restart at `base`, and starve the files behind them.
pub fn remembered(cool_down: ExponentialBackoff, blamed: &Blamed) -> Duration {
    match blamed {
        Blamed::File(_) => cool_down.cap,
        Blamed::Source(_) | Blamed::Destination(_) | Blamed::Pair(..) => cool_down.base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_manager::samples::{host, task};

    const COOL_DOWN: ExponentialBackoff =
        ExponentialBackoff { base: Duration::from_secs(10), cap: Duration::from_secs(60) };

    #[test]
    fn tasks_of_the_same_trouble_count_once() {
        let held = BackOff {
            failures: 1,
            since: Millis(1000),
            until: Millis(11_000),
            reason: String::new(),
        };
        let next = |created, now| {
            let task = Task { created, ..task(1, "a.mpg") };
            let blamed = Blamed::File(task.name.clone());
            next(COOL_DOWN, blamed, Some(&held), &task, now)
        };
        assert_eq!(next(Millis(1000), Millis(2000)), None);
        let until = next(Millis(11_000), Millis(12_000)).unwrap().until;
        assert_eq!(until, Millis(32_000));
    }

    #[test]
    fn hosts_that_fail_together_are_not_tried_again_together() {
        let ends: std::collections::BTreeSet<Millis> = (1..20)
            .filter_map(|id| {
                let blamed = Blamed::Destination(host(21));
                next(COOL_DOWN, blamed, None, &task(id, "a.mpg"), Millis(0))
            })
            .map(|back_off| back_off.until)
            .collect();
        assert!(ends.len() > 10, "{ends:?}");
        assert!(ends.iter().all(|end| (Millis(9000)..=Millis(10_000)).contains(end)), "{ends:?}");
    }

    #[test]
    fn bad_files_that_fail_by_turns_back_off_longer_each_time() {
        // Its source is busy with another bad file for longer than the first back-offs last.
        let (mut held, mut now) = (None, Millis(0));
        for failures in 1..5 {
            let failed = Task { created: now, ..task(1, "a.mpg") };
            let blamed = Blamed::File(failed.name.clone());
            let set = next(COOL_DOWN, blamed.clone(), held.as_ref(), &failed, now).unwrap();
            assert_eq!(set.until, now.after(COOL_DOWN.after_failures(failures)));
            let failed = BackOff { failures, since: now, until: set.until, reason: String::new() };
            now = set.until.after(COOL_DOWN.cap / 2);
            let stale = failed.is_stale(remembered(COOL_DOWN, &blamed), now);
            held = (!stale).then_some(failed);
        }
    }
}
