//! A pool as it is: its boxes and where each of them stands. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::id::{BoxNumber, FenceToken, IdRange, LeaseId, SlotId};
use super::lease::LeaseEnd;
use super::slots::Slots;
use super::spec::PoolSpec;
use super::text::{Holder, HookOutput};
use crate::clock::Millis;

/// A pool.
///
/// **Invariants:** `counts` counts the boxes by state; `held` counts the live leases by holder; every
/// box that is preparing or leased has exactly one live lease, and no other box has one.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) spec: Arc<PoolSpec>,
    /// Whether it goes with its last box.
    pub(super) goes: bool,
    /// The token that was given last.
    pub(super) last_token: FenceToken,
    pub(super) boxes: BTreeMap<BoxNumber, BoxRecord>,
    pub(super) counts: BoxCounts,
    pub(super) held: HashMap<Holder, u32>,
    pub(super) slots: Option<Slots>,
    /// How often a box became free: what is free longest is granted first.
    pub(super) freed: u64,
    /// How often a box began to be cleaned: names each cleaning.
    pub(super) cleanings: u64,
    pub(super) totals: PoolTotals,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxRecord {
    /// Where it stands.
    pub state: BoxState,
    /// Since when.
    pub since: Millis,
    /// Whether it goes as soon as it is free: its pool has become smaller.
    pub retiring: bool,
    /// The token of its last lease.
    pub token: Option<FenceToken>,
    /// The id it has for that lease, where the pool draws them, until it is clean.
    pub slot: Option<SlotId>,
    /// How often in a row it could not be made ready.
    pub init_failures: u32,
}

/// Where a box stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxState {
    /// It can be granted.
    Free {
        /// The how manieth box that became free it was.
        order: u64,
    },
    /// Its host is to look at it before it is granted.
    Unchecked,
    /// It is granted, and being made ready.
    Preparing {
        /// To whom.
        lease: LeaseId,
    },
    /// Somebody has it.
    Leased {
        /// Who.
        lease: LeaseId,
    },
    /// It is to be cleaned, or being cleaned.
    Draining(Draining),
    /// It is out of use until somebody says otherwise.
    Quarantined {
        /// Why.
        said: HookOutput,
        /// Who wanted it, unless it could not be cleaned.
        by: Option<String>,
    },
}

/// A box that is to be cleaned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draining {
    /// Names this cleaning, of all of the pool.
    pub cleaning: u64,
    /// How the lease ended after which it is cleaned; none when its host found it dirty, or when it
    /// comes from the quarantine.
    pub after: Option<LeaseEnd>,
    /// Who had it.
    pub holder: Option<Holder>,
    /// How often that failed.
    pub failures: u32,
    /// What was said then.
    pub said: Option<HookOutput>,
}

/// The states of a box, without what goes with each.
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
    /// It can be granted.
    Free,
    /// Its host is to look at it.
    Unchecked,
    /// It is being made ready.
    Preparing,
    /// Somebody has it.
    Leased,
    /// It is to be cleaned, or being cleaned.
    Draining,
    /// It is out of use.
    Quarantined,
}

impl BoxPhase {
    /// All there are.
    pub const ALL: [BoxPhase; 6] = [
        BoxPhase::Free,
        BoxPhase::Unchecked,
        BoxPhase::Preparing,
        BoxPhase::Leased,
        BoxPhase::Draining,
        BoxPhase::Quarantined,
    ];

    /// A stable word for it.
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

/// How many boxes stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoxCounts([u32; BoxPhase::ALL.len()]);

impl BoxCounts {
    /// How many stand there.
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

    fn take(&mut self, phase: BoxPhase) {
        self.0[phase as usize] -= 1;
    }
}

/// What ever happened in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTotals {
    /// Leases that were granted.
    pub granted: u64,
    /// Renewals.
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
    /// How many leases ended so.
    pub fn ended(&self, how: LeaseEnd) -> u64 {
        self.ended[how as usize]
    }
}

impl BoxState {
    /// Where that is.
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
    /// What it is to be.
    pub fn spec(&self) -> &Arc<PoolSpec> {
        &self.spec
    }

    /// Whether it goes with its last box.
    pub fn goes(&self) -> bool {
        self.goes
    }

    /// The token that was given last.
    pub fn last_token(&self) -> FenceToken {
        self.last_token
    }

    /// A box.
    pub fn find(&self, number: BoxNumber) -> Option<&BoxRecord> {
        self.boxes.get(&number)
    }

    /// Its boxes from a number on, in order.
    pub fn boxes_from(&self, from: BoxNumber) -> impl Iterator<Item = (BoxNumber, &BoxRecord)> {
        self.boxes.range(from..).map(|(number, record)| (*number, record))
    }

    /// How many boxes stand where, those that go included.
    pub fn counts(&self) -> BoxCounts {
        self.counts
    }

    /// How many boxes a holder has.
    pub fn held_by(&self, holder: &Holder) -> u32 {
        self.held.get(holder).copied().unwrap_or(0)
    }

    /// What ever happened in it.
    pub fn totals(&self) -> PoolTotals {
        self.totals
    }

    /// The ids that its boxes are drawn from, if they are.
    pub fn slots(&self) -> Option<&Slots> {
        self.slots.as_ref()
    }

    /// All ids that its boxes have or may draw, also those of boxes that are still to go.
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
    pub(super) fn empty(spec: Arc<PoolSpec>, last_token: FenceToken, slots: Option<Slots>) -> Self {
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
    pub(super) fn add(&mut self, number: BoxNumber, state: BoxState, at: Millis) {
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

    /// A box goes.
    pub(super) fn take_out(&mut self, number: BoxNumber) {
        if let Some(record) = self.boxes.remove(&number) {
            self.counts.take(record.state.phase());
            if let (Some(slot), Some(slots)) = (record.slot, &mut self.slots) {
                slots.put_to_rest(slot);
            }
        }
    }

    /// A box stands there from now on.
    pub(super) fn put(&mut self, number: BoxNumber, state: BoxState, at: Millis) {
        if let Some(record) = self.boxes.get_mut(&number) {
            self.counts.take(record.state.phase());
            self.counts.add(state.phase());
            record.state = state;
            record.since = at;
        }
    }

    /// The state of a box that is free next.
    pub(super) fn next_free(&mut self) -> BoxState {
        self.freed += 1;
        BoxState::Free { order: self.freed }
    }

    /// The state of a box that is to be cleaned.
    pub(super) fn next_cleaning(
        &mut self,
        after: Option<LeaseEnd>,
        holder: Option<Holder>,
    ) -> BoxState {
        self.cleanings += 1;
        let cleaning = self.cleanings;
        BoxState::Draining(Draining { cleaning, after, holder, failures: 0, said: None })
    }

    /// A box is clean: it is free, or goes.
    pub(super) fn free(&mut self, number: BoxNumber, at: Millis) {
        let Some(record) = self.boxes.get_mut(&number) else { return };
        if let (Some(slot), Some(slots)) = (record.slot.take(), &mut self.slots) {
            slots.put_to_rest(slot);
        }
        if record.retiring {
            self.take_out(number);
        } else {
            let state = self.next_free();
            self.put(number, state, at);
        }
    }

    /// A holder has one more box.
    pub(super) fn hold(&mut self, holder: &Holder) {
        *self.held.entry(holder.clone()).or_default() += 1;
    }

    /// A holder has one less.
    pub(super) fn let_go(&mut self, holder: &Holder) {
        if let Some(count) = self.held.get_mut(holder) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(holder);
            }
        }
    }
}
