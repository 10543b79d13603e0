//! Errors as RFC 9457 problem documents: a stable `type` for programs and text for people. The kinds are
//! declared in [`ProblemKind`].

use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

use actix_web::error::PayloadError;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use reelyard_access::access::{AccessError, AccessRefusal};
use reelyard_api::{Problem, ProblemKind, ProblemSet, refused};
use reelyard_core::change_feed::TooManyListeners;
use reelyard_core::supervision::AskError;
use reelyard_protocol::signed_call::{CHALLENGE_HEADER, Challenge};
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{ShareError, ShareRefusal};
use reelyard_yard::task_manager::{ChangeRefused, CopyRefused, HostRefused, ReportsRefused};

/// Content type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Retry-After in seconds when the disk is full: an operator must free space first.
const DISK_FULL_RETRY_SECONDS: u64 = 10;

/// Retry-After when no node leads. An election takes about a second.
const NO_LEADER_RETRY: Duration = Duration::from_secs(1);

/// Retry-After in seconds when all event listeners are in use.
const LISTEN_RETRY_SECONDS: u64 = 10;

/// Largest length of a `detail` in bytes. Details often quote a value from the client.
const LONGEST_DETAIL: usize = 2000;

/// The problems of a request to an actor that did not get to it, or back.
pub type AskProblems = (refused::Busy, refused::OutcomeUnknown);

/// The problems of a change that is written to the journal.
pub type CommitProblems = (
    AskProblems,
    refused::NotLeader,
    refused::Deposed,
    refused::Stopped,
    refused::DiskFull,
    refused::TooLarge,
);

/// The problems that every call can answer.
pub const OF_EVERY_CALL: [ProblemKind; 6] = [
    ProblemKind::Starting,
    ProblemKind::BadRequest,
    ProblemKind::Unauthorized,
    ProblemKind::Forbidden,
    ProblemKind::TooManyAttempts,
    ProblemKind::ForeignRequest,
];

/// The problems that every read can answer, if it asks for a promise.
pub const OF_EVERY_READ: [ProblemKind; 4] =
    [ProblemKind::NotLeader, ProblemKind::Behind, ProblemKind::Stale, ProblemKind::Stopped];

/// The problems that every call with a body can answer.
pub const OF_EVERY_BODY: [ProblemKind; 3] =
    [ProblemKind::BadBody, ProblemKind::UnsupportedMediaType, ProblemKind::TooLarge];

/// Shortens a detail that is longer than [`LONGEST_DETAIL`].
fn shortened(detail: String) -> String {
    if detail.len() <= LONGEST_DETAIL {
        return detail;
    }
    let left_out = detail.len() - LONGEST_DETAIL;
    // The expected value often stands at the end, so keep both ends.
    let bytes = detail.as_bytes();
    let (head, tail) = (&bytes[..LONGEST_DETAIL / 2], &bytes[bytes.len() - LONGEST_DETAIL / 2..]);
    // A cut character becomes the replacement character.
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    format!("{head} ... ({left_out} bytes are left out) ... {tail}")
}

/// The log line of an answer that the document of the API does not list.
pub const UNDECLARED: &str = "a call answered a problem that its error type does not name";

/// The error of a handler that answers the problems in `S`, and those that every call can answer. The
/// document of the API lists them. Another problem is answered too, and logged as a fault.
pub struct Refusal<S> {
    response: ProblemResponse,
    problems: PhantomData<fn() -> S>,
}

impl<S> Refusal<S> {
    /// The problem document of the refusal.
    pub fn problem(&self) -> &Problem {
        self.response.problem()
    }

    /// The refusal without the list of problems that its handler can answer.
    pub fn into_response(self) -> ProblemResponse {
        self.response
    }
}

impl<S: ProblemSet, E: Into<ProblemResponse>> From<E> for Refusal<S> {
    fn from(error: E) -> Self {
        let response = error.into();
        let kind = response.kind;
        if !OF_EVERY_CALL.contains(&kind) && !S::kinds().contains(&kind) {
            tracing::error!(kind = kind.word(), refusal = %response, "{UNDECLARED}");
        }
        Refusal { response, problems: PhantomData }
    }
}

impl<S> std::fmt::Debug for Refusal<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.response.fmt(f)
    }
}

impl<S> std::fmt::Display for Refusal<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.response.fmt(f)
    }
}

impl<S> ResponseError for Refusal<S> {
    fn status_code(&self) -> StatusCode {
        self.response.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        self.response.error_response()
    }
}

/// A refusal that will be sent to the client.
#[derive(Clone, Debug)]
pub struct ProblemResponse {
    kind: ProblemKind,
    /// Boxed, because every handler returns a refusal by value.
    problem: Box<Problem>,
    retry_after_seconds: Option<u64>,
    /// Boxed for the same reason.
    challenge: Option<Box<Challenge>>,
}

impl ProblemResponse {
    /// A refusal of `kind`.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        let problem = Box::new(Problem::new(kind, shortened(detail.into())));
        ProblemResponse { kind, problem, retry_after_seconds: None, challenge: None }
    }

    /// A request with an invalid value.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        ProblemResponse::new(ProblemKind::BadRequest, detail)
    }

    /// The requested thing existed and has ended.
    pub fn gone(detail: impl Into<String>) -> Self {
        ProblemResponse::new(ProblemKind::Gone, detail)
    }

    /// The node has not read its journal yet.
    pub fn starting() -> Self {
        let detail = "the node is starting: it has not read its journal yet";
        let refusal = ProblemResponse::new(ProblemKind::Starting, detail);
        ProblemResponse { retry_after_seconds: Some(1), ..refusal }
    }

    /// Sets Retry-After, rounded up to whole seconds.
    pub fn retry_after(self, wait: Duration) -> Self {
        // Rounded up, because an earlier retry would fail again.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        ProblemResponse { retry_after_seconds: Some(seconds.max(1)), ..self }
    }

    /// Adds a challenge, with which a program of the yard can sign its next attempt.
    pub fn with_challenge(self, challenge: Option<Challenge>) -> Self {
        ProblemResponse { challenge: challenge.map(Box::new), ..self }
    }

    /// Names the file with the token of the first administrator.
    pub fn with_token_file(mut self, file: PathBuf) -> Self {
        self.problem.token_file = Some(file);
        self
    }

    /// The problem document of the refusal.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The kind of the problem.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The node is stopping.
    pub fn stopped() -> Self {
        ProblemResponse::new(ProblemKind::Stopped, "the node is stopping")
    }

    /// The requested thing does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        ProblemResponse::new(ProblemKind::NotFound, detail)
    }
}

impl std::fmt::Display for ProblemResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.problem.title, self.problem.detail)
    }
}

impl ResponseError for ProblemResponse {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if self.status_code() == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Some(challenge) = &self.challenge {
            response.insert_header((CHALLENGE_HEADER, challenge.to_string()));
        }
        if let Some(seconds) = self.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        // `json` keeps an existing content type.
        let mut response =
            response.insert_header((header::CONTENT_TYPE, PROBLEM_JSON)).json(&self.problem);
        // For the audit.
        response.extensions_mut().insert(self.kind);
        response
    }
}

impl From<CommitError> for ProblemResponse {
    fn from(error: CommitError) -> Self {
        let detail = error.to_string();
        let unavailable = |kind| ProblemResponse::new(kind, detail.clone());
        match error {
            CommitError::NotLeader { .. } => {
                unavailable(ProblemKind::NotLeader).retry_after(NO_LEADER_RETRY)
            }
            CommitError::Deposed => unavailable(ProblemKind::Deposed).retry_after(NO_LEADER_RETRY),
            CommitError::Stopped => unavailable(ProblemKind::Stopped),
            CommitError::DiskFull { .. } => ProblemResponse {
                retry_after_seconds: Some(DISK_FULL_RETRY_SECONDS),
                ..ProblemResponse::new(ProblemKind::DiskFull, detail)
            },
            CommitError::Busy { retry_after } => ProblemResponse {
                retry_after_seconds: Some(retry_after.as_secs().max(1)),
                ..unavailable(ProblemKind::Busy)
            },
            CommitError::Unknown { .. } => {
                ProblemResponse::new(ProblemKind::OutcomeUnknown, detail)
            }
            CommitError::TooLarge { .. } => ProblemResponse::new(ProblemKind::TooLarge, detail),
        }
    }
}

/// The body of a request did not arrive whole.
impl From<PayloadError> for ProblemResponse {
    fn from(error: PayloadError) -> Self {
        let kind = match error {
            PayloadError::Overflow => ProblemKind::TooLarge,
            _ => ProblemKind::BadBody,
        };
        ProblemResponse::new(kind, format!("the body: {error}"))
    }
}

impl From<ReportsRefused> for ProblemResponse {
    fn from(refused: ReportsRefused) -> Self {
        match refused {
            ReportsRefused::UnknownHost(_) => {
                ProblemResponse::new(ProblemKind::UnknownHost, refused.to_string())
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
        let conflict = |kind| ProblemResponse::new(kind, detail.clone());
        match refused {
            ShareRefusal::Unknown | ShareRefusal::NoRoot { .. } => {
                ProblemResponse::not_found(detail)
            }
            ShareRefusal::Ended { .. } | ShareRefusal::Exhausted => ProblemResponse::gone(detail),
            ShareRefusal::ChangedMeanwhile | ShareRefusal::IdInUse => {
                conflict(ProblemKind::ChangedMeanwhile)
            }
            ShareRefusal::ConditionFails { .. } => {
                ProblemResponse::new(ProblemKind::ConditionFailed, detail)
            }
            ShareRefusal::Terms(_) => ProblemResponse::new(ProblemKind::Terms, detail),
            ShareRefusal::Full { .. } | ShareRefusal::OwnerFull { .. } => {
                conflict(ProblemKind::LimitReached)
            }
            ShareRefusal::FewerThanTaken { .. } => conflict(ProblemKind::NotAllowed),
            ShareRefusal::Move(why) => why.into(),
            ShareRefusal::BeingMoved => conflict(ProblemKind::BeingMoved),
            ShareRefusal::OtherRequest => conflict(ProblemKind::RequestIdReused),
            ShareRefusal::ClockUnconfirmed { confirmed_in, .. } => {
                conflict(ProblemKind::ClockUnconfirmed).retry_after(confirmed_in)
            }
            ShareRefusal::NoRandomness(_) => ProblemResponse::new(ProblemKind::Unreadable, detail),
        }
    }
}

impl From<CopyRefused> for ProblemResponse {
    fn from(refused: CopyRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            CopyRefused::NoSuchTask(_) => ProblemResponse::not_found(detail),
            CopyRefused::NotEndedBadly { .. } => {
                ProblemResponse::new(ProblemKind::Transition, detail)
            }
            CopyRefused::Rules(_) | CopyRefused::Meanwhile(_) => {
                ProblemResponse::new(ProblemKind::NotAllowed, detail)
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
            HostRefused::Configured(_) => ProblemResponse::new(ProblemKind::Configured, detail),
            HostRefused::Commit(error) => error.into(),
        }
    }
}

impl From<AccessError> for ProblemResponse {
    fn from(error: AccessError) -> Self {
        let detail = error.to_string();
        let refused = match error {
            AccessError::Journal(error) => return error.into(),
            AccessError::SecretNotStored { .. } => {
                return ProblemResponse::new(ProblemKind::RequestIdReused, detail);
            }
            AccessError::Refused(refused) => refused,
        };
        let kind = match refused {
            AccessRefusal::UnknownUser { .. } | AccessRefusal::UnknownToken { .. } => {
                ProblemKind::NotFound
            }
            AccessRefusal::UserExists { .. } | AccessRefusal::TokenExists { .. } => {
                ProblemKind::NameTaken
            }
            AccessRefusal::TooManyUsers | AccessRefusal::TooManyTokens => ProblemKind::LimitReached,
            AccessRefusal::MoreThanOwn { .. } => ProblemKind::Forbidden,
            AccessRefusal::Reserved { .. }
            | AccessRefusal::NameOfWorker { .. }
            | AccessRefusal::Rights(_)
            | AccessRefusal::TooManyRanges { .. }
            | AccessRefusal::ExpiresInPast => ProblemKind::Terms,
            _ => ProblemKind::NotAllowed,
        };
        ProblemResponse::new(kind, detail)
    }
}

impl From<TooManyListeners> for ProblemResponse {
    fn from(refused: TooManyListeners) -> Self {
        ProblemResponse {
            retry_after_seconds: Some(LISTEN_RETRY_SECONDS),
            ..ProblemResponse::new(ProblemKind::TooManyListeners, refused.to_string())
        }
    }
}

impl From<AskError> for ProblemResponse {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Busy => ProblemResponse {
                retry_after_seconds: Some(1),
                ..ProblemResponse::new(ProblemKind::Busy, error.to_string())
            },
            AskError::Unknown => {
                ProblemResponse::new(ProblemKind::OutcomeUnknown, error.to_string())
            }
        }
    }
}

impl From<ChangeRefused> for ProblemResponse {
    fn from(refused: ChangeRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            ChangeRefused::NoSuchTask(_) => ProblemResponse::not_found(detail),
            ChangeRefused::Transition { .. } => {
                ProblemResponse::new(ProblemKind::Transition, detail)
            }
            ChangeRefused::Commit(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn a_detail_does_not_repeat_all_that_a_client_sent() {
        let sent = format!("{} is no name: at most 255 bytes", "\u{e9}".repeat(50_000));
        let detail = ProblemResponse::bad_request(sent).problem().detail.clone();
        assert!(detail.len() < 2 * LONGEST_DETAIL, "{}", detail.len());
        assert!(detail.ends_with("at most 255 bytes") && detail.contains("bytes are left out"));
        assert_eq!(ProblemResponse::bad_request("short").problem().detail, "short");
    }

    #[test]
    fn examples_are_what_the_program_answers() {
        for (kind, answer) in [
            (ProblemKind::NotLeader, CommitError::NotLeader { leader: Some(2) }.to_string()),
            (ProblemKind::Deposed, CommitError::Deposed.to_string()),
            (ProblemKind::Stopped, CommitError::Stopped.to_string()),
            (ProblemKind::Busy, AskError::Busy.to_string()),
            (ProblemKind::OutcomeUnknown, AskError::Unknown.to_string()),
        ] {
            assert_eq!(kind.example(), answer, "{}", kind.word());
        }
    }

    #[test]
    fn a_problem_that_no_type_names_is_answered_and_logged() {
        let mut log = tempfile::tempfile().unwrap();
        let to_file = tracing_subscriber::fmt().with_writer(log.try_clone().unwrap()).finish();
        tracing::subscriber::with_default(to_file, || {
            let named = Refusal::<CommitProblems>::from(CommitError::Deposed);
            assert_eq!(named.problem().status, 503);
            let unnamed = Refusal::<CommitProblems>::from(ProblemResponse::not_found("task 17"));
            assert_eq!(unnamed.problem().status, 404);
        });
        let mut text = String::new();
        log.rewind().unwrap();
        log.read_to_string(&mut text).unwrap();
        assert_eq!((text.lines().count(), text.matches(UNDECLARED).count()), (1, 1), "{text}");
        assert!(text.contains("ERROR") && text.contains("task 17"), "{text}");
    }
}
