//! What may happen, in any order.

use proptest::prelude::*;

/// What happens next. Leases are named by their places in the order of their grants, boxes by number.
#[derive(Clone, Debug)]
pub enum Op {
    Put {
        pool: usize,
        first: u32,
        size: u32,
        kind: Kind,
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
    /// Whatever is due ends; and one that need not be due is said to be.
    Expire(usize),
    Revoke(Vec<usize>),
    NotTaken(Vec<usize>),
    /// A cleaning ends: the present one, or another one.
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
pub enum Kind {
    Logical,
    Hosted,
    Slots,
}

pub fn op() -> impl Strategy<Value = Op> {
    let kind = prop_oneof![Just(Kind::Logical), Just(Kind::Hosted), Just(Kind::Slots)];
    let (pool, number, lease) = (0..2_usize, 0..6_u32, 0..30_usize);
    let numbers = prop::collection::vec(0..6_u32, 1..3);
    prop_oneof![
        3 => (pool.clone(), 0..3_u32, 0..5_u32, kind, any::<bool>())
            .prop_map(|(pool, first, size, kind, grace)| Op::Put { pool, first, size, kind, grace }),
        1 => pool.clone().prop_map(Op::Remove),
        10 => (pool.clone(), numbers.clone(), 1..60_u64, 0..3_usize, proptest::option::of(0..4_u64))
            .prop_map(|(pool, boxes, ttl, holder, request)| Op::Grant { pool, boxes, ttl, holder, request }),
        4 => lease.clone().prop_map(Op::Prepare),
        1 => lease.clone().prop_map(Op::InitFail),
        2 => (lease.clone(), 0..60_u64, any::<bool>())
            .prop_map(|(lease, ttl, foreign)| Op::Renew { lease, ttl, foreign }),
        4 => (lease.clone(), prop::bool::weighted(0.2))
            .prop_map(|(lease, foreign)| Op::Release { lease, foreign }),
        3 => lease.clone().prop_map(Op::Expire),
        1 => prop::collection::vec(lease.clone(), 1..3).prop_map(Op::Revoke),
        1 => prop::collection::vec(lease, 1..3).prop_map(Op::NotTaken),
        6 => (pool.clone(), number.clone(), prop::bool::weighted(0.3), prop::bool::weighted(0.2))
            .prop_map(|(pool, number, fails, stale)| Op::Clean { pool, number, fails, stale }),
        1 => (pool.clone(), number.clone(), any::<bool>())
            .prop_map(|(pool, number, cleaning)| Op::Quarantine { pool, number, cleaning }),
        1 => (pool.clone(), number).prop_map(|(pool, number)| Op::Unquarantine(pool, number)),
        1 => pool.clone().prop_map(Op::Recheck),
        3 => (pool, numbers.clone(), numbers)
            .prop_map(|(pool, clean, dirty)| Op::Reconcile(pool, clean, dirty)),
        1 => (0..20_u64).prop_map(Op::Forget),
        4 => (0..40_u64).prop_map(Op::Wait),
        1 => (-100..100_i64).prop_map(Op::Set),
        1 => Just(Op::Restart),
    ]
}
