//! Waits for conditions. Every test has the same time limit, far longer than any condition needs. The limit
//! decides how soon a failure is reported, never whether a test passes.

use std::future::Future;
use std::time::{Duration, Instant};

/// The longest time that a test waits for a condition.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pause before the next check of a condition since `began`. Frequent checks for a long time would take the
/// processor from the programs that they wait for.
pub fn pause_after(began: Instant) -> Duration {
    (began.elapsed() / 20).clamp(Duration::from_millis(5), Duration::from_millis(60))
}

/// Waits until `condition` holds; fails the test with `what` after [`PATIENCE`].
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_some(what, || std::future::ready(condition().then_some(()))).await;
}

/// Calls `probe` until it returns a value. Fails the test with `what` after [`PATIENCE`].
pub async fn eventually_some<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let began = Instant::now();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never happened: {what}");
        tokio::time::sleep(pause_after(began)).await;
    }
}
