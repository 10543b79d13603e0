//! A client of a node's boxes, for programs in Rust: takes boxes, keeps them for as long as they are
//! used, and gives them back however that ends.
//!
//! ```no_run
//! # use reelyard::box_client::{BoxClient, BoxClientError, BoxRequest};
//! # use std::time::Duration;
//! # async fn judge(number: u32, token: reelyard_actors::box_lease::FenceToken) {}
//! # async fn run() -> Result<(), BoxClientError> {
//! let boxes = BoxClient::new("http://127.0.0.1:8080", None)?;
//! let wanted = BoxRequest { wait: Duration::from_secs(300), ..BoxRequest::by("worker 1") };
//! let mut held = boxes.acquire("judge", &wanted).await?;
//! let (number, token) = (held.box_id(), held.token());
//! tokio::select! {
//!     () = judge(number, token) => held.release().await,
//!     lost = held.lost() => Err(lost.into()),
//! }
//! # }
//! ```
//!
//! - **An answer that is lost is asked for again** under the same `request_id`: nothing is taken twice,
//!   also when the node restarts meanwhile.
//! - **A lease is renewed** by a task after a third of its term, and counts as lost when nobody answered
//!   for as long as it lasts, by this machine's own clock.
//! - **Dropping a [`HeldBoxes`] gives it back**, as far as its runtime still runs. Dropping the future of
//!   [`BoxClient::acquire`] leaves the queue; what was granted at that very moment is given back by
//!   [`BoxClient::withdraw`].

mod calls;
mod held;
mod renewal;

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_actors::box_host::LONGEST_TIMEOUT;
use reelyard_actors::box_lease::{FenceToken, Holder, LeaseId, Priority};
use reelyard_actors::token::SharedToken;
use reelyard_actors::wire::api::{Granted, LeaseToken, LeaseVerified, Problem, Span, WantedLease};

use calls::{BoxApiCalls, CallFailed, RetryBackoff};

pub use held::{HeldBoxes, Lost};

/// For how long an answer that was lost is asked for again, though nothing more is waited for.
const ANSWER_LOST: Duration = Duration::from_secs(5);

/// How long it is tried to take a request back.
const WITHDRAW: Duration = Duration::from_secs(3);

/// How long a box may take to be made ready once it is there: the longest that a pool's `init` may take, and
/// as long again until it is its turn on the host.
const PREPARING: Duration = LONGEST_TIMEOUT.saturating_mul(2);

/// The longest that a box is waited for at one go.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Why there is no box, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum BoxClientError {
    /// The address of the node is none.
    #[error("{0:?} is not the address of a node: expected http://host:port")]
    BadUrl(String),
    /// Something that was asked for cannot be asked for.
    #[error("{0}")]
    BadRequest(String),
    /// No box was free for as long as one was to wait.
    #[error("{}", .0.detail)]
    NoBoxInTime(Problem),
    /// The node refused.
    #[error("the node refused: {0}")]
    Refused(Problem),
    /// No node answered, or not so that it can be understood.
    #[error("the node at {url} cannot be reached: {why}")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What happened.
        why: String,
    },
    /// The lease ended while it was held.
    #[error(transparent)]
    Lost(#[from] Lost),
}

impl From<CallFailed> for BoxClientError {
    fn from(failed: CallFailed) -> Self {
        match failed {
            CallFailed::Refused { problem, .. } if problem.word() == "no-box-in-time" => {
                BoxClientError::NoBoxInTime(problem)
            }
            CallFailed::Refused { problem, .. } => BoxClientError::Refused(problem),
            CallFailed::Unreachable { url, why, .. } => BoxClientError::Unreachable { url, why },
        }
    }
}

/// What boxes are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxRequest {
    /// Who wants them.
    pub holder: String,
    /// How long they last without a renewal; as the pool says if none.
    pub ttl: Option<Duration>,
    /// For how long to wait for them, a year at most; zero tries once.
    pub wait: Duration,
    /// How urgent it is: the higher the more.
    pub priority: Priority,
    /// How many: all of them or none.
    pub count: u32,
    /// Names one attempt, as in `job-17/2`; a name of its own if none. Whoever asks under the same name is
    /// granted the same; once that has ended the name is refused.
    pub request_id: Option<String>,
    /// Whether the holder goes on with what another one was granted under the same name.
    pub take_over: bool,
}

impl BoxRequest {
    /// One box, without waiting.
    pub fn by(holder: impl Into<String>) -> Self {
        BoxRequest {
            holder: holder.into(),
            ttl: None,
            wait: Duration::ZERO,
            priority: Priority::default(),
            count: 1,
            request_id: None,
            take_over: false,
        }
    }

    /// With a name of its own if it has none.
    pub fn named(self) -> Result<Self, BoxClientError> {
        if self.request_id.is_some() {
            return Ok(self);
        }
        let id =
            LeaseId::random().map_err(|error| BoxClientError::BadRequest(error.to_string()))?;
        Ok(BoxRequest { request_id: Some(id.to_string()), ..self })
    }
}

/// How long an answer may take to whoever waits for so long.
fn patience(wait: Duration) -> Duration {
    wait.saturating_add(PREPARING)
}

/// A client of one node. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoxClient {
    calls: Arc<BoxApiCalls>,
}

impl BoxClient {
    /// A client of the node at `url`. Connects to nothing yet.
    pub fn new(url: &str, token: Option<SharedToken>) -> Result<Self, BoxClientError> {
        Ok(BoxClient { calls: Arc::new(BoxApiCalls::new(url, token)?) })
    }

    /// Takes boxes of a pool, waiting for them if that is wanted.
    pub async fn acquire(
        &self,
        pool: &str,
        wanted: &BoxRequest,
    ) -> Result<HeldBoxes, BoxClientError> {
        let mut body = self.body(wanted)?;
        let mut until = Instant::now() + wanted.wait.min(LONGEST_WAIT);
        let (mut repeats, mut first_lost) = (RetryBackoff::default(), None);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            body.wait = Span(left);
            let asked = Instant::now();
            let path = ["pools", pool, "leases"];
            match self.calls.post::<Granted>(&path, &body, patience(left)).await {
                Ok(granted) => return Ok(HeldBoxes::of(&self.calls, pool, granted, asked)),
                Err(failed) => {
                    if failed.may_have_been_done() {
                        // A box may have been granted that nobody knows of.
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

    /// Takes back what an [`acquire`](BoxClient::acquire) may have been granted that was dropped while its
    /// answer came: asks once more under the same name, and gives back what is told. Tries it for a few
    /// seconds; without a name it does nothing.
    pub async fn withdraw(&self, pool: &str, wanted: &BoxRequest) {
        if wanted.request_id.is_none() {
            return;
        }
        let until = Instant::now() + WITHDRAW;
        let withdrawn = async {
            // What cannot be asked for has not been granted.
            let body = self.body(wanted).ok()?;
            let path = ["pools", pool, "leases"];
            let granted: Granted = self.calls.post_within(&path, &body, WITHDRAW).await.ok()?;
            held::give_back(&self.calls, &granted.leases, until).await.ok()
        };
        // What cannot be given back ends by its term.
        let _ = tokio::time::timeout_at(until.into(), withdrawn).await;
    }

    /// The lease, if it is live and has this token: for whoever guards what a box is for. None if it has
    /// ended, is another's, or is not known.
    pub async fn verify(
        &self,
        lease: LeaseId,
        token: FenceToken,
    ) -> Result<Option<LeaseVerified>, BoxClientError> {
        let path = ["leases", &lease.to_string(), "verify"];
        match self.calls.post(&path, &LeaseToken { token }, Duration::ZERO).await {
            Ok(verified) => Ok(Some(verified)),
            Err(failed) if failed.tells_the_end() => Ok(None),
            Err(failed) => Err(failed.into()),
        }
    }

    fn body(&self, wanted: &BoxRequest) -> Result<WantedLease, BoxClientError> {
        let BoxRequest { holder, ttl, priority, count, request_id, take_over, wait: _ } =
            wanted.clone().named()?;
        let bad = |error| BoxClientError::BadRequest(format!("{holder:?}: {error}"));
        Ok(WantedLease {
            holder: Holder::new(&holder).map_err(bad)?,
            ttl: ttl.map(Span),
            // Said with each try: less is left from one to the next.
            wait: Span::default(),
            priority,
            count,
            request_id,
            take_over,
        })
    }
}

#[cfg(test)]
mod tests {
    use reelyard_actors::box_host::LONGEST_GRACE;

    use super::*;

    #[test]
    fn an_answer_may_take_as_long_as_the_longest_init() {
        let wait = Duration::from_secs(100);
        assert!(patience(wait) > wait + LONGEST_TIMEOUT + LONGEST_GRACE);
        assert!(patience(LONGEST_WAIT) > LONGEST_WAIT);
    }
}
