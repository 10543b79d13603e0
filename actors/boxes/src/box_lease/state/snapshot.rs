//! The piece as rows of a snapshot. Pure.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Epoch, PieceId};
use reelyard_core::history::BoundedLog;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, LeaseId, PoolName};
use reelyard_replication::stored::{RowVersions, encode_row, read_row};
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::box_table::{BoxTable, DroppedPool, GrantedRequest};
use super::event::BoxLogEntry;
use super::leases::given_terms::{GivenTerms, LeaderMachine, StoredGivenTerms};
use super::leases::lease::{EndedLease, Lease, StoredEndedLease, StoredLease};
use super::pools::pool::{BoxRecord, BoxState, Pool};
use super::pools::slots::Slots;
use super::pools::spec::PoolSpec;
use super::stored::{StoredBox, StoredPoolSpec, StoredPoolTotals, StoredSlots};

/// The first byte of each row.
const ROW_VERSIONS: RowVersions = 1..=2;

/// How many boxes, leases or lines one row holds: a row stays below 1 MiB even with long outputs.
const A_ROW: usize = 256;

/// How many ranges of resting ids one row holds.
const RUNS_A_ROW: usize = 25_000;

/// One row of the snapshot. Postcard numbers the variants in this order: add new ones at the end.
#[derive(Serialize, Deserialize)]
pub(super) enum BoxSnapshotRow {
    /// A pool without its boxes. Its boxes and ids follow.
    Pool(Box<StoredPool>),
    /// Boxes of the last pool, in order.
    Boxes(Vec<(BoxNumber, StoredBox)>),
    /// Resting ids of the last pool or dropped pool, as first and end, the longest resting first.
    Resting(Vec<(u64, u64)>),
    /// The record of a removed pool. Its resting ids follow.
    DroppedPool { pool: PoolName, last_token: FenceToken, slots: Option<StoredSlots> },
    /// Live leases, in the order of their tokens. They come behind all pools.
    Leases(Vec<StoredLease>),
    /// Leases that ended, from this number on.
    Ended { from: u64, ended: Vec<StoredEndedLease> },
    /// Log events of boxes, from this number on.
    BoxLog { from: u64, lines: Vec<BoxLogEntry> },
    /// The end of the snapshot.
    End,
    /// The epoch of the leader that decided last.
    Led(Epoch),
    /// Leases that got their full terms again, and how often each was renewed then. (It did not say by
    /// which clock: `GivenTerms` does; stores still hold it.)
    Again(Vec<(LeaseId, u32)>),
    /// Leases that got their full terms again.
    GivenTerms(Vec<(LeaseId, StoredGivenTerms)>),
    /// The newest version of the cluster's settings that set each of these pools.
    PutBySettings(Vec<(PoolName, u64)>),
    /// The boot and the uptime of the last leader's machine when it began to lead, and its wall clock then.
    LedOn(BootId, Duration, Millis),
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredPool {
    name: PoolName,
    spec: StoredPoolSpec,
    goes: bool,
    last_token: FenceToken,
    slots: Option<StoredSlots>,
    freed: u64,
    cleanings: u64,
    totals: StoredPoolTotals,
}

/// The piece at one log index.
pub(in crate::box_lease) struct FrozenBoxTable(BoxTable);

impl FrozenBoxTable {
    /// Freezes the current table. Leases and lines are shared with it; there are only few boxes.
    pub(in crate::box_lease) fn of(table: &BoxTable) -> Self {
        FrozenBoxTable(BoxTable {
            pools: table.pools.clone(),
            leases: table.leases.clone(),
            dropped_pools: table.dropped_pools.clone(),
            ended: table.ended.clone(),
            box_log: table.box_log.clone(),
            led: table.led,
            led_on: table.led_on,
            again: table.again.clone(),
            put_by_settings: table.put_by_settings.clone(),
            // These values are derived from the others.
            ended_index: Default::default(),
            requests: Default::default(),
            thawing: None,
        })
    }
}

impl FrozenPiece for FrozenBoxTable {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: &BoxSnapshotRow| row(&encode_row(&ROW_VERSIONS, content));
        let BoxTable { pools, leases, dropped_pools, ended, box_log, led, again, .. } = &self.0;
        put(&BoxSnapshotRow::Led(*led));
        if let Some(LeaderMachine { boot, uptime, wall }) = self.0.led_on {
            put(&BoxSnapshotRow::LedOn(boot, uptime, wall));
        }
        let mut by_settings = self.0.put_by_settings.iter().map(|(pool, by)| (pool.clone(), *by));
        in_rows(&mut by_settings, |some| put(&BoxSnapshotRow::PutBySettings(some)));
        for (name, pool) in pools {
            put(&BoxSnapshotRow::Pool(Box::new(StoredPool::of(name, pool))));
            let mut boxes =
                pool.boxes.iter().map(|(number, record)| (*number, record.clone().into()));
            in_rows(&mut boxes, |boxes| put(&BoxSnapshotRow::Boxes(boxes)));
            write_resting(pool.slots.as_ref(), &mut put);
        }
        for (pool, DroppedPool { last_token, slots }) in dropped_pools {
            let (pool, last_token) = (pool.clone(), *last_token);
            put(&BoxSnapshotRow::DroppedPool {
                pool,
                last_token,
                slots: slots.clone().map(Into::into),
            });
            write_resting(slots.as_ref(), &mut put);
        }
        let mut leases: Vec<&Lease> = leases.values().map(Arc::as_ref).collect();
        leases.sort_unstable_by_key(|lease| (&lease.pool, lease.token));
        let mut leases = leases.into_iter().map(|lease| lease.clone().into());
        in_rows(&mut leases, |leases| put(&BoxSnapshotRow::Leases(leases)));
        let mut again: Vec<(LeaseId, StoredGivenTerms)> =
            again.iter().map(|(id, given)| (*id, given.clone().into())).collect();
        again.sort_unstable_by_key(|(id, _)| *id);
        in_rows(&mut again.into_iter(), |again| put(&BoxSnapshotRow::GivenTerms(again)));
        // An empty list keeps its number, too.
        let mut from = ended.first();
        put(&BoxSnapshotRow::Ended { from, ended: Vec::new() });
        in_rows(&mut ended.oldest_first().map(|(_, ended)| ended.clone().into()), |ended| {
            let count = ended.len() as u64;
            put(&BoxSnapshotRow::Ended { from, ended });
            from += count;
        });
        let mut from = box_log.first();
        put(&BoxSnapshotRow::BoxLog { from, lines: Vec::new() });
        in_rows(&mut box_log.oldest_first().map(|(_, line)| line.clone()), |lines| {
            let count = lines.len() as u64;
            put(&BoxSnapshotRow::BoxLog { from, lines });
            from += count;
        });
        put(&BoxSnapshotRow::End);
    }
}

fn write_resting(slots: Option<&Slots>, put: &mut dyn FnMut(&BoxSnapshotRow)) {
    let resting: Vec<_> = slots.into_iter().flat_map(Slots::resting).collect();
    for some in resting.chunks(RUNS_A_ROW) {
        put(&BoxSnapshotRow::Resting(some.to_vec()));
    }
}

fn in_rows<T>(items: &mut dyn Iterator<Item = T>, mut put: impl FnMut(Vec<T>)) {
    loop {
        let some: Vec<T> = items.take(A_ROW).collect();
        if some.is_empty() {
            return;
        }
        put(some);
    }
}

impl StoredPool {
    fn of(name: &PoolName, pool: &Pool) -> Self {
        StoredPool {
            name: name.clone(),
            spec: PoolSpec::clone(&pool.spec).into(),
            goes: pool.goes,
            last_token: pool.last_token,
            slots: pool.slots.clone().map(Into::into),
            freed: pool.freed,
            cleanings: pool.cleanings,
            totals: pool.totals.into(),
        }
    }

    fn thaw(self) -> (PoolName, Pool) {
        let StoredPool { name, spec, goes, last_token, slots, freed, cleanings, totals } = self;
        let pool = Pool::empty(Arc::new(spec.into()), last_token, slots.map(Into::into));
        (name, Pool { goes, freed, cleanings, totals: totals.into(), ..pool })
    }
}

/// Restores one row that a frozen table wrote.
pub(in crate::box_lease) fn thaw_row(
    table: &mut BoxTable,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    match read_row(PieceId::Boxes, &ROW_VERSIONS, row)? {
        BoxSnapshotRow::Pool(stored) => {
            let (name, pool) = stored.thaw();
            table.thawing = Some(name.clone());
            table.pools.insert(name, pool);
        }
        BoxSnapshotRow::Boxes(boxes) => table.thaw_boxes(boxes),
        BoxSnapshotRow::Resting(resting) => table.thaw_resting(resting),
        BoxSnapshotRow::DroppedPool { pool, last_token, slots } => {
            table.thawing = Some(pool.clone());
            table
                .dropped_pools
                .insert(pool, DroppedPool { last_token, slots: slots.map(Into::into) });
        }
        BoxSnapshotRow::Leases(leases) => {
            leases.into_iter().for_each(|lease| table.thaw_lease(lease.into()))
        }
        BoxSnapshotRow::Ended { from, ended } => {
            if table.ended.is_empty() {
                table.ended = BoundedLog::starting_at(from);
            }
            ended.into_iter().for_each(|ended| table.thaw_ended(ended.into()));
        }
        BoxSnapshotRow::BoxLog { from, lines } => {
            if table.box_log.is_empty() {
                table.box_log = BoundedLog::starting_at(from);
            }
            lines.into_iter().for_each(|line| table.box_log.push(line));
        }
        BoxSnapshotRow::End => table.thawing = None,
        BoxSnapshotRow::Led(epoch) => table.led = epoch,
        BoxSnapshotRow::LedOn(boot, uptime, wall) => {
            table.led_on = Some(LeaderMachine { boot, uptime, wall });
        }
        BoxSnapshotRow::PutBySettings(some) => table.put_by_settings.extend(some),
        BoxSnapshotRow::Again(again) => {
            let given = |(id, renewals)| (id, GivenTerms::by_unknown_boot(renewals));
            table.again.extend(again.into_iter().map(given));
        }
        BoxSnapshotRow::GivenTerms(again) => {
            table.again.extend(again.into_iter().map(|(id, given)| (id, given.into())))
        }
    }
    Ok(())
}

impl BoxTable {
    fn thaw_boxes(&mut self, boxes: Vec<(BoxNumber, StoredBox)>) {
        let pool = self.thawing.as_ref().and_then(|name| self.pools.get_mut(name));
        let Some(pool) = pool else { return };
        for (number, stored) in boxes {
            let record = BoxRecord::from(stored);
            pool.add(number, BoxState::Unchecked, record.since);
            pool.insert(number, record.state.clone(), record.since);
            pool.boxes.insert(number, record);
        }
    }

    fn thaw_resting(&mut self, resting: Vec<(u64, u64)>) {
        let Some(name) = &self.thawing else { return };
        let of_pool = self.pools.get_mut(name).and_then(|pool| pool.slots.as_mut());
        let of_dropped =
            self.dropped_pools.get_mut(name).and_then(|dropped| dropped.slots.as_mut());
        if let Some(slots) = of_pool.or(of_dropped) {
            resting.into_iter().for_each(|(first, end)| slots.start_rests(first, end));
        }
    }

    fn thaw_lease(&mut self, lease: Lease) {
        if let Some(pool) = self.pools.get_mut(&lease.pool) {
            pool.hold(&lease.holder);
        }
        self.thaw_request(&lease);
        self.leases.insert(lease.id, Arc::new(lease));
    }

    fn thaw_ended(&mut self, ended: EndedLease) {
        if !ended.how.reached_no_client() {
            self.thaw_request(&ended.lease);
        }
        self.ended_index.insert(ended.lease.id, self.ended.next());
        self.ended.push(ended);
    }

    /// A lease belongs to a request.
    fn thaw_request(&mut self, lease: &Lease) {
        let Some(request) = lease.request else { return };
        let granted = || GrantedRequest { request, leases: Vec::new() };
        self.requests.entry(request.name()).or_insert_with(granted).leases.push(lease.id);
    }
}
