//! `/api/v1/events`: every change as it happens, as server-sent events.

use std::collections::BTreeSet;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_access::rights::AccessScope;
use reelyard_api::{Change, ChangeEvent, ChangeKind, ProblemKind, Reset, refused};
use reelyard_core::change_feed::{FeedEvent, FeedItem, FeedListener, ListenFrom};
use reelyard_core::clock::Clock;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use crate::http::access::{CallerRightsWatch, RequestCaller};
use crate::http::api::call_parts::event_stream::{
    BATCH_DELAY, EventSource, KEEP_ALIVE, LAST_EVENT_ID, event, streamed,
};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// Largest number of changes in one write.
const AT_ONCE: usize = 512;

/// The kinds of changes that need another scope than the call itself.
const OF_OTHER_SCOPES: [(ChangeKind, AccessScope); 2] =
    [(ChangeKind::Share, AccessScope::SharesRead), (ChangeKind::Box, AccessScope::BoxesRead)];

/// Filter of the changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only changes of these kinds, separated by commas: `task`, `placement`, `host`, `input`,
    /// `leadership`, `foreign_manager`, `removal`, `pin`, `back_off`, `configuration`, `share`, `box`. A
    /// `reset` is sent in any case. Changes of shares need `shares:read`, and those of boxes `boxes:read`; without
    /// `kinds`, a caller gets the kinds that it may read.
    #[param(example = "task,host")]
    kinds: Option<String>,
}

impl EventQuery {
    fn kinds(&self) -> Result<BTreeSet<ChangeKind>, ProblemResponse> {
        let Some(text) = &self.kinds else { return Ok(ChangeKind::ALL.into()) };
        let read = |word: &str| {
            let kind = ChangeKind::ALL.into_iter().find(|kind| kind.word() == word);
            kind.ok_or_else(|| {
                let known: Vec<&str> = ChangeKind::ALL.iter().map(|kind| kind.word()).collect();
                let known = known.join(", ");
                ProblemResponse::bad_request(format!(
                    "kinds: \"{word}\" is not valid: expected some of {known}"
                ))
            })
        };
        let wanted: Result<BTreeSet<ChangeKind>, ProblemResponse> =
            text.split(',').map(read).collect();
        let mut wanted = wanted?;
        wanted.insert(ChangeKind::Reset);
        Ok(wanted)
    }
}

/// `GET /events`.
#[utoipa::path(
    get,
    path = "/events",
    tag = "events",
    operation_id = "followEvents",
    summary = "Sends every change when it happens",
    description = "Server-sent events. Each has an `id`, its kind as `event`, and one line of \
                   JSON as `data`, with the schema below. A client that sends `Last-Event-ID` \
                   gets the events after that id. If some are lost, or if the client reads too \
                   slowly, it gets the event `reset`: read the lists again. The events that are \
                   still kept follow; a slow client gets only new ones. A comment comes every \
                   15 seconds. Later versions may add kinds and members.",
    params(
        EventQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last received event")
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
    caller: RequestCaller,
    query: web::Query<EventQuery>,
) -> Result<HttpResponse, Refusal<refused::TooManyListeners>> {
    let mut kinds = query.kinds()?;
    let mut rights = CallerRightsWatch::of(&request, &state);
    for (kind, scope) in OF_OTHER_SCOPES {
        if !kinds.contains(&kind) {
            continue;
        }
        if caller.0.rights.allow(&scope) {
            rights.need(scope);
        } else if query.kinds.is_some() {
            let detail = format!("changes of the kind {} need {scope}", kind.word());
            return Err(ProblemResponse::new(ProblemKind::Forbidden, detail).into());
        } else {
            kinds.remove(&kind);
        }
    }
    let begin = match request.headers().get(LAST_EVENT_ID) {
        None => ListenFrom::Now,
        // A client returns an id that it received. An id in another format is from another node.
        Some(id) => id
            .to_str()
            .ok()
            .and_then(|id| id.parse().ok())
            .map_or(ListenFrom::Lost, ListenFrom::After),
    };
    let listener = state.actors.changes.listen(begin)?;
    let (clock, stopping) = (state.clock.clone(), state.stopping.clone());
    let (keep_alive, rests_until) = (Instant::now() + KEEP_ALIVE, Instant::now());
    let stream = ChangeEventStream { listener, kinds, clock, stopping, keep_alive, rests_until };
    Ok(streamed(rights, ": changes follow\n\n", stream))
}

/// The stream of changes for one client.
struct ChangeEventStream {
    listener: FeedListener<ChangeEvent>,
    kinds: BTreeSet<ChangeKind>,
    clock: Clock,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
    rests_until: Instant,
}

impl EventSource for ChangeEventStream {
    async fn next(&mut self) -> Option<Bytes> {
        let mut text = String::new();
        while text.is_empty() {
            sleep_until(self.rests_until).await;
            let mut received = Vec::new();
            tokio::select! {
                biased;
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                items = self.listener.next(AT_ONCE) => received = items,
                () = sleep_until(self.keep_alive) => {
                    // With an id, so that a client with a narrow filter can continue here after a
                    // disconnect.
                    text = format!(": still here\nid: {}\n\n", self.listener.received_up_to());
                }
            }
            received.iter().for_each(|item| self.write(item, &mut text));
            self.rests_until = Instant::now() + BATCH_DELAY;
        }
        self.keep_alive = Instant::now() + KEEP_ALIVE;
        Some(Bytes::from(text))
    }
}

impl ChangeEventStream {
    /// Appends an item to `text`, if the client asked for its kind.
    fn write(&self, item: &FeedItem<ChangeEvent>, text: &mut String) {
        match &item.event {
            FeedEvent::Change(change) => {
                let kind = change.change.kind();
                if self.kinds.contains(&kind) {
                    text.push_str(&event(Some(item.id), kind.word(), &**change));
                }
            }
            FeedEvent::Missed(why) => {
                let change = Change::Reset(Reset { why: *why, first: None });
                let reset = ChangeEvent { time: self.clock.now(), change };
                text.push_str(&event(Some(item.id), ChangeKind::Reset.word(), &reset));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_words_and_a_reset_is_always_sent() {
        let read = |text: &str| EventQuery { kinds: Some(text.to_owned()) }.kinds();
        let kinds = read("task,host").unwrap();
        assert_eq!(
            kinds.into_iter().collect::<Vec<_>>(),
            [ChangeKind::Task, ChangeKind::Host, ChangeKind::Reset]
        );
        for wrong in ["", "tasks", "task,", "task, host"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
