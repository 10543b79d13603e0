//! The ends of leases by the clocks of leaders' machines. Pure.
//!
//! A new leader knows from the record when a term ends by the wall clock. It records the rest by the uptime
//! clock of its machine, which cannot be set. A later leader of the same boot measures the term by that clock.

use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_replication::stored_form;

/// The clocks of a leader's machine when it began to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::box_lease) struct LeaderMachine {
    pub(in crate::box_lease) boot: BootId,
    pub(in crate::box_lease) uptime: Duration,
    pub(in crate::box_lease) wall: Millis,
}

impl LeaderMachine {
    /// Whether its wall clock was certainly set since `earlier`, by more than `bound`. Another boot is not compared.
    pub fn was_set_since(self, earlier: LeaderMachine, bound: Duration) -> bool {
        let passed = self.uptime.saturating_sub(earlier.uptime);
        let expected = earlier.wall.after(passed);
        let distance = self.wall.since(expected).max(expected.since(self.wall));
        earlier.boot == self.boot && distance > bound
    }
}

/// The terms of a live lease that leaders measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::box_lease) struct GivenTerms {
    /// How often the lease was renewed then.
    pub(in crate::box_lease) renewals: u32,
    /// The uptime at which the term ends, in the boot of the leader that measured it.
    pub(in crate::box_lease) ends: Vec<(BootId, Duration)>,
}

impl GivenTerms {
    /// A term that an unknown boot gave to a lease with this many renewals.
    pub fn by_unknown_boot(renewals: u32) -> Self {
        GivenTerms { renewals, ends: Vec::new() }
    }

    /// Whether this is the current lease, with this many renewals.
    pub fn is_of(&self, renewals: u32) -> bool {
        self.renewals == renewals
    }

    /// The end, by uptime, of the term that this boot gave a lease with this many renewals.
    pub fn end(&self, renewals: u32, boot: BootId) -> Option<Duration> {
        let ends = self.ends.iter().filter(|_| self.is_of(renewals));
        ends.into_iter().find(|(of, _)| *of == boot).map(|(_, ends)| *ends)
    }

    /// Records that this boot gives a lease with this many renewals a term until this uptime. Answers
    /// whether this is its first one.
    pub fn give(&mut self, renewals: u32, boot: BootId, ends: Duration) -> bool {
        if !self.is_of(renewals) {
            *self = GivenTerms::by_unknown_boot(renewals);
        }
        let is_first = self.end(renewals, boot).is_none();
        if is_first {
            self.ends.push((boot, ends));
        }
        is_first
    }
}

stored_form! {
    /// The terms that new leaders gave a lease again.
    pub(in crate::box_lease) struct StoredGivenTerms of GivenTerms {
        renewals: u32,
        ends: Vec<(BootId, Duration)>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_clock_is_found_in_the_same_boot() {
        let at = |boot: u8, uptime, wall| LeaderMachine {
            boot: BootId([boot; 16]),
            uptime: Duration::from_millis(uptime),
            wall: Millis(wall),
        };
        let (bound, earlier) = (Duration::from_secs(1), at(1, 5000, 100_000));
        for (now, was_set) in [
            (at(1, 9000, 104_000), false),
            (at(1, 9000, 105_000), false),
            (at(1, 9000, 105_001), true),
            (at(1, 9000, 102_999), true),
            (at(2, 9000, 105_001), false),
        ] {
            assert_eq!(now.was_set_since(earlier, bound), was_set, "{now:?}");
        }
    }
}
