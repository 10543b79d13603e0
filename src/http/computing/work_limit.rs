//! The limit of answers that are computed at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use reelyard_api::ProblemKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::problem::ProblemResponse;

/// How long a request waits for others. A browser shows nothing meanwhile.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Limits the answers that are computed at once to the processors: more would only slow each other down.
#[derive(Clone, Debug)]
pub struct WorkLimit(Arc<Semaphore>);

impl Default for WorkLimit {
    fn default() -> Self {
        WorkLimit::of(available_parallelism().map_or(1, NonZeroUsize::get))
    }
}

impl WorkLimit {
    /// At most this many at once.
    fn of(places: usize) -> Self {
        WorkLimit(Arc::new(Semaphore::new(places)))
    }

    /// Waits for a place among the answers that are computed.
    ///
    /// # Errors
    /// No place became free in time, or the node stops.
    pub async fn place(&self) -> Result<OwnedSemaphorePermit, ProblemResponse> {
        let place = Arc::clone(&self.0).acquire_owned();
        match timeout(LONGEST_WAIT, place).await {
            Ok(place) => place.map_err(|_| ProblemResponse::stopped()),
            Err(_) => Err(busy()),
        }
    }
}

/// The refusal of a request that waited for [`LONGEST_WAIT`].
pub fn busy() -> ProblemResponse {
    let seconds = LONGEST_WAIT.as_secs();
    let detail = format!(
        "The node is busy: other pages and overviews took all processors for {seconds} seconds. Try again in \
         {seconds} seconds. If this stays, close pages that nobody looks at."
    );
    ProblemResponse::new(ProblemKind::Busy, detail).retry_after(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError;
    use actix_web::http::StatusCode;
    use actix_web::http::header::RETRY_AFTER;
    use tokio::time::Instant;

    use super::*;
    use crate::http::console::ConsoleRefusal;

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_place_is_refused_after_a_while() {
        let limit = WorkLimit::of(1);
        let place = limit.place().await.unwrap();
        let begin = Instant::now();
        let refused = limit.place().await.unwrap_err();
        assert_eq!(begin.elapsed(), LONGEST_WAIT);
        let answer = refused.error_response();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers().get(RETRY_AFTER).unwrap(), "5");
        let page = ConsoleRefusal::Problem(refused).error_response();
        assert_eq!(page.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(page.headers().get(RETRY_AFTER).unwrap(), "5");
        drop(place);
        assert!(limit.place().await.is_ok());
    }
}
