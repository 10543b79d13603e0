//! Calls that are answered with server-sent events.

use std::ops::ControlFlow;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use reqwest::header::{self, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};
use sse_stream::SseByteStream;

use super::NodeClient;
use super::notice::print_notice;
use crate::cli::support::failure::CommandFailure;
use crate::cluster_client::{
    ANSWER_TIME, AnswerBody, ApiAnswer, ApiRequest, ApiTarget, Repetition,
};

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

/// Where the id of an event has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventIds {
    /// At every node: a node that does not know the id says so in the stream.
    OfTheCluster,
    /// Only at its node.
    OfTheNode,
}

/// Longest silence of a stream: the node sends a comment every 15 s.
const SILENCE: Duration = Duration::from_secs(45);

/// First and longest pause before a reconnect; it doubles each time.
const RETRY_AFTER: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];

/// How long a request for boxes is repeated after a lost stream, if its own wait is over.
const STREAM_LOST: Duration = Duration::from_secs(5);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl NodeClient {
    /// `POST /api/v1/<path>`, answered with events. `body` gives the body of each attempt, with a request id. Hands each
    /// event to `each`, until it returns a result. If the stream breaks, another node is asked, until `until`.
    pub fn post_and_follow<T>(
        &self,
        path: &[&str],
        body: impl Fn() -> Vec<u8> + Send + Sync,
        mut until: Instant,
        mut each: impl FnMut(ServerSentEvent) -> Result<ControlFlow<T>, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let mut pause = RETRY_AFTER[0];
        let mut first_lost = None;
        loop {
            let request = ApiRequest::new(Method::POST, ApiTarget::of(path));
            let request = request.with_body(Repetition::OnceById, &body);
            let mut found = None;
            let read = self.read_events(request, &mut String::new(), |event| {
                match event.map(&mut each).transpose()? {
                    Some(ControlFlow::Break(ended)) => {
                        found = Some(ended);
                        Ok(ControlFlow::Break(()))
                    }
                    Some(ControlFlow::Continue(())) | None => Ok(ControlFlow::Continue(())),
                }
            });
            let failure = match (found, read) {
                (Some(ended), Ok(())) => return Ok(ended),
                (None, Ok(())) => return Err(self.failed(CLOSED.to_owned())),
                (_, Err(failure)) => failure,
            };
            until = until.max(*first_lost.get_or_insert(Instant::now() + STREAM_LOST));
            if !is_passing(&failure)
                || !self.cluster.has_others()
                || Instant::now() + pause >= until
            {
                return Err(failure);
            }
            print_notice(&format!("{failure}; waiting at another node"));
            std::thread::sleep(pause);
            pause = (pause * 2).min(RETRY_AFTER[1]);
        }
    }

    /// `GET /api/v1/<path>`, answered with events. Hands each event to `each`. Returns only a failure. `last` is the id
    /// after which the stream starts. Once a node has answered, the client reconnects after the last event when the
    /// stream breaks, at another node if there is one.
    pub fn follow(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        mut last: String,
        ids: EventIds,
        mut each: impl FnMut(ServerSentEvent) -> Result<(), CommandFailure>,
    ) -> Result<std::convert::Infallible, CommandFailure> {
        let (mut connected, mut pause) = (false, RETRY_AFTER[0]);
        loop {
            let mut begun = false;
            let mut request = ApiRequest::new(Method::GET, ApiTarget::of(path).with_query(query));
            if let Ok(value) = HeaderValue::from_str(&last)
                && !last.is_empty()
            {
                request = request.with_header(LAST_EVENT_ID, value);
            }
            let read = self.read_events(request, &mut last, |event| {
                begun = true;
                event.map_or(Ok(()), &mut each).map(ControlFlow::Continue)
            });
            let failure = read.err().unwrap_or_else(|| self.failed(CLOSED.to_owned()));
            connected |= begun;
            if !connected || !is_passing(&failure) {
                return Err(failure);
            }
            if begun {
                pause = RETRY_AFTER[0];
                print_notice(&format!("{failure}; {}", self.next_step(&mut last, ids)));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(RETRY_AFTER[1]);
        }
    }

    /// Prepares the reconnect, and says where it goes.
    fn next_step(&self, last: &mut String, ids: EventIds) -> &'static str {
        match ids {
            _ if !self.cluster.has_others() => "trying again",
            EventIds::OfTheCluster => "going on at another node",
            EventIds::OfTheNode => {
                last.clear();
                "going on with what is new at another node"
            }
        }
    }

    /// Reads events until `each` stops. `each` gets none once a node has answered.
    fn read_events(
        &self,
        request: ApiRequest<'_>,
        last: &mut String,
        mut each: impl FnMut(Option<ServerSentEvent>) -> Result<ControlFlow<()>, CommandFailure>,
    ) -> Result<(), CommandFailure> {
        let accepted = HeaderValue::from_static("text/event-stream");
        let request = request.with_header(header::ACCEPT, accepted).as_stream();
        self.runtime.block_on(async {
            let until = Instant::now() + ANSWER_TIME;
            let answer = self.cluster.call_until(&request, until).await?;
            let node = answer.node.clone();
            let response = match answer.body {
                AnswerBody::Stream(response) => response,
                body => return Err(self.refusal(&ApiAnswer { body, ..answer }).await),
            };
            // The result does not matter for this call.
            let _ = each(None)?;
            let ended = async {
                let mut blocks = pin!(SseByteStream::new(self.parts(&node, response)));
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
                Err(self.failed(CLOSED.to_owned()))
            }
            .await;
            if ended.as_ref().is_err_and(is_passing) {
                self.cluster.leave(&node);
            }
            ended
        })
    }

    /// The body of a response, part by part. Ends with an error after a silence.
    fn parts<'c>(
        &'c self,
        node: &'c Url,
        response: Response,
    ) -> impl Stream<Item = Result<Bytes, CommandFailure>> + use<'c> {
        stream::unfold(response, move |mut response| async move {
            let part = self.cluster.next_part(node, &mut response, SILENCE).await;
            Some((part.transpose()?.map_err(CommandFailure::from), response))
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

/// Why a stream ended that a node closed.
const CLOSED: &str = "it closed the stream of events";

/// Whether the node, or another one, may answer again.
fn is_passing(failure: &CommandFailure) -> bool {
    matches!(failure, CommandFailure::Unreachable(_) | CommandFailure::Node { .. })
}
