//! The changes of an applied event, as the feed publishes them. Renewals are not published: they are
//! frequent, and operators need not act on them.

use std::collections::BTreeMap;

use reelyard_core::clock::Millis;
use reelyard_protocol::boxes::{LeaseId, PoolName};
use reelyard_replication::AppliedEvent;

use crate::box_lease::state::box_table::{BoxTable, FoundLease};
use crate::box_lease::state::event::{BoxEvent, BoxOutcome};
use crate::box_lease::{BoxChange, LeaseOf, SharedTable};

/// The changes that the events of one entry made.
pub(in crate::box_lease) fn changes_of(
    table: &BoxTable,
    entry: &[AppliedEvent<SharedTable>],
) -> Vec<(Millis, BoxChange)> {
    let mut batch =
        BoxChangeBatch { changes: Vec::with_capacity(entry.len()), emptied: BTreeMap::new() };
    for applied in entry {
        batch.add(table, applied);
    }
    batch.add_removed_pools(table);
    batch.changes
}

/// The published changes of one entry.
struct BoxChangeBatch {
    changes: Vec<(Millis, BoxChange)>,
    /// Pools that may have lost a box, with the time.
    emptied: BTreeMap<PoolName, Millis>,
}

impl BoxChangeBatch {
    fn add(&mut self, table: &BoxTable, applied: &AppliedEvent<SharedTable>) {
        let AppliedEvent { at, event, result: Ok(outcome), .. } = applied else { return };
        let at = *at;
        let mut publish = |change| self.changes.push((at, change));
        match (event, outcome) {
            (
                BoxEvent::PoolPut { pool, spec }
                | BoxEvent::PoolPutAlone { pool, spec }
                | BoxEvent::PoolPutBySettings { pool, spec, .. },
                BoxOutcome::PoolPut { created },
            ) => {
                publish(BoxChange::PoolPut {
                    pool: pool.clone(),
                    size: spec.size,
                    created: *created,
                });
            }
            (BoxEvent::PoolRemoved { pool }, BoxOutcome::PoolRemoved { gone }) => {
                publish(BoxChange::PoolRemoved { pool: pool.clone(), gone: *gone });
            }
            (_, BoxOutcome::Granted { .. }) => {
                let leases = event.grant().into_iter().flat_map(|grant| &grant.leases);
                leases.filter_map(|(id, _)| granted(table, *id)).for_each(publish);
            }
            (_, BoxOutcome::Ended { leases }) => {
                for (pool, change) in leases.iter().filter_map(|id| ended(table, *id)) {
                    publish(change);
                    self.emptied.entry(pool).or_insert(at);
                }
            }
            (BoxEvent::Cleaned { pool, .. }, _) => {
                self.emptied.entry(pool.clone()).or_insert(at);
            }
            (BoxEvent::CleanFailed { pool, number, attempt, output, .. }, _) => {
                let (pool, output) = (pool.clone(), output.as_str().to_owned());
                publish(BoxChange::CleanFailed {
                    pool,
                    number: *number,
                    attempt: *attempt,
                    output,
                });
            }
            (BoxEvent::Quarantined { pool, number, output, by, .. }, _) => {
                let (pool, output) = (pool.clone(), output.as_str().to_owned());
                self.emptied.entry(pool.clone()).or_insert(at);
                let quarantined =
                    BoxChange::Quarantined { pool, number: *number, output, by: by.clone() };
                self.changes.push((at, quarantined));
            }
            (BoxEvent::Unquarantined { pool, number, by }, _) => {
                let (pool, by) = (pool.clone(), by.clone());
                publish(BoxChange::Unquarantined { pool, number: *number, by });
            }
            (BoxEvent::Reconciled { pool, dirty, .. }, _) => {
                for (number, output) in dirty {
                    let output = output.as_str().to_owned();
                    publish(BoxChange::FoundDirty { pool: pool.clone(), number: *number, output });
                }
                self.emptied.entry(pool.clone()).or_insert(at);
            }
            _ => {}
        }
    }

    /// The last box of a pool under removal may be removed some time later.
    fn add_removed_pools(&mut self, table: &BoxTable) {
        for (pool, at) in std::mem::take(&mut self.emptied) {
            if table.pool(&pool).is_err() {
                self.changes.push((at, BoxChange::PoolRemoved { pool, gone: true }));
            }
        }
    }
}

/// A lease that was granted. It may have ended in the same entry.
fn granted(table: &BoxTable, id: LeaseId) -> Option<BoxChange> {
    let lease = match table.find(id) {
        FoundLease::Live(lease) => LeaseOf::from(&**lease),
        FoundLease::Ended(ended) => LeaseOf::from(&ended.lease),
        FoundLease::Unknown => return None,
    };
    Some(BoxChange::Granted { lease })
}

fn ended(table: &BoxTable, id: LeaseId) -> Option<(PoolName, BoxChange)> {
    let FoundLease::Ended(ended) = table.find(id) else { return None };
    let change = BoxChange::Ended {
        lease: LeaseOf::from(&ended.lease),
        how: ended.how,
        by: ended.by.clone(),
        reason: ended.reason.clone(),
    };
    Some((ended.lease.pool.clone(), change))
}
