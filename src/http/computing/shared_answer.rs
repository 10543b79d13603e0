//! An answer that is computed once for all who ask at about the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::work_limit::{LONGEST_WAIT, busy};
use crate::http::problem::ProblemResponse;

/// The latest answer. Readers wait for the one that computes it, and then share it.
#[derive(Debug)]
pub struct SharedAnswer<T>(Mutex<Option<KeptAnswer<T>>>);

#[derive(Debug)]
struct KeptAnswer<T> {
    at: Instant,
    answer: Arc<T>,
}

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        SharedAnswer(Mutex::new(None))
    }
}

impl<T> SharedAnswer<T> {
    /// The answer, at most this old. `compute` runs only if no such answer is kept.
    ///
    /// # Errors
    /// Those of `compute`, or the answer was not there in time. The next reader computes again.
    pub async fn get(
        &self,
        longest_age: Duration,
        compute: impl Future<Output = Result<T, ProblemResponse>>,
    ) -> Result<Arc<T>, ProblemResponse> {
        // Readers wait one after another, so one limit is around all that a reader waits for.
        timeout(LONGEST_WAIT, self.kept_or_computed(longest_age, compute))
            .await
            .unwrap_or_else(|_| Err(busy()))
    }

    async fn kept_or_computed(
        &self,
        longest_age: Duration,
        compute: impl Future<Output = Result<T, ProblemResponse>>,
    ) -> Result<Arc<T>, ProblemResponse> {
        let mut kept = self.0.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.at.elapsed() < longest_age) {
            return Ok(Arc::clone(&kept.answer));
        }
        let answer = Arc::new(compute.await?);
        *kept = Some(KeptAnswer { at: Instant::now(), answer: Arc::clone(&answer) });
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures::future::join_all;
    use tokio::time::{advance, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn twenty_readers_share_one_computation() {
        let (shared, computed) = (SharedAnswer::default(), Cell::new(0));
        let read = || {
            shared.get(SECOND, async {
                computed.set(computed.get() + 1);
                let number = computed.get();
                sleep(SECOND / 2).await;
                Ok(number)
            })
        };
        let answers = join_all((0..20).map(|_| read())).await;
        assert!(answers.iter().all(|answer| answer.as_deref().is_ok_and(|number| *number == 1)));
        assert_eq!(computed.get(), 1);
        advance(SECOND).await;
        assert_eq!(*read().await.unwrap(), 2);
        assert_eq!(*read().await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_failed_computation_is_not_kept() {
        let shared = SharedAnswer::default();
        assert!(shared.get(SECOND, async { Err::<i32, _>(busy()) }).await.is_err());
        assert_eq!(*shared.get(SECOND, async { Ok(4) }).await.unwrap(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn all_readers_are_refused_after_the_same_while() {
        let (shared, begin) = (SharedAnswer::<i32>::default(), Instant::now());
        let read = || async {
            let answer = shared.get(SECOND, std::future::pending()).await;
            (answer.is_err(), begin.elapsed())
        };
        let answers = join_all((0..20).map(|_| read())).await;
        assert_eq!(answers, [(true, LONGEST_WAIT); 20]);
        assert_eq!(*shared.get(SECOND, async { Ok(4) }).await.unwrap(), 4);
    }
}
