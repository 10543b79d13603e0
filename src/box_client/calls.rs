//! Calls of the API, and which of them may be repeated.

use std::time::{Duration, Instant};

use reelyard_api::Problem;
use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::token::SharedToken;
use reelyard_protocol::http_client;
use reqwest::{Response, Url, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::BoxClientError;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an answer may take beyond what it may wait for.
const ANSWER: Duration = Duration::from_secs(30);

/// When nothing comes on a connection for so long it is asked whether the other end still lives, how often
/// that is repeated, and after how many in vain it is given up. An answer to a request for boxes may take
/// very long; a node of which the machine or the network has gone is noticed by this all the same, within
/// about half a minute. One that lives and hangs is noticed only as the answer's time is over.
const QUIET: Duration = Duration::from_secs(15);
const PROBE: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// How long what was sent may be without a sign that it arrived.
const UNHEARD: Duration = Duration::from_secs(30);

/// A try takes no less than this of the time there is for all.
const SHORTEST_TRY: Duration = Duration::from_secs(1);

/// How long the first repetition waits, and the longest.
const PAUSES: ExponentialBackoff =
    ExponentialBackoff { base: Duration::from_millis(100), cap: Duration::from_secs(2) };

/// How calls are made.
#[derive(Debug)]
pub(super) struct BoxApiCalls {
    http: reqwest::Client,
    url: Url,
    token: Option<SharedToken>,
}

/// Why a call came to nothing.
#[derive(Debug)]
pub(super) enum CallFailed {
    /// The node refused.
    Refused { problem: Problem, retry_after: Option<Duration> },
    /// It did not answer, or not so that it can be understood.
    Unreachable {
        url: String,
        why: String,
        /// Whether it may have done what it was asked for.
        was_asked: bool,
    },
}

impl CallFailed {
    /// Whether the same may be asked again.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            CallFailed::Unreachable { .. } => true,
            CallFailed::Refused { problem, .. } => {
                matches!(problem.status, 429 | 502..=504 | 507)
                    || matches!(problem.word(), "changed-meanwhile" | "not-ready")
            }
        }
    }

    /// Whether what was asked for may have been done all the same.
    pub(super) fn may_have_been_done(&self) -> bool {
        match self {
            CallFailed::Unreachable { was_asked, .. } => *was_asked,
            // Also who stands between answers so when it has lost the node.
            CallFailed::Refused { problem, .. } => {
                matches!(problem.status, 502 | 504)
                    || matches!(problem.word(), "leader-changed" | "stopped")
            }
        }
    }

    /// Whether it tells the holder of a lease that it has none, or no longer.
    pub(super) fn tells_the_end(&self) -> bool {
        matches!(self, CallFailed::Refused { problem, .. } if matches!(
            problem.word(),
            "unknown-lease"
                | "wrong-token"
                | "lease-released"
                | "lease-expired"
                | "lease-revoked"
                | "lease-never-held"
        ))
    }

    /// Whether it tells that the lease was given back.
    pub(super) fn is_released(&self) -> bool {
        matches!(self, CallFailed::Refused { problem, .. } if problem.word() == "lease-released")
    }

    /// Why, in words.
    pub(super) fn why(&self) -> &str {
        match self {
            CallFailed::Refused { problem, .. } => &problem.detail,
            CallFailed::Unreachable { why, .. } => why,
        }
    }
}

impl BoxApiCalls {
    pub(super) fn new(url: &str, token: Option<SharedToken>) -> Result<Self, BoxClientError> {
        let bad = || BoxClientError::BadUrl(url.to_owned());
        let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "http" && url.has_host());
        let http = http_client::without_tls()
            .no_proxy()
            .connect_timeout(CONNECT)
            .tcp_keepalive(QUIET)
            .tcp_keepalive_interval(PROBE)
            .tcp_keepalive_retries(PROBES)
            .tcp_user_timeout(UNHEARD)
            .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| BoxClientError::BadRequest(error.to_string()))?;
        Ok(BoxApiCalls { http, url: parsed.ok_or_else(bad)?, token })
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

    /// The same for what is answered at once, given up after so long.
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

/// How long one try may take where so much is left for all: one connection that hangs is not to cost
/// everything.
pub(super) fn one_try(left: Duration) -> Duration {
    (left / 3).clamp(SHORTEST_TRY, ANSWER)
}

/// Repetitions of a call: each waits longer than the one before.
#[derive(Debug, Default)]
pub(super) struct RetryBackoff {
    failures: u32,
}

impl RetryBackoff {
    /// Waits before the same is asked again. Answers that it is not to be, because it makes no sense or
    /// would be later than `until`.
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
        let told = match failed {
            CallFailed::Refused { retry_after, .. } => retry_after.unwrap_or_default(),
            CallFailed::Unreachable { .. } => Duration::ZERO,
        };
        // Whoever is told to come later than it waits asks once more at the end.
        tokio::time::sleep(pause.max(told.min(until - now))).await;
        true
    }
}
