//! Answers of server-sent events: what all of them have, whatever it is that they tell.

use std::fmt::Display;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{iter, unfold};
use serde::Serialize;

/// What such an answer is called.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// With which a client that was cut off says what it heard last.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How often something is sent, so that whoever stands between does not take the line for dead, and
/// a client that is gone is noticed.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A comment, for when nothing happens.
pub(super) const STILL_HERE: &str = ": still here\n\n";

/// How long happenings are gathered once something was sent: where very much happens, as many wakes
/// as this are enough.
pub(super) const GATHERING: Duration = Duration::from_millis(20);

/// A client that is told.
pub(super) trait EventSource: 'static {
    /// What is sent next, events or comments; none once all is told. Not asked before the client has
    /// taken what there was.
    async fn next(&mut self) -> Option<Bytes>;
}

/// The answer to a client that is told. The comment `hello` is sent at once, so that whoever stands
/// between passes the head of the answer on.
pub(super) fn streamed(hello: impl Into<Bytes>, told: impl EventSource) -> HttpResponse {
    let first = iter([Ok::<Bytes, std::convert::Infallible>(hello.into())]);
    let rest = unfold(told, |mut told| async {
        let sent = told.next().await?;
        Some((Ok(sent), told))
    });
    HttpResponse::Ok()
        .content_type(EVENT_STREAM)
        .insert_header((CACHE_CONTROL, "no-store"))
        // nginx would hold back what is small.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(first.chain(rest))
}

/// One event. Its data is one line: a line feed in a text is escaped by JSON.
pub(super) fn event(id: Option<impl Display>, kind: &str, data: &impl Serialize) -> String {
    // Plain data: it can always be written.
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
