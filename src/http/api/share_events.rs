//! `/api/v1/shares/events`: what happened to shares, out of the chronicle that webhooks are told from.

use std::collections::VecDeque;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_actors::change_feed::{ChangeListener, ListenFrom};
use reelyard_actors::clock::Clock;
use reelyard_actors::share_expiry::{
    FetchNotifications, ShareExpiry, ShareNotification, ShareNotifications,
};
use reelyard_actors::supervision::Supervised;
use reelyard_actors::wire::api::{Change, ChangeEvent, Missed, Reset};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use utoipa::IntoParams;

use super::event_stream::{
    EventSource, GATHERING, KEEP_ALIVE, LAST_EVENT_ID, STILL_HERE, event, streamed,
};
use super::shares::knows_its_shares;
use crate::http::node::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// How many happenings are asked for, and sent, at a time at most.
const AT_ONCE: usize = 500;

/// After how long an actor is asked again that did not answer.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// Where happenings are told from.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HappeningQuery {
    /// From the happening of this number on; 0 for all that are kept. Without it, and without
    /// `Last-Event-ID`, from now on.
    // Text, so that a refusal can name it.
    #[param(value_type = Option<u64>)]
    from: Option<String>,
}

/// Where a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShareEventStart {
    Now,
    /// With the oldest that is kept, whichever that is.
    Oldest,
    Number(u64),
    /// Behind something that is no happening.
    Lost,
}

impl HappeningQuery {
    /// What a client heard last counts before where it once began: one that was cut off repeats both.
    fn begin(&self, heard: Option<&str>) -> Result<ShareEventStart, ProblemResponse> {
        if let Some(heard) = heard {
            let next = heard.parse::<i64>().ok().and_then(|last| last.checked_add(1));
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
        HappeningQuery,
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
    query: web::Query<HappeningQuery>,
) -> Result<HttpResponse, ProblemResponse> {
    let heard = request.headers().get(LAST_EVENT_ID);
    let begin = query.begin(heard.map(|heard| heard.to_str().unwrap_or_default()))?;
    knows_its_shares(&state)?;
    let place = state.actors.changes.listen(ListenFrom::Now)?;
    let happenings = state.actors.share_board.happenings();
    let next = *happenings.borrow();
    let decides = state.actors.share_board.view().epoch.is_some();
    let shares = state.actors.share_expiry.clone();
    let begin = match begin {
        // Whoever decides knows all there are: one that is yet to come was told elsewhere.
        ShareEventStart::Number(number) if number > next && decides => ShareEventStart::Lost,
        begin => begin,
    };
    let (next, missed) = match begin {
        ShareEventStart::Now => (next, None),
        ShareEventStart::Number(number) => (number, None),
        ShareEventStart::Oldest => (0, None),
        // What has these numbers now may never have been heard.
        ShareEventStart::Lost => (0, Some(Missed::OtherProcess)),
    };
    let told = ShareEventStream {
        shares,
        happenings,
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
    let hello = match told.missed {
        None => format!(": events follow\nid: {}\n\n", before(told.next)),
        Some(_) => ": events follow\n\n".to_owned(),
    };
    Ok(streamed(hello, told))
}

/// A client that is told.
struct ShareEventStream {
    shares: Supervised<ShareExpiry>,
    /// The number that the next happening will have.
    happenings: watch::Receiver<u64>,
    /// The number of the first happening that was not asked for.
    next: u64,
    /// What is still to be told of what was missed.
    missed: Option<Missed>,
    /// Whether it was within what is kept once: what it misses from then on it was too slow for.
    has_read: bool,
    /// Whether whatever is the first is as good as any.
    begins_anywhere: bool,
    /// What is to be sent.
    waiting: VecDeque<ShareNotification>,
    clock: Clock,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
    /// It counts among those who listen to changes.
    _place: ChangeListener,
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
    /// Asks for what comes next, as soon as there may be any.
    async fn fetch(&mut self) {
        loop {
            // Before it is asked, so that nothing that comes meanwhile is slept through.
            self.happenings.mark_unchanged();
            let asked = FetchNotifications { from: self.next, most: AT_ONCE };
            match self.shares.ask(asked).await {
                Ok(fetched) => {
                    if self.take(fetched) {
                        return;
                    }
                }
                // It is being restarted, or has much to do.
                Err(_) => {
                    sleep(ASKED_AGAIN).await;
                    continue;
                }
            }
            tokio::select! {
                changed = self.happenings.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = sleep(KEEP_ALIVE) => {}
            };
            sleep(GATHERING).await;
        }
    }

    /// Takes what was fetched; whether there is anything to be told.
    fn take(&mut self, fetched: ShareNotifications) -> bool {
        let ShareNotifications { happenings, next } = fetched;
        let first = happenings.first().map_or(next, |first| first.number);
        if first > self.next {
            let why = if self.has_read { Missed::TooSlow } else { Missed::TooOld };
            if !self.begins_anywhere {
                self.missed.get_or_insert(why);
            }
            self.next = first;
        }
        (self.has_read, self.begins_anywhere) = (true, false);
        self.waiting = happenings.into();
        self.missed.is_some() || !self.waiting.is_empty()
    }

    /// Writes what is to be told, and goes on behind it.
    fn write(&mut self, text: &mut String) {
        if let Some(why) = self.missed.take() {
            let first = self.waiting.front().map_or(self.next, |front| front.number);
            let change = Change::Reset(Reset { why, first: Some(first) });
            let reset = ChangeEvent { time: self.clock.now(), change };
            text.push_str(&event(Some(before(first)), "reset", &reset));
            self.next = first;
        }
        for happening in self.waiting.drain(..) {
            let (number, kind) = (happening.number, happening.what.word());
            self.next = number + 1;
            text.push_str(&event(Some(number), kind, &ChangeEvent::from(happening)));
        }
    }
}

/// The id that whoever is to hear the happening of this number next heard last; -1 before the first.
fn before(number: u64) -> i128 {
    i128::from(number) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_begins_behind_what_it_heard_or_where_it_says_or_now() {
        let begin = |from: Option<&str>, heard| {
            HappeningQuery { from: from.map(str::to_owned) }.begin(heard).ok()
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
