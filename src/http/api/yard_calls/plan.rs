//! `/api/v1/plan`: the last planning round, and the obstacles for further copies.

use std::collections::BTreeMap;

use actix_web::web;
use reelyard_api::{BackedOff, Page, PlanView, PlannedCopy, Skipped};
use reelyard_core::backoff::BackOff;
use reelyard_yard::task_manager::{Blamed, Task};
use reelyard_yard::task_manager::{PlannerWaits, Skip};

use super::planning_snapshot::PlanningSnapshot;
use super::removals;
use crate::http::api::call_parts::{LimitedList, MOST_LISTED, NoQuery, PageQuery, page_by_key};
use crate::http::host_facts::back_off_view;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::Refusal;

/// `GET /plan`.
#[utoipa::path(
    get,
    path = "/plan",
    tag = "plan",
    operation_id = "showPlan",
    summary = "Shows the last planning round and the obstacles for further copies",
    responses((status = 200, description = "The round", body = PlanView))
)]
pub async fn show(state: web::Data<NodeHttpState>, _: web::Query<NoQuery>) -> web::Json<PlanView> {
    web::Json(last_round(&state, MOST_LISTED))
}

/// `GET /plan/back-offs`.
#[utoipa::path(
    get,
    path = "/plan/back-offs",
    tag = "plan",
    operation_id = "listBackOffs",
    summary = "Lists the hosts and files that back off after failures",
    params(PageQuery),
    responses((status = 200, description = "A page of hosts and files", body = Page<BackedOff>))
)]
pub async fn list_back_offs(
    state: web::Data<NodeHttpState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<BackedOff>>, Refusal<()>> {
    let view = state.actors.task_views.load();
    let page = page_by_key(&query, view.left_alone(), |(blamed, _)| Blamed::clone(blamed))?;
    let items = page.items.into_iter().map(backed_off).collect();
    Ok(web::Json(Page { items, next: page.next }))
}

/// The last round, with at most `most` entries in each list.
pub(in crate::http) fn last_round(state: &NodeHttpState, most: usize) -> PlanView {
    let snapshot = PlanningSnapshot::new(state);
    let view = &snapshot.tasks;
    let round = view.plan.last.as_ref();
    let mut open: Vec<_> = view.open.values().collect();
    open.sort_by_key(|task| (std::cmp::Reverse(task.hits), task.grade, task.id));
    let open = LimitedList::new(open.into_iter().map(|task| planned(task)), most);
    let removals = removals::planned(state, most);
    let back_offs = LimitedList::new(view.left_alone().map(backed_off), most);
    PlanView {
        at: round.map(|round| round.at),
        took_us: round.map(|round| round.took_us),
        planned: open.first,
        planned_total: open.total,
        removals: removals.first,
        removals_total: removals.total,
        skipped: skipped(state, &snapshot),
        back_offs: back_offs.first,
        back_offs_total: back_offs.total,
        waiting: view.plan.wanted.saturating_sub(view.open.len() as u64),
        served: snapshot.catalog.event_log.as_ref().map(|log| log.served).unwrap_or_default(),
        blocked: round.and_then(|round| round.waiting.as_ref()).and_then(blocked),
        unlisted: state.unlisted_hosts().into_iter().map(|(_, text)| text).collect(),
    }
}

fn planned(task: &Task) -> PlannedCopy {
    PlannedCopy {
        task: task.id,
        name: task.name.to_text(),
        rank: Some(task.grade).filter(|grade| *grade > 0),
        hits: task.hits,
        source: task.source,
        destination: task.destination,
        size: task.size,
    }
}

/// Number of files without a copy, by reason. A round examines only candidates; the other files are
/// counted here.
fn skipped(state: &NodeHttpState, snapshot: &PlanningSnapshot) -> Vec<Skipped> {
    let plan = &snapshot.tasks.plan;
    let mut skipped = BTreeMap::new();
    if let Some(round) = &plan.last {
        skipped.extend(round.skipped.iter().map(|(&reason, &files)| (reason, files)));
    }
    skipped.extend(snapshot.never_looked_at());
    let examples = plan.last.as_ref().map_or(&[][..], |round| &round.examples);
    // A round names skipped files only while they are set aside.
    let first = |reason| {
        let example = examples.iter().find(|example| example.why == reason);
        let best = || snapshot.best_set_aside(reason).map(|file| state.names.name(file).to_text());
        best().or_else(|| example.map(|example| example.file.to_text()))
    };
    let entry = |(reason, files)| Skipped { reason: word(&reason), files, first: first(reason) };
    skipped.into_iter().map(entry).collect()
}

/// The reason as its stable word.
fn word(reason: &Skip) -> String {
    match serde_json::to_value(reason) {
        Ok(serde_json::Value::String(word)) => word,
        // Unit variants serialize as a plain word. Fall back to the display text for anything else.
        _ => reason.to_string(),
    }
}

fn backed_off((blamed, held): (&Blamed, &BackOff)) -> BackedOff {
    let (source, destination, file) = match blamed {
        Blamed::Source(source) => (Some(*source), None, None),
        Blamed::Destination(destination) => (None, Some(*destination), None),
        Blamed::File(file) => (None, None, Some(file.to_text())),
        Blamed::Pair(source, destination) => (Some(*source), Some(*destination), None),
    };
    BackedOff { source, destination, file, back_off: back_off_view(held) }
}

/// Why no copy at all can be planned. None if planning is possible.
fn blocked(waiting: &PlannerWaits) -> Option<String> {
    Some(match waiting {
        PlannerWaits::Ranking => "the ranking was not read yet".to_owned(),
        PlannerWaits::Masters => "the source directories were not listed yet".to_owned(),
        PlannerWaits::FirstLook(hosts) => {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            format!(
                "the files of {} were not listed yet, and any file might be there",
                hosts.join(", ")
            )
        }
        PlannerWaits::Destination => {
            "no destination is up, listed and able to take copies".to_owned()
        }
        PlannerWaits::SwitchedOff => {
            "planning is off (task.mode = \"off\"); running copies continue".to_owned()
        }
        PlannerWaits::Inputs => {
            "the inputs of the leader are missing, older or smaller than those on record".to_owned()
        }
        PlannerWaits::Source | PlannerWaits::Looks(_) | PlannerWaits::Nothing => return None,
    })
}
