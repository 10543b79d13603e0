//! Waits for conditions. Every test has the same time limit, far longer than any condition needs. The limit
//! decides how soon a failure is reported, never whether a test passes.

use std::future::Future;
use std::time::{Duration, Instant};

/// The longest time that a test waits for a condition.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds; fails the test with `what` after [`PATIENCE`].
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || std::future::ready(condition().then_some(()))).await;
}

/// Calls `probe` until it returns a value. Fails the test with `what` after [`PATIENCE`].
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
