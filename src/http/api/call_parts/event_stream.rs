//! Server-sent events: the parts that all event streams share.

use std::fmt::Display;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{iter, unfold};
use serde::Serialize;

use crate::http::access::CallerRightsWatch;

/// The content type of server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// The header in which a client that was cut off sends the id of its last event.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Interval of keep-alive comments. They prevent proxies from closing the connection, and reveal
/// clients that have left.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A comment that is sent when there are no events.
pub const STILL_HERE: &str = ": still here\n\n";

/// After something was sent, events are collected for this long. With many changes this limits the
/// number of wakeups.
pub const BATCH_DELAY: Duration = Duration::from_millis(20);

/// The events of one client.
pub trait EventSource: 'static {
    /// The next events or comments; none at the end of the stream. Called only after the client has
    /// taken the previous ones.
    async fn next(&mut self) -> Option<Bytes>;
}

/// Answers a request with an event stream, which ends when its caller loses these rights. The comment `hello` is sent
/// at once, so that proxies forward the head of the answer.
pub fn streamed(
    rights: CallerRightsWatch,
    hello: impl Into<Bytes>,
    source: impl EventSource,
) -> HttpResponse {
    let first = iter([Ok::<Bytes, std::convert::Infallible>(hello.into())]);
    let rest = unfold((rights, source), |(mut rights, mut source)| async {
        let sent = tokio::select! {
            biased;
            () = rights.lost() => None,
            sent = source.next() => sent.filter(|_| rights.hold()),
        };
        Some((Ok(sent?), (rights, source)))
    });
    HttpResponse::Ok()
        .content_type(EVENT_STREAM)
        .insert_header((CACHE_CONTROL, "no-store"))
        // nginx would buffer small chunks.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(first.chain(rest))
}

/// One event. Its data is a single line, because JSON escapes line feeds.
pub fn event(id: Option<impl Display>, kind: &str, data: &impl Serialize) -> String {
    // Plain data always serializes.
    let Ok(data) = serde_json::to_string(data) else { return String::new() };
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("{id}event: {kind}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_written_as_the_standard_has_it() {
        assert_eq!(
            event(Some("1-2"), "input", &"a\nb"),
            "id: 1-2\nevent: input\ndata: \"a\\nb\"\n\n"
        );
        assert_eq!(event(None::<u64>, "waiting", &7), "event: waiting\ndata: 7\n\n");
    }
}
