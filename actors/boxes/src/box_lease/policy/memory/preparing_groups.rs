//! Requests whose boxes are being made ready.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use reelyard_protocol::boxes::LeaseId;

use crate::box_lease::policy::memory::queue::WaiterId;

/// The granted leases whose boxes are being made ready, by request.
#[derive(Default)]
pub(crate) struct PreparingGroups {
    /// By the first of their leases.
    pub(crate) groups: HashMap<LeaseId, PreparingGroup>,
    /// The first lease of the group of each.
    pub(crate) group_of: HashMap<LeaseId, LeaseId>,
    /// The first lease of each waiting request's grant.
    pub(crate) of_waiter: HashMap<WaiterId, LeaseId>,
    /// The groups whose boxes are all ready, before this is committed.
    pub(crate) ready: BTreeSet<LeaseId>,
}

pub(crate) struct PreparingGroup {
    pub(crate) waiter: Option<WaiterId>,
    pub(crate) leases: Vec<LeaseId>,
    /// How many boxes are not ready yet.
    pub(crate) pending: usize,
    pub(crate) term: Duration,
}

impl PreparingGroups {
    pub(crate) fn add(&mut self, waiter: Option<WaiterId>, leases: &[LeaseId], term: Duration) {
        let Some(first) = leases.first() else { return };
        self.group_of.extend(leases.iter().map(|id| (*id, *first)));
        self.of_waiter.extend(waiter.map(|waiter| (waiter, *first)));
        let pending = leases.len();
        self.groups
            .insert(*first, PreparingGroup { waiter, leases: leases.to_vec(), pending, term });
    }

    /// Records that a box is ready. Answers whether all of its group are.
    pub(crate) fn one_ready(&mut self, id: LeaseId) -> bool {
        let Some(first) = self.group_of.get(&id) else { return false };
        let Some(group) = self.groups.get_mut(first) else { return false };
        group.pending = group.pending.saturating_sub(1);
        group.pending == 0 && self.ready.insert(*first)
    }

    /// Dissolves the group of a lease. Returns the group.
    pub(crate) fn dissolve(&mut self, id: LeaseId) -> Option<PreparingGroup> {
        let first = *self.group_of.get(&id)?;
        let group = self.groups.remove(&first)?;
        self.ready.remove(&first);
        if let Some(waiter) = group.waiter {
            self.of_waiter.remove(&waiter);
        }
        for id in &group.leases {
            self.group_of.remove(id);
        }
        Some(group)
    }

    /// The same by the waiting request. Returns its leases.
    pub(crate) fn dissolve_of(&mut self, waiter: WaiterId) -> Vec<LeaseId> {
        let first = self.of_waiter.get(&waiter).copied();
        first.and_then(|first| self.dissolve(first)).map_or_else(Vec::new, |group| group.leases)
    }

    /// The groups that must be committed as ready.
    pub(crate) fn take_ready(&mut self) -> Vec<LeaseId> {
        std::mem::take(&mut self.ready).into_iter().collect()
    }
}
