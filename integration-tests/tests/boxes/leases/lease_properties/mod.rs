//! For all requests in all orders, with restarts at any time and any setting of the wall clock, the table of
//! boxes keeps its invariants.

mod op;
mod promises;
mod steps;
mod world;

use std::time::Duration;

use proptest::prelude::*;

use op::{LeaseStep, LeaseStepKind, op};
use world::{LeaseWorld, rows};

/// The rest period of ids.
const REST: Duration = Duration::from_millis(40);

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_keeps_its_promises(ops in prop::collection::vec(op(), 1..120)) {
        let mut world = LeaseWorld::default();
        for pool in 0..2 {
            let kind = if pool == 0 { LeaseStepKind::Hosted } else { LeaseStepKind::Slots };
            world.step(&LeaseStep::Put { pool, first: 0, size: 4, kind, grace: false });
            world.step(&LeaseStep::Reconcile(pool, vec![0, 1, 2, 3], vec![]));
        }
        for op in &ops {
            world.step(op);
            world.check();
        }
        assert_eq!(rows(&world.table), rows(&world.other), "nodes differ");
        // After enough time every lease without a renewal has ended.
        world.step(&LeaseStep::Wait(10_000));
        let preparing: Vec<usize> = (0..world.known_leases.len()).collect();
        preparing.into_iter().for_each(|place| world.step(&LeaseStep::Prepare(place)));
        world.step(&LeaseStep::Wait(10_000));
        world.step(&LeaseStep::Expire(0));
        world.check();
        prop_assert!(world.known_leases.iter().all(|known_lease| known_lease.ended.is_some()));
    }
}
