//! Other terms of a share. Pure.

use crate::share_expiry::messages::NewTerms;
use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::state::event::{NewOwner, ShareChanges, ShareEvent, ShareRefusal};
use crate::share_expiry::state::values::id::ShareId;

impl SharePolicy {
    /// Changes the terms of a share. No events if nothing changes.
    pub fn change(
        &self,
        id: ShareId,
        change: &NewTerms,
        at: ShareDecisionContext<'_>,
    ) -> Result<Vec<ShareEvent>, ShareRefusal> {
        let share = at.as_it_will_be(id)?;
        if share.exhausted().is_some() {
            return Err(ShareRefusal::Exhausted);
        }
        let deadline = change.lifetime.map(|lifetime| self.deadline(lifetime, at)).transpose()?;
        if let Some(only_if) = change.only_if {
            let present = share.deadline();
            let wanted = deadline.map_or(present, |new| new.deadline);
            if !only_if.holds(present, wanted) {
                return Err(ShareRefusal::ConditionFails { deadline: present });
            }
        }
        share.allows(&change.terms)?;
        let due = match &change.owner {
            Some(Some(owner)) if share.owner() != Some(owner) => self.room_of_owner(owner, at)?,
            _ => Vec::new(),
        };
        let most = self.settings.max_per_owner;
        let owner = change.owner.clone().map(|owner| NewOwner { owner, most });
        let changes = ShareChanges { deadline, owner, terms: change.terms.clone() };
        let generation = share.generation();
        if changes == ShareChanges::default() {
            return Ok(Vec::new());
        }
        let changed = ShareEvent::Changed { id, generation, changes: Box::new(changes) };
        let reclaimed = (!due.is_empty()).then_some(ShareEvent::Reclaimed { ids: due });
        Ok(reclaimed.into_iter().chain([changed]).collect())
    }
}
