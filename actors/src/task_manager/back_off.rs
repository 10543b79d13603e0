//! Back-off: whoever is to blame for a failed copy is left alone for a while, and nobody else.
//! Pure.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::messages::Task;
use super::settings::BackOffSettings;
use crate::clock::Millis;
use crate::host::HostAddr;
use crate::names::FileName;
use crate::wire::worker::Blame;

/// Who backs off.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blamed {
    /// A host as a source.
    Source(HostAddr),
    /// A host as a destination.
    Destination(HostAddr),
    /// A file, wherever it comes from or goes.
    File(FileName),
    /// Copies from the first to the second.
    Pair(HostAddr, HostAddr),
}

impl Blamed {
    /// Who `blame` means in the copy that `task` is.
    pub fn of(blame: Blame, task: &Task) -> Self {
        match blame {
            Blame::Source => Blamed::Source(task.source),
            Blame::Destination => Blamed::Destination(task.destination),
            Blame::File => Blamed::File(task.name.clone()),
            Blame::Pair => Blamed::Pair(task.source, task.destination),
        }
    }

    /// Everybody who has a part in `task`: cleared when it succeeds.
    pub fn all_of(task: &Task) -> [Blamed; 4] {
        [Blame::Source, Blame::Destination, Blame::File, Blame::Pair]
            .map(|blame| Blamed::of(blame, task))
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
    /// Who.
    pub blamed: Blamed,
    /// Until when; over iff `until <= now`.
    pub until: Millis,
}

/// A back-off as it stands. Remembered for a while after it is over, so that the next failure
/// counts on from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackOff {
    /// Failures in a row.
    pub failures: u32,
    /// When the last of them happened.
    pub since: Millis,
    /// Until when nothing is asked of it.
    pub until: Millis,
    /// What went wrong last.
    pub reason: String,
}

impl BackOff {
    /// Whether it holds at `now`.
    pub fn holds(&self, now: Millis) -> bool {
        now < self.until
    }

    /// Whether it is so long over that the next failure counts as the first again: as long as it
    /// lasted, and at least `least`.
    pub fn is_stale(&self, least: Duration, now: Millis) -> bool {
        now >= self.until.after(self.until.since(self.since).max(least))
    }
}

impl BackOffSettings {
    /// How long to back off after `failures` in a row: `base`, doubled each time, up to `cap`.
    pub fn after_failures(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.cap)
    }

    /// How long a back-off is remembered at least once it is over. A file's turn may come long after
    /// it might be tried again: were it forgotten sooner than `cap`, a few bad files that fail by
    /// turns would each begin anew at `base`, and those behind them would never get theirs.
    pub fn remembered(&self, blamed: &Blamed) -> Duration {
        match blamed {
            Blamed::File(_) => self.cap,
            Blamed::Source(_) | Blamed::Destination(_) | Blamed::Pair(..) => self.base,
        }
    }

    /// The back-off that a failure of `blamed` at `now` sets, given the one that stands. None when
    /// the failed task was created before the standing back-off began: its failure is part of the
    /// same trouble and does not count again.
    pub fn next(
        &self,
        blamed: Blamed,
        standing: Option<&BackOff>,
        created: Millis,
        now: Millis,
    ) -> Option<BackingOff> {
        let failures = match standing {
            Some(standing) if standing.holds(now) && created < standing.since => return None,
            Some(standing) => standing.failures.saturating_add(1),
            None => 1,
        };
        Some(BackingOff { blamed, until: now.after(self.after_failures(failures)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BackOffSettings =
        BackOffSettings { base: Duration::from_secs(10), cap: Duration::from_secs(60) };

    fn blamed() -> Blamed {
        Blamed::File(FileName::new("a.mpg").unwrap())
    }

    #[test]
    fn it_doubles_up_to_its_cap() {
        let seconds: Vec<u64> =
            [1, 2, 3, 4, 5, 4_000_000_000].map(|n| SETTINGS.after_failures(n).as_secs()).into();
        assert_eq!(seconds, [10, 20, 40, 60, 60, 60]);
    }

    #[test]
    fn tasks_of_the_same_trouble_count_once() {
        let standing = BackOff {
            failures: 1,
            since: Millis(1000),
            until: Millis(11_000),
            reason: String::new(),
        };
        let next = |created, now| SETTINGS.next(blamed(), Some(&standing), created, now);
        assert_eq!(next(Millis(999), Millis(2000)), None);
        let until = next(Millis(11_000), Millis(12_000)).unwrap().until;
        assert_eq!(until, Millis(32_000));
    }

    #[test]
    fn bad_files_that_fail_by_turns_back_off_longer_each_time() {
        // Its source is busy with another bad file for longer than the first back-offs last.
        let (mut standing, mut now) = (None, Millis(0));
        for failures in 1..5 {
            let until = SETTINGS.next(blamed(), standing.as_ref(), now, now).unwrap().until;
            assert_eq!(until, now.after(SETTINGS.after_failures(failures)));
            let failed = BackOff { failures, since: now, until, reason: String::new() };
            now = until.after(SETTINGS.cap / 2);
            let stale = failed.is_stale(SETTINGS.remembered(&blamed()), now);
            standing = (!stale).then_some(failed);
        }
    }

    #[test]
    fn it_holds_until_its_end_and_is_stale_one_length_later() {
        let standing =
            BackOff { failures: 2, since: Millis(0), until: Millis(20_000), reason: String::new() };
        assert!(standing.holds(Millis(19_999)) && !standing.holds(Millis(20_000)));
        assert!(!standing.is_stale(SETTINGS.base, Millis(39_999)));
        assert!(standing.is_stale(SETTINGS.base, Millis(40_000)));
    }
}
