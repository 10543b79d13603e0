//! An answer that is computed once for all who ask at about the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::spawn_local;
use tokio::time::{Instant, timeout};

use super::work_limit::{LONGEST_WAIT, busy};
use crate::http::problem::ProblemResponse;

/// The latest answer. Readers wait for its computation, and then share it.
#[derive(Debug)]
pub struct SharedAnswer<T>(Arc<Mutex<Option<KeptAnswer<T>>>>);

#[derive(Debug)]
struct KeptAnswer<T> {
    at: Instant,
    /// Duration of its computation.
    took: Duration,
    answer: Arc<T>,
}

impl<T> Default for SharedAnswer<T> {
    fn default() -> Self {
        SharedAnswer(Arc::default())
    }
}

impl<T: 'static> SharedAnswer<T> {
    /// The answer, at most this old, or as old as its computation took. `compute` runs only if no such answer is kept.
    /// It goes on without its reader, so a late answer serves the next one.
    ///
    /// # Errors
    /// Those of `compute`, or the answer was not there in time.
    pub async fn get(
        &self,
        longest_age: Duration,
        compute: impl Future<Output = Result<T, ProblemResponse>> + 'static,
    ) -> Result<Arc<T>, ProblemResponse> {
        // Readers wait one after another, so one limit is around all that a reader waits for.
        timeout(LONGEST_WAIT, self.kept_or_computed(longest_age, compute))
            .await
            .unwrap_or_else(|_| Err(busy()))
    }

    async fn kept_or_computed(
        &self,
        longest_age: Duration,
        compute: impl Future<Output = Result<T, ProblemResponse>> + 'static,
    ) -> Result<Arc<T>, ProblemResponse> {
        let mut place = Arc::clone(&self.0).lock_owned().await;
        let is_new = |kept: &&KeptAnswer<T>| kept.at.elapsed() < longest_age.max(kept.took);
        if let Some(kept) = place.as_ref().filter(is_new) {
            return Ok(Arc::clone(&kept.answer));
        }
        let computing = spawn_local(async move {
            let begin = Instant::now();
            let answer = Arc::new(compute.await?);
            let (at, took) = (Instant::now(), begin.elapsed());
            *place = Some(KeptAnswer { at, took, answer: Arc::clone(&answer) });
            Ok(answer)
        });
        computing.await.unwrap_or_else(|_| Err(ProblemResponse::stopped()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use futures::future::join_all;
    use tokio::task::LocalSet;
    use tokio::time::{advance, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Computations that take this long. Each answers its number.
    struct Computations {
        shared: SharedAnswer<u32>,
        begun: Rc<Cell<u32>>,
        takes: Duration,
    }

    impl Computations {
        fn new(takes: Duration) -> Self {
            Computations { shared: SharedAnswer::default(), begun: Rc::default(), takes }
        }

        async fn read(&self) -> Option<u32> {
            let (begun, takes) = (Rc::clone(&self.begun), self.takes);
            let compute = async move {
                begun.set(begun.get() + 1);
                let number = begun.get();
                sleep(takes).await;
                Ok(number)
            };
            self.shared.get(SECOND, compute).await.ok().map(|number| *number)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn twenty_readers_share_one_computation() {
        let computations = Computations::new(SECOND / 2);
        let reads = async {
            let answers = join_all((0..20).map(|_| computations.read())).await;
            assert_eq!(answers, [Some(1); 20]);
            advance(SECOND).await;
            assert_eq!(computations.read().await, Some(2));
            assert_eq!(computations.read().await, Some(2));
        };
        LocalSet::new().run_until(reads).await;
    }

    #[tokio::test]
    async fn a_failed_computation_is_not_kept() {
        let shared = SharedAnswer::default();
        let reads = async {
            assert!(shared.get(SECOND, async { Err::<i32, _>(busy()) }).await.is_err());
            assert_eq!(*shared.get(SECOND, async { Ok(4) }).await.unwrap(), 4);
        };
        LocalSet::new().run_until(reads).await;
    }

    #[tokio::test(start_paused = true)]
    async fn readers_are_refused_alike_and_a_late_answer_serves_the_next() {
        let (computations, begin) = (Computations::new(2 * LONGEST_WAIT), Instant::now());
        let read = || async { (computations.read().await, begin.elapsed()) };
        let reads = async {
            let answers = join_all((0..20).map(|_| read())).await;
            assert_eq!(answers, [(None, LONGEST_WAIT); 20]);
            sleep(2 * LONGEST_WAIT).await;
            assert_eq!(computations.read().await, Some(1), "as old as its computation took");
            sleep(LONGEST_WAIT).await;
            assert_eq!(computations.read().await, None, "the second one is on its way");
            assert_eq!(computations.begun.get(), 2);
        };
        LocalSet::new().run_until(reads).await;
    }
}
