//! The runtime of the actors: one thread, and a clock that stands still while anything is ready. When nothing
//! is ready, the clock jumps to the next timer.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The number of passes without a poll after which nothing is ready. In the first pass the timers of the
/// present time may make tasks ready.
const QUIET_PASSES: u32 = 2;

thread_local! {
    /// The number of polls of all [`CountedTask`]s of this thread.
    static POLLS: Cell<u64> = const { Cell::new(0) };
}

/// Runs a future to its end on a runtime of its own, whose time is virtual.
#[allow(clippy::expect_used, reason = "a runtime without I/O opens nothing that can fail")]
pub fn on_virtual_time<F: Future>(future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Lets all tasks run until none is ready. No time passes.
pub async fn run_until_idle() {
    let mut quiet = 0;
    while quiet < QUIET_PASSES {
        let before = POLLS.get();
        tokio::task::yield_now().await;
        quiet = if POLLS.get() == before { quiet + 1 } else { 0 };
    }
}

/// Waits until `at`, while the timers of all tasks fire. Returns false when the bell rang before.
pub async fn wait_until(at: Instant, wake: &Notify) -> bool {
    if Instant::now() >= at {
        return true;
    }
    tokio::select! {
        biased;
        () = wake.notified() => false,
        () = tokio::time::sleep_until(at) => true,
    }
}

/// The virtual milliseconds since `began`.
pub fn millis_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The instant `millis` after `began`.
pub fn instant_at(began: Instant, millis: u64) -> Instant {
    began + Duration::from_millis(millis)
}

/// A task whose polls are counted, so that [`run_until_idle`] knows when nothing is ready.
pub struct CountedTask(Pin<Box<dyn Future<Output = ()>>>);

impl CountedTask {
    /// Counts the polls of this future.
    pub fn new(future: impl Future<Output = ()> + 'static) -> Self {
        CountedTask(Box::pin(future))
    }
}

impl Future for CountedTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        POLLS.set(POLLS.get() + 1);
        self.0.as_mut().poll(task)
    }
}
