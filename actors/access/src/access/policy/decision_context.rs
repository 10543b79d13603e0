//! The state that decisions read, and the rules about callers. Pure.

use reelyard_core::clock::Millis;

use crate::access::settings::AccessSettings;
use crate::access::state::access_table::AccessTable;
use crate::access::state::event::{AccessEvent, AccessRefusal};
use crate::rights::{Caller, Rights, Subject};

/// The events of a decision, or its refusal.
pub(in crate::access) type AccessDecision = Result<Vec<AccessEvent>, AccessRefusal>;

/// The piece, the settings and the time. Events in flight need no look: `apply` checks all preconditions again.
#[derive(Clone, Copy)]
pub(in crate::access) struct AccessDecisionContext<'a> {
    pub(in crate::access) table: &'a AccessTable,
    pub(in crate::access) settings: &'a AccessSettings,
    pub(in crate::access) now: Millis,
}

impl AccessDecisionContext<'_> {
    /// The event, if its preconditions hold now.
    pub(in crate::access) fn decide(&self, event: AccessEvent) -> AccessDecision {
        self.table.check(self.now, &event)?;
        Ok(vec![event])
    }
}

/// A caller does not remove, disable or weaken itself.
pub(in crate::access) fn not_yourself(by: &Caller, target: &Subject) -> Result<(), AccessRefusal> {
    if by.subject == *target {
        return Err(AccessRefusal::Yourself { subject: target.to_string() });
    }
    Ok(())
}

/// A caller grants only rights that it has.
pub(in crate::access) fn not_more_than_own(
    by: &Caller,
    rights: &Rights,
) -> Result<(), AccessRefusal> {
    if !by.rights.contain(rights) {
        return Err(AccessRefusal::MoreThanOwn { subject: by.subject.to_string() });
    }
    Ok(())
}
