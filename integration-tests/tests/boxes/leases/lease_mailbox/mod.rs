//! The BoxLeaseActor over messages: a real journal, a manual clock, logical pools.

mod pools;
mod requests;
mod terms;
mod waiting;

use std::time::Duration;

use reelyard_boxes::box_lease::{BoxError, BoxLeaseRequest, PoolSpec};
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_integration_tests::rigs::boxes::box_yard::{BoxYard, START, ask};

const MS: Duration = Duration::from_millis(1);

/// A pool without a grace period.
fn spec(size: u32) -> PoolSpec {
    PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, size) }
}

fn named(name: &str, wait: u64) -> BoxLeaseRequest {
    let request = Some(RequestId::of(name, b"one box"));
    BoxLeaseRequest { request, ..ask("a", wait) }
}

async fn yard(spec: PoolSpec) -> (tempfile::TempDir, BoxYard) {
    let dir = tempfile::tempdir().unwrap();
    let yard = BoxYard::open(dir.path(), &Clock::manual(START)).await;
    yard.put(spec).await;
    (dir, yard)
}

fn timed_out<T: std::fmt::Debug>(answer: Result<T, BoxError>) -> bool {
    matches!(answer, Err(BoxError::TimedOut { .. }))
}
