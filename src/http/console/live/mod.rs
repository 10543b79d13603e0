//! `/console/live/{page}`: the parts of a page that have changed, as server-sent events.
//!
//! All viewers of the same page, language, rights and address of the node share one rendering a second, so their number
//! hardly matters.

mod sent_parts;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_access::rights::AccessScope;
use reelyard_console::frame::{NavPage, live_frame};
use reelyard_console::{Moment, Viewer, ViewerRights};
use sent_parts::{RenderedPart, SentParts};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::http::access::{self, CallerRightsWatch};
use crate::http::api::call_parts::event_stream::{EventSource, streamed};
use crate::http::computing::{SharedAnswer, computed};
use crate::http::console::answer::frame_model;
use crate::http::console::live_part::LivePart;
use crate::http::console::pages;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Interval between two renderings of a page.
const INTERVAL: Duration = Duration::from_secs(1);

/// The same for pages whose rows are searched among all files or links.
const SLOW_INTERVAL: Duration = Duration::from_secs(3);

/// Longest time between two messages. The script of the page takes a much longer silence for a cut: a node that is paused
/// ends no connection.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// A message without parts. Scripts do not see comments.
const STILL_HERE: &[u8] = b"event: still-here\n\n";

/// Most renderings that are kept at a time. More only means that fewer viewers share one.
const MOST_KEPT: usize = 256;

/// A page with live parts, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LivePage {
    /// The first screen.
    Yard,
    /// The table of hosts.
    Hosts,
    /// One host in full.
    Host,
    /// The table of files.
    Files,
    /// The table of copies.
    Tasks,
    /// The last round.
    Plan,
    /// The files asked for most, by hosts.
    Map,
    /// The table of share links.
    Shares,
    /// The pools of boxes.
    Boxes,
    /// The nodes of the cluster.
    Cluster,
}

impl LivePage {
    /// The scope that a visitor of the page needs, and further ones.
    const fn scopes(self) -> (AccessScope, &'static [AccessScope]) {
        match self {
            LivePage::Yard => (AccessScope::YardRead, &pages::yard::OTHER_SCOPES),
            LivePage::Hosts
            | LivePage::Host
            | LivePage::Files
            | LivePage::Tasks
            | LivePage::Plan
            | LivePage::Map
            | LivePage::Cluster => (AccessScope::YardRead, &[]),
            LivePage::Shares => (AccessScope::SharesRead, &[]),
            LivePage::Boxes => (AccessScope::BoxesRead, &[]),
        }
    }

    /// The entry of the navigation that is marked on the page.
    const fn entry(self) -> NavPage {
        match self {
            LivePage::Yard => NavPage::Yard,
            LivePage::Hosts | LivePage::Host => NavPage::Hosts,
            LivePage::Files => NavPage::Files,
            LivePage::Tasks => NavPage::Tasks,
            LivePage::Plan => NavPage::Plan,
            LivePage::Map => NavPage::Map,
            LivePage::Shares => NavPage::Shares,
            LivePage::Boxes => NavPage::Boxes,
            LivePage::Cluster => NavPage::Cluster,
        }
    }

    /// Interval between two renderings. Tables of a million rows are searched as a whole each time.
    const fn interval(self) -> Duration {
        match self {
            LivePage::Files | LivePage::Shares | LivePage::Map => SLOW_INTERVAL,
            _ => INTERVAL,
        }
    }
}

/// Facts that decide how a page looks for a viewer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RenderingKey {
    page: LivePage,
    query: String,
    language: &'static str,
    rights: ViewerRights,
    /// Name of the time zone.
    zone: String,
    /// Address of the node in the lines of `reelyard`.
    origin: String,
}

/// The latest rendering of a page in one form.
type RenderingSlot = SharedAnswer<Vec<RenderedPart>>;

/// The latest rendering of each page that somebody looks at.
#[derive(Default)]
pub struct LiveRenderings(Mutex<HashMap<RenderingKey, Arc<RenderingSlot>>>);

impl LiveRenderings {
    /// The slot that all viewers of the same page share.
    fn slot(&self, key: &RenderingKey) -> Arc<RenderingSlot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(key) {
            return Arc::clone(slot);
        }
        // Each viewer has a reference to its slot. The last one has gone from the others.
        slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        let slot = Arc::new(RenderingSlot::default());
        if slots.len() < MOST_KEPT {
            slots.insert(key.clone(), Arc::clone(&slot));
        }
        slot
    }
}

/// The page as it is now, or was less than half of its interval ago. None while it cannot be computed.
async fn latest(
    slot: &RenderingSlot,
    key: &RenderingKey,
    state: &web::Data<NodeHttpState>,
    viewer: &Viewer,
) -> Option<Arc<Vec<RenderedPart>>> {
    slot.get(key.page.interval() / 2, rendered(key.clone(), state.clone(), viewer.clone()))
        .await
        .ok()
}

/// The page as it is now.
///
/// # Errors
/// The node is busy, or stops.
async fn rendered(
    RenderingKey { page, query, .. }: RenderingKey,
    state: web::Data<NodeHttpState>,
    viewer: Viewer,
) -> Result<Vec<RenderedPart>, ProblemResponse> {
    let viewer = Viewer { now: Moment(state.clock.now().0), ..viewer };
    let frame = live_frame(&viewer, page.entry(), &frame_model(&state));
    let parts = match page {
        LivePage::Boxes => pages::given_out::boxes::live_parts(&state, &query, &viewer).await?,
        LivePage::Shares => pages::given_out::shares::live_parts(&state, &query, &viewer).await?,
        page => {
            let render = move |state: &NodeHttpState| live_parts(state, page, &query, &viewer);
            computed(&state, render).await?
        }
    };
    Ok(frame.into_iter().chain(parts).map(RenderedPart::of).collect())
}

/// The parts of a page that are computed from views.
fn live_parts(
    state: &NodeHttpState,
    page: LivePage,
    query: &str,
    viewer: &Viewer,
) -> Vec<LivePart> {
    match page {
        LivePage::Yard => pages::yard::live_parts(state, query, viewer),
        LivePage::Hosts => pages::storage::hosts::live_parts(state, query, viewer),
        LivePage::Host => pages::storage::host::live_parts(state, query, viewer),
        LivePage::Files => pages::storage::files::live_parts(state, query, viewer),
        LivePage::Map => pages::storage::map::live_parts(state, query, viewer),
        LivePage::Tasks => pages::storage::tasks::live_parts(state, query, viewer),
        LivePage::Plan => pages::storage::plan::live_parts(state, query, viewer),
        LivePage::Cluster => pages::of_node::cluster::live_parts(state, viewer),
        // They are computed beside this function: they ask actors.
        LivePage::Boxes | LivePage::Shares => Vec::new(),
    }
}

/// `GET /console/live/{page}?{query of the page}`.
pub async fn follow(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    renderings: web::Data<LiveRenderings>,
    page: web::Path<LivePage>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let page = page.into_inner();
    let (first, others) = page.scopes();
    let visitor = Visitor::of(&request, &state, &first)?;
    let mut rights = CallerRightsWatch::of(&request, &state);
    for scope in others {
        access::require(&visitor.caller.0, scope)?;
        rights.need(scope.clone());
    }
    let viewer = visitor.viewer;
    let key = RenderingKey {
        page,
        query: if page == LivePage::Yard {
            String::new()
        } else {
            request.query_string().to_owned()
        },
        language: viewer.language.code(),
        rights: viewer.rights,
        zone: viewer.zone.iana_name().unwrap_or_default().to_owned(),
        origin: viewer.origin.clone(),
    };
    let stream = LivePageStream {
        stopping: state.stopping.clone(),
        state,
        slot: renderings.slot(&key),
        viewer,
        key,
        sent: last_event_id(&request),
        next_look: Instant::now(),
        keep_alive: Instant::now() + KEEP_ALIVE,
    };
    Ok(streamed(rights, ": the page is live\n\n", stream))
}

/// The parts that a browser has which connects again.
fn last_event_id(request: &HttpRequest) -> SentParts {
    let id = request.headers().get("Last-Event-ID").and_then(|id| id.to_str().ok());
    id.map(SentParts::of_id).unwrap_or_default()
}

/// The parts of one page for one viewer.
struct LivePageStream {
    state: web::Data<NodeHttpState>,
    slot: Arc<RenderingSlot>,
    viewer: Viewer,
    key: RenderingKey,
    sent: SentParts,
    next_look: Instant,
    stopping: watch::Receiver<bool>,
    keep_alive: Instant,
}

impl EventSource for LivePageStream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                () = sleep_until(self.next_look) => {}
            }
            self.next_look = Instant::now() + self.key.page.interval();
            let rendering = latest(&self.slot, &self.key, &self.state, &self.viewer).await;
            let message = rendering.and_then(|parts| self.sent.message(&parts));
            if message.is_some() || Instant::now() >= self.keep_alive {
                self.keep_alive = Instant::now() + KEEP_ALIVE;
                return Some(message.unwrap_or(Bytes::from_static(STILL_HERE)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(query: &str) -> RenderingKey {
        RenderingKey {
            page: LivePage::Yard,
            query: query.to_owned(),
            language: "en",
            rights: ViewerRights::default(),
            zone: String::new(),
            origin: String::new(),
        }
    }

    #[test]
    fn viewers_of_one_page_share_a_slot_while_others_come_and_go() {
        let renderings = LiveRenderings::default();
        let mut viewers = vec![renderings.slot(&key(""))];
        for number in 0..2 * MOST_KEPT {
            drop(renderings.slot(&key(&format!("q={number}"))));
            if number % 20 == 0 {
                viewers.push(renderings.slot(&key("")));
            }
        }
        assert!(viewers.iter().all(|slot| Arc::ptr_eq(slot, &viewers[0])));
        assert!(renderings.0.lock().unwrap().len() <= 2, "slots without viewers are dropped");
    }

    #[test]
    fn viewers_with_another_address_of_the_node_have_another_slot() {
        let renderings = LiveRenderings::default();
        let one = renderings.slot(&key(""));
        let origin = "http://other:8080".to_owned();
        let other = renderings.slot(&RenderingKey { origin, ..key("") });
        assert!(!Arc::ptr_eq(&one, &other), "the lines of one name the address of the other");
    }
}
