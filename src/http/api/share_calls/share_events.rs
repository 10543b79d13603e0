//! `/api/v1/shares/events`: the events of shares, from the same stored history that webhooks use.

use std::collections::VecDeque;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_api::{Change, ChangeEvent, Missed, Reset, refused};
use reelyard_core::change_feed::{FeedListener, ListenFrom};
use reelyard_core::clock::Clock;
use reelyard_core::supervision::Supervised;
use reelyard_shares::share_expiry::{
    FetchNotifications, ShareExpiry, ShareNotification, ShareNotifications,
};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use utoipa::IntoParams;

use super::shares::knows_its_shares;
use crate::http::access::CallerRightsWatch;
use crate::http::api::call_parts::event_stream::{
    BATCH_DELAY, EventSource, KEEP_ALIVE, LAST_EVENT_ID, STILL_HERE, event, streamed,
};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// Largest number of events per fetch and per write.
const AT_ONCE: usize = 500;

/// Pause before an actor is asked again that did not answer.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// Where the stream starts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ShareEventsQuery {
    /// First event number; 0 sends all stored events. Without it and without `Last-Event-ID`, only
    /// new events are sent.
    // A string, so that a refusal can quote it.
    #[param(value_type = Option<u64>)]
    from: Option<String>,
}

/// Start position of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShareEventStart {
    Now,
    /// At the oldest stored event, whatever its number is.
    Oldest,
    Number(u64),
    /// After an id that is not an event number: events may have been lost.
    Lost,
}

impl ShareEventsQuery {
    /// `Last-Event-ID` overrides `from`, because a reconnecting client sends both.
    fn begin(&self, last_event_id: Option<&str>) -> Result<ShareEventStart, ProblemResponse> {
        if let Some(last_event_id) = last_event_id {
            let next = last_event_id.parse::<i64>().ok().and_then(|last| last.checked_add(1));
            let next = next.and_then(|next| u64::try_from(next).ok());
            return Ok(next.map_or(ShareEventStart::Lost, ShareEventStart::Number));
        }
        let Some(from) = &self.from else { return Ok(ShareEventStart::Now) };
        let number = from.parse().map_err(|_| {
            ProblemResponse::bad_request(format!(
                "from: expected the number of an event, not \"{from}\""
            ))
        });
        number.map(|number| {
            if number == 0 { ShareEventStart::Oldest } else { ShareEventStart::Number(number) }
        })
    }
}

/// `GET /shares/events`.
#[utoipa::path(
    get,
    path = "/shares/events",
    tag = "shares",
    operation_id = "followShareEvents",
    summary = "Sends the events of shares without a loss",
    description = "Server-sent events, the same ones that webhooks get: a share will end soon, \
                   or has ended. The `id` of an event is its number, which is the same on every \
                   node and after restarts. `event` is `notice` or the cause of the end; `data` \
                   is the body that a webhook gets. A client that sends `Last-Event-ID` gets \
                   all later events. A comment with an `id` comes first, so that a client that \
                   is cut off at once can continue. If events are no longer kept, an event \
                   `reset` has the number of the first one that follows as `first`. A comment \
                   comes every 15 seconds.",
    params(
        ShareEventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last received \
                                                                  event; overrides `from`")
    ),
    responses((
        status = 200,
        description = "A stream of events without end",
        body = ChangeEvent,
        content_type = "text/event-stream"
    ))
)]
pub async fn follow(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    query: web::Query<ShareEventsQuery>,
) -> Result<HttpResponse, Refusal<(refused::TooManyListeners, refused::Starting)>> {
    let last_event_id = request.headers().get(LAST_EVENT_ID);
    let begin = query
        .begin(last_event_id.map(|last_event_id| last_event_id.to_str().unwrap_or_default()))?;
    knows_its_shares(&state)?;
    let place = state.actors.changes.listen(ListenFrom::Now)?;
    let notifications = state.actors.share_views.notifications();
    let next = *notifications.borrow();
    let decides = state.actors.share_views.view().epoch.is_some();
    let shares = state.actors.share_expiry.clone();
    let begin = match begin {
        // The deciding node knows all events. A number from the future belongs to another history.
        ShareEventStart::Number(number) if number > next && decides => ShareEventStart::Lost,
        begin => begin,
    };
    let (next, missed) = match begin {
        ShareEventStart::Now => (next, None),
        ShareEventStart::Number(number) => (number, None),
        ShareEventStart::Oldest => (0, None),
        // The events that now have these numbers were perhaps never received.
        ShareEventStart::Lost => (0, Some(Missed::OtherProcess)),
    };
    let stream = ShareEventStream {
        shares,
        notifications,
        next,
        missed,
        has_read: begin == ShareEventStart::Now,
        begins_anywhere: matches!(begin, ShareEventStart::Oldest | ShareEventStart::Lost),
        waiting: VecDeque::new(),
        clock: state.clock.clone(),
        stopping: state.stopping.clone(),
        keep_alive: Instant::now() + KEEP_ALIVE,
        _place: place,
    };
    let hello = match stream.missed {
        None => format!(": events follow\nid: {}\n\n", before(stream.next)),
        Some(_) => ": events follow\n\n".to_owned(),
    };
    let rights = CallerRightsWatch::of(&request, &state);
    Ok(streamed(rights, hello, stream))
}

/// The stream of events for one client.
struct ShareEventStream {
    shares: Supervised<ShareExpiry>,
    /// The number of the next new event.
    notifications: watch::Receiver<u64>,
    /// The first number that was not fetched yet.
    next: u64,
    /// A gap that must still be reported to the client.
    missed: Option<Missed>,
    /// Whether the client has read up to stored events once. A later gap means that it reads too
    /// slowly.
    has_read: bool,
    /// Whether the first stored event is acceptable as the start, so that no gap is reported.
    begins_anywhere: bool,
    /// Fetched events that are not sent yet.
    waiting: VecDeque<ShareNotification>,
    clock: Clock,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
    /// Holds a place among the event listeners.
    _place: FeedListener<ChangeEvent>,
}

impl EventSource for ShareEventStream {
    async fn next(&mut self) -> Option<Bytes> {
        let mut text = String::new();
        while text.is_empty() {
            let mut stopping = self.stopping.clone();
            let keep_alive = self.keep_alive;
            tokio::select! {
                biased;
                _ = stopping.wait_for(|stopping| *stopping) => return None,
                () = self.fetch() => self.write(&mut text),
                () = sleep_until(keep_alive) => text.push_str(STILL_HERE),
            }
        }
        self.keep_alive = Instant::now() + KEEP_ALIVE;
        Some(Bytes::from(text))
    }
}

impl ShareEventStream {
    /// Fetches the next events when there may be any.
    async fn fetch(&mut self) {
        loop {
            // Marked before the fetch, so that events that arrive meanwhile wake this task.
            self.notifications.mark_unchanged();
            let asked = FetchNotifications { from: self.next, most: AT_ONCE };
            match self.shares.ask(asked).await {
                Ok(fetched) => {
                    if self.add(fetched) {
                        return;
                    }
                }
                // The actor restarts or is busy.
                Err(_) => {
                    sleep(ASKED_AGAIN).await;
                    continue;
                }
            }
            tokio::select! {
                changed = self.notifications.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = sleep(KEEP_ALIVE) => {}
            };
            sleep(BATCH_DELAY).await;
        }
    }

    /// Stores fetched events. Returns whether there is anything to send.
    fn add(&mut self, fetched: ShareNotifications) -> bool {
        let ShareNotifications { notifications, next } = fetched;
        let first = notifications.first().map_or(next, |first| first.number);
        if first > self.next {
            let why = if self.has_read { Missed::TooSlow } else { Missed::TooOld };
            if !self.begins_anywhere {
                self.missed.get_or_insert(why);
            }
            self.next = first;
        }
        (self.has_read, self.begins_anywhere) = (true, false);
        self.waiting = notifications.into();
        self.missed.is_some() || !self.waiting.is_empty()
    }

    /// Writes the events into `text` and advances the position.
    fn write(&mut self, text: &mut String) {
        if let Some(why) = self.missed.take() {
            let first = self.waiting.front().map_or(self.next, |front| front.number);
            let change = Change::Reset(Reset { why, first: Some(first) });
            let reset = ChangeEvent { time: self.clock.now(), change };
            text.push_str(&event(Some(before(first)), "reset", &reset));
            self.next = first;
        }
        for notification in self.waiting.drain(..) {
            let (number, kind) = (notification.number, notification.what.word());
            self.next = number + 1;
            text.push_str(&event(Some(number), kind, &ChangeEvent::from(notification)));
        }
    }
}

/// The id before event `number`, for clients that resume at it; -1 before the first event.
fn before(number: u64) -> i128 {
    i128::from(number) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_begins_after_its_last_event_at_its_start_or_now() {
        let begin = |from: Option<&str>, last_event_id| {
            ShareEventsQuery { from: from.map(str::to_owned) }.begin(last_event_id).ok()
        };
        assert_eq!(begin(None, None), Some(ShareEventStart::Now));
        assert_eq!(begin(Some("0"), None), Some(ShareEventStart::Oldest));
        assert_eq!(begin(Some("3"), None), Some(ShareEventStart::Number(3)));
        assert_eq!(begin(Some("7"), Some("11")), Some(ShareEventStart::Number(12)));
        assert_eq!(begin(None, Some("-1")), Some(ShareEventStart::Number(0)));
        for other in ["", "1700000000000-5", "-2", "x"] {
            assert_eq!(begin(Some("7"), Some(other)), Some(ShareEventStart::Lost), "{other}");
        }
        for bad in ["", "-1", "x"] {
            assert_eq!(begin(Some(bad), None), None, "{bad}");
        }
    }
}
