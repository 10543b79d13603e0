//! Calls that are answered with server-sent events.

use std::ops::ControlFlow;
use std::time::Duration;

use reqwest::{RequestBuilder, header};
use serde::Serialize;

use super::{NodeClient, TIMEOUT};
use crate::cli::support::failure::CommandFailure;
use crate::cli::yard_commands::event_stream::{EventStream, ServerSentEvent};

/// Longest silence of a stream: the node sends a comment every 15 s.
const SILENCE: Duration = Duration::from_secs(45);

/// Replaces the time limit of a request, because a stream has no end.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

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
        let mut request = request.timeout(FOR_EVER).header(header::ACCEPT, "text/event-stream");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token.bearer());
        }
        self.runtime.block_on(async {
            let sent = tokio::time::timeout(TIMEOUT, request.send()).await;
            let sent = sent.map_err(|_| self.failed("it does not answer".to_owned()))?;
            let mut response = sent.map_err(|error| self.unreachable(&error))?;
            if !response.status().is_success() {
                let status = response.status();
                let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
                return Err(self.problem(status, &body));
            }
            // The result does not matter for this call.
            let _ = each(None)?;
            let mut stream = EventStream::after(last.clone());
            loop {
                let chunk = tokio::time::timeout(SILENCE, response.chunk()).await;
                let chunk = chunk.map_err(|_| self.failed("it sends no events".to_owned()))?;
                let chunk = chunk.map_err(|error| self.unreachable(&error))?;
                let chunk = chunk
                    .ok_or_else(|| self.failed("it closed the stream of events".to_owned()))?;
                let events = stream.feed(&chunk).map_err(|bad| self.failed(bad.to_string()))?;
                for event in events {
                    if each(Some(event))?.is_break() {
                        return Ok(());
                    }
                }
                *last = stream.last_id().to_owned();
            }
        })
    }
}
