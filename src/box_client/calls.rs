//! Calls of the API, and the rules for their repetition.

use std::time::{Duration, Instant};

use reelyard_api::{Problem, ProblemKind};
use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::token::SharedToken;
use reelyard_protocol::node_address::NodeAddresses;
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::BoxClientError;
use crate::cluster_client::{
    ANSWER_TIME, AnswerBody, ApiAnswer, ApiRequest, ApiTarget, ClusterClient, NoNodeAnswered,
    Repetition,
};

/// The shortest time for one attempt, if the total time allows it.
const SHORTEST_TRY: Duration = Duration::from_secs(1);

/// First and longest pause between attempts.
const PAUSES: ExponentialBackoff =
    ExponentialBackoff { base: Duration::from_millis(100), cap: Duration::from_secs(2) };

/// Makes calls to the nodes of one cluster.
#[derive(Debug)]
pub(super) struct BoxApiCalls {
    cluster: ClusterClient,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) enum CallFailed {
    /// A node refused the call.
    Refused {
        problem: Problem,
        retry_after: Option<Duration>,
        /// Whether another node may have executed the call.
        was_asked: bool,
    },
    /// No node answered, or the answer is not valid.
    Unreachable(NoNodeAnswered),
}

impl CallFailed {
    /// Whether the same call may be repeated.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            CallFailed::Unreachable(_) => true,
            CallFailed::Refused { problem, .. } => {
                matches!(problem.status, 429 | 502..=504 | 507)
                    || matches!(
                        problem.known_kind(),
                        Some(ProblemKind::ChangedMeanwhile | ProblemKind::NotReady)
                    )
            }
        }
    }

    /// Whether a node may have executed the call although it failed.
    pub(super) fn may_have_been_done(&self) -> bool {
        match self {
            CallFailed::Unreachable(nobody) => nobody.was_asked,
            CallFailed::Refused { problem, was_asked, .. } => {
                *was_asked || problem.leaves_outcome_open()
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

    /// Whether an attempt before the one with this refusal may have executed the call.
    pub(super) fn follows_a_lost_answer(&self) -> bool {
        matches!(self, CallFailed::Refused { was_asked: true, .. })
    }

    /// The cause as text, for people and the log.
    pub(super) fn why(&self) -> String {
        match self {
            CallFailed::Refused { problem, .. } => problem.to_string(),
            CallFailed::Unreachable(nobody) => nobody.to_string(),
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
            CallFailed::Unreachable(nobody) => BoxClientError::Unreachable(nobody),
        }
    }
}

impl BoxApiCalls {
    pub(super) fn new(
        http: reqwest::ClientBuilder,
        nodes: NodeAddresses,
        token: Option<SharedToken>,
        notice: fn(&str),
    ) -> Result<Self, BoxClientError> {
        let cluster = ClusterClient::new(http, nodes, token, notice);
        let cluster = cluster.map_err(|error| BoxClientError::BadRequest(error.to_string()))?;
        Ok(BoxApiCalls { cluster })
    }

    /// Learns the members of the cluster before a call that may wait long.
    pub(super) async fn learn_members(&self) {
        self.cluster.learn_members().await;
    }

    /// `POST /api/v1/pools/<pool>/leases`. `body` gives the body of each attempt. Its request id makes it safe to
    /// repeat.
    pub(super) async fn acquire<T: DeserializeOwned>(
        &self,
        pool: &str,
        body: impl Fn() -> Vec<u8> + Send + Sync,
        patience: Duration,
    ) -> Result<T, CallFailed> {
        let target = ApiTarget::of(&["pools", pool, "leases"]);
        let request = ApiRequest::new(Method::POST, target);
        let request = request.with_body(Repetition::OnceById, body);
        read(self.cluster.call(&request.within(patience.saturating_add(ANSWER_TIME))).await)
    }

    /// `POST /api/v1/<path>`, for a call that is answered at once and is safe to repeat. Each node gets the time `most`.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &(impl Serialize + Sync),
        most: Duration,
    ) -> Result<T, CallFailed> {
        let request = ApiRequest::new(Method::POST, ApiTarget::of(path));
        let request = request.with_body(Repetition::Harmless, || json_of(body));
        read(self.cluster.call(&request.within(most)).await)
    }

    /// Like [`BoxApiCalls::post`], for a call that is useless after `until`.
    pub(super) async fn post_until<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &(impl Serialize + Sync),
        most: Duration,
        until: Instant,
    ) -> Result<T, CallFailed> {
        let late = |_| {
            let nobody = NoNodeAnswered::asked(&self.cluster.current(), "it does not answer");
            CallFailed::Unreachable(nobody)
        };
        let call = self.post(path, body, most);
        tokio::time::timeout_at(until.into(), call).await.map_err(late)?
    }
}

/// The body of a request. The types of the API always serialize.
pub(super) fn json_of(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

fn read<T: DeserializeOwned>(answered: Result<ApiAnswer, NoNodeAnswered>) -> Result<T, CallFailed> {
    let answer = answered.map_err(CallFailed::Unreachable)?;
    match &answer.body {
        AnswerBody::Whole(body) if answer.status.is_success() => serde_json::from_slice(body)
            .map_err(|error| {
                let why = format!("its answer: {error}");
                CallFailed::Unreachable(NoNodeAnswered::asked(&answer.node, why))
            }),
        _ => Err(CallFailed::Refused {
            problem: answer.problem(),
            retry_after: answer.retry_after,
            was_asked: answer.was_asked,
        }),
    }
}

/// The time limit of one attempt, so that one hanging connection does not use up the total time.
pub(super) fn one_try(left: Duration) -> Duration {
    (left / 3).clamp(SHORTEST_TRY, ANSWER_TIME)
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
            CallFailed::Unreachable(_) => Duration::ZERO,
        };
        // If the node asks for a later retry than `until`, the last attempt is at `until`.
        tokio::time::sleep(pause.max(retry_after.min(until - now))).await;
        true
    }
}
