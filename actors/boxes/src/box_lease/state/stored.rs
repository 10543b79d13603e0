//! The stored forms of pools and boxes. The forms of a lease are in its file. Pure.
//!
//! **Invariant:** a stored form never changes: snapshots of all earlier versions hold it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookOutput, HooksName, LeaseId, SlotId,
};
use reelyard_replication::{stored_form, stored_form_of_event};
use serde::{Deserialize, Serialize};

use super::leases::lease::LeaseEnd;
use super::pools::pool::{BoxRecord, BoxState, Draining, PoolTotals};
use super::pools::slots::Slots;
use super::pools::spec::{PoolSpec, SlotRange};

stored_form! {
    /// One box of a pool.
    pub(in crate::box_lease) struct StoredBox of BoxRecord {
        state: StoredBoxState,
        since: Millis,
        retiring: bool,
        token: Option<FenceToken>,
        slot: Option<SlotId>,
        init_failures: u32,
    }
}

/// The state of a box. Postcard numbers the variants in this order: add new ones at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::box_lease) enum StoredBoxState {
    Free { order: u64 },
    Unchecked,
    Preparing { lease: LeaseId },
    Leased { lease: LeaseId },
    Draining(StoredDraining),
    Quarantined { output: HookOutput, by: Option<String> },
}

stored_form! {
    /// A box that must be cleaned.
    pub(in crate::box_lease) struct StoredDraining of Draining {
        cleaning: u64,
        after: Option<LeaseEnd>,
        holder: Option<Holder>,
        failures: u32,
        output: Option<HookOutput>,
    }
}

impl From<BoxState> for StoredBoxState {
    fn from(state: BoxState) -> Self {
        match state {
            BoxState::Free { order } => StoredBoxState::Free { order },
            BoxState::Unchecked => StoredBoxState::Unchecked,
            BoxState::Preparing { lease } => StoredBoxState::Preparing { lease },
            BoxState::Leased { lease } => StoredBoxState::Leased { lease },
            BoxState::Draining(draining) => StoredBoxState::Draining(draining.into()),
            BoxState::Quarantined { output, by } => StoredBoxState::Quarantined { output, by },
        }
    }
}

impl From<StoredBoxState> for BoxState {
    fn from(stored: StoredBoxState) -> Self {
        match stored {
            StoredBoxState::Free { order } => BoxState::Free { order },
            StoredBoxState::Unchecked => BoxState::Unchecked,
            StoredBoxState::Preparing { lease } => BoxState::Preparing { lease },
            StoredBoxState::Leased { lease } => BoxState::Leased { lease },
            StoredBoxState::Draining(draining) => BoxState::Draining(draining.into()),
            StoredBoxState::Quarantined { output, by } => BoxState::Quarantined { output, by },
        }
    }
}

stored_form! {
    /// The stored counters of a pool.
    pub(in crate::box_lease) struct StoredPoolTotals of PoolTotals {
        granted: u64,
        renewed: u64,
        ended: [u64; 5],
        cleaned: u64,
        clean_failures: u64,
        init_failures: u64,
        quarantined: u64,
    }
}

stored_form! {
    /// The specification of a pool, as events and snapshots hold it.
    pub(in crate::box_lease) struct StoredPoolSpec of PoolSpec {
        first_id: BoxNumber,
        size: u32,
        slots: StoredIdSource,
        host: Option<HostAddr>,
        hooks: Option<HooksName>,
        labels: BTreeMap<String, String>,
        ttl_default: Duration,
        ttl_max: Duration,
        max_hold: Option<Duration>,
        grace: Duration,
        queue_limit: u32,
        quota: u32,
        priority_ages: Duration,
        clean_attempts: u32,
        clean_again_after: Duration,
        clean_again_at_most: Duration,
    }
}

/// The range of ids that holders see. In the bytes it is the option itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredIdSource(Option<StoredSlotRange>);

impl From<Option<SlotRange>> for StoredIdSource {
    fn from(slots: Option<SlotRange>) -> Self {
        StoredIdSource(slots.map(StoredSlotRange::from))
    }
}

impl From<StoredIdSource> for Option<SlotRange> {
    fn from(stored: StoredIdSource) -> Self {
        stored.0.map(SlotRange::from)
    }
}

stored_form! {
    /// A range of ids that boxes are drawn from.
    struct StoredSlotRange of SlotRange {
        first: SlotId,
        count: u32,
        rest: Duration,
    }
}

stored_form_of_event! {
    /// The specification in an event.
    pub(in crate::box_lease) mod spec_of_event: StoredPoolSpec of PoolSpec;
}

/// The ids of a pool that no box has, without resting ids, which have their own rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::box_lease) struct StoredSlots {
    range: (u64, u64),
    fresh: VecDeque<(u64, u64)>,
    drawn: u64,
}

impl From<Slots> for StoredSlots {
    fn from(slots: Slots) -> Self {
        let Slots { range, fresh, resting: _, resting_count: _, drawn } = slots;
        StoredSlots { range, fresh, drawn }
    }
}

impl From<StoredSlots> for Slots {
    fn from(stored: StoredSlots) -> Self {
        let StoredSlots { range, fresh, drawn } = stored;
        Slots { range, fresh, drawn, ..Slots::default() }
    }
}
