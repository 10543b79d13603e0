//! How leases end with their terms, and how the table changes when a new leader gives terms again. Pure.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_protocol::boxes::LeaseId;

use super::box_table::BoxTable;
use super::event::BoxOutcome;
use super::leases::given_terms::GivenTerms;
use super::leases::lease::Lease;

impl BoxTable {
    /// Those of these leases whose end is reached, if they were not renewed since the decision.
    pub(super) fn expired(&self, at: Millis, leases: &[(LeaseId, u32)]) -> Vec<LeaseId> {
        // An answer that was sent stays valid, after any decision.
        self.not_renewed(leases, |lease| lease.expires_at.is_some_and(|until| at >= until))
    }

    /// Those of these leases that are held, if they were not renewed since the decision.
    pub(super) fn with_passed_terms(&self, leases: &[(LeaseId, u32)]) -> Vec<LeaseId> {
        self.not_renewed(leases, Lease::is_held)
    }

    fn not_renewed(
        &self,
        leases: &[(LeaseId, u32)],
        is_over: impl Fn(&Lease) -> bool,
    ) -> Vec<LeaseId> {
        let over = leases.iter().filter(|(id, renewals)| {
            let lease = self.leases.get(id);
            lease.is_some_and(|lease| lease.renewals == *renewals && is_over(lease))
        });
        over.map(|(id, _)| *id).collect()
    }

    /// Gives leases their terms again, with the uptime of the leader's boot, if it is known.
    pub(in crate::box_lease) fn give_again(
        &mut self,
        at: Millis,
        leases: &[(LeaseId, u32, Duration)],
        since: Option<(BootId, Duration)>,
    ) -> BoxOutcome {
        for (id, renewals, term) in leases {
            let Some(lease) = self.leases.get_mut(id) else { continue };
            if !lease.is_held() || lease.renewals != *renewals {
                continue;
            }
            let had_one = self.again.get(id).is_some_and(|given| given.is_of(*renewals));
            let is_given = match since {
                Some((boot, uptime)) => {
                    let given = self.again.entry(*id).or_default();
                    given.give(*renewals, boot, uptime.saturating_add(*term))
                }
                None if had_one => false,
                None => {
                    self.again.insert(*id, GivenTerms::by_unknown_boot(*renewals));
                    true
                }
            };
            if is_given {
                Arc::make_mut(lease).expires_at = Some(at.after(*term));
            }
        }
        BoxOutcome::Applied
    }
}
