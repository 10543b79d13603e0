//! Calls that are answered with server-sent events.

use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use reqwest::{RequestBuilder, Response, header};
use serde::Serialize;
use sse_stream::SseByteStream;

use super::{NodeClient, TIMEOUT};
use crate::cli::support::failure::CommandFailure;

/// A received server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// Kind of the event, from its field `event`.
    pub kind: String,
    /// Payload, usually one line of JSON.
    pub data: String,
    /// Its id, or the last id before it.
    pub id: String,
}

/// Longest silence of a stream: the node sends a comment every 15 s.
const SILENCE: Duration = Duration::from_secs(45);

/// Replaces the time limit of a request, because a stream has no end.
const NO_TIME_LIMIT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

impl NodeClient {
    /// `POST /api/v1/<path>` with a body, answered with events. Hands each event to `each`, until
    /// it returns a result.
    pub fn post_and_follow<T>(
        &self,
        path: &[&str],
        wanted: &impl Serialize,
        mut each: impl FnMut(ServerSentEvent) -> Result<ControlFlow<T>, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let body = serde_json::to_vec(wanted).map_err(anyhow::Error::from)?;
        let request = self.http.post(self.url_of(path)).body(body);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let mut found = None;
        self.read_events(request, &mut String::new(), |event| match event.map(&mut each) {
            Some(Ok(ControlFlow::Break(ended))) => {
                found = Some(ended);
                Ok(ControlFlow::Break(()))
            }
            Some(Err(failure)) => Err(failure),
            Some(Ok(ControlFlow::Continue(()))) | None => Ok(ControlFlow::Continue(())),
        })?;
        found.ok_or_else(|| self.failed("it closed the stream of events".to_owned()))
    }

    /// `GET /api/v1/<path>`, answered with events. Hands each event to `each`, and `None` once when
    /// the node has answered. Returns only a failure. `last` is the id after which the stream
    /// starts, and is updated.
    pub fn follow(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        last: &mut String,
        mut each: impl FnMut(Option<ServerSentEvent>) -> Result<(), CommandFailure>,
    ) -> Result<std::convert::Infallible, CommandFailure> {
        let mut url = self.url_of(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.get(url);
        if !last.is_empty() {
            request = request.header("Last-Event-ID", last.as_str());
        }
        let each = |event| each(event).map(|()| ControlFlow::Continue(()));
        self.read_events(request, last, each)?;
        Err(self.failed("it closed the stream of events".to_owned()))
    }

    /// Reads events until `each` stops.
    fn read_events(
        &self,
        request: RequestBuilder,
        last: &mut String,
        mut each: impl FnMut(Option<ServerSentEvent>) -> Result<ControlFlow<()>, CommandFailure>,
    ) -> Result<(), CommandFailure> {
        let mut request =
            request.timeout(NO_TIME_LIMIT).header(header::ACCEPT, "text/event-stream");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token.bearer());
        }
        self.runtime.block_on(async {
            let sent = tokio::time::timeout(TIMEOUT, request.send()).await;
            let sent = sent.map_err(|_| self.failed("it does not answer".to_owned()))?;
            let response = sent.map_err(|error| self.unreachable(&error))?;
            if !response.status().is_success() {
                let status = response.status();
                let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
                return Err(self.problem(status, &body));
            }
            // The result does not matter for this call.
            let _ = each(None)?;
            let mut blocks = pin!(SseByteStream::new(self.chunks(response)));
            while let Some(block) = blocks.next().await {
                let block = block.map_err(|error| self.stream_failure(error))?;
                if let Some(id) = block.id {
                    *last = id;
                }
                // A block without data only sets the id.
                let Some(data) = block.data else { continue };
                let kind = block.event.unwrap_or_default();
                if each(Some(ServerSentEvent { kind, data, id: last.clone() }))?.is_break() {
                    return Ok(());
                }
            }
            Err(self.failed("it closed the stream of events".to_owned()))
        })
    }

    /// The body of a response, chunk by chunk. Ends with an error after a silence.
    fn chunks(
        &self,
        response: Response,
    ) -> impl Stream<Item = Result<Bytes, CommandFailure>> + use<'_> {
        stream::unfold(response, |mut response| async {
            let chunk = match tokio::time::timeout(SILENCE, response.chunk()).await {
                Ok(Ok(chunk)) => Ok(chunk?),
                Ok(Err(error)) => Err(self.unreachable(&error)),
                Err(_) => Err(self.failed("it sends no events".to_owned())),
            };
            Some((chunk, response))
        })
    }

    /// The failure behind an error of the reader of events.
    fn stream_failure(&self, error: sse_stream::Error) -> CommandFailure {
        match error {
            sse_stream::Error::Body(error) => match error.downcast::<CommandFailure>() {
                Ok(failure) => *failure,
                Err(other) => self.failed(other.to_string()),
            },
            other => self.failed(format!("its answer is not a stream of events: {other}")),
        }
    }
}
