//! The terms that new leaders gave a lease again since its last renewal. Pure.
//!
//! Each boot of a machine gives a lease its full term once. A leader of the same boot measures the rest
//! of it by the monotonic clock of its machine, which cannot be set. A leader of another boot cannot do
//! so and gives the full term.

use std::time::Duration;

use reelyard_core::boot::BootId;

/// The term that a live lease got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::box_lease) struct GivenTerms {
    /// How often the lease was renewed then.
    pub(in crate::box_lease) renewals: u32,
    /// The uptime at which the term ends, in the boot of the leader that gave it.
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
