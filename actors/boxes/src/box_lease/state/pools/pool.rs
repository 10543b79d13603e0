//! A pool: its boxes and their states. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookOutput, IdRange, LeaseId, SlotId,
};
use serde::{Deserialize, Serialize};

use super::slots::Slots;
use super::spec::PoolSpec;
use crate::box_lease::state::leases::lease::LeaseEnd;

/// A pool.
///
/// **Invariant:** `counts` counts the boxes by state, and `held` counts the live leases by holder.
///
/// **Invariant:** every box that is preparing or leased has exactly one live lease, and no other box has one.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(in crate::box_lease) spec: Arc<PoolSpec>,
    /// Whether it is removed with its last box.
    pub(in crate::box_lease) goes: bool,
    /// The last drawn token.
    pub(in crate::box_lease) last_token: FenceToken,
    pub(in crate::box_lease) boxes: BTreeMap<BoxNumber, BoxRecord>,
    pub(in crate::box_lease) counts: BoxCounts,
    pub(in crate::box_lease) held: HashMap<Holder, u32>,
    pub(in crate::box_lease) slots: Option<Slots>,
    /// A counter of releases of boxes. The box that is free for the longest time is granted first.
    pub(in crate::box_lease) freed: u64,
    /// Number of cleanings that began in this pool. It identifies each cleaning.
    pub(in crate::box_lease) cleanings: u64,
    pub(in crate::box_lease) totals: PoolTotals,
}

/// One box of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxRecord {
    /// The current state.
    pub state: BoxState,
    /// Start of the state, in milliseconds.
    pub since: Millis,
    /// Whether it is removed as soon as it is free, because its pool was made smaller.
    pub retiring: bool,
    /// The token of its last lease.
    pub token: Option<FenceToken>,
    /// The id of the box for that lease until it is clean, if its pool draws ids.
    pub slot: Option<SlotId>,
    /// How often in a row it could not be made ready.
    pub init_failures: u32,
}

/// The life of a box, from free to free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoxState {
    /// The box can be granted.
    Free {
        /// The number of releases in the pool before it became free.
        order: u64,
    },
    /// Its host must inspect it before it is granted.
    Unchecked,
    /// It is granted, and being made ready.
    Preparing {
        /// The id of its lease.
        lease: LeaseId,
    },
    /// A holder has the box.
    Leased {
        /// The id of its lease.
        lease: LeaseId,
    },
    /// It must be cleaned, or is being cleaned.
    Draining(Draining),
    /// It is out of use until an operator changes that.
    Quarantined {
        /// The evidence for it.
        output: HookOutput,
        /// The caller that requested it, unless cleaning failed.
        by: Option<String>,
    },
}

/// A box that must be cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draining {
    /// Identifies this cleaning within the pool.
    pub cleaning: u64,
    /// How the lease before the cleaning ended. None if the host found the box dirty, or if it comes from
    /// quarantine.
    pub after: Option<LeaseEnd>,
    /// The last holder, if known.
    pub holder: Option<Holder>,
    /// How many cleanings failed in a row.
    pub failures: u32,
    /// The output of the last failure.
    pub output: Option<HookOutput>,
}

/// The states of a box, without their details.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BoxPhase {
    /// The box can be granted.
    Free,
    /// Its host must inspect it.
    Unchecked,
    /// The box is being made ready.
    Preparing,
    /// A holder has the box.
    Leased,
    /// It must be cleaned, or is being cleaned.
    Draining,
    /// The box is out of use.
    Quarantined,
}

impl BoxPhase {
    /// Every phase, for metrics.
    pub const ALL: [BoxPhase; 6] = [
        BoxPhase::Free,
        BoxPhase::Unchecked,
        BoxPhase::Preparing,
        BoxPhase::Leased,
        BoxPhase::Draining,
        BoxPhase::Quarantined,
    ];

    /// Its stable word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            BoxPhase::Free => "free",
            BoxPhase::Unchecked => "unchecked",
            BoxPhase::Preparing => "preparing",
            BoxPhase::Leased => "leased",
            BoxPhase::Draining => "draining",
            BoxPhase::Quarantined => "quarantined",
        }
    }
}

/// The number of boxes in each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoxCounts([u32; BoxPhase::ALL.len()]);

impl BoxCounts {
    /// The number of boxes in a phase.
    pub fn of(&self, phase: BoxPhase) -> u32 {
        self.0[phase as usize]
    }

    /// How many boxes there are.
    pub fn all(&self) -> u32 {
        self.0.iter().sum()
    }

    fn add(&mut self, phase: BoxPhase) {
        self.0[phase as usize] += 1;
    }

    fn subtract(&mut self, phase: BoxPhase) {
        self.0[phase as usize] -= 1;
    }
}

/// Totals of a pool since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolTotals {
    /// Leases that were granted.
    pub granted: u64,
    /// The number of renewals.
    pub renewed: u64,
    /// Leases that ended, in the order of [`LeaseEnd::ALL`].
    pub ended: [u64; LeaseEnd::ALL.len()],
    /// Cleanings that succeeded.
    pub cleaned: u64,
    /// Attempts at cleaning that failed.
    pub clean_failures: u64,
    /// Boxes that could not be made ready.
    pub init_failures: u64,
    /// Boxes that were taken out of use.
    pub quarantined: u64,
}

impl PoolTotals {
    /// How many leases ended in this way.
    pub fn ended(&self, how: LeaseEnd) -> u64 {
        self.ended[how as usize]
    }
}

impl BoxState {
    /// The phase of this state.
    pub fn phase(&self) -> BoxPhase {
        match self {
            BoxState::Free { .. } => BoxPhase::Free,
            BoxState::Unchecked => BoxPhase::Unchecked,
            BoxState::Preparing { .. } => BoxPhase::Preparing,
            BoxState::Leased { .. } => BoxPhase::Leased,
            BoxState::Draining(_) => BoxPhase::Draining,
            BoxState::Quarantined { .. } => BoxPhase::Quarantined,
        }
    }
}

impl Pool {
    /// The wanted specification.
    pub fn spec(&self) -> &Arc<PoolSpec> {
        &self.spec
    }

    /// Whether it is removed with its last box.
    pub fn goes(&self) -> bool {
        self.goes
    }

    /// The last drawn token.
    pub fn last_token(&self) -> FenceToken {
        self.last_token
    }

    /// The box of this number.
    pub fn find(&self, number: BoxNumber) -> Option<&BoxRecord> {
        self.boxes.get(&number)
    }

    /// Its boxes from a number on, in order.
    pub fn boxes_from(&self, from: BoxNumber) -> impl Iterator<Item = (BoxNumber, &BoxRecord)> {
        self.boxes.range(from..).map(|(number, record)| (*number, record))
    }

    /// The number of boxes in each phase, retiring boxes included.
    pub fn counts(&self) -> BoxCounts {
        self.counts
    }

    /// How many boxes a holder has.
    pub fn held_by(&self, holder: &Holder) -> u32 {
        self.held.get(holder).copied().unwrap_or(0)
    }

    /// Totals since the creation of the pool.
    pub fn totals(&self) -> PoolTotals {
        self.totals
    }

    /// The ids that its boxes draw, if they draw any.
    pub fn slots(&self) -> Option<&Slots> {
        self.slots.as_ref()
    }

    /// All ids that its boxes have or may draw, including boxes that will be removed.
    pub fn ids(&self) -> Vec<IdRange> {
        let ids = self.spec.ids();
        let mut all = vec![ids];
        if self.spec.slots.is_none() {
            let (first, end) = (BoxNumber(ids.first), ids.end());
            let behind = u32::try_from(end).map(|end| self.boxes.range(BoxNumber(end)..));
            let others = self.boxes.range(..first).chain(behind.into_iter().flatten());
            all.extend(others.map(|(number, _)| IdRange { first: number.0, count: 1 }));
        }
        all.retain(|range| range.count > 0);
        all
    }

    /// Whether a box may be granted.
    pub fn may_grant(&self, number: BoxNumber) -> Option<u64> {
        let record = self.boxes.get(&number).filter(|record| !record.retiring && !self.goes)?;
        match record.state {
            BoxState::Free { order } => Some(order),
            _ => None,
        }
    }

    /// A pool without boxes.
    pub(in crate::box_lease) fn empty(
        spec: Arc<PoolSpec>,
        last_token: FenceToken,
        slots: Option<Slots>,
    ) -> Self {
        Pool {
            spec,
            goes: false,
            last_token,
            boxes: BTreeMap::new(),
            counts: BoxCounts::default(),
            held: HashMap::new(),
            slots,
            freed: 0,
            cleanings: 0,
            totals: PoolTotals::default(),
        }
    }

    /// A box is added in this state.
    pub(in crate::box_lease) fn add(&mut self, number: BoxNumber, state: BoxState, at: Millis) {
        self.counts.add(state.phase());
        let record = BoxRecord {
            state,
            since: at,
            retiring: false,
            token: None,
            slot: None,
            init_failures: 0,
        };
        self.boxes.insert(number, record);
    }

    /// Removes a box, and lets its id rest.
    pub(in crate::box_lease) fn remove(&mut self, number: BoxNumber) {
        if let Some(record) = self.boxes.remove(&number) {
            self.counts.subtract(record.state.phase());
            if let (Some(slot), Some(slots)) = (record.slot, &mut self.slots) {
                slots.start_rest(slot);
            }
        }
    }

    /// Sets the state of a box.
    pub(in crate::box_lease) fn insert(&mut self, number: BoxNumber, state: BoxState, at: Millis) {
        if let Some(record) = self.boxes.get_mut(&number) {
            self.counts.subtract(record.state.phase());
            self.counts.add(state.phase());
            record.state = state;
            record.since = at;
        }
    }

    /// The state of a box that is free next.
    pub(in crate::box_lease) fn next_free(&mut self) -> BoxState {
        self.freed += 1;
        BoxState::Free { order: self.freed }
    }

    /// The state of a box that must be cleaned.
    pub(in crate::box_lease) fn next_cleaning(
        &mut self,
        after: Option<LeaseEnd>,
        holder: Option<Holder>,
    ) -> BoxState {
        self.cleanings += 1;
        let cleaning = self.cleanings;
        BoxState::Draining(Draining { cleaning, after, holder, failures: 0, output: None })
    }

    /// A box is clean: it becomes free, or is removed.
    pub(in crate::box_lease) fn free(&mut self, number: BoxNumber, at: Millis) {
        let Some(record) = self.boxes.get_mut(&number) else { return };
        if let (Some(slot), Some(slots)) = (record.slot.take(), &mut self.slots) {
            slots.start_rest(slot);
        }
        if record.retiring {
            self.remove(number);
        } else {
            let state = self.next_free();
            self.insert(number, state, at);
        }
    }

    /// A holder has one more box.
    pub(in crate::box_lease) fn hold(&mut self, holder: &Holder) {
        *self.held.entry(holder.clone()).or_default() += 1;
    }

    /// A holder has one box less.
    pub(in crate::box_lease) fn release(&mut self, holder: &Holder) {
        if let Some(count) = self.held.get_mut(holder) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(holder);
            }
        }
    }
}
