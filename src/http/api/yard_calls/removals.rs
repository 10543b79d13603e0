//! `/api/v1/removals`: planned removals, and why other copies are kept.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use actix_web::{HttpResponse, web};
use reelyard_api::{Page, RemovalView, RemovalsView, RoomSoughtView};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_yard::remover::{
    Decided, FileSeeksRoom, OpenRemoval, RemovalMode, RemoveNow, RemoverView,
};
use serde::Deserialize;

use crate::http::api::call_parts::{LimitedList, MOST_LISTED, NoQuery, PageQuery, page_by_key};
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
    web::Json(last_look(&state, MOST_LISTED))
}

/// The last look at all copies, with at most `most` entries in each list.
pub(in crate::http) fn last_look(state: &NodeHttpState, most: usize) -> RemovalsView {
    let view = state.actors.remover_views.load();
    let looked = view.last.as_ref();
    let open = LimitedList::new(view.open.values().map(going), most);
    let of_last = looked.iter().flat_map(|round| &round.decided);
    let of_last = LimitedList::new(of_last.map(decided), most);
    let last = looked.cloned().unwrap_or_default();
    RemovalsView {
        mode: view.mode,
        open: open.first,
        open_total: open.total,
        at: looked.map(|round| round.at),
        took_us: looked.map(|round| round.took_us),
        decided: of_last.first,
        decided_total: of_last.total,
        spared: last.spared,
        reliefs: last.reliefs,
        rooms_total: last.rooms.len() as u64,
        rooms: last.rooms.iter().take(most).map(seeks_room).collect(),
        exchange_budget: last.exchange_budget,
        waits: last.waits,
        counters: view.counters,
    }
}

/// The removals that a call lists.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovalList {
    /// Removals in the journal that have not ended.
    #[default]
    Open,
    /// Removals that the last look decided.
    Decided,
    /// Removals that have not ended, and those that a dry run would begin.
    Planned,
}

/// Options of a list of removals.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemovalListQuery {
    /// The list: `open` without a value.
    #[serde(default)]
    #[param(inline)]
    list: RemovalList,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    cursor: Option<String>,
}

/// `GET /removals/copies`.
#[utoipa::path(
    get,
    path = "/removals/copies",
    tag = "removals",
    operation_id = "listRemovals",
    summary = "Lists the copies of one list of removals",
    params(RemovalListQuery),
    responses((status = 200, description = "A page of copies", body = Page<RemovalView>))
)]
pub async fn list_copies(
    state: web::Data<NodeHttpState>,
    query: web::Query<RemovalListQuery>,
) -> Result<web::Json<Page<RemovalView>>, Refusal<()>> {
    let RemovalListQuery { list, limit, cursor } = query.into_inner();
    let paging = PageQuery { limit, cursor };
    let view = state.actors.remover_views.load();
    let open = view.open.values().map(RemovalRow::Open);
    let page = match list {
        RemovalList::Open => page_by_key(&paging, open, RemovalRow::key),
        RemovalList::Decided => {
            let of_last = view.last.iter().flat_map(|round| &round.decided);
            page_by_key(&paging, of_last.map(RemovalRow::Decided), RemovalRow::key)
        }
        RemovalList::Planned => {
            let would = would_remove(&view).map(RemovalRow::Decided);
            page_by_key(&paging, open.chain(would), RemovalRow::key)
        }
    };
    let Page { items, next } = page?;
    Ok(web::Json(Page { items: items.iter().map(RemovalRow::view).collect(), next }))
}

/// A row of a list of removals.
#[derive(Clone, Copy)]
enum RemovalRow<'a> {
    /// The removal has not ended.
    Open(&'a OpenRemoval),
    /// The last look decided it.
    Decided(&'a Decided),
}

impl RemovalRow<'_> {
    /// The copy. A dry run can decide on a copy whose removal from before has not ended: both rows are listed.
    fn key(&self) -> (HostAddr, FileName, bool) {
        match self {
            RemovalRow::Open(open) => (open.intent.host, open.intent.name.clone(), false),
            RemovalRow::Decided(decided) => (decided.host, decided.file.clone(), true),
        }
    }

    fn view(&self) -> RemovalView {
        match self {
            RemovalRow::Open(open) => going(open),
            RemovalRow::Decided(one) => decided(one),
        }
    }
}

/// `GET /removals/rooms`.
#[utoipa::path(
    get,
    path = "/removals/rooms",
    tag = "removals",
    operation_id = "listRoomsSought",
    summary = "Lists the hot files that fit on no destination",
    params(PageQuery),
    responses((status = 200, description = "A page of files", body = Page<RoomSoughtView>))
)]
pub async fn list_rooms(
    state: web::Data<NodeHttpState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<RoomSoughtView>>, Refusal<()>> {
    let view = state.actors.remover_views.load();
    let rooms = view.last.iter().flat_map(|round| &round.rooms);
    let key = |sought: &&FileSeeksRoom| (Reverse(sought.hits), sought.file.clone());
    let Page { items, next } = page_by_key(&query, rooms, key)?;
    Ok(web::Json(Page { items: items.into_iter().map(seeks_room).collect(), next }))
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

/// The planned removals together.
#[derive(Default)]
pub(in crate::http) struct RemovalSums {
    /// Bytes of the copies with a known size.
    pub bytes: u64,
    /// Hosts that lose copies.
    pub hosts: u64,
}

/// Sums over all planned removals.
pub(in crate::http) fn sums(state: &NodeHttpState) -> RemovalSums {
    let view = state.actors.remover_views.load();
    let open = view.open.values().map(|open| (open.intent.host, open.intent.size));
    let would = would_remove(&view).map(|one| (one.host, one.size));
    let (mut bytes, mut hosts) = (0_u64, BTreeSet::new());
    for (host, size) in open.chain(would) {
        bytes = bytes.saturating_add(size.unwrap_or(0));
        hosts.insert(host);
    }
    RemovalSums { bytes, hosts: hosts.len() as u64 }
}

/// The decisions that a dry run does not carry out. With mode "on" a decided removal is already in the list of open
/// removals, or has ended.
fn would_remove(view: &RemoverView) -> impl Iterator<Item = &Decided> {
    let last = view.last.iter().flat_map(|round| &round.decided);
    last.filter(|one| view.mode == RemovalMode::DryRun && one.spared.is_none())
}

/// Copies that are being removed, and with a dry run those that would be.
pub(in crate::http::api) fn planned(
    state: &NodeHttpState,
    most: usize,
) -> LimitedList<RemovalView> {
    let view = state.actors.remover_views.load();
    let open = view.open.values().map(going);
    LimitedList::new(open.chain(would_remove(&view).map(decided)), most)
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
