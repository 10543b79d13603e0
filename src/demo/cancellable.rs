//! Runs long blocking work beside the runtime, so that signals are still handled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

/// Shows blocking work whether a caller still waits for it.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<AtomicBool>);

/// No caller waits for the result any more.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("interrupted")]
pub struct WorkCancelled;

impl CancellationToken {
    /// Fails if no caller waits any more.
    pub fn check(&self) -> Result<(), WorkCancelled> {
        if self.0.load(Ordering::Relaxed) { Err(WorkCancelled) } else { Ok(()) }
    }
}

/// Cancels the work when the waiting future is dropped.
struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` beside the runtime. If the future is dropped, the work ends at its next check.
pub async fn run_cancellable<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> Result<T> + Send + 'static,
) -> Result<T> {
    let wanted = CancellationToken::default();
    let _waiting = CancelOnDrop(wanted.clone());
    tokio::task::spawn_blocking(move || work(&wanted)).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_work_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let ended = Arc::new(AtomicBool::new(false));
        let its_end = Arc::clone(&ended);
        runtime.block_on(async {
            let endless = run_cancellable(move |wanted| -> Result<()> {
                let _ = begun.send(());
                while wanted.check().is_ok() {
                    std::thread::yield_now();
                }
                its_end.store(true, Ordering::Relaxed);
                Ok(())
            });
            tokio::select! {
                _ = endless => panic!("it ends only when it is unwanted"),
                _ = has_begun => {}
            }
        });
        // Waits for the blocking work.
        drop(runtime);
        assert!(ended.load(Ordering::Relaxed));
    }
}
