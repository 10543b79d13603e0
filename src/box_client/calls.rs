//! Calls of the API, and the rules for their repetition.

use std::time::{Duration, Instant};

use reelyard_api::{Problem, ProblemKind};
use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::token::SharedToken;
use reelyard_protocol::node_address::node_address;
use reqwest::{Response, Url, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::BoxClientError;

/// Time limit for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Time limit for an answer, in addition to the wait that the call allows.
const ANSWER: Duration = Duration::from_secs(30);

/// TCP keepalive: the idle time before the first probe, the interval of the probes, and the number
/// of failed probes that end the connection. A request for boxes may wait very long; this detects
/// within about half a minute that the machine or network of the node is gone. A node that hangs is
/// detected only by the time limit of the answer.
const QUIET: Duration = Duration::from_secs(15);
const PROBE: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// TCP user timeout: the longest time without an acknowledgement of sent data.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// The shortest time for one attempt, if the total time allows it.
const SHORTEST_TRY: Duration = Duration::from_secs(1);

/// First and longest pause between attempts.
const PAUSES: ExponentialBackoff =
    ExponentialBackoff { base: Duration::from_millis(100), cap: Duration::from_secs(2) };

/// Makes calls to one node.
#[derive(Debug)]
pub(super) struct BoxApiCalls {
    http: reqwest::Client,
    url: Url,
    token: Option<SharedToken>,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) enum CallFailed {
    /// The node refused the call.
    Refused { problem: Problem, retry_after: Option<Duration> },
    /// The node did not answer, or the answer is not valid.
    Unreachable {
        url: String,
        why: String,
        /// Whether the node may have executed the call.
        was_asked: bool,
    },
}

impl CallFailed {
    /// Whether the same call may be repeated.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            CallFailed::Unreachable { .. } => true,
            CallFailed::Refused { problem, .. } => {
                matches!(problem.status, 429 | 502..=504 | 507)
                    || matches!(
                        problem.known_kind(),
                        Some(ProblemKind::ChangedMeanwhile | ProblemKind::NotReady)
                    )
            }
        }
    }

    /// Whether the node may have executed the call although it failed.
    pub(super) fn may_have_been_done(&self) -> bool {
        match self {
            CallFailed::Unreachable { was_asked, .. } => *was_asked,
            // A proxy that lost its connection to the node also answers like this.
            CallFailed::Refused { problem, .. } => {
                matches!(problem.status, 502 | 504)
                    || matches!(
                        problem.known_kind(),
                        Some(ProblemKind::LeaderChanged | ProblemKind::Stopped)
                    )
            }
        }
    }

    /// Whether the failure means that the lease does not exist or has ended.
    pub(super) fn ends_the_lease(&self) -> bool {
        matches!(self, CallFailed::Refused { problem, .. } if matches!(
            problem.known_kind(),
            Some(
                ProblemKind::UnknownLease
                    | ProblemKind::WrongToken
                    | ProblemKind::LeaseReleased
                    | ProblemKind::LeaseExpired
                    | ProblemKind::LeaseRevoked
                    | ProblemKind::LeaseNeverHeld
            )
        ))
    }

    /// Whether the failure means that the lease was already released.
    pub(super) fn is_released(&self) -> bool {
        matches!(self, CallFailed::Refused { problem, .. }
            if problem.known_kind() == Some(ProblemKind::LeaseReleased))
    }

    /// The cause as text, for people and the log.
    pub(super) fn why(&self) -> &str {
        match self {
            CallFailed::Refused { problem, .. } => &problem.detail,
            CallFailed::Unreachable { why, .. } => why,
        }
    }
}

impl From<CallFailed> for BoxClientError {
    fn from(failed: CallFailed) -> Self {
        match failed {
            CallFailed::Refused { problem, .. }
                if problem.known_kind() == Some(ProblemKind::NoBoxInTime) =>
            {
                BoxClientError::NoBoxInTime(problem)
            }
            CallFailed::Refused { problem, .. } => BoxClientError::Refused(problem),
            CallFailed::Unreachable { url, why, .. } => BoxClientError::Unreachable { url, why },
        }
    }
}

impl BoxApiCalls {
    pub(super) fn new(
        http: reqwest::ClientBuilder,
        url: &str,
        token: Option<SharedToken>,
    ) -> Result<Self, BoxClientError> {
        let url = node_address(url)?;
        let http = http
            .no_proxy()
            .connect_timeout(CONNECT)
            .tcp_keepalive(QUIET)
            .tcp_keepalive_interval(PROBE)
            .tcp_keepalive_retries(PROBES)
            .tcp_user_timeout(SILENCE_LIMIT)
            .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| BoxClientError::BadRequest(error.to_string()))?;
        Ok(BoxApiCalls { http, url, token })
    }

    /// `POST /api/v1/<path>`, which may wait for `patience`.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, CallFailed> {
        let body = serde_json::to_vec(body).map_err(|error| self.not_understood(&error))?;
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        let mut request = self
            .http
            .post(url)
            .timeout(patience.saturating_add(ANSWER))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token.bearer());
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        self.read(response).await
    }

    /// Like [`BoxApiCalls::post`], for a call that is answered at once, with this time limit.
    pub(super) async fn post_within<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        most: Duration,
    ) -> Result<T, CallFailed> {
        let call = self.post(path, body, Duration::ZERO);
        let silent = |_| CallFailed::Unreachable {
            url: self.url.to_string(),
            why: "it does not answer".to_owned(),
            was_asked: true,
        };
        tokio::time::timeout(most, call).await.map_err(silent)?
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, CallFailed> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| self.not_understood(&error));
        }
        let after = headers.get(header::RETRY_AFTER).and_then(|after| after.to_str().ok());
        let retry_after = after.and_then(|after| after.parse().ok()).map(Duration::from_secs);
        let problem = serde_json::from_slice(&body).unwrap_or_else(|_| Problem {
            kind: "about:blank".to_owned(),
            title: format!("it answered {status}"),
            status: status.as_u16(),
            detail: format!("it answered {status}"),
            token_file: None,
        });
        Err(CallFailed::Refused { problem, retry_after })
    }

    fn not_understood(&self, error: &serde_json::Error) -> CallFailed {
        let (url, why) = (self.url.to_string(), format!("its answer: {error}"));
        CallFailed::Unreachable { url, why, was_asked: true }
    }

    fn unreachable(&self, error: &reqwest::Error) -> CallFailed {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let (url, why) = (self.url.to_string(), cause.to_string());
        CallFailed::Unreachable { url, why, was_asked: !error.is_connect() }
    }
}

/// The time limit of one attempt, so that one hanging connection does not use up the total time.
pub(super) fn one_try(left: Duration) -> Duration {
    (left / 3).clamp(SHORTEST_TRY, ANSWER)
}

/// The pauses between attempts, with exponential backoff.
#[derive(Debug, Default)]
pub(super) struct RetryBackoff {
    failures: u32,
}

impl RetryBackoff {
    /// Waits before the next attempt. Returns false if a repetition makes no sense or would be
    /// later than `until`.
    pub(super) async fn pause(&mut self, failed: &CallFailed, until: Instant) -> bool {
        if !failed.is_passing() {
            return false;
        }
        self.failures += 1;
        let now = Instant::now();
        let pause = PAUSES.jittered(self.failures, fastrand::u64(..));
        if now + pause >= until {
            return false;
        }
        let retry_after = match failed {
            CallFailed::Refused { retry_after, .. } => retry_after.unwrap_or_default(),
            CallFailed::Unreachable { .. } => Duration::ZERO,
        };
        // If the node asks for a later retry than `until`, the last attempt is at `until`.
        tokio::time::sleep(pause.max(retry_after.min(until - now))).await;
        true
    }
}
