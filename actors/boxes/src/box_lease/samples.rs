//! Tables for tests.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, HookOutput, LeaseId, PoolName};

use crate::box_lease::state::box_table::BoxTable;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal, NewGrant};
use crate::box_lease::state::pools::pool::{BoxPhase, BoxState};
use crate::box_lease::state::pools::spec::PoolSpec;

pub(super) const TERM: Duration = Duration::from_millis(100);

pub(super) fn p() -> PoolName {
    PoolName::new("p").unwrap()
}

pub(super) fn holder() -> Holder {
    Holder::new("h").unwrap()
}

pub(super) fn hosted(size: u32) -> PoolSpec {
    PoolSpec { host: "10.0.0.1:80".parse().ok(), ..PoolSpec::of(0, size) }
}

/// A table with one pool, whose boxes were inspected.
pub(super) fn table(spec: PoolSpec) -> BoxTable {
    let mut table = BoxTable::default();
    let clean = spec.numbers().collect();
    let put = BoxEvent::PoolPut { pool: p(), spec: Box::new(spec) };
    table.apply(Millis(0), &put).unwrap();
    let looked_at = BoxEvent::Reconciled { pool: p(), clean, dirty: Vec::new() };
    table.apply(Millis(0), &looked_at).unwrap();
    table
}

/// These boxes under leases of these ids, for a request of this name.
pub(super) fn grant(leases: &[(u128, u32)], request: Option<&str>) -> BoxEvent {
    let leases = leases.iter().map(|(id, number)| (LeaseId(*id), BoxNumber(*number)));
    BoxEvent::Granted(Box::new(NewGrant {
        pool: p(),
        leases: leases.collect(),
        holder: holder(),
        ttl: TERM,
        term: TERM,
        request: request.map(|name| RequestId::of(name, b"boxes")),
        rested_before: 0,
    }))
}

/// Grants one box in a test.
pub(super) fn granted(table: &mut BoxTable, id: u128, number: u32) -> FenceToken {
    match table.apply(Millis(0), &grant(&[(id, number)], None)) {
        Ok(BoxOutcome::Granted { first }) => first,
        other => panic!("{other:?}"),
    }
}

pub(super) fn release(id: u128, token: FenceToken) -> BoxEvent {
    BoxEvent::Released { lease: LeaseId(id), token }
}

pub(super) fn output() -> HookOutput {
    HookOutput::cut("something")
}

pub(super) fn phase(table: &BoxTable, number: u32) -> Option<BoxPhase> {
    let pool = table.pool(&p()).ok()?;
    Some(pool.find(BoxNumber(number))?.state.phase())
}

/// The number of a box's cleaning.
pub(super) fn cleaning(table: &BoxTable, number: u32) -> u64 {
    match &table.pool(&p()).unwrap().find(BoxNumber(number)).unwrap().state {
        BoxState::Draining(draining) => draining.cleaning,
        other => panic!("{other:?}"),
    }
}

pub(super) fn cleaned(table: &BoxTable, number: u32) -> BoxEvent {
    let cleaning = cleaning(table, number);
    BoxEvent::Cleaned { pool: p(), number: BoxNumber(number), cleaning, output: None }
}

pub(super) fn refused(table: &mut BoxTable, event: &BoxEvent) -> BoxRefusal {
    table.apply(Millis(0), event).unwrap_err()
}
