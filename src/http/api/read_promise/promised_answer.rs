//! Keeps the promise of a read, and says in each answer how current it is.

use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web;
use reelyard_api::{ProblemKind, Span};
use reelyard_core::durations::in_words;
use reelyard_replication::CommitError;
use tokio::time::Instant;

use super::promise_query::ReadPromise;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Index of the last entry of the journal that the answer shows. The answer to a change names an entry at or after it.
pub const APPLIED: HeaderName = HeaderName::from_static("reelyard-applied");

/// How old the answer can be.
pub const STALENESS: HeaderName = HeaderName::from_static("reelyard-staleness");

/// How long a read waits for its promise.
const PROMISE_TIME: Duration = Duration::from_secs(3);

/// The work for a linearizable answer may take this time without making it older: it shows everything that was done before
/// the request. A process that was paused takes longer.
const WORK_TIME: Duration = Duration::from_secs(1);

/// When a refused read can be repeated.
const RETRY: Duration = Duration::from_secs(1);

/// The views from which a read is answered.
#[derive(Clone, Copy)]
struct ReadViews {
    /// The last entry that they show.
    shown: u64,
    /// None if this node never heard a leader.
    staleness: Option<Duration>,
    /// The moment of both, by a clock that counts suspends.
    at: Duration,
    /// Whether the leader confirmed them for this read.
    is_confirmed: bool,
}

/// Middleware: reads the promise of a request, and says in its answer how current it is.
pub async fn with_promise(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(state) = request.app_data::<web::Data<NodeHttpState>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let mut promise = ReadPromise::default();
    if request.method().is_safe() {
        promise = ReadPromise::take(&mut request)?;
        request.extensions_mut().insert(promise);
    }
    let answered = next.call(request).await;
    match answered {
        Ok(answer) => {
            let read = answer.request().extensions().get::<ReadViews>().copied();
            let mut answer =
                match read.map(|read| check_age(promise, read.age(state.clock.uptime()))) {
                    Some(Err(refusal)) => answer.error_response(refusal),
                    _ => answer.map_into_boxed_body(),
                };
            describe(answer.headers_mut(), read, &state);
            Ok(answer)
        }
        Err(error) => {
            let mut answer = error.as_response_error().error_response();
            describe(answer.headers_mut(), None, &state);
            Err(InternalError::from_response(error, answer).into())
        }
    }
}

/// Waits until the promise of a read holds. Called once the caller is known.
///
/// # Errors
/// It does not hold in time.
pub async fn keep_promise(
    request: &ServiceRequest,
    state: &NodeHttpState,
) -> Result<(), ProblemResponse> {
    let Some(promise) = request.extensions().get::<ReadPromise>().copied() else { return Ok(()) };
    let until = Instant::now() + PROMISE_TIME;
    let left = || until.saturating_duration_since(Instant::now());
    let journal = &state.journal;
    let mut wanted = promise.min_applied;
    if promise.consistency.is_some() {
        let confirmed = journal.read_index(left()).await;
        wanted = wanted.max(Some(confirmed.map_err(|error| not_confirmed(&error))?));
    }
    if let Some(wanted) = wanted {
        let shown = journal.until_shown(wanted, left()).await;
        shown.map_err(|behind| {
            let detail = format!("{behind}. Repeat the request, or send it to another node");
            ProblemResponse::new(ProblemKind::Behind, detail).retry_after(RETRY)
        })?;
    }
    let read = ReadViews {
        shown: journal.shown(),
        staleness: journal.staleness(),
        at: state.clock.uptime(),
        is_confirmed: promise.consistency.is_some(),
    };
    check_age(promise, read.age(state.clock.uptime()))?;
    request.extensions_mut().insert(read);
    Ok(())
}

impl ReadViews {
    /// How old the answer is when it is written, at this moment.
    fn age(&self, now: Duration) -> Option<Duration> {
        let work = now.saturating_sub(self.at);
        let counts = !self.is_confirmed || work > WORK_TIME;
        let work = if counts { work } else { Duration::ZERO };
        self.staleness.map(|staleness| staleness.saturating_add(work))
    }
}

fn not_confirmed(error: &CommitError) -> ProblemResponse {
    let detail = format!(
        "no leader has confirmed within {} s that it leads: {error}. Repeat the request, or leave out consistency=leader \
         to read what this node knows",
        PROMISE_TIME.as_secs()
    );
    let kind = match error {
        CommitError::Stopped => ProblemKind::Stopped,
        _ => ProblemKind::NotLeader,
    };
    ProblemResponse::new(kind, detail).retry_after(RETRY)
}

/// Whether an answer of this age keeps the promise.
fn check_age(promise: ReadPromise, age: Option<Duration>) -> Result<(), ProblemResponse> {
    let Some(Span(most)) = promise.max_staleness else { return Ok(()) };
    let found = match age {
        Some(age) if age <= most => return Ok(()),
        Some(age) => format!("the answer of this node can be {} old", in_words(age)),
        None => "this node has heard no leader since its start".to_owned(),
    };
    let detail = format!(
        "{found}, and max_staleness is {}: ask another node, or accept an older answer",
        Span(most)
    );
    Err(ProblemResponse::new(ProblemKind::Stale, detail).retry_after(RETRY))
}

fn describe(headers: &mut HeaderMap, read: Option<ReadViews>, state: &NodeHttpState) {
    // A change is acknowledged once it is applied, and the views follow.
    let applied = read.map_or_else(|| state.journal.applied(), |read| read.shown);
    headers.insert(APPLIED, applied.into());
    let now = state.clock.uptime();
    let staleness = read.map_or_else(|| state.journal.staleness(), |read| read.age(now));
    headers.insert(STALENESS, shown_age(staleness));
}

/// The value of the header. A node that never heard a leader may be behind by any time.
fn shown_age(age: Option<Duration>) -> HeaderValue {
    let value = age.map(|age| HeaderValue::from_str(&format!("{}ms", age.as_millis())));
    value.and_then(Result::ok).unwrap_or(HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_becomes_older_while_it_is_made() {
        let (at, staleness) = (Duration::from_secs(100), Some(Duration::from_millis(1900)));
        let read = ReadViews { shown: 7, staleness, at, is_confirmed: false };
        let after = |read: ReadViews, millis: u64| {
            read.age(at + Duration::from_millis(millis)).map(|age| age.as_millis())
        };
        assert_eq!((after(read, 0), after(read, 900)), (Some(1900), Some(2800)));
        assert_eq!(after(ReadViews { staleness: None, ..read }, 900), None);
        // A linearizable answer is as new as its request, unless the process was paused.
        let confirmed = ReadViews { staleness: Some(Duration::ZERO), is_confirmed: true, ..read };
        assert_eq!((after(confirmed, 1000), after(confirmed, 60_000)), (Some(0), Some(60_000)));
    }

    #[test]
    fn the_age_of_an_answer_is_shown_even_if_it_is_unknown() {
        assert_eq!(shown_age(Some(Duration::from_millis(1200))), "1200ms");
        assert_eq!(shown_age(None), "unknown");
    }

    #[test]
    fn an_answer_may_be_as_old_as_its_client_accepts() {
        let promise = |most: Option<u64>| ReadPromise {
            max_staleness: most.map(|millis| Span(Duration::from_millis(millis))),
            ..ReadPromise::default()
        };
        let age = |millis: u64| Some(Duration::from_millis(millis));
        assert!(check_age(promise(None), None).is_ok());
        assert!(check_age(promise(Some(2000)), age(2000)).is_ok());
        assert!(check_age(promise(Some(0)), age(0)).is_ok());
        let refused = check_age(promise(Some(2000)), age(60_000)).unwrap_err();
        assert_eq!(refused.kind(), ProblemKind::Stale);
        let expected = "the answer of this node can be 1 min old, and max_staleness is 2s: ask another node, or accept \
                        an older answer";
        assert_eq!(refused.problem().detail, expected);
        assert!(check_age(promise(Some(2000)), None).is_err());
    }
}
