//! The steps that may happen in any order.

use proptest::prelude::*;

/// The next step. A lease is named by its position in the order of grants, a box by its number.
#[derive(Clone, Debug)]
pub enum LeaseStep {
    Put {
        pool: usize,
        first: u32,
        size: u32,
        kind: LeaseStepKind,
        grace: bool,
    },
    Remove(usize),
    Grant {
        pool: usize,
        boxes: Vec<u32>,
        ttl: u64,
        holder: usize,
        request: Option<u64>,
    },
    Prepare(usize),
    InitFail(usize),
    Renew {
        lease: usize,
        ttl: u64,
        foreign: bool,
    },
    Release {
        lease: usize,
        foreign: bool,
    },
    /// Ends everything that is due, and also reports a lease that need not be due.
    Expire(usize),
    Revoke(Vec<usize>),
    NotTaken(Vec<usize>),
    /// A cleaning ends: the present one or another one.
    Clean {
        pool: usize,
        number: u32,
        fails: bool,
        stale: bool,
    },
    Quarantine {
        pool: usize,
        number: u32,
        cleaning: bool,
    },
    Unquarantine(usize, u32),
    Recheck(usize),
    Reconcile(usize, Vec<u32>, Vec<u32>),
    Forget(u64),
    Wait(u64),
    Set(i64),
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStepKind {
    Logical,
    Hosted,
    Slots,
}

pub fn op() -> impl Strategy<Value = LeaseStep> {
    let kind = prop_oneof![
        Just(LeaseStepKind::Logical),
        Just(LeaseStepKind::Hosted),
        Just(LeaseStepKind::Slots)
    ];
    let (pool, number, lease) = (0..2_usize, 0..6_u32, 0..30_usize);
    let numbers = prop::collection::vec(0..6_u32, 1..3);
    prop_oneof![
        3 => (pool.clone(), 0..3_u32, 0..5_u32, kind, any::<bool>())
            .prop_map(|(pool, first, size, kind, grace)| LeaseStep::Put { pool, first, size, kind, grace }),
        1 => pool.clone().prop_map(LeaseStep::Remove),
        10 => (pool.clone(), numbers.clone(), 1..60_u64, 0..3_usize, proptest::option::of(0..4_u64))
            .prop_map(|(pool, boxes, ttl, holder, request)| LeaseStep::Grant { pool, boxes, ttl, holder, request }),
        4 => lease.clone().prop_map(LeaseStep::Prepare),
        1 => lease.clone().prop_map(LeaseStep::InitFail),
        2 => (lease.clone(), 0..60_u64, any::<bool>())
            .prop_map(|(lease, ttl, foreign)| LeaseStep::Renew { lease, ttl, foreign }),
        4 => (lease.clone(), prop::bool::weighted(0.2))
            .prop_map(|(lease, foreign)| LeaseStep::Release { lease, foreign }),
        3 => lease.clone().prop_map(LeaseStep::Expire),
        1 => prop::collection::vec(lease.clone(), 1..3).prop_map(LeaseStep::Revoke),
        1 => prop::collection::vec(lease, 1..3).prop_map(LeaseStep::NotTaken),
        6 => (pool.clone(), number.clone(), prop::bool::weighted(0.3), prop::bool::weighted(0.2))
            .prop_map(|(pool, number, fails, stale)| LeaseStep::Clean { pool, number, fails, stale }),
        1 => (pool.clone(), number.clone(), any::<bool>())
            .prop_map(|(pool, number, cleaning)| LeaseStep::Quarantine { pool, number, cleaning }),
        1 => (pool.clone(), number).prop_map(|(pool, number)| LeaseStep::Unquarantine(pool, number)),
        1 => pool.clone().prop_map(LeaseStep::Recheck),
        3 => (pool, numbers.clone(), numbers)
            .prop_map(|(pool, clean, dirty)| LeaseStep::Reconcile(pool, clean, dirty)),
        1 => (0..20_u64).prop_map(LeaseStep::Forget),
        4 => (0..40_u64).prop_map(LeaseStep::Wait),
        1 => (-100..100_i64).prop_map(LeaseStep::Set),
        1 => Just(LeaseStep::Restart),
    ]
}
