//! Errors as RFC 9457 problem documents: a stable `type` for programs and text for people.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use reelyard_api::Problem;
use reelyard_core::change_feed::TooManyListeners;
use reelyard_core::supervision::AskError;
use reelyard_protocol::signed_call::{CHALLENGE_HEADER, Challenge};
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{ShareError, ShareRefusal};
use reelyard_yard::task_manager::{ChangeRefused, CopyRefused, HostRefused, ReportsRefused};

mod kinds;

pub use kinds::KINDS;

/// Content type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Retry-After in seconds when the disk is full: an operator must free space first.
const DISK_FULL_RETRY_SECONDS: u64 = 10;

/// Retry-After in seconds when all event listeners are in use.
const LISTEN_RETRY_SECONDS: u64 = 10;

/// Largest length of a `detail` in bytes. Details often quote a value from the client.
const LONGEST_DETAIL: usize = 2000;

fn problem(kind: &str, status: u16, mut detail: String) -> Problem {
    if detail.len() > LONGEST_DETAIL {
        let left_out = detail.len() - LONGEST_DETAIL;
        // The expected value often stands at the end, so keep both ends.
        let bytes = detail.as_bytes();
        let (head, tail) =
            (&bytes[..LONGEST_DETAIL / 2], &bytes[bytes.len() - LONGEST_DETAIL / 2..]);
        // A cut character becomes the replacement character.
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        detail = format!("{head} ... ({left_out} bytes are left out) ... {tail}");
    }
    Problem {
        kind: format!("urn:reelyard:problem:{kind}"),
        title: kind.replace('-', " "),
        status,
        detail,
    }
}

/// A refusal that will be sent to the client.
#[derive(Clone, Debug)]
pub struct ProblemResponse {
    status: StatusCode,
    problem: Problem,
    retry_after_seconds: Option<u64>,
    /// Boxed, because every handler returns a refusal by value.
    challenge: Option<Box<Challenge>>,
}

impl ProblemResponse {
    /// A refusal of `kind`, which must be the name of one of [`KINDS`].
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        debug_assert!(
            KINDS.iter().any(|known| (known.name, known.status) == (kind, status.as_u16())),
            "{kind} with status {status} is missing in problem::KINDS: the document of the \
             API would not list it"
        );
        let problem = problem(kind, status.as_u16(), detail.into());
        ProblemResponse { status, problem, retry_after_seconds: None, challenge: None }
    }

    /// A request with an invalid value.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        ProblemResponse::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// The requested thing existed and has ended.
    pub fn gone(detail: impl Into<String>) -> Self {
        ProblemResponse::new(StatusCode::GONE, "gone", detail)
    }

    /// The node has not read its journal yet.
    pub fn starting() -> Self {
        let detail = "the node is starting: it has not read its journal yet";
        let refusal = ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, "starting", detail);
        ProblemResponse { retry_after_seconds: Some(1), ..refusal }
    }

    /// Sets Retry-After, rounded up to whole seconds.
    pub fn retry_after(self, wait: std::time::Duration) -> Self {
        // Rounded up, because an earlier retry would fail again.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        ProblemResponse { retry_after_seconds: Some(seconds.max(1)), ..self }
    }

    /// Adds a challenge, with which a program of the yard can sign its next attempt.
    pub fn with_challenge(self, challenge: Option<Challenge>) -> Self {
        ProblemResponse { challenge: challenge.map(Box::new), ..self }
    }

    /// The problem document of the refusal.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The node is stopping.
    pub fn stopped() -> Self {
        ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, "stopped", "the node is stopping")
    }

    /// The requested thing does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        ProblemResponse::new(StatusCode::NOT_FOUND, "not-found", detail)
    }
}

impl std::fmt::Display for ProblemResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.problem.title, self.problem.detail)
    }
}

impl ResponseError for ProblemResponse {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Some(challenge) = &self.challenge {
            response.insert_header((CHALLENGE_HEADER, challenge.to_string()));
        }
        if let Some(seconds) = self.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        // `json` keeps an existing content type.
        response.insert_header((header::CONTENT_TYPE, PROBLEM_JSON)).json(&self.problem)
    }
}

impl From<CommitError> for ProblemResponse {
    fn from(error: CommitError) -> Self {
        let detail = error.to_string();
        let unavailable =
            |kind| ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail.clone());
        match error {
            CommitError::NotLeader { .. } => unavailable("not-leader"),
            CommitError::Deposed => unavailable("deposed"),
            CommitError::Stopped => unavailable("stopped"),
            CommitError::DiskFull { .. } => ProblemResponse {
                retry_after_seconds: Some(DISK_FULL_RETRY_SECONDS),
                ..ProblemResponse::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail)
            },
            CommitError::Busy { retry_after } => ProblemResponse {
                retry_after_seconds: Some(retry_after.as_secs().max(1)),
                ..unavailable("busy")
            },
            CommitError::Unknown { .. } => {
                ProblemResponse::new(StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", detail)
            }
            CommitError::TooLarge { .. } => {
                ProblemResponse::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
            }
        }
    }
}

impl From<ReportsRefused> for ProblemResponse {
    fn from(refused: ReportsRefused) -> Self {
        match refused {
            ReportsRefused::UnknownHost(_) => {
                ProblemResponse::new(StatusCode::FORBIDDEN, "unknown-host", refused.to_string())
            }
            ReportsRefused::Commit(error) => error.into(),
        }
    }
}

impl From<ShareError> for ProblemResponse {
    fn from(error: ShareError) -> Self {
        let detail = error.to_string();
        let refused = match error {
            ShareError::Journal(error) => return error.into(),
            ShareError::Refused(refused) => refused,
        };
        let conflict = |kind| ProblemResponse::new(StatusCode::CONFLICT, kind, detail.clone());
        match refused {
            ShareRefusal::Unknown | ShareRefusal::NoRoot { .. } => {
                ProblemResponse::not_found(detail)
            }
            ShareRefusal::Ended { .. } | ShareRefusal::Exhausted => ProblemResponse::gone(detail),
            ShareRefusal::ChangedMeanwhile | ShareRefusal::IdInUse => conflict("changed-meanwhile"),
            ShareRefusal::ConditionFails { .. } => {
                ProblemResponse::new(StatusCode::PRECONDITION_FAILED, "condition-failed", detail)
            }
            ShareRefusal::Terms(_) => {
                ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, "terms", detail)
            }
            ShareRefusal::Full { .. } | ShareRefusal::OwnerFull { .. } => conflict("limit-reached"),
            ShareRefusal::FewerThanTaken { .. } => conflict("not-allowed"),
            ShareRefusal::Move(why) => why.into(),
            ShareRefusal::BeingMoved => conflict("being-moved"),
            ShareRefusal::OtherRequest => conflict("request-id-reused"),
            ShareRefusal::ClockUnconfirmed { confirmed_in, .. } => {
                conflict("clock-unconfirmed").retry_after(confirmed_in)
            }
            ShareRefusal::NoRandomness(_) => {
                ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, "unreadable", detail)
            }
        }
    }
}

impl From<CopyRefused> for ProblemResponse {
    fn from(refused: CopyRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            CopyRefused::NoSuchTask(_) => ProblemResponse::not_found(detail),
            CopyRefused::NotEndedBadly { .. } => {
                ProblemResponse::new(StatusCode::CONFLICT, "transition", detail)
            }
            CopyRefused::Rules(_) | CopyRefused::Meanwhile(_) => {
                ProblemResponse::new(StatusCode::CONFLICT, "not-allowed", detail)
            }
            CopyRefused::Commit(error) => error.into(),
        }
    }
}

impl From<HostRefused> for ProblemResponse {
    fn from(refused: HostRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            HostRefused::NoSuchHost(_) => ProblemResponse::not_found(detail),
            HostRefused::Configured(_) => {
                ProblemResponse::new(StatusCode::CONFLICT, "configured", detail)
            }
            HostRefused::Commit(error) => error.into(),
        }
    }
}

impl From<TooManyListeners> for ProblemResponse {
    fn from(refused: TooManyListeners) -> Self {
        ProblemResponse {
            retry_after_seconds: Some(LISTEN_RETRY_SECONDS),
            ..ProblemResponse::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-listeners",
                refused.to_string(),
            )
        }
    }
}

impl From<AskError> for ProblemResponse {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Busy => ProblemResponse {
                retry_after_seconds: Some(1),
                ..ProblemResponse::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string())
            },
            AskError::Unknown => ProblemResponse::new(
                StatusCode::GATEWAY_TIMEOUT,
                "outcome-unknown",
                error.to_string(),
            ),
        }
    }
}

impl From<ChangeRefused> for ProblemResponse {
    fn from(refused: ChangeRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            ChangeRefused::NoSuchTask(_) => ProblemResponse::not_found(detail),
            ChangeRefused::Transition { .. } => {
                ProblemResponse::new(StatusCode::CONFLICT, "transition", detail)
            }
            ChangeRefused::Commit(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_does_not_repeat_all_that_a_client_sent() {
        let sent = format!("{} is no name: at most 255 bytes", "\u{e9}".repeat(50_000));
        let detail = ProblemResponse::bad_request(sent).problem().detail.clone();
        assert!(detail.len() < 2 * LONGEST_DETAIL, "{}", detail.len());
        assert!(detail.ends_with("at most 255 bytes") && detail.contains("bytes are left out"));
        assert_eq!(ProblemResponse::bad_request("short").problem().detail, "short");
    }
}
