//! `/console/boxes`: pools, queues, leases and boxes in quarantine.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::BoxInfo;
use reelyard_boxes::box_lease::{
    BoxCounts, BoxLogEvent, BoxPhase, BoxRefusal, BoxViewHandle, LARGEST_PAGE, Lease, PoolStatus,
    ShowQueue,
};
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::boxes::{
    self, BoxesPageModel, BoxesPageQuery, LeaseLine, OneBox, PoolPanel, QuarantineLine, QueueLine,
};
use reelyard_console::parts::boxes::{BoxCondition, GridBox};
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::parts::panel::page_sentence;
use reelyard_console::{Moment, Viewer};
use reelyard_protocol::boxes::{BoxNumber, PoolName};

use super::box_dialogs;
use crate::http::api::box_calls::pools::views;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::posted_form::typed_in;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Pools that the page shows.
const POOLS: usize = 50;
/// Boxes that the grids show together.
const GRID_BOXES: usize = 2000;
/// Leases that the page shows.
const LEASES: usize = 100;
/// Requests in the queue that the page shows.
const QUEUED: usize = 50;
/// Boxes in quarantine that the page shows.
const QUARANTINED: usize = 50;

/// The phases of boxes in the words of the console.
const PHASES: [(BoxPhase, BoxCondition); 6] = [
    (BoxPhase::Free, BoxCondition::Free),
    (BoxPhase::Leased, BoxCondition::Leased),
    (BoxPhase::Preparing, BoxCondition::Preparing),
    (BoxPhase::Draining, BoxCondition::Cleaning),
    (BoxPhase::Quarantined, BoxCondition::Quarantined),
    (BoxPhase::Unchecked, BoxCondition::Unknown),
];

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
    PageParts::new(NavPage::Boxes, title, boxes::render(query, model, viewer))
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
        let content = boxes::pools_in_full(&viewer, &model);
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
    let chosen = pools.iter().find(|pool| pool.name.as_str() == query.pool);
    let chosen = chosen.or(pools.first()).map(|pool| pool.name.clone());
    let leases = match &chosen {
        Some(pool) => leases(views, pool)?,
        None => Vec::new(),
    };
    let queue = match &chosen {
        Some(pool) => queue(state, pool).await?,
        None => Vec::new(),
    };
    let mut panels = panels(views, &pools, chosen.as_ref())?;
    for panel in panels.iter_mut().filter(|panel| panel.queue == queue.len() as u64) {
        // The wait is known only for a queue that is listed as a whole.
        if chosen.as_ref().is_some_and(|chosen| chosen.as_str() == panel.name) {
            let waits = queue.iter().map(|line| line.since.seconds_until(viewer.now));
            panel.longest_wait = waits.max();
        }
    }
    Ok(BoxesPageModel {
        pools: panels,
        chosen: chosen.map(|pool| pool.to_string()).unwrap_or_default(),
        queue,
        leases,
        quarantine: quarantine(views, &pools)?,
        one: one_box(views, query),
        ask: box_dialogs::of_query(views, query, viewer),
    })
}

/// The pools by name. The grid of the chosen pool is filled first.
fn panels(
    views: &BoxViewHandle,
    pools: &[PoolStatus],
    chosen: Option<&PoolName>,
) -> Result<Vec<PoolPanel>, BoxRefusal> {
    let view = views.view();
    let mut room = GRID_BOXES;
    let mut grid_of_chosen = Vec::new();
    if let Some(pool) = chosen {
        grid_of_chosen = grid(views, pool, room)?;
        room -= grid_of_chosen.len();
    }
    let mut panels = Vec::new();
    for pool in pools {
        let is_chosen = chosen == Some(&pool.name);
        if panels.len() == POOLS && !is_chosen {
            continue;
        }
        let grid = if is_chosen {
            std::mem::take(&mut grid_of_chosen)
        } else {
            let grid = grid(views, &pool.name, room)?;
            room -= grid.len();
            grid
        };
        panels.push(PoolPanel {
            name: pool.name.to_string(),
            host: pool.spec.host.map(|host| host.to_string()),
            ttl: pool.spec.ttl_default.as_secs(),
            boxes: grid,
            counts: counts(&pool.counts),
            queue: view.queues.get(&pool.name).map_or(0, |queue| queue.waiting),
            queue_most: u64::from(pool.spec.queue_limit),
            longest_wait: None,
        });
    }
    Ok(panels)
}

/// The boxes by state.
fn counts(counts: &BoxCounts) -> Vec<(BoxCondition, u64)> {
    let mut known = Vec::new();
    for (phase, condition) in PHASES {
        let boxes = u64::from(counts.of(phase));
        // Boxes are seldom unchecked.
        if boxes > 0 || phase != BoxPhase::Unchecked {
            known.push((condition, boxes));
        }
    }
    known
}

fn condition(phase: BoxPhase) -> BoxCondition {
    let found = PHASES.iter().find(|(of, _)| *of == phase);
    found.map_or(BoxCondition::Unknown, |(_, condition)| *condition)
}

/// The first boxes of a pool, at most `most`.
fn grid(views: &BoxViewHandle, pool: &PoolName, most: usize) -> Result<Vec<GridBox>, BoxRefusal> {
    let mut boxes = Vec::new();
    let mut from = Some(BoxNumber(0));
    while let Some(number) = from.filter(|_| boxes.len() < most) {
        let page = views.boxes(pool, number, most - boxes.len())?;
        for status in &page.lines {
            let condition = condition(status.record.state.phase());
            boxes.push(GridBox { number: status.number.0, condition });
        }
        from = page.next;
    }
    Ok(boxes)
}

/// The first requests in the queue of a pool. On a follower there are none.
async fn queue(
    state: &web::Data<NodeHttpState>,
    pool: &PoolName,
) -> Result<Vec<QueueLine>, ProblemResponse> {
    let boxes = &state.actors.boxes;
    if boxes.views.view().queues.get(pool).is_none_or(|queue| queue.waiting == 0) {
        return Ok(Vec::new());
    }
    let waiting = boxes.actor.ask(ShowQueue { pool: pool.clone(), most: QUEUED }).await??;
    let lines = (1..).zip(waiting).map(|(place, request)| QueueLine {
        place,
        holder: request.holder.to_string(),
        priority: i64::from(request.priority.get()),
        count: u64::from(request.count),
        since: Moment(request.since.0),
    });
    Ok(lines.collect())
}

/// The leases of a pool that end soonest.
fn leases(views: &BoxViewHandle, pool: &PoolName) -> Result<Vec<LeaseLine>, BoxRefusal> {
    let mut leases: Vec<Arc<Lease>> = Vec::new();
    let mut from = Some(BoxNumber(0));
    while let Some(number) = from {
        let page = views.leases(pool, None, number, LARGEST_PAGE)?;
        leases.extend(page.lines);
        from = page.next;
    }
    leases.sort_by_key(|lease| (end(lease), lease.number));
    leases.truncate(LEASES);
    Ok(leases.iter().map(|lease| lease_line(lease)).collect())
}

fn lease_line(lease: &Lease) -> LeaseLine {
    LeaseLine {
        id: lease.id.to_string(),
        number: u64::from(lease.number.0),
        holder: lease.holder.to_string(),
        token: lease.token.0,
        ends: end(lease),
        granted: Moment(lease.granted.0),
    }
}

/// The end of a term. While the box is prepared, the term has not begun.
fn end(lease: &Lease) -> Moment {
    Moment(lease.expires_at.unwrap_or_else(|| lease.granted.after(lease.term)).0)
}

/// The boxes in quarantine of all pools.
fn quarantine(
    views: &BoxViewHandle,
    pools: &[PoolStatus],
) -> Result<Vec<QuarantineLine>, BoxRefusal> {
    let mut lines = Vec::new();
    for pool in pools.iter().filter(|pool| pool.counts.of(BoxPhase::Quarantined) > 0) {
        let mut from = Some(BoxNumber(0));
        while let Some(number) = from.filter(|_| lines.len() < QUARANTINED) {
            let page = views.boxes(&pool.name, number, LARGEST_PAGE)?;
            for status in &page.lines {
                if status.record.state.phase() != BoxPhase::Quarantined {
                    continue;
                }
                let info = BoxInfo::from(status);
                lines.push(QuarantineLine {
                    pool: pool.name.to_string(),
                    number: u64::from(info.number.0),
                    since: Moment(info.since.0.0),
                    by: info.quarantined_by,
                    failures: failed_cleanings(views, &pool.name, info.number),
                    output: info.output.unwrap_or_default(),
                });
            }
            from = page.next;
        }
    }
    lines.truncate(QUARANTINED);
    Ok(lines)
}

/// The failed cleanings of a box right before its quarantine.
fn failed_cleanings(views: &BoxViewHandle, pool: &PoolName, number: BoxNumber) -> Option<u64> {
    let newest = views.box_log(pool, Some(number), u64::MAX, 2);
    newest.lines.iter().find_map(|line| match line.news {
        BoxLogEvent::CleanFailed { attempt, .. } => Some(u64::from(attempt)),
        _ => None,
    })
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
