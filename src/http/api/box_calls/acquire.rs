//! `POST /api/v1/pools/{pool}/leases`: leases boxes and waits for them, with or without progress
//! events.

use std::time::Duration;

use actix_web::http::header::ACCEPT;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_api::{Granted, QueueWait, Span, WantedLease, refused};
use reelyard_boxes::box_lease::{AcquireProgress, Acquisition, BoxError, Grant};
use reelyard_core::clock::Clock;
use reelyard_protocol::boxes::PoolName;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::box_refusals::EndedLeaseProblems;
use crate::http::access::{CallerRightsWatch, RequestCaller};
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::event_stream::{
    EVENT_STREAM, EventSource, KEEP_ALIVE, STILL_HERE, event, streamed,
};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

type AcquireRefusal = Refusal<(
    (refused::NoPool, refused::PoolGoes, refused::Terms, refused::OverQuota),
    (refused::NoBoxInTime, refused::QueueFull, refused::LeaderChanged),
    (refused::RequestIdReused, refused::RequestOfOther, refused::ChangedMeanwhile),
    (refused::UnknownLease, EndedLeaseProblems, refused::Unreadable),
    CommitProblems,
)>;

/// `POST /pools/{pool}/leases`.
#[utoipa::path(
    post,
    path = "/pools/{pool}/leases",
    tag = "boxes",
    operation_id = "acquire",
    summary = "Leases boxes and waits for them if needed: all requested boxes or none",
    description = "The members beside `leases` are those of the first lease. If no box is free \
                   within `wait`, the answer is 409 with the type `no-box-in-time`. A busy node \
                   answers 503 with `busy`. A client that closes its connection leaves the \
                   queue. A repeated request with the same `request_id` and holder gets the \
                   same leases; only `wait` may differ. Another holder is refused with \
                   `request-of-other`, unless it sends `take_over`. Each pool has its own \
                   request ids.\n\n\
                   With `Accept: text/event-stream` the answer is 200 with server-sent events. \
                   `waiting` has `position` and `estimate` and comes when they change; \
                   `preparing` comes while boxes are prepared. The last event is `granted` with \
                   the leases, or `refused` with a problem.",
    params(("pool" = String, Path, description = "The pool")),
    request_body(content = WantedLease, description = "Holder, number of boxes and lease time"),
    responses(
        (
            status = 200,
            description = "The leases, or the events of the wait",
            body = String,
            content_type = "text/event-stream"
        ),
        (status = 201, description = "The leases", body = Granted)
    )
)]
pub async fn acquire(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    pool: web::Path<PoolName>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedLease>,
) -> Result<HttpResponse, AcquireRefusal> {
    let mut wanted = wanted.into_inner().0;
    // The id in the header belongs to its caller.
    let in_header = caller.key().map(|key| format!("{}/header/{key}", caller.name()));
    wanted.request_id = wanted.request_id.or(in_header);
    let ask = wanted.of_pool(pool.into_inner());
    let acquisition = Acquisition::begin(&state.actors.boxes.routes, ask)?;
    let mut stopping = state.stopping.clone();
    if wants_events(&request) {
        let keep_alive = Instant::now() + KEEP_ALIVE;
        let progress = acquisition.progress();
        let clock = state.clock.clone();
        let acquisition = Some(acquisition);
        let stream = AcquireEventStream { acquisition, progress, clock, stopping, keep_alive };
        let rights = CallerRightsWatch::of(&request, &state);
        return Ok(streamed(rights, ": the wait begins\n\n", stream));
    }
    let mut rights = CallerRightsWatch::of(&request, &state);
    let outcome = tokio::select! {
        biased;
        outcome = acquisition => outcome,
        () = rights.lost() => return Err(CallerRightsWatch::refusal().into()),
        _ = stopping.wait_for(|stopping| *stopping) => return Err(ProblemResponse::stopped().into()),
    };
    Ok(HttpResponse::Created().json(granted(outcome, &state.clock)?))
}

fn granted(outcome: Result<Grant, BoxError>, clock: &Clock) -> Result<Granted, AcquireRefusal> {
    // A grant always contains a lease, because a request is for at least one box.
    Granted::of(&outcome?, clock.now()).ok_or_else(|| BoxError::Lost.into())
}

fn wants_events(request: &HttpRequest) -> bool {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| {
        let mut kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or_default());
        kinds.any(|kind| kind.trim().eq_ignore_ascii_case(EVENT_STREAM))
    })
}

/// A waiting client that gets progress events. When it is dropped, it leaves the queue.
struct AcquireEventStream {
    /// None after the last event.
    acquisition: Option<Acquisition>,
    progress: watch::Receiver<AcquireProgress>,
    clock: Clock,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
}

impl EventSource for AcquireEventStream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let acquisition = self.acquisition.as_mut()?;
            let sent = tokio::select! {
                biased;
                outcome = acquisition => {
                    self.acquisition = None;
                    Some(ended(granted(outcome, &self.clock)))
                }
                _ = self.stopping.wait_for(|stopping| *stopping) => {
                    self.acquisition = None;
                    Some(ended(Err(ProblemResponse::stopped().into())))
                }
                // The actor sends its answer before it drops the sender of the progress.
                Ok(()) = self.progress.changed() => progress_event(*self.progress.borrow_and_update()),
                () = sleep_until(self.keep_alive) => {
                    self.keep_alive = Instant::now() + KEEP_ALIVE;
                    Some(Bytes::from_static(STILL_HERE.as_bytes()))
                }
            };
            if sent.is_some() {
                return sent;
            }
        }
    }
}

fn progress_event(progress: AcquireProgress) -> Option<Bytes> {
    match progress {
        AcquireProgress::Asked => None,
        AcquireProgress::Waiting { position, estimate } => {
            let wait = QueueWait { position, estimate: estimate.map(whole_seconds) };
            Some(unnamed("waiting", &wait))
        }
        AcquireProgress::Preparing => Some(unnamed("preparing", &serde_json::Map::new())),
    }
}

/// Rounds an estimate up to whole seconds: it is not more exact.
fn whole_seconds(estimate: Duration) -> Span {
    Span(Duration::from_secs(estimate.as_secs() + u64::from(estimate.subsec_nanos() > 0)))
}

fn ended(outcome: Result<Granted, AcquireRefusal>) -> Bytes {
    match outcome {
        Ok(granted) => unnamed("granted", &granted),
        Err(refusal) => unnamed("refused", refusal.problem()),
    }
}

/// An event without an id, because a client cannot resume a wait that was cut off.
fn unnamed(kind: &str, data: &impl Serialize) -> Bytes {
    event(None::<u64>, kind, data).into()
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn events_are_sent_only_if_the_client_accepts_them() {
        let wants = |accept: &str| {
            let request = TestRequest::default().insert_header((ACCEPT, accept));
            wants_events(&request.to_http_request())
        };
        assert!(wants("text/event-stream") && wants("text/html, Text/Event-Stream;q=0.9"));
        assert!(!wants("*/*") && !wants("application/json") && !wants(""));
        assert!(!wants_events(&TestRequest::default().to_http_request()));
    }

    #[test]
    fn an_estimated_wait_is_in_whole_seconds() {
        let estimate = Some(Duration::from_millis(1001));
        let sent = progress_event(AcquireProgress::Waiting { position: 3, estimate }).unwrap();
        assert_eq!(sent, "event: waiting\ndata: {\"position\":3,\"estimate\":\"2s\"}\n\n");
        assert_eq!(progress_event(AcquireProgress::Asked), None);
    }
}
