//! `/console`: the first screen.

mod figures;
mod panels;
mod traffic;

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_console::Viewer;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::yard::{self, TRAFFIC_TABLE, YardPageModel};
use reelyard_shares::share_expiry::UsesNeeded;

use super::recent;
use crate::http::access;
use crate::http::api::share_calls::shares::share_time;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::{self, PlacedFiles, ShareCounts, YardViews, host_lines};

/// The most recent copies and removals that the page shows.
const RECENT: usize = 8;

/// Scopes that the page needs besides `yard:read`.
pub static OTHER_SCOPES: [AccessScope; 2] = [AccessScope::SharesRead, AccessScope::BoxesRead];

/// `GET /console`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    for scope in &OTHER_SCOPES {
        access::require(&visitor.caller.0, scope)?;
    }
    let viewer = visitor.viewer.clone();
    let traffic_as_table = request.query_string() == TRAFFIC_TABLE;
    let render = move |state: &NodeHttpState| {
        let model = model(state, Some(&links(state)), &viewer);
        yard::render(&YardPageModel { traffic_as_table, ..model }, &viewer)
    };
    let content = computed(&state, render).await?;
    let title = NavPage::Yard.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Yard, title, content);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "yard"))
}

/// The links by their ends.
pub fn links(state: &NodeHttpState) -> Arc<ShareCounts> {
    let index = state.actors.share_views.index(UsesNeeded::Any, state.clock.timer());
    state.share_counts.counts(&index, share_time(state))
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, viewer: &Viewer) -> Vec<LivePart> {
    let model = model(state, Some(&links(state)), viewer);
    let part = |id: &str, part| (id.to_owned(), part);
    let mut parts = vec![
        part("yard-verdict", yard::yard_verdict(viewer, &model.verdict)),
        part("yard-figures", yard::figures(viewer, &model.figures)),
        part("yard-copies", yard::copies(viewer, &model)),
        part("yard-waits", yard::waits(viewer, &model.waits)),
        part("yard-hot", yard::hot(viewer, &model)),
        part("yard-disks", yard::disks(viewer, &model.disks)),
        part("yard-recent", yard::recent(viewer, &model.recent)),
        part("yard-ending", yard::ending(viewer, &model)),
        part("yard-pools", yard::pools(viewer, &model.pools)),
    ];
    if let Some(figure) = &model.traffic {
        parts.push(part("yard-traffic", yard::traffic(viewer, figure)));
    }
    parts
}

/// The facts of the page.
pub fn model(state: &NodeHttpState, links: Option<&ShareCounts>, viewer: &Viewer) -> YardPageModel {
    let views = YardViews::load(state);
    let placed = PlacedFiles::new(&views.tasks, &views.beats);
    let verdict = overview::verdict(&views);
    let copies = panels::copies(&views);
    YardPageModel {
        verdict,
        figures: figures::figures(&views, &placed, links),
        copies,
        waits: panels::waits(&views.tasks),
        hot: panels::hot(&views),
        hosts: host_lines::totals(&views.lines),
        disks: panels::disks(&views),
        traffic: traffic::figure(&views, viewer),
        traffic_as_table: false,
        recent: recent::lines(state, None, RECENT),
        due: links.map(|links| panels::due(state, links)).unwrap_or_default(),
        links: links.map_or(0, |links| links.working),
        pools: panels::pools(state),
    }
}
