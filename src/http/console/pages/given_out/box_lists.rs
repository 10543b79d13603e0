//! The lists of the page Boxes, each cut to a page of its own.

use std::cmp::Reverse;
use std::sync::Arc;

use actix_web::web;
use reelyard_api::BoxInfo;
use reelyard_boxes::box_lease::{
    BoxCounts, BoxLogEvent, BoxPhase, BoxRefusal, BoxStatus, BoxViewHandle, LARGEST_PAGE, Lease,
    PoolStatus, ShowQueue,
};
use reelyard_console::Moment;
use reelyard_console::address::SortBy;
use reelyard_console::pages::boxes::{BoxesPageQuery, LeaseLine, QuarantineLine, QueueLine};
use reelyard_console::parts::boxes::{BoxCondition, GridBox};
use reelyard_console::parts::table::RowPage;
use reelyard_protocol::boxes::{BoxNumber, PoolName};

use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Boxes that the grids of a page show together.
pub const GRID_BOXES: usize = 2000;
/// Leases of a page.
const LEASES: usize = 100;
/// Requests in the queue of a page.
const QUEUED: usize = 50;
/// Boxes in quarantine of a page.
const QUARANTINED: usize = 50;

/// The phases of boxes in the words of the console.
pub const PHASES: [(BoxPhase, BoxCondition); 6] = [
    (BoxPhase::Free, BoxCondition::Free),
    (BoxPhase::Leased, BoxCondition::Leased),
    (BoxPhase::Preparing, BoxCondition::Preparing),
    (BoxPhase::Draining, BoxCondition::Cleaning),
    (BoxPhase::Quarantined, BoxCondition::Quarantined),
    (BoxPhase::Unchecked, BoxCondition::Unknown),
];

/// The position that a parameter of the address names.
pub fn position(at: Option<u64>) -> usize {
    at.and_then(|at| usize::try_from(at).ok()).unwrap_or(0)
}

/// The parameter that names a position. The first page has none.
pub fn place(at: usize) -> Option<u64> {
    Some(at as u64).filter(|at| *at > 0)
}

/// The boxes by state.
pub fn counts(counts: &BoxCounts) -> Vec<(BoxCondition, u64)> {
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

pub fn condition(phase: BoxPhase) -> BoxCondition {
    let found = PHASES.iter().find(|(of, _)| *of == phase);
    found.map_or(BoxCondition::Unknown, |(_, condition)| *condition)
}

/// The box at which a grid begins.
fn box_number(from: Option<u64>) -> BoxNumber {
    BoxNumber(from.and_then(|from| u32::try_from(from).ok()).unwrap_or(0))
}

/// The boxes of a pool from a number on, at most `most`.
pub fn grid(
    views: &BoxViewHandle,
    pool: &PoolName,
    from: BoxNumber,
    most: usize,
) -> Result<Vec<GridBox>, BoxRefusal> {
    let mut boxes = Vec::new();
    let mut from = Some(from);
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

/// A page of the boxes of a pool.
pub fn grid_page(
    views: &BoxViewHandle,
    pool: &PoolStatus,
    base: &BoxesPageQuery,
) -> Result<(Vec<GridBox>, RowPage), BoxRefusal> {
    let from = box_number(base.from);
    let shown = grid(views, &pool.name, from, GRID_BOXES)?;
    let after = shown.last().map(|last| BoxNumber(last.number.saturating_add(1)));
    let has_more = match after {
        Some(after) => !views.boxes(&pool.name, after, 1)?.lines.is_empty(),
        None => false,
    };
    let at = |from: Option<u64>| {
        let pool = pool.name.to_string();
        BoxesPageQuery { pool, from, ..base.clone() }.address()
    };
    let before = u64::from(from.0).saturating_sub(GRID_BOXES as u64);
    let page = RowPage {
        first: 0,
        shown: shown.len() as u64,
        total: Some(counts(&pool.counts).iter().map(|(_, boxes)| boxes).sum()),
        previous: (from.0 > 0).then(|| at(Some(before).filter(|before| *before > 0))),
        next: after.filter(|_| has_more).map(|after| at(Some(u64::from(after.0)))),
    };
    Ok((shown, page))
}

/// A page of the queue of a pool. On a follower it is empty.
pub async fn queue_page(
    state: &web::Data<NodeHttpState>,
    pool: &PoolName,
    base: &BoxesPageQuery,
) -> Result<(Vec<QueueLine>, RowPage), ProblemResponse> {
    let boxes = &state.actors.boxes;
    let waiting = boxes.views.view().queues.get(pool).map_or(0, |queue| queue.waiting) as usize;
    let first = position(base.queued).min(waiting);
    let mut lines = Vec::new();
    if waiting > 0 {
        // Another order than that of the queue needs all of it.
        let is_usual = matches!(base.queue_sort.key.as_str(), "" | "place");
        let is_usual = is_usual && !base.queue_sort.descending;
        let most = if is_usual { first.saturating_add(QUEUED) } else { waiting };
        let listed = boxes.actor.ask(ShowQueue { pool: pool.clone(), most }).await??;
        let listed = (1..).zip(listed).map(|(place, request)| QueueLine {
            place,
            holder: request.holder.to_string(),
            priority: i64::from(request.priority.get()),
            count: u64::from(request.count),
            since: Moment(request.since.0),
        });
        lines = listed.collect();
        sort_queue(&mut lines, &base.queue_sort);
        lines = lines.into_iter().skip(first).take(QUEUED).collect();
    }
    let page = RowPage::at(first, lines.len(), waiting, QUEUED, &|at| {
        BoxesPageQuery { queued: place(at), ..of_pool(base, pool) }.address()
    });
    Ok((lines, page))
}

fn sort_queue(lines: &mut [QueueLine], sort: &SortBy) {
    match sort.key.as_str() {
        "holder" => lines.sort_by(|a, b| a.holder.cmp(&b.holder)),
        "priority" => lines.sort_by_key(|line| line.priority),
        "count" => lines.sort_by_key(|line| line.count),
        "waits" => lines.sort_by_key(|line| Reverse(line.since)),
        _ => {}
    }
    if sort.descending {
        lines.reverse();
    }
}

fn sort_leases(leases: &mut [Arc<Lease>], sort: &SortBy) {
    leases.sort_by_key(|lease| (end(lease), lease.number));
    match sort.key.as_str() {
        "box" => leases.sort_by_key(|lease| lease.number),
        "holder" => leases.sort_by_cached_key(|lease| lease.holder.to_string()),
        "token" => leases.sort_by_key(|lease| lease.token.0),
        "held" => leases.sort_by_key(|lease| Reverse(lease.granted.0)),
        _ => {}
    }
    if sort.descending {
        leases.reverse();
    }
}

/// The page of this pool.
fn of_pool(base: &BoxesPageQuery, pool: &PoolName) -> BoxesPageQuery {
    BoxesPageQuery { pool: pool.to_string(), ..base.clone() }
}

/// A page of the leases of a pool, in the order of their ends.
pub fn lease_page(
    views: &BoxViewHandle,
    pool: &PoolName,
    base: &BoxesPageQuery,
) -> Result<(Vec<LeaseLine>, RowPage), BoxRefusal> {
    let mut leases: Vec<Arc<Lease>> = Vec::new();
    let mut from = Some(BoxNumber(0));
    while let Some(number) = from {
        let page = views.leases(pool, None, number, LARGEST_PAGE)?;
        leases.extend(page.lines);
        from = page.next;
    }
    sort_leases(&mut leases, &base.leases_sort);
    let first = position(base.leases);
    let lines = leases.iter().skip(first).take(LEASES).map(|lease| lease_line(lease));
    let lines: Vec<LeaseLine> = lines.collect();
    let page = RowPage::at(first, lines.len(), leases.len(), LEASES, &|at| {
        BoxesPageQuery { leases: place(at), ..of_pool(base, pool) }.address()
    });
    Ok((lines, page))
}

pub fn lease_line(lease: &Lease) -> LeaseLine {
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

/// A page of the boxes in quarantine of all pools.
pub fn quarantine_page(
    views: &BoxViewHandle,
    pools: &[PoolStatus],
    base: &BoxesPageQuery,
) -> Result<(Vec<QuarantineLine>, RowPage), BoxRefusal> {
    let first = position(base.quarantined);
    let (mut lines, mut before, mut total) = (Vec::new(), first, 0);
    for pool in pools {
        let here = pool.counts.of(BoxPhase::Quarantined) as usize;
        total += here;
        if before >= here {
            before -= here;
            continue;
        }
        let mut from = Some(BoxNumber(0));
        while let Some(number) = from.filter(|_| lines.len() < QUARANTINED) {
            let page = views.boxes(&pool.name, number, LARGEST_PAGE)?;
            let is_out = |status: &&BoxStatus| status.record.state.phase() == BoxPhase::Quarantined;
            for status in page.lines.iter().filter(is_out) {
                match before.checked_sub(1) {
                    Some(left) => before = left,
                    None => lines.push(quarantine_line(views, &pool.name, status)),
                }
            }
            from = page.next;
        }
    }
    lines.truncate(QUARANTINED);
    let page = RowPage::at(first, lines.len(), total, QUARANTINED, &|at| {
        BoxesPageQuery { quarantined: place(at), ..base.clone() }.address()
    });
    Ok((lines, page))
}

fn quarantine_line(views: &BoxViewHandle, pool: &PoolName, status: &BoxStatus) -> QuarantineLine {
    let info = BoxInfo::from(status);
    QuarantineLine {
        pool: pool.to_string(),
        number: u64::from(info.number.0),
        since: Moment(info.since.0.0),
        by: info.quarantined_by,
        failures: failed_cleanings(views, pool, info.number),
        output: info.output.unwrap_or_default(),
    }
}

/// The failed cleanings of a box right before its quarantine.
fn failed_cleanings(views: &BoxViewHandle, pool: &PoolName, number: BoxNumber) -> Option<u64> {
    let newest = views.box_log(pool, Some(number), u64::MAX, 2);
    newest.lines.iter().find_map(|line| match line.news {
        BoxLogEvent::CleanFailed { attempt, .. } => Some(u64::from(attempt)),
        _ => None,
    })
}
