//! A Rust client for the boxes of a node: leases boxes, renews the leases while the boxes are used,
//! and releases them in every case.
//!
//! ```no_run
//! # use reelyard::box_client::BoxClient;
//! # use reelyard_api::WantedLease;
//! # use reelyard_protocol::boxes::Holder;
//! # async fn judge(number: u32, token: reelyard_protocol::boxes::FenceToken) {}
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let boxes = BoxClient::new("http://127.0.0.1:8080", None)?;
//! let wanted = WantedLease { wait: "5m".parse()?, ..WantedLease::by(Holder::new("worker 1")?) };
//! let mut held = boxes.acquire("judge", &wanted).await?;
//! let (number, token) = (held.box_id(), held.token());
//! tokio::select! {
//!     () = judge(number, token) => held.release().await?,
//!     lost = held.lost() => return Err(lost.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - **A request with a lost answer is repeated** under the same `request_id`: nothing is leased twice,
//!   even if the node restarts meanwhile.
//! - **Several addresses** of one cluster may be given, with commas between them. The client learns the members and
//!   goes on at another one when its node dies or answers nothing for three seconds.
//! - **A lease is renewed** by a task after a third of its term. It counts as lost if no node answers
//!   until its end, by the monotonic clock of this machine.
//! - **Dropping a [`HeldBoxes`] releases it**, if its runtime still runs. Dropping the future of
//!   [`BoxClient::acquire`] leaves the queue; [`BoxClient::withdraw`] releases leases that were
//!   granted at that moment.

mod calls;
mod error;
mod held;
mod renewal;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reelyard_api::{Granted, LeaseToken, LeaseVerified, Span, WantedLease};
use reelyard_core::token::SharedToken;
use reelyard_protocol::boxes::{FenceToken, LeaseId};
use reelyard_protocol::http_client;
use reelyard_protocol::node_address::NodeAddresses;
use reelyard_worker::box_host::LONGEST_TIMEOUT;

use calls::{BoxApiCalls, RetryBackoff, json_of};

use crate::cluster_client::ANSWER_TIME;

pub use error::{BoxClientError, Lost};
pub use held::HeldBoxes;

/// How long a request is repeated after a lost answer, if its own wait is over.
const ANSWER_LOST: Duration = Duration::from_secs(5);

/// Time limit for the withdrawal of a request.
const WITHDRAW: Duration = Duration::from_secs(3);

/// Longest preparation of a box: the longest `init` of a pool, and the same time again to wait for
/// a turn on the host.
const PREPARING: Duration = LONGEST_TIMEOUT.saturating_mul(2);

/// Longest wait of one request.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Adds a random idempotency key if there is none.
///
/// # Errors
///
/// The system has no random numbers.
pub fn named(wanted: WantedLease) -> Result<WantedLease, BoxClientError> {
    if wanted.request_id.is_some() {
        return Ok(wanted);
    }
    let id = LeaseId::random().map_err(|error| BoxClientError::BadRequest(error.to_string()))?;
    Ok(WantedLease { request_id: Some(id.to_string()), ..wanted })
}

/// The end of the wait of a request that begins now.
pub fn end_of_wait(wanted: &WantedLease) -> Instant {
    Instant::now() + wanted.wait.0.min(LONGEST_WAIT)
}

/// The body of a request whose wait ends at `until`, for an attempt that begins now. The first attempt takes `is_first`
/// and waits as long as it was asked to, so that answers name that time.
pub fn body_until(wanted: &WantedLease, until: Instant, is_first: &AtomicBool) -> Vec<u8> {
    let wait = match is_first.swap(false, Ordering::Relaxed) {
        true => wanted.wait.0.min(LONGEST_WAIT),
        false => until.saturating_duration_since(Instant::now()),
    };
    json_of(&WantedLease { wait: Span(wait), ..wanted.clone() })
}

/// Time limit for the answer to a request with this wait.
fn patience(wait: Duration) -> Duration {
    wait.saturating_add(PREPARING)
}

/// A client of the nodes of one cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoxClient {
    calls: Arc<BoxApiCalls>,
}

impl BoxClient {
    /// A client of the node at `url`, or of several, with commas between their addresses. It does not connect yet. With
    /// https, it trusts the authorities of the system.
    pub fn new(url: &str, token: Option<SharedToken>) -> Result<Self, BoxClientError> {
        let notice = |line: &str| tracing::warn!("{line}");
        Self::over(http_client::with_system_roots(), url.parse()?, token, notice)
    }

    /// Like [`BoxClient::new`], with an HTTP client that trusts the certificates of the nodes. `notice` gets a line when
    /// another node is used than before.
    pub fn over(
        http: reqwest::ClientBuilder,
        nodes: NodeAddresses,
        token: Option<SharedToken>,
        notice: fn(&str),
    ) -> Result<Self, BoxClientError> {
        Ok(BoxClient { calls: Arc::new(BoxApiCalls::new(http, nodes, token, notice)?) })
    }

    /// Leases boxes of a pool, and waits for them if the request allows it. A request without an idempotency
    /// key gets a random one.
    pub async fn acquire(
        &self,
        pool: &str,
        wanted: &WantedLease,
    ) -> Result<HeldBoxes, BoxClientError> {
        let wanted = named(wanted.clone())?;
        let (mut until, is_first) = (end_of_wait(&wanted), AtomicBool::new(true));
        let (mut repeats, mut first_lost) = (RetryBackoff::default(), None);
        if !wanted.wait.0.is_zero() {
            self.calls.learn_members().await;
        }
        loop {
            let asked = Instant::now();
            let left = until.saturating_duration_since(asked);
            // Less time is left each time.
            let body = || body_until(&wanted, until, &is_first);
            match self.calls.acquire::<Granted>(pool, body, patience(left)).await {
                Ok(granted) => return Ok(HeldBoxes::of(&self.calls, pool, granted, asked)),
                Err(failed) => {
                    if failed.may_have_been_done() {
                        // A box may have been granted without an answer that arrived.
                        let first = *first_lost.get_or_insert_with(Instant::now);
                        until = until.max(first + ANSWER_LOST);
                    }
                    if !repeats.pause(&failed, until).await {
                        return Err(failed.into());
                    }
                }
            }
        }
    }

    /// Cancels a request whose [`acquire`](BoxClient::acquire) was dropped while its answer
    /// arrived. It repeats the request with the same key and releases the granted leases. It tries
    /// for a few seconds. Without a key it does nothing.
    pub async fn withdraw(&self, pool: &str, wanted: &WantedLease) {
        if wanted.request_id.is_none() {
            return;
        }
        let until = Instant::now() + WITHDRAW;
        let withdrawn = async {
            let body = WantedLease { wait: Span::default(), ..wanted.clone() };
            let path = ["pools", pool, "leases"];
            let granted: Granted = self.calls.post(&path, &body, WITHDRAW).await.ok()?;
            held::give_back(&self.calls, &granted.leases, until).await.ok()
        };
        // A lease that is not released ends at its ttl.
        let _ = tokio::time::timeout_at(until.into(), withdrawn).await;
    }

    /// The lease, if it is valid and has this token; for a program that guards the resources of a
    /// box. None if the lease has ended, has another token, or is unknown.
    pub async fn verify(
        &self,
        lease: LeaseId,
        token: FenceToken,
    ) -> Result<Option<LeaseVerified>, BoxClientError> {
        let path = ["leases", &lease.to_string(), "verify"];
        match self.calls.post(&path, &LeaseToken { token }, ANSWER_TIME).await {
            Ok(verified) => Ok(Some(verified)),
            Err(failed) if failed.ends_the_lease() => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_worker::box_host::LONGEST_GRACE;

    use super::*;

    #[test]
    fn an_answer_may_take_as_long_as_the_longest_init() {
        let wait = Duration::from_secs(100);
        assert!(patience(wait) > wait + LONGEST_TIMEOUT + LONGEST_GRACE);
        assert!(patience(LONGEST_WAIT) > LONGEST_WAIT);
    }

    #[test]
    fn a_first_attempt_waits_as_long_as_it_was_asked_to() {
        let holder = reelyard_protocol::boxes::Holder::new("a").unwrap();
        let wanted = WantedLease { wait: "1m".parse().unwrap(), ..WantedLease::by(holder) };
        let (until, is_first) = (Instant::now() + Duration::from_secs(59), AtomicBool::new(true));
        assert_eq!(body_until(&wanted, until, &is_first), json_of(&wanted));
        assert_ne!(body_until(&wanted, until, &is_first), json_of(&wanted));
    }
}
