//! `/api/v1/events`: every change as it happens, as server-sent events.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::Stream;
use reelyard_actors::change_feed::{Begin, Heard, Listener};
use reelyard_actors::clock::Clock;
use reelyard_actors::wire::api::{ChangeEvent, ChangeKind};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use crate::http::node::NodeState;
use crate::http::problem::Refusal;

/// With which a client that was cut off says what it heard last.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How often something is sent, so that whoever stands between does not take the line for dead, and
/// a client that is gone is noticed.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long changes are gathered once something was sent: where very much happens, as many wakes
/// as this are enough.
pub(super) const GATHERING: Duration = Duration::from_millis(20);

/// How many changes are sent at a time at most.
const AT_ONCE: usize = 512;

/// Which changes are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only changes of these kinds, separated by commas: `task`, `placement`, `host`, `input`,
    /// `leadership`, `stranger`, `removal`, `pin`, `back_off`, `configuration`, `share`, `box`. A
    /// `reset` is told in any case.
    #[param(example = "task,host")]
    kinds: Option<String>,
}

impl EventQuery {
    fn kinds(&self) -> Result<BTreeSet<ChangeKind>, Refusal> {
        let Some(text) = &self.kinds else { return Ok(ChangeKind::ALL.into()) };
        let read = |word: &str| {
            let kind = ChangeKind::ALL.into_iter().find(|kind| kind.word() == word);
            kind.ok_or_else(|| {
                let known: Vec<&str> = ChangeKind::ALL.iter().map(|kind| kind.word()).collect();
                let known = known.join(", ");
                Refusal::bad_request(format!("kinds: \"{word}\" is none of {known}"))
            })
        };
        let wanted: Result<BTreeSet<ChangeKind>, Refusal> = text.split(',').map(read).collect();
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
    summary = "Tells every change as it happens",
    description = "Server-sent events: each with an `id`, its kind as `event`, and one line of JSON as \
                   `data`, of which the schema is shown. A client that says in `Last-Event-ID` what \
                   it heard last hears what came after that. Where that is not possible, or where it \
                   takes less than there is, it is told `reset`: something was missed, and what it \
                   knows from lists is to be read again. What is still kept follows; for one that \
                   took too little, what comes from then on. Comments come every 15 seconds. Kinds, \
                   and members of them, may be added.",
    params(
        EventQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` that was heard last")
    ),
    responses((
        status = 200,
        description = "A stream without end",
        body = ChangeEvent,
        content_type = "text/event-stream"
    ))
)]
pub async fn follow(
    request: HttpRequest,
    state: web::Data<NodeState>,
    query: web::Query<EventQuery>,
) -> Result<HttpResponse, Refusal> {
    let kinds = query.kinds()?;
    let begin = match request.headers().get(LAST_EVENT_ID) {
        None => Begin::Now,
        // A client hands back what it was given; what is none of ours is of another node.
        Some(id) => {
            id.to_str().ok().and_then(|id| id.parse().ok()).map_or(Begin::Lost, Begin::After)
        }
    };
    let listener = state.actors.changes.listen(begin)?;
    let (clock, stopping) = (state.clock.clone(), state.stopping.clone());
    let (keep_alive, rests_until) = (Instant::now() + KEEP_ALIVE, Instant::now());
    let told = Told { listener, kinds, clock, stopping, keep_alive, rests_until };
    Ok(streamed(told.stream()))
}

/// An answer of server-sent events.
pub(super) fn streamed(
    events: impl Stream<Item = Result<Bytes, Infallible>> + 'static,
) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-store"))
        // nginx would hold back what is small.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(events)
}

/// A client that is told.
struct Told {
    listener: Listener,
    kinds: BTreeSet<ChangeKind>,
    clock: Clock,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
    rests_until: Instant,
}

impl Told {
    /// What is sent. Nothing is read from the listener before the client has taken what there was.
    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        // At once, so that whoever stands between passes the head of the answer on.
        let hello = Bytes::from_static(b": changes follow\n\n");
        let first = futures::stream::iter([Ok(hello)]);
        let rest = futures::stream::unfold(self, |mut told| async {
            let sent = told.next().await?;
            Some((Ok(sent), told))
        });
        futures::StreamExt::chain(first, rest)
    }

    /// What is sent next; none once the node stops.
    async fn next(&mut self) -> Option<Bytes> {
        let mut text = String::new();
        while text.is_empty() {
            sleep_until(self.rests_until).await;
            tokio::select! {
                biased;
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                heard = self.listener.next(&self.clock, AT_ONCE) => {
                    let wanted =
                        heard.iter().filter(|one| self.kinds.contains(&one.event.change.kind()));
                    wanted.for_each(|one| write(one, &mut text));
                }
                () = sleep_until(self.keep_alive) => {
                    // Also with an id, so that who hears only a few kinds comes back where it was.
                    text = format!(": still here\nid: {}\n\n", self.listener.heard_to());
                }
            }
            self.rests_until = Instant::now() + GATHERING;
        }
        self.keep_alive = Instant::now() + KEEP_ALIVE;
        Some(Bytes::from(text))
    }
}

/// Writes one event.
fn write(heard: &Heard, text: &mut String) {
    let event = &heard.event;
    // A change is plain data: it can always be written.
    let Ok(data) = serde_json::to_string(&**event) else { return };
    let (id, kind) = (heard.id, event.change.kind().word());
    text.push_str(&format!("id: {id}\nevent: {kind}\ndata: {data}\n\n"));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reelyard_actors::change_feed::ChangeId;
    use reelyard_actors::clock::Millis;
    use reelyard_actors::wire::api::{Change, InputChange};

    use super::*;

    #[test]
    fn an_event_is_written_as_the_standard_has_it() {
        let problem = "a\nb".to_owned();
        let change = Change::Input(InputChange::Unusable { problem });
        let event = Arc::new(ChangeEvent { time: Millis(5), change });
        let heard = Heard { id: ChangeId { start: 1, number: 2 }, event };
        let mut text = String::new();
        write(&heard, &mut text);
        let (head, data) = text.split_once("\ndata: ").unwrap();
        assert_eq!(head, "id: 1-2\nevent: input");
        // A line feed in a text is escaped by JSON: data is one line.
        let data = data.strip_suffix("\n\n").unwrap();
        assert!(!data.contains('\n'), "{data}");
        assert_eq!(serde_json::from_str::<ChangeEvent>(data).unwrap(), *heard.event);
    }

    #[test]
    fn kinds_are_words_and_a_reset_is_always_told() {
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
