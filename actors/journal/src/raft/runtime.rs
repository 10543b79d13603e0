//! The asynchronous runtime of openraft: tokio, whose ticks can stop.
//!
//! openraft wakes for a tick ten times a second, also when ticks are switched off. A node that leads alone needs none,
//! and then sleeps. Only the tick loop uses `sleep_until`, so a gate in that call is enough.

use std::pin::Pin;
use std::time::Duration;

use openraft::{AsyncRuntime, TokioRuntime};
use tokio::sync::watch;
use tokio::task::futures::TaskLocalFuture;
use tokio::task_local;

task_local! {
    /// The gate of the node to which the present task of openraft belongs.
    static TICKS: watch::Receiver<bool>;
}

/// Starts and stops the ticks of one node. They begin at once.
#[derive(Debug)]
pub(super) struct TickGate(watch::Sender<bool>);

impl Default for TickGate {
    fn default() -> Self {
        TickGate(watch::Sender::new(true))
    }
}

impl TickGate {
    /// Opens or closes the gate. A tick that sleeps meanwhile ends its sleep first.
    pub(super) fn open(&self, is_open: bool) {
        self.0.send_if_modified(|before| std::mem::replace(before, is_open) != is_open);
    }

    /// Lets all tasks that `starting` spawns follow this gate.
    pub(super) fn governs<F: Future>(
        &self,
        starting: F,
    ) -> TaskLocalFuture<watch::Receiver<bool>, F> {
        TICKS.scope(self.0.subscribe(), starting)
    }
}

/// tokio, with the gate of ticks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalRuntime;

impl AsyncRuntime for JournalRuntime {
    type JoinError = <TokioRuntime as AsyncRuntime>::JoinError;
    type JoinHandle<T: Send + 'static> = <TokioRuntime as AsyncRuntime>::JoinHandle<T>;
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;
    type Instant = <TokioRuntime as AsyncRuntime>::Instant;
    type TimeoutError = <TokioRuntime as AsyncRuntime>::TimeoutError;
    type Timeout<R, T: Future<Output = R> + Send> = <TokioRuntime as AsyncRuntime>::Timeout<R, T>;
    type ThreadLocalRng = <TokioRuntime as AsyncRuntime>::ThreadLocalRng;
    type OneshotSender<T: Send> = <TokioRuntime as AsyncRuntime>::OneshotSender<T>;
    type OneshotReceiverError = <TokioRuntime as AsyncRuntime>::OneshotReceiverError;
    type OneshotReceiver<T: Send> = <TokioRuntime as AsyncRuntime>::OneshotReceiver<T>;

    fn spawn<T>(future: T) -> Self::JoinHandle<T::Output>
    where
        T: Future + Send + 'static,
        T::Output: Send + 'static,
    {
        match TICKS.try_get() {
            Ok(gate) => TokioRuntime::spawn(TICKS.scope(gate, future)),
            Err(_) => TokioRuntime::spawn(future),
        }
    }

    fn sleep(duration: Duration) -> Self::Sleep {
        Box::pin(TokioRuntime::sleep(duration))
    }

    fn sleep_until(deadline: Self::Instant) -> Self::Sleep {
        let gate = TICKS.try_get();
        Box::pin(async move {
            TokioRuntime::sleep_until(deadline).await;
            if let Ok(mut gate) = gate {
                // An error means that the node has ended, and its loops end with it.
                let _ = gate.wait_for(|is_open| *is_open).await;
            }
        })
    }

    fn timeout<R, F: Future<Output = R> + Send>(
        duration: Duration,
        future: F,
    ) -> Self::Timeout<R, F> {
        TokioRuntime::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + Send>(
        deadline: Self::Instant,
        future: F,
    ) -> Self::Timeout<R, F> {
        TokioRuntime::timeout_at(deadline, future)
    }

    fn is_panic(join_error: &Self::JoinError) -> bool {
        TokioRuntime::is_panic(join_error)
    }

    fn thread_rng() -> Self::ThreadLocalRng {
        TokioRuntime::thread_rng()
    }

    fn oneshot<T: Send>() -> (Self::OneshotSender<T>, Self::OneshotReceiver<T>) {
        TokioRuntime::oneshot()
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn a_due_tick_waits_until_its_gate_is_open() {
        let gate = TickGate::default();
        let past = tokio::time::Instant::now() - Duration::from_secs(1);
        // The gate also governs a task that a governed task spawns.
        let due = || async move {
            let tick = async move { JournalRuntime::sleep_until(past).await };
            JournalRuntime::spawn(tick).await
        };
        gate.governs(due()).await.unwrap();
        gate.open(false);
        let mut stopped = tokio::spawn(gate.governs(due()));
        for _ in 0..100 {
            tokio::task::yield_now().await;
            assert!(poll!(&mut stopped).is_pending());
        }
        gate.open(true);
        stopped.await.unwrap().unwrap();
    }
}
