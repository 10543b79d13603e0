//! The limit of requests that wait at the leader. The leader takes a limited number of requests of one node, and waits must
//! leave room for short ones, such as renewals of leases.

use std::sync::Arc;
use std::time::Duration;

use reelyard_api::ProblemKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::problem::ProblemResponse;

/// Requests of this node that may wait at the leader at once.
pub const PLACES: usize = 192;

/// When a request may be repeated that found no place.
const RETRY: Duration = Duration::from_secs(1);

/// The places of requests that wait at the leader.
#[derive(Clone, Debug)]
pub struct ForwardedWaits(Arc<Semaphore>);

/// A place. None for a request that does not wait.
pub type WaitPlace = Option<OwnedSemaphorePermit>;

impl Default for ForwardedWaits {
    fn default() -> Self {
        ForwardedWaits(Arc::new(Semaphore::new(PLACES)))
    }
}

impl ForwardedWaits {
    /// A place for this request, until its answer has ended.
    ///
    /// # Errors
    /// All places are taken. Clients go to another node then, as they do without a leader.
    pub fn place(&self, may_wait: bool) -> Result<WaitPlace, ProblemResponse> {
        if !may_wait {
            return Ok(None);
        }
        let place = Arc::clone(&self.0).try_acquire_owned();
        place.map(Some).map_err(|_| {
            let detail = format!(
                "{PLACES} requests of this node wait at the leader: send the request to another node, or repeat it later"
            );
            ProblemResponse::new(ProblemKind::NotLeader, detail).retry_after(RETRY)
        })
    }
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError;
    use actix_web::http::header::RETRY_AFTER;

    use super::*;

    #[test]
    fn waits_leave_room_for_short_requests() {
        let waits = ForwardedWaits::default();
        let wait = || waits.place(true);
        let mut places: Vec<WaitPlace> = (0..PLACES).map(|_| wait().unwrap()).collect();
        let refusal = wait().unwrap_err();
        assert_eq!(refusal.kind(), ProblemKind::NotLeader, "clients do not leave a busy node");
        let answer = refusal.error_response();
        assert_eq!(
            answer.headers().get(RETRY_AFTER).map(|after| after.as_bytes()),
            Some(&b"1"[..])
        );
        assert!(waits.place(false).is_ok_and(|place| place.is_none()));
        places.pop();
        assert!(wait().is_ok());
    }
}
