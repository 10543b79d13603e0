//! `/console/boxes`: pools, queues, leases and boxes in quarantine. Sums are over all of them, lists have pages.

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::BoxInfo;
use reelyard_boxes::box_lease::{BoxPhase, BoxRefusal, BoxViewHandle, PoolStatus};
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::boxes::{
    self, AllPools, BoxListPages, BoxesPageModel, BoxesPageQuery, OneBox, PoolPanel, QueueLine,
};
use reelyard_console::parts::boxes::GridBox;
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::parts::panel::page_sentence;
use reelyard_console::parts::table::RowPage;
use reelyard_console::text::outcomes;
use reelyard_console::{Moment, Viewer};
use reelyard_protocol::boxes::{BoxNumber, PoolName};

use super::box_dialogs;
use super::box_lists::{
    GRID_BOXES, PHASES, condition, counts, grid, grid_page, lease_line, lease_page, place,
    position, quarantine_page, queue_page,
};
use crate::http::api::box_calls::pools::views;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::chosen;
use crate::http::console::live_part::LivePart;
use crate::http::console::posted_form::typed_in;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Pools of a page.
const POOLS: usize = 50;

/// `GET /console/boxes`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::BoxesRead)?;
    let query = BoxesPageQuery::parse(request.query_string());
    let mut model = model(&state, &query, &visitor.viewer).await?;
    if query.ask == box_dialogs::NEW_POOL && visitor.viewer.rights.boxes {
        model.ask = Some(box_dialogs::new_pool(&visitor.viewer, &typed_in(&request)));
    }
    let parts = parts(&query, &model, &visitor.viewer);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "boxes"))
}

/// Answers a form with the page and with this dialog.
pub async fn show_dialog(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    visitor: &Visitor,
    ask: AskDialog,
) -> Result<HttpResponse, ConsoleRefusal> {
    let query = BoxesPageQuery::default();
    let model = model(state, &query, &visitor.viewer).await?;
    let parts = parts(&query, &BoxesPageModel { ask: Some(ask), ..model }, &visitor.viewer);
    Ok(answer::page_at(BoxesPageQuery::path(), request, state, visitor, &parts))
}

fn parts(query: &BoxesPageQuery, model: &BoxesPageModel, viewer: &Viewer) -> PageParts {
    let title = NavPage::Boxes.title().of(viewer.language);
    let is_gone = query.ask == "revoke" && model.ask.is_none() && !query.lease.is_empty();
    let lease = if is_gone { vec![query.lease.clone()] } else { Vec::new() };
    PageParts::new(NavPage::Boxes, title, boxes::render(query, model, viewer))
        .with_gone(chosen::gone(viewer, outcomes::GONE_LEASE, &lease))
}

/// The parts of the page that follow changes.
///
/// # Errors
/// The node does not know its boxes yet, is busy, or stops.
pub async fn live_parts(
    state: &web::Data<NodeHttpState>,
    query: &str,
    viewer: &Viewer,
) -> Result<Vec<LivePart>, ProblemResponse> {
    let query = BoxesPageQuery::parse(query);
    let model = model(state, &query, viewer).await?;
    let viewer = viewer.clone();
    let render = move |_: &NodeHttpState| {
        let sentence = page_sentence(&boxes::boxes_sentence(&viewer, &model));
        let content = boxes::pools_in_full(&viewer, &query, &model);
        vec![("page-sentence".to_owned(), sentence), ("boxes-content".to_owned(), content)]
    };
    computed(state, render).await
}

async fn model(
    state: &web::Data<NodeHttpState>,
    query: &BoxesPageQuery,
    viewer: &Viewer,
) -> Result<BoxesPageModel, ProblemResponse> {
    let views = views(state)?;
    let pools = views.pools();
    let first_pool = position(query.pools);
    let chosen = pools.iter().find(|pool| pool.name.as_str() == query.pool);
    let chosen = chosen.or(pools.get(first_pool)).or(pools.first()).cloned();
    let base = BoxesPageQuery { ask: String::new(), number: None, ..query.clone() };
    let mut totals = totals(views, &pools);
    let mut pages = BoxListPages::default();
    let (mut leases, mut queue, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(pool) = &chosen {
        (leases, pages.leases) = lease_page(views, &pool.name, &base)?;
        (queue, pages.queue) = queue_page(state, &pool.name, &base).await?;
        (boxes, pages.boxes) = grid_page(views, pool, &base)?;
    }
    // The wait is known only if all requests are listed.
    if queue.len() as u64 == totals.waiting {
        let waits = queue.iter().map(|line: &QueueLine| line.since.seconds_until(viewer.now));
        totals.longest_wait = waits.max();
    }
    let shown: Vec<&PoolStatus> = pools.iter().skip(first_pool).take(POOLS).collect();
    pages.pools = RowPage::at(first_pool, shown.len(), pools.len(), POOLS, &|at| {
        BoxesPageQuery { pools: place(at), ..BoxesPageQuery::default() }.address()
    });
    let (quarantine, of_quarantine) = quarantine_page(views, &pools, &base)?;
    pages.quarantine = of_quarantine;
    Ok(BoxesPageModel {
        totals,
        pools: panels(views, &shown, chosen.as_ref(), boxes)?,
        pages,
        chosen: chosen.map(|pool| pool.name.to_string()).unwrap_or_default(),
        queue,
        leases,
        quarantine,
        one: one_box(views, query),
        ask: box_dialogs::of_query(views, query, viewer),
    })
}

/// Sums over all pools, shown or not.
fn totals(views: &BoxViewHandle, pools: &[PoolStatus]) -> AllPools {
    let view = views.view();
    let in_phase = |pool: &PoolStatus, phase| u64::from(pool.counts.of(phase));
    let size = |pool| PHASES.iter().map(|(phase, _)| in_phase(pool, *phase)).sum::<u64>();
    let waiting = pools.iter().filter_map(|pool| view.queues.get(&pool.name));
    AllPools {
        pools: pools.len() as u64,
        boxes: pools.iter().map(size).sum(),
        waiting: waiting.map(|queue| queue.waiting).sum(),
        longest_wait: None,
        quarantined: pools.iter().map(|pool| in_phase(pool, BoxPhase::Quarantined)).sum(),
    }
}

/// The pools of a page, with the grid of the chosen one. It comes first if it is on another page.
fn panels(
    views: &BoxViewHandle,
    pools: &[&PoolStatus],
    chosen: Option<&PoolStatus>,
    boxes: Vec<GridBox>,
) -> Result<Vec<PoolPanel>, BoxRefusal> {
    let is_chosen = |pool: &PoolStatus| chosen.is_some_and(|chosen| chosen.name == pool.name);
    let is_elsewhere = !pools.iter().any(|pool| is_chosen(pool));
    let mut room = GRID_BOXES - boxes.len();
    let mut boxes = Some(boxes);
    let mut panels = Vec::new();
    for pool in chosen.filter(|_| is_elsewhere).into_iter().chain(pools.iter().copied()) {
        let grid = match boxes.take_if(|_| is_chosen(pool)) {
            Some(boxes) => boxes,
            None => {
                let grid = grid(views, &pool.name, BoxNumber(0), room)?;
                room -= grid.len();
                grid
            }
        };
        panels.push(panel(views, pool, grid));
    }
    Ok(panels)
}

fn panel(views: &BoxViewHandle, pool: &PoolStatus, boxes: Vec<GridBox>) -> PoolPanel {
    PoolPanel {
        name: pool.name.to_string(),
        host: pool.spec.host.as_ref().map(ToString::to_string),
        ttl: pool.spec.ttl_default.as_secs(),
        boxes,
        counts: counts(&pool.counts),
        queue: views.view().queues.get(&pool.name).map_or(0, |queue| queue.waiting),
        queue_most: u64::from(pool.spec.queue_limit),
    }
}

/// The box of the open panel. None if it does not exist.
fn one_box(views: &BoxViewHandle, query: &BoxesPageQuery) -> Option<OneBox> {
    let number = u32::try_from(query.number?).ok()?;
    let pool = PoolName::new(&query.pool).ok()?;
    let status = views.one_box(&pool, BoxNumber(number)).ok()?;
    let info = BoxInfo::from(&status);
    Some(OneBox {
        pool: pool.to_string(),
        number: u64::from(number),
        condition: condition(info.state),
        since: Moment(info.since.0.0),
        lease: status.lease.as_ref().map(|lease| lease_line(lease)),
        failures: u64::from(info.failures),
        slot: info.slot.map(|slot| u64::from(slot.0)),
        output: info.output.unwrap_or_default(),
    })
}
