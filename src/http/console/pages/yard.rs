//! `/console`: the first screen.

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_console::Viewer;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::yard::{self, ALL_TROUBLES, TRAFFIC_TABLE, YardPageModel};

use crate::http::access;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model;

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
    let query = request.query_string().to_owned();
    let render = move |state: &NodeHttpState| {
        let model = model(state, &query, &viewer);
        yard::render(&YardPageModel { traffic_as_table, ..model }, &viewer)
    };
    let content = computed(&state, render).await?;
    let title = NavPage::Yard.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Yard, title, content).with_verdict();
    Ok(answer::live_page(&request, &state, &visitor, &parts, "yard"))
}

fn model(state: &NodeHttpState, query: &str, viewer: &Viewer) -> YardPageModel {
    let mut model = yard_model(state, viewer);
    model.verdict.shows_all = query == ALL_TROUBLES;
    model
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    let model = model(state, query, viewer);
    let part = |id: &str, part| (id.to_owned(), part);
    let mut parts = vec![
        part("yard-verdict", yard::yard_verdict(viewer, &model.verdict)),
        part("yard-figures", yard::figures(viewer, &model.figures)),
        part("yard-copies", yard::copies(viewer, &model)),
        part("yard-waits", yard::waits(viewer, &model)),
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
