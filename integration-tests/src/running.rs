//! Running a test as the node runs: actors on a system whose runtime is a shared pool.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a condition may take to come about before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `test` on an actix system over a multi-thread runtime of its own.
pub fn on_a_system<F: Future>(test: F) -> F::Output {
    #[allow(clippy::expect_used)]
    // A machine that starts no threads runs no tests.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let runtime = Arc::new(runtime);
    let shared = runtime.clone();
    actix::System::with_tokio_rt(move || shared).block_on(test)
}

/// Asks `probe` until it answers, and fails the test with `what` when it never does.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let started = Instant::now();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
