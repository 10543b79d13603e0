//! Runs a test as the node runs: actors on a system whose runtime is a shared pool.

use std::future::Future;
use std::sync::Arc;

/// Runs `test` on an actix system with its own multi-thread runtime.
pub fn on_a_system<F: Future>(test: F) -> F::Output {
    #[allow(clippy::expect_used)]
    // Without threads the machine cannot run any test.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let runtime = Arc::new(runtime);
    let shared = runtime.clone();
    actix::System::with_tokio_rt(move || shared).block_on(test)
}
