//! The limit of requests that wait at the leader. The leader takes a limited number of requests of one node, and waits must
//! leave room for short ones, such as renewals of leases.

use std::sync::Arc;
use std::time::Duration;

use reelyard_api::ProblemKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::problem::ProblemResponse;

/// Requests of this node that may wait at the leader at once. The leader takes 256 of one node.
const PLACES: usize = 192;

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
    /// All places are taken.
    pub fn place(&self, may_wait: bool) -> Result<WaitPlace, ProblemResponse> {
        if !may_wait {
            return Ok(None);
        }
        let place = Arc::clone(&self.0).try_acquire_owned();
        place.map(Some).map_err(|_| {
            let detail = format!(
                "{PLACES} requests of this node wait at the leader: send the request to another node, or repeat it later"
            );
            ProblemResponse::new(ProblemKind::Busy, detail).retry_after(RETRY)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_leave_room_for_short_requests() {
        let waits = ForwardedWaits::default();
        let wait = || waits.place(true);
        let mut places: Vec<WaitPlace> = (0..PLACES).map(|_| wait().unwrap()).collect();
        assert_eq!(wait().unwrap_err().kind(), ProblemKind::Busy);
        assert!(waits.place(false).is_ok_and(|place| place.is_none()));
        places.pop();
        assert!(wait().is_ok());
    }
}
