//! Samples of the events of boxes.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_boxes::box_lease::{BoxEvent, NewGrant, PoolSpec, SlotRange};
use reelyard_core::boot::BootId;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookOutput, HooksName, LeaseId, PoolName, Reason, SlotId,
};

use super::host;

/// A pool without a host.
fn judges() -> PoolName {
    PoolName::new("judges").unwrap()
}

/// A pool whose boxes a worker prepares and cleans.
fn scratch() -> PoolName {
    PoolName::new("scratch").unwrap()
}

fn output() -> HookOutput {
    HookOutput::cut("1 file left")
}

fn granted(pool: PoolName, leases: &[(u128, u32)], request: Option<u128>) -> BoxEvent {
    let leases = leases.iter().map(|(id, number)| (LeaseId(*id), BoxNumber(*number)));
    BoxEvent::Granted(Box::new(NewGrant {
        pool,
        leases: leases.collect(),
        holder: Holder::new("job-18").unwrap(),
        ttl: Duration::from_millis(30_500),
        term: Duration::from_secs(30),
        request: request.map(RequestId),
        rested_before: 0,
    }))
}

/// The samples of pools and leases.
fn of_leases() -> Vec<(&'static str, BoxEvent)> {
    let second = Duration::from_secs(1);
    let rich = PoolSpec {
        slots: Some(SlotRange { first: SlotId(5000), count: 100, rest: second }),
        labels: BTreeMap::from([("site".to_owned(), "test".to_owned())]),
        max_hold: Some(Duration::from_secs(3600)),
        quota: 8,
        ..PoolSpec::of(1, 8)
    };
    let hosted = PoolSpec {
        host: Some(host(21)),
        hooks: Some(HooksName::new("isolate").unwrap()),
        ..PoolSpec::of(0, 6)
    };
    let (clean, dirty) = ((0..5).map(BoxNumber).collect(), vec![(BoxNumber(5), output())]);
    let (by, reason) = (|| "operator".to_owned(), Some(Reason::new("test over").unwrap()));
    let renewed = |lease, token| BoxEvent::Renewed { lease, token, term: 9 * second };
    let lease = LeaseId;
    vec![
        ("led", BoxEvent::Led { epoch: Epoch(3), beyond: None }),
        ("pool-put", BoxEvent::PoolPut { pool: judges(), spec: Box::new(rich) }),
        ("pool-put-alone", BoxEvent::PoolPutAlone { pool: scratch(), spec: Box::new(hosted) }),
        ("reconciled", BoxEvent::Reconciled { pool: scratch(), clean, dirty }),
        ("granted", granted(judges(), &[(1, 1)], Some(0xd000))),
        ("granted-together", granted(judges(), &[(2, 2), (3, 3), (4, 4), (5, 5)], None)),
        ("granted-of-host", granted(scratch(), &[(11, 0), (12, 1)], Some(0xd001))),
        ("prepared", BoxEvent::Prepared { leases: vec![lease(11)], term: 30 * second }),
        ("init-failed", BoxEvent::InitFailed { lease: lease(12), output: output() }),
        ("renewed", renewed(lease(1), FenceToken(1))),
        ("renewed-with-wrong-token", renewed(lease(1), FenceToken(77))),
        ("wrong-token", BoxEvent::WrongToken { lease: lease(1), given: FenceToken(77), times: 2 }),
        ("released", BoxEvent::Released { lease: lease(2), token: FenceToken(2) }),
        ("revoked", BoxEvent::Revoked { leases: vec![lease(3)], by: by(), reason }),
        (
            "revoked-without-reason",
            BoxEvent::Revoked { leases: vec![lease(4)], by: by(), reason: None },
        ),
        ("not-taken", BoxEvent::NotTaken { leases: vec![lease(5)] }),
        ("expired", BoxEvent::Expired { leases: vec![(lease(1), 7)] }),
        ("granted-more", granted(judges(), &[(6, 6), (7, 7), (8, 8)], Some(0xd002))),
        ("terms-passed", BoxEvent::TermsPassed { leases: vec![(lease(6), 0), (lease(99), 2)] }),
        ("terms-again", BoxEvent::TermsAgain { leases: vec![(lease(1), 1, 20 * second)] }),
        (
            "terms-given",
            BoxEvent::TermsGiven {
                boot: BootId([0xb0; 16]),
                uptime: Duration::new(77, 500),
                leases: vec![(lease(7), 0, 20 * second)],
            },
        ),
        ("led-beyond", BoxEvent::Led { epoch: Epoch(4), beyond: Some(FenceToken(1000)) }),
        ("tokens-raised", BoxEvent::TokensRaised { pool: judges(), beyond: FenceToken(2000) }),
    ]
}

/// The samples of single boxes, and of the end of a pool.
fn of_boxes() -> Vec<(&'static str, BoxEvent)> {
    let cleaned = |number, cleaning, output| BoxEvent::Cleaned {
        pool: scratch(),
        number: BoxNumber(number),
        cleaning,
        output,
    };
    let quarantined = |number, cleaning, by| BoxEvent::Quarantined {
        pool: scratch(),
        number: BoxNumber(number),
        cleaning,
        output: output(),
        by,
    };
    let by = || "operator".to_owned();
    let small = || PoolName::new("small").unwrap();
    vec![
        (
            "clean-failed",
            BoxEvent::CleanFailed {
                pool: scratch(),
                number: BoxNumber(5),
                cleaning: 1,
                attempt: 1,
                output: output(),
            },
        ),
        ("cleaned", cleaned(5, 1, Some(output()))),
        ("cleaned-without-output", cleaned(1, 2, None)),
        ("quarantined", quarantined(3, None, Some(by()))),
        ("released-of-host", BoxEvent::Released { lease: LeaseId(11), token: FenceToken(1) }),
        ("quarantined-by-cleaning", quarantined(0, Some(3), None)),
        ("granted-of-host-again", granted(scratch(), &[(13, 2)], None)),
        (
            "unquarantined",
            BoxEvent::Unquarantined { pool: scratch(), number: BoxNumber(3), by: by() },
        ),
        ("quarantined-again", quarantined(4, None, Some(by()))),
        ("recheck", BoxEvent::Recheck { pool: scratch() }),
        ("adopted", BoxEvent::Adopted { pool: scratch(), output: output(), by: by() }),
        (
            "pool-put-small",
            BoxEvent::PoolPut { pool: small(), spec: Box::new(PoolSpec::of(90, 1)) },
        ),
        ("granted-of-small", granted(small(), &[(21, 90)], None)),
        ("released-of-small", BoxEvent::Released { lease: LeaseId(21), token: FenceToken(1) }),
        ("pool-removed", BoxEvent::PoolRemoved { pool: small() }),
        ("forgot", BoxEvent::Forgot { ended_before: 1, box_log_before: 1 }),
        (
            "pool-put-by-settings",
            BoxEvent::PoolPutBySettings {
                pool: small(),
                spec: Box::new(PoolSpec::of(90, 2)),
                version: 7,
            },
        ),
        ("led-on", BoxEvent::LedOn { boot: BootId([0xb1; 16]), uptime: Duration::new(78, 500) }),
    ]
}

/// Samples in the order in which they apply. Append new ones: the stored rows depend on the order.
pub fn box_samples() -> Vec<(&'static str, BoxEvent)> {
    let mut samples = of_leases();
    samples.extend(of_boxes());
    samples
}
