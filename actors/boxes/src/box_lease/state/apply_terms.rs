//! How the table changes when a new leader gives leases their terms again. Pure.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_protocol::boxes::LeaseId;

use super::box_table::BoxTable;
use super::event::BoxOutcome;
use super::leases::given_terms::GivenTerms;

impl BoxTable {
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
