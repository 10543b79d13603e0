//! `/console/plan`: the last round, removals, and what holds files back.

use std::cmp::Reverse;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{BackedOff, PlannedCopy, RemovalView, RoomSoughtView, Skipped};
use reelyard_console::address::SortBy;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::plan::{
    self, BackOffLine, CopyProgress, DestinationReason, ExchangeLine, GoingCopy, PassedLine,
    PlanLine, PlanPageModel, PlanPageQuery, RemovalLine, RemoverMode, SparedLine,
};
use reelyard_console::pages::why::PassedReason;
use reelyard_console::parts::panel::page_sentence;
use reelyard_console::parts::table::RowPage;
use reelyard_console::{Moment, Viewer};
use reelyard_core::names::{FileName, NameText};
use reelyard_yard::remover::{RemovalMode, RoomVerdict};
use reelyard_yard::task_manager::Unusable;
use reelyard_yard::task_manager::{PlacementPolicy, TaskManagerView, TaskState};

use crate::http::api::yard_calls::{plan as round, removals};
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::live_part::LivePart;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::recent::file_text;

/// Rows of a list among the others.
const ROWS: usize = 12;
/// Copies that go for one file, as the page shows them.
const GOING: usize = 5;
/// Rows of a list that is shown alone.
const ALL_ROWS: usize = 500;

/// `GET /console/plan`.
pub async fn show(
    request: HttpRequest,
    state: Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = PlanPageQuery::parse(request.query_string());
    let viewer = visitor.viewer.clone();
    let render = move |state: &NodeHttpState| {
        let model = model(state, &query);
        plan::render(&query, &model, &viewer)
    };
    let content = computed(&state, render).await?;
    let title = NavPage::Plan.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Plan, title, content);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "plan"))
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    let query = PlanPageQuery::parse(query);
    let model = model(state, &query);
    vec![
        ("page-sentence".to_owned(), page_sentence(&plan::plan_sentence(viewer, &model))),
        ("plan-content".to_owned(), plan::round_in_full(viewer, &query, &model)),
    ]
}

fn model(state: &NodeHttpState, query: &PlanPageQuery) -> PlanPageModel {
    let mut round = round::last_round(state, most_read(query));
    sort_copies(&mut round.planned, &query.copies_sort);
    sort_removals(&mut round.removals, &query.removals_sort);
    let pauses = round.back_offs.iter().map(|held| Moment(held.back_off.until.0));
    let next_at = pauses.filter(|end| end.0 > state.clock.now().0).min();
    let looked = removals::last_look(state, most_read(query));
    let rooms_total = looked.rooms_total;
    let totals = [
        ("copies", round.planned_total),
        ("removals", round.removals_total),
        ("exchanges", rooms_total),
        ("backoff", round.back_offs_total),
    ];
    let alone = totals.iter().find(|(list, _)| query.all == *list);
    let page = alone.map(|(_, total)| page_of(query, *total)).unwrap_or_default();
    let cut = |list: &str| match query.all == list {
        true => (page.first.saturating_sub(1) as usize, ALL_ROWS),
        false => (0, ROWS),
    };
    let (copies, exchanges, removals) = (cut("copies"), cut("exchanges"), cut("removals"));
    let back_offs = cut("backoff");
    let spared = looked
        .spared
        .iter()
        .map(|(why, copies)| SparedLine { reason: why.words().to_owned(), copies: *copies });
    let sums = removals::sums(state);
    PlanPageModel {
        at: round.at.map(|at| Moment(at.0)),
        took: round.took_us.unwrap_or_default(),
        next_at,
        blocked: round.blocked,
        unlisted: round.unlisted,
        waiting: round.waiting,
        copies_total: round.planned_total,
        copies: round
            .planned
            .into_iter()
            .skip(copies.0)
            .take(copies.1)
            .map(|one| copy(state, one))
            .collect(),
        remover_mode: mode(looked.mode),
        removals_total: round.removals_total,
        removal_bytes: sums.bytes,
        removal_hosts: sums.hosts,
        spared: spared.collect(),
        exchanges: looked
            .rooms
            .into_iter()
            .skip(exchanges.0)
            .take(exchanges.1)
            .map(|sought| exchange(state, sought, &round.removals))
            .collect(),
        exchanges_total: rooms_total,
        removals: round
            .removals
            .into_iter()
            .skip(removals.0)
            .take(removals.1)
            .map(removal)
            .collect(),
        passed: passed_over(round.skipped),
        back_offs: round
            .back_offs
            .into_iter()
            .skip(back_offs.0)
            .take(back_offs.1)
            .map(back_off)
            .collect(),
        back_offs_total: round.back_offs_total,
        page,
    }
}

/// Entries of each list that are read. A list that is sorted, or has pages, is read as a whole.
fn most_read(query: &PlanPageQuery) -> usize {
    let is_sorted =
        query.copies_sort != SortBy::default() || query.removals_sort != SortBy::default();
    if is_sorted || !query.after.is_empty() { usize::MAX } else { ALL_ROWS }
}

/// The position within the list that is shown alone.
fn page_of(query: &PlanPageQuery, total: u64) -> RowPage {
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let last_page = total.saturating_sub(1) / ALL_ROWS * ALL_ROWS;
    let first = query.after.parse().unwrap_or(0).min(last_page);
    let shown = ALL_ROWS.min(total - first);
    RowPage::at(first, shown, total, ALL_ROWS, &|at| {
        let after = if at == 0 { String::new() } else { at.to_string() };
        PlanPageQuery { after, ..query.clone() }.address()
    })
}

fn sort_copies(copies: &mut [PlannedCopy], sort: &SortBy) {
    match sort.key.as_str() {
        "file" => copies.sort_by(|a, b| a.name.name.cmp(&b.name.name)),
        // Hot files are planned before the ranking.
        "rank" => copies.sort_by_key(|copy| (Reverse(copy.hits), copy.rank)),
        "from" => copies.sort_by_key(|copy| (copy.source, copy.destination)),
        "size" => copies.sort_by_key(|copy| copy.size),
        _ => return,
    }
    if sort.descending {
        copies.reverse();
    }
}

fn sort_removals(removals: &mut [RemovalView], sort: &SortBy) {
    match sort.key.as_str() {
        "file" => removals.sort_by(|a, b| a.name.name.cmp(&b.name.name)),
        "from" => removals.sort_by_key(|removal| removal.host),
        "size" => removals.sort_by_key(|removal| removal.size),
        "because" => removals.sort_by(|a, b| a.why.cmp(&b.why)),
        _ => return,
    }
    if sort.descending {
        removals.reverse();
    }
}

fn mode(mode: RemovalMode) -> RemoverMode {
    match mode {
        RemovalMode::On => RemoverMode::On,
        RemovalMode::DryRun => RemoverMode::DryRun,
        RemovalMode::Off => RemoverMode::Off,
    }
}

fn copy(state: &NodeHttpState, copy: PlannedCopy) -> PlanLine {
    let (tasks, now) = (state.actors.task_views.load(), state.clock.now());
    let task = tasks.task(copy.task);
    let seen = tasks.progress.get(&copy.task);
    let is_working = task.is_some_and(|task| task.state == TaskState::Working);
    let rate = seen.and_then(|seen| state.overview.rate(copy.task, seen.bytes, now));
    let copied = seen.map_or(0, |seen| seen.bytes);
    let left = rate.and_then(|rate| copy.size.saturating_sub(copied).checked_div(rate));
    PlanLine {
        why_there: why_there(state, &tasks, &copy),
        planned: Moment(task.map_or(now, |task| task.created).0),
        progress: match is_working {
            true => CopyProgress::Working { copied, left },
            false => CopyProgress::Ready,
        },
        name: file_text(copy.name),
        rank: copy.rank.map(u64::from),
        hits: u64::from(copy.hits),
        source: copy.source.to_string(),
        destination: copy.destination.to_string(),
        size: copy.size,
    }
}

/// Why the destination of a copy was chosen, by the rules of the planner and the present state of the host.
fn why_there(
    state: &NodeHttpState,
    tasks: &TaskManagerView,
    copy: &PlannedCopy,
) -> DestinationReason {
    if let Some(by) = tasks.task(copy.task).and_then(|task| task.asked_by.clone()) {
        return DestinationReason::Asked(by);
    }
    let removals = state.actors.remover_views.load();
    let is_for_it = |better: &FileName| better.to_text() == copy.name;
    let made_room = removals.open.values().any(|open| {
        open.intent.host == copy.destination
            && open.intent.reason.better().is_some_and(|(better, _)| is_for_it(better))
    });
    if made_room {
        return DestinationReason::RoomMade;
    }
    let Some(host) = tasks.host(copy.destination) else { return DestinationReason::NotKnown };
    if host.no_destination == Some(Unusable::OnTrial) {
        return DestinationReason::OnTrial;
    }
    if state.live.now().config.yard.task.placement == PlacementPolicy::Ring {
        return DestinationReason::NextInTurn;
    }
    host.room.map_or(DestinationReason::NotKnown, DestinationReason::MostRoom)
}

fn removal(removal: RemovalView) -> RemovalLine {
    RemovalLine {
        name: file_text(removal.name),
        host: removal.host.to_string(),
        size: removal.size,
        reason: removal.why,
        keeper: removal.keeper.map(|keeper| keeper.to_string()),
        asked_by: removal.asked_by,
    }
}

/// The file that seeks room, with the removals that make it.
fn exchange(
    state: &NodeHttpState,
    sought: RoomSoughtView,
    removals: &[RemovalView],
) -> ExchangeLine {
    let catalog = state.actors.catalog_view.load();
    let rank = |name: NameText| {
        let file = state.names.find(FileName::try_from(name).ok()?.as_bytes())?;
        catalog.ranking.as_ref()?.rank(file).map(u64::from)
    };
    let is_for_it = |removal: &&RemovalView| {
        let better = removal.reason.better();
        better.is_some_and(|(better, _)| better.to_text() == sought.name)
    };
    let going = |removal: &RemovalView| GoingCopy {
        name: file_text(removal.name.clone()),
        rank: rank(removal.name.clone()),
        size: removal.size,
    };
    let mut for_it = removals.iter().filter(is_for_it);
    ExchangeLine {
        goes: for_it.by_ref().take(GOING).map(going).collect(),
        more_go: for_it.count() as u64,
        host: match sought.verdict {
            RoomVerdict::Made { host, .. }
            | RoomVerdict::MadeEarlier { host }
            | RoomVerdict::DidNotArrive { host, .. }
            | RoomVerdict::Exchanged { host, .. } => Some(host.to_string()),
            _ => None,
        },
        name: file_text(sought.name),
        size: sought.size,
        hits: u64::from(sought.hits),
        verdict: sought.why,
    }
}

/// The reasons that hold files back, that of most files first.
fn passed_over(skipped: Vec<Skipped>) -> Vec<PassedLine> {
    let mut lines: Vec<PassedLine> = skipped.into_iter().filter_map(passed).collect();
    lines.sort_by_key(|line| Reverse(line.files));
    lines
}

fn passed(skipped: Skipped) -> Option<PassedLine> {
    Some(PassedLine {
        reason: PassedReason::of_api(&skipped.reason)?,
        files: skipped.files,
        first: skipped.first.map(|first| first.name),
    })
}

fn back_off(held: BackedOff) -> BackOffLine {
    BackOffLine {
        source: held.source.map(|host| host.to_string()),
        destination: held.destination.map(|host| host.to_string()),
        file: held.file.map(file_text),
        until: Moment(held.back_off.until.0),
        failures: u64::from(held.back_off.failures),
        reason: held.back_off.reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_list_is_read_as_a_whole_and_has_pages() {
        let query = |text: &str| PlanPageQuery::parse(text);
        assert_eq!(most_read(&query("all=copies")), ALL_ROWS);
        for whole in ["copies_sort=-size", "removals_sort=from", "all=copies&after=500"] {
            assert_eq!(most_read(&query(whole)), usize::MAX, "{whole}");
        }
        let page = page_of(&query("all=copies&copies_sort=-size"), 600);
        assert_eq!((page.first, page.shown, page.total), (1, 500, Some(600)));
        let next = page.next.unwrap();
        assert_eq!(next, "/console/plan?all=copies&after=500&copies_sort=-size");
        let page = page_of(&query(next.split_once('?').unwrap().1), 600);
        assert_eq!((page.first, page.shown, page.next), (501, 100, None));
        assert!(page.previous.is_some());
        // The list became shorter meanwhile.
        let page = page_of(&query("all=copies&after=500"), 30);
        assert_eq!((page.first, page.shown), (1, 30));
        assert_eq!(page_of(&query("all=copies"), 0).shown, 0);
    }
}
