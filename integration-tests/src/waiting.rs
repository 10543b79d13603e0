//! Waiting for conditions. Every test has the same patience, far longer than anything takes: it
//! decides how soon a failure is told, never whether a test passes.

use std::future::Future;
use std::time::{Duration, Instant};

/// The longest a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds; fails the test with `what` after [`PATIENCE`].
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || std::future::ready(condition().then_some(()))).await;
}

/// Asks `probe` until it answers something; fails the test with `what` after [`PATIENCE`].
pub async fn eventually_some<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(Instant::now() < until, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
