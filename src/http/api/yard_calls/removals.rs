//! `/api/v1/removals`: planned removals, and why other copies are kept.

use actix_web::{HttpResponse, web};
use reelyard_api::{RemovalView, RemovalsView, RoomSoughtView};
use reelyard_yard::remover::{Decided, FileSeeksRoom, OpenRemoval, RemovalMode, RemoveNow};

use crate::http::api::call_parts::NoQuery;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, Refusal};

/// `GET /removals`.
#[utoipa::path(
    get,
    path = "/removals",
    tag = "removals",
    operation_id = "showRemovals",
    summary = "Lists planned removals, and why other copies stay",
    responses((status = 200, description = "Planned removals and kept copies", body = RemovalsView))
)]
pub async fn show(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> web::Json<RemovalsView> {
    let view = state.actors.remover_views.load();
    let last = view.last.clone().unwrap_or_default();
    let looked = view.last.as_ref();
    web::Json(RemovalsView {
        mode: view.mode,
        open: view.open.values().map(going).collect(),
        at: looked.map(|round| round.at),
        took_us: looked.map(|round| round.took_us),
        decided: last.decided.iter().map(decided).collect(),
        spared: last.spared,
        reliefs: last.reliefs,
        rooms: last.rooms.iter().map(seeks_room).collect(),
        exchange_budget: last.exchange_budget,
        waits: last.waits,
        counters: view.counters,
    })
}

/// `POST /removals`: checks all copies now instead of at the next interval.
#[utoipa::path(
    post,
    path = "/removals",
    tag = "removals",
    operation_id = "lookForRemovals",
    summary = "Checks all copies now",
    responses((status = 202, description = "The check has started"))
)]
pub async fn look_now(
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, Refusal<CommitProblems>> {
    state.actors.remover.ask(RemoveNow).await??;
    Ok(HttpResponse::Accepted().finish())
}

/// Copies that are being removed, and with a dry run those that would be.
pub(in crate::http::api) fn planned(state: &NodeHttpState) -> Vec<RemovalView> {
    let view = state.actors.remover_views.load();
    let open = view.open.values().map(going);
    let last = view.last.iter().flat_map(|round| &round.decided);
    // With mode "on" a decided removal is already in the list of open removals, or has ended.
    let would = last.filter(|one| view.mode == RemovalMode::DryRun && one.spared.is_none());
    open.chain(would.map(decided)).collect()
}

fn seeks_room(sought: &FileSeeksRoom) -> RoomSoughtView {
    RoomSoughtView {
        name: sought.file.to_text(),
        size: sought.size,
        hits: sought.hits,
        why: sought.verdict.words(),
        verdict: sought.verdict.clone(),
    }
}

fn going(OpenRemoval { intent, at }: &OpenRemoval) -> RemovalView {
    RemovalView {
        name: intent.name.to_text(),
        host: intent.host,
        size: intent.size,
        why: intent.reason.words(),
        reason: intent.reason.clone(),
        keeper: intent.keeper,
        asked_by: Some(intent.asked_by.clone()),
        since: Some(*at),
        spared: None,
    }
}

fn decided(decided: &Decided) -> RemovalView {
    RemovalView {
        name: decided.file.to_text(),
        host: decided.host,
        size: decided.size,
        why: decided.reason.words(),
        reason: decided.reason.clone(),
        keeper: decided.keeper,
        asked_by: None,
        since: None,
        spared: decided.spared,
    }
}
