//! `/console/live/{page}`: the parts of a page that have changed, as server-sent events.
//!
//! All viewers of the same page, language and rights share one rendering a second, so their number hardly matters.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use reelyard_access::rights::AccessScope;
use reelyard_console::frame::live_part;
use reelyard_console::{Moment, Viewer, ViewerRights};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::live_part::LivePart;
use super::page_work::computed;
use super::pages;
use super::refusal::ConsoleRefusal;
use super::share_counts::ShareCounts;
use super::visitor::Visitor;
use crate::http::access::CallerRightsWatch;
use crate::http::api::call_parts::event_stream::{EventSource, KEEP_ALIVE, streamed};
use crate::http::node_state::NodeHttpState;

/// Interval between two renderings of a page.
const INTERVAL: Duration = Duration::from_secs(1);

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
    /// The table of copies.
    Tasks,
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
}

/// A part that is ready to be sent.
struct RenderedPart {
    id: String,
    hash: u64,
    text: Bytes,
}

/// A page at one moment.
struct Rendering {
    at: Instant,
    parts: Vec<RenderedPart>,
}

/// The latest rendering of each page that somebody looks at.
#[derive(Default)]
pub struct LiveRenderings(Mutex<HashMap<RenderingKey, Arc<Rendering>>>);

impl LiveRenderings {
    /// The page as it is now, or was less than [`INTERVAL`] ago. None while the node stops.
    async fn get(
        &self,
        key: &RenderingKey,
        state: &web::Data<NodeHttpState>,
        viewer: &Viewer,
    ) -> Option<Arc<Rendering>> {
        let now = Instant::now();
        let is_fresh = |rendering: &Arc<Rendering>| now - rendering.at < INTERVAL / 2;
        {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(rendering) = kept.get(key).filter(|rendering| is_fresh(rendering)) {
                return Some(Arc::clone(rendering));
            }
        }
        // Rendered unlocked. Two threads may do it at once, which costs little.
        let links = match key.page {
            LivePage::Yard => pages::yard::links(state).await,
            LivePage::Hosts | LivePage::Tasks => None,
        };
        let (of_key, of_viewer) = (key.clone(), viewer.clone());
        let render = move |state: &NodeHttpState| {
            Rendering::of(&of_key, state, links.as_deref(), &of_viewer, now)
        };
        let rendering = Arc::new(computed(state, render).await.ok()?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, kept| is_fresh(kept));
        if kept.len() < MOST_KEPT {
            kept.insert(key.clone(), Arc::clone(&rendering));
        }
        Some(rendering)
    }
}

impl Rendering {
    fn of(
        key: &RenderingKey,
        state: &NodeHttpState,
        links: Option<&ShareCounts>,
        viewer: &Viewer,
        at: Instant,
    ) -> Self {
        let viewer = Viewer { now: Moment(state.clock.now().0), ..viewer.clone() };
        let parts = match key.page {
            LivePage::Yard => pages::yard::live_parts(state, links, &viewer),
            LivePage::Hosts => pages::storage::hosts::live_parts(state, &key.query, &viewer),
            LivePage::Tasks => pages::storage::tasks::live_parts(state, &key.query, &viewer),
        };
        Rendering { at, parts: parts.into_iter().map(RenderedPart::of).collect() }
    }
}

impl RenderedPart {
    fn of((id, part): LivePart) -> Self {
        let text = live_part(&id, &part).into_string();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        RenderedPart { id, hash: hasher.finish(), text: text.into() }
    }
}

/// `GET /console/live/{page}?{query of the page}`.
pub async fn follow(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    renderings: web::Data<LiveRenderings>,
    page: web::Path<LivePage>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let page = page.into_inner();
    let mut rights = CallerRightsWatch::of(&request, &state);
    if page == LivePage::Yard {
        pages::yard::check_rights(&visitor)?;
        pages::yard::OTHER_SCOPES.into_iter().for_each(|scope| rights.need(scope));
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
    };
    let stream = LivePageStream {
        stopping: state.stopping.clone(),
        state,
        renderings,
        viewer,
        key,
        sent: HashMap::new(),
        number: 0,
        next_look: Instant::now(),
        keep_alive: Instant::now() + KEEP_ALIVE,
    };
    Ok(streamed(rights, ": the page is live\n\n", stream))
}

/// The parts of one page for one viewer.
struct LivePageStream {
    state: web::Data<NodeHttpState>,
    renderings: web::Data<LiveRenderings>,
    viewer: Viewer,
    key: RenderingKey,
    /// The hash of each part as the viewer has it.
    sent: HashMap<String, u64>,
    number: u64,
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
            self.next_look = Instant::now() + INTERVAL;
            let rendering = self.renderings.get(&self.key, &self.state, &self.viewer).await?;
            let message = self.message(&rendering);
            if message.is_some() || Instant::now() >= self.keep_alive {
                self.keep_alive = Instant::now() + KEEP_ALIVE;
                return Some(message.unwrap_or(Bytes::from_static(b": still here\n\n")));
            }
        }
    }
}

impl LivePageStream {
    /// The parts that differ from those that the viewer has. None if all are alike.
    fn message(&mut self, rendering: &Rendering) -> Option<Bytes> {
        let mut data = Vec::new();
        for part in &rendering.parts {
            if self.sent.get(&part.id) != Some(&part.hash) {
                self.sent.insert(part.id.clone(), part.hash);
                data.extend_from_slice(&part.text);
            }
        }
        if data.is_empty() {
            return None;
        }
        self.number += 1;
        let mut text = format!("id: {}\n", self.number).into_bytes();
        // A line feed would end the data.
        for line in data.split(|byte| *byte == b'\n') {
            text.extend_from_slice(b"data: ");
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text.push(b'\n');
        Some(text.into())
    }
}
