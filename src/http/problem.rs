//! Errors as RFC 9457 problem documents, with a stable `type` for programs and words for people.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use reelyard_actors::change_feed::TooManyListeners;
use reelyard_actors::journal::CommitError;
use reelyard_actors::share_expiry::{ShareError, ShareRefusal};
use reelyard_actors::supervision::AskError;
use reelyard_actors::task_manager::{ChangeRefused, CopyRefused, HostRefused, ReportsRefused};
use reelyard_actors::wire::api::Problem;

/// Content type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// When to ask again where somebody has to make room first.
const DISK_FULL_RETRY_SECONDS: u64 = 10;

/// When to ask again where others have to leave first.
const LISTEN_RETRY_SECONDS: u64 = 10;

/// A kind of problem: what stays the same however often it is met.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The last part of its `type`.
    pub name: &'static str,
    /// The status that it comes with.
    pub status: u16,
    /// What it means, for the document.
    pub means: &'static str,
    /// A `detail` that it may have.
    pub example: &'static str,
}

impl Kind {
    const fn new(
        status: u16,
        name: &'static str,
        means: &'static str,
        example: &'static str,
    ) -> Self {
        Kind { name, status, means, example }
    }

    /// A problem of this kind.
    pub fn problem(&self, detail: impl Into<String>) -> Problem {
        problem(self.name, self.status, detail.into())
    }
}

/// Every kind of problem that the API knows. Clients go by them: none is renamed.
pub const KINDS: &[Kind] = &[
    Kind::new(
        400,
        "bad-request",
        "The request says something that cannot be meant",
        "limit: a number of items from 1 on is wanted, not \"0\"",
    ),
    Kind::new(400, "bad-body", "The body is not what the call takes", "the body: EOF at column 1"),
    Kind::new(
        401,
        "unauthorized",
        "The token is missing or another",
        "a token is needed: Authorization: Bearer <token>",
    ),
    Kind::new(
        403,
        "unknown-host",
        "The host is not one of this yard",
        "10.0.0.99:8888 is no host of this yard",
    ),
    Kind::new(404, "not-found", "What was asked for is not there", "there is no task 17"),
    Kind::new(405, "method-not-allowed", "The path takes other methods", "/api/v1/plan takes GET"),
    Kind::new(
        409,
        "transition",
        "The task is where it cannot do that",
        "a task that is Done cannot become Some(Working)",
    ),
    Kind::new(
        409,
        "not-allowed",
        "The rules of the yard do not allow it as things are",
        "10.0.0.21:8888: the file does not fit",
    ),
    Kind::new(
        409,
        "configured",
        "The configuration names the host, and decides what it is for",
        "10.0.0.21:8888 is named by the configuration: change it there",
    ),
    Kind::new(
        409,
        "changed-meanwhile",
        "It was changed between deciding and doing; nothing was done, ask again",
        "the share was changed meanwhile: nothing was changed, ask again",
    ),
    Kind::new(
        409,
        "request-id-reused",
        "Another request was made by this request_id; nothing was done",
        "another request was made by this name: choose another one",
    ),
    Kind::new(
        409,
        "being-moved",
        "It is being moved, or what is above or below it; ask again in a moment",
        "it is being moved, or what is above or below it: ask again in a moment",
    ),
    Kind::new(
        409,
        "target-exists",
        "Something is at the new path, and is not to be overwritten or cannot be",
        "there is something at the new path already, and it is not to be overwritten",
    ),
    Kind::new(
        409,
        "other-file-system",
        "The two paths are on different file systems",
        "the two paths are on different file systems: copy it, and share the copy",
    ),
    Kind::new(
        409,
        "limit-reached",
        "There are as many as there may be",
        "there are 1000 shares already, and no more may be",
    ),
    Kind::new(
        410,
        "gone",
        "It was there and has ended",
        "the share has ended: expired at 2026-12-31T18:00:00.000Z",
    ),
    Kind::new(
        412,
        "condition-failed",
        "The condition of the request does not hold; nothing was done",
        "the condition does not hold: the share ends 2026-12-31T18:00:00.000Z",
    ),
    Kind::new(
        413,
        "too-large",
        "The body is longer than the node takes, or does not fit one entry of its journal",
        "the body: JSON payload (2097152 bytes) is larger than allowed (limit: 1048576 bytes)",
    ),
    Kind::new(
        415,
        "unsupported-media-type",
        "The body is said to be of another type",
        "the body: content type application/json is wanted",
    ),
    Kind::new(
        422,
        "bad-configuration",
        "The configuration has faults, all of which are told; the one in force stays",
        "the configuration in force stays: /etc/reelyard/node.toml:12: storage.limit_percent: a \
         percentage from 1 to 100 is wanted, not 101",
    ),
    Kind::new(422, "terms", "The node does not allow these terms", "a share lasts at most 365days"),
    Kind::new(
        503,
        "starting",
        "The node has not read its journal yet; ask again in a moment",
        "the node is starting: it does not know all its shares yet",
    ),
    Kind::new(
        503,
        "unreadable",
        "What was asked for cannot be read now",
        "movies/a.mpg: it cannot be opened: Input/output error (os error 5)",
    ),
    Kind::new(
        503,
        "not-leader",
        "Another node decides, or none does at present",
        "this node does not lead the yard; node 2 does",
    ),
    Kind::new(
        503,
        "deposed",
        "This node stopped deciding meanwhile; nothing was done",
        "this node no longer leads in the epoch that this was decided in",
    ),
    Kind::new(503, "stopped", "The node is stopping", "the journal has stopped"),
    Kind::new(
        503,
        "busy",
        "Too much waits; ask again after Retry-After",
        "too many requests are waiting, retry in 1 s",
    ),
    Kind::new(
        503,
        "too-many-listeners",
        "As many follow the events as may; ask again after Retry-After",
        "64 listen to the changes already, and no more may",
    ),
    Kind::new(
        504,
        "outcome-unknown",
        "Whether it was done is not known; asking again is safe",
        "outcome unknown: the actor restarted while it had the request",
    ),
    Kind::new(
        507,
        "disk-full",
        "The node's disk is full; ask again after Retry-After",
        "the disk of the journal is full: make room for at least 16 MiB",
    ),
];

fn problem(kind: &str, status: u16, detail: String) -> Problem {
    Problem {
        kind: format!("urn:reelyard:problem:{kind}"),
        title: kind.replace('-', " "),
        status,
        detail,
    }
}

/// A refusal on its way to the client.
#[derive(Clone, Debug)]
pub struct Refusal {
    status: StatusCode,
    problem: Problem,
    retry_after_seconds: Option<u64>,
}

impl Refusal {
    /// A refusal of `kind`, one of [`KINDS`] by its name.
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        debug_assert!(
            KINDS.iter().any(|known| (known.name, known.status) == (kind, status.as_u16())),
            "{kind} with status {status} is missing in problem::KINDS: the API's document would \
             not tell of it"
        );
        let problem = problem(kind, status.as_u16(), detail.into());
        Refusal { status, problem, retry_after_seconds: None }
    }

    /// The request says something that cannot be meant.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// It was there and has ended.
    pub fn gone(detail: impl Into<String>) -> Self {
        Refusal::new(StatusCode::GONE, "gone", detail)
    }

    /// The node has not read its journal yet.
    pub fn starting() -> Self {
        let detail = "the node is starting: it does not know all its shares yet";
        let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "starting", detail);
        Refusal { retry_after_seconds: Some(1), ..refusal }
    }

    /// The node is stopping.
    pub fn stopped() -> Self {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "stopped", "the node is stopping")
    }

    /// What was asked for is not there.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, "not-found", detail)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.problem.title, self.problem.detail)
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Some(seconds) = self.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        // `json` keeps a content type that is already there.
        response.insert_header((header::CONTENT_TYPE, PROBLEM_JSON)).json(&self.problem)
    }
}

impl From<CommitError> for Refusal {
    fn from(error: CommitError) -> Self {
        let detail = error.to_string();
        let unavailable =
            |kind| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail.clone());
        match error {
            CommitError::NotLeader { .. } => unavailable("not-leader"),
            CommitError::Deposed => unavailable("deposed"),
            CommitError::Stopped => unavailable("stopped"),
            CommitError::DiskFull { .. } => Refusal {
                retry_after_seconds: Some(DISK_FULL_RETRY_SECONDS),
                ..Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail)
            },
            CommitError::Busy { retry_after } => Refusal {
                retry_after_seconds: Some(retry_after.as_secs().max(1)),
                ..unavailable("busy")
            },
            CommitError::Unknown { .. } => {
                Refusal::new(StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", detail)
            }
            CommitError::TooLarge { .. } => {
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
            }
        }
    }
}

impl From<ReportsRefused> for Refusal {
    fn from(refused: ReportsRefused) -> Self {
        match refused {
            ReportsRefused::UnknownHost(_) => {
                Refusal::new(StatusCode::FORBIDDEN, "unknown-host", refused.to_string())
            }
            ReportsRefused::Commit(error) => error.into(),
        }
    }
}

impl From<ShareError> for Refusal {
    fn from(error: ShareError) -> Self {
        let detail = error.to_string();
        let refused = match error {
            ShareError::Journal(error) => return error.into(),
            ShareError::Refused(refused) => refused,
        };
        let conflict = |kind| Refusal::new(StatusCode::CONFLICT, kind, detail.clone());
        match refused {
            ShareRefusal::Unknown | ShareRefusal::NoRoot { .. } => Refusal::not_found(detail),
            ShareRefusal::Ended { .. } | ShareRefusal::Exhausted => Refusal::gone(detail),
            ShareRefusal::ChangedMeanwhile | ShareRefusal::IdInUse => conflict("changed-meanwhile"),
            ShareRefusal::ConditionFails { .. } => {
                Refusal::new(StatusCode::PRECONDITION_FAILED, "condition-failed", detail)
            }
            ShareRefusal::Terms(_) => {
                Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "terms", detail)
            }
            ShareRefusal::Full { .. } | ShareRefusal::OwnerFull { .. } => conflict("limit-reached"),
            ShareRefusal::FewerThanTaken { .. } => conflict("not-allowed"),
            ShareRefusal::Move(why) => why.into(),
            ShareRefusal::BeingMoved => conflict("being-moved"),
            ShareRefusal::OtherRequest => conflict("request-id-reused"),
            ShareRefusal::NoRandomness(_) => {
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "unreadable", detail)
            }
        }
    }
}

impl From<CopyRefused> for Refusal {
    fn from(refused: CopyRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            CopyRefused::NoSuchTask(_) => Refusal::not_found(detail),
            CopyRefused::NotEndedBadly { .. } => {
                Refusal::new(StatusCode::CONFLICT, "transition", detail)
            }
            CopyRefused::Rules(_) | CopyRefused::Meanwhile(_) => {
                Refusal::new(StatusCode::CONFLICT, "not-allowed", detail)
            }
            CopyRefused::Commit(error) => error.into(),
        }
    }
}

impl From<HostRefused> for Refusal {
    fn from(refused: HostRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            HostRefused::NoSuchHost(_) => Refusal::not_found(detail),
            HostRefused::Configured(_) => Refusal::new(StatusCode::CONFLICT, "configured", detail),
            HostRefused::Commit(error) => error.into(),
        }
    }
}

impl From<TooManyListeners> for Refusal {
    fn from(refused: TooManyListeners) -> Self {
        Refusal {
            retry_after_seconds: Some(LISTEN_RETRY_SECONDS),
            ..Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-listeners",
                refused.to_string(),
            )
        }
    }
}

impl From<AskError> for Refusal {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Busy => Refusal {
                retry_after_seconds: Some(1),
                ..Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string())
            },
            AskError::Unknown => {
                Refusal::new(StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", error.to_string())
            }
        }
    }
}

impl From<ChangeRefused> for Refusal {
    fn from(refused: ChangeRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            ChangeRefused::NoSuchTask(_) => Refusal::not_found(detail),
            ChangeRefused::Transition { .. } => {
                Refusal::new(StatusCode::CONFLICT, "transition", detail)
            }
            ChangeRefused::Commit(error) => error.into(),
        }
    }
}
