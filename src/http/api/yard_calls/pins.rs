//! `/api/v1/pins` and `/api/v1/files/{name}/pin`: files whose copies are never removed.

use actix_web::{HttpRequest, web};
use reelyard_api::{Page, PinSet, PinView, refused};
use reelyard_core::names::FileName;
use reelyard_yard::remover::PinFile;
use serde::Deserialize;

use super::explain::file_in_path;
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::{PageQuery, page};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Options of a pin.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PinQuery {
    /// Also pin a name that is unknown to the node.
    #[serde(default)]
    force: bool,
}

/// `GET /pins`: sorted by name.
#[utoipa::path(
    get,
    path = "/pins",
    tag = "files",
    operation_id = "listPins",
    summary = "Lists the pinned files by name",
    params(PageQuery),
    responses((status = 200, description = "A page of files", body = Page<PinView>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<PinView>>, Refusal<()>> {
    let (limit, after) = (query.limit()?, query.position::<String>()?);
    let after = after.map(|text| FileName::from_percent(&text));
    let after =
        after.transpose().map_err(|bad| ProblemResponse::bad_request(format!("cursor: {bad}")))?;
    let pins = state.actors.remover_views.load().pins.clone();
    let mut pins: Vec<(FileName, _)> =
        pins.iter().map(|(file, pin)| (state.names.name(*file), pin.clone())).collect();
    pins.sort_by(|(a, _), (b, _)| a.cmp(b));
    let behind =
        pins.into_iter().filter(|(name, _)| after.as_ref().is_none_or(|after| name > after));
    let Page { items, next } = page(behind, limit, |(name, _)| name.to_percent());
    let pin_view = |(name, pin): (FileName, reelyard_yard::remover::Pin)| PinView {
        name: name.to_text(),
        asked_by: pin.asked_by,
        since: pin.at,
    };
    Ok(web::Json(Page { items: items.into_iter().map(pin_view).collect(), next }))
}

/// `PUT /files/{name}/pin`.
#[utoipa::path(
    put,
    path = "/files/{name}/pin",
    tag = "files",
    operation_id = "pinFile",
    summary = "Pins a file: none of its copies is removed",
    description = "An unknown name is refused with 404 because it is probably misspelled. Set \
                   `force` to pin it anyway.",
    params(
        ("name" = String, Path, description = "Percent-encoded name of the file; any bytes are allowed"),
        PinQuery
    ),
    responses((status = 200, description = "The file is pinned", body = PinSet))
)]
pub async fn pin(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    query: web::Query<PinQuery>,
) -> Result<web::Json<PinSet>, Refusal<(refused::NotFound, CommitProblems)>> {
    let name = file_in_path(&request, "/pin")?;
    if !query.force {
        require_known(&state, &name)?;
    }
    Ok(set(name, &state, &caller, true).await?)
}

/// Refuses a name that no file has.
///
/// # Errors
/// The node does not know the file.
pub fn require_known(state: &NodeHttpState, name: &FileName) -> Result<(), ProblemResponse> {
    is_known(state, name).then_some(()).ok_or_else(|| unknown(name))
}

/// The refusal of a name that no file has.
pub fn unknown(name: &FileName) -> ProblemResponse {
    ProblemResponse::not_found(format!(
        "No file is named '{name}': it is in no ranking and no source directory, and no host holds it. Correct the \
         name. The command \"reelyard files pin NAME --force\" pins a name that no file has yet; in the API it is \
         force=true."
    ))
}

/// Whether the file appears in an input, on a host, in a task or in a pin.
fn is_known(state: &NodeHttpState, name: &FileName) -> bool {
    let Some(file) = state.names.find(name.as_bytes()) else { return false };
    let (catalog, tasks) = (state.actors.catalog_view.load(), state.actors.task_views.load());
    let ranked = catalog.ranking.as_ref().and_then(|ranking| ranking.rank(file)).is_some();
    let has_master = catalog.masters.as_ref().is_some_and(|masters| masters.files.contains(file.0));
    let is_hot = catalog.rising.hot().iter().any(|(hot, _)| *hot == file);
    let is_held = tasks.placements.values().any(|files| files.contains(file.0));
    let is_copied = tasks.open.values().any(|task| task.name == *name);
    let is_pinned = state.actors.remover_views.load().pins.contains_key(&file);
    ranked || has_master || is_hot || is_held || is_copied || is_pinned
}

/// `DELETE /files/{name}/pin`.
#[utoipa::path(
    delete,
    path = "/files/{name}/pin",
    tag = "files",
    operation_id = "unpinFile",
    summary = "Unpins a file",
    params(("name" = String, Path, description = "Percent-encoded name of the file; any bytes are allowed")),
    responses((status = 200, description = "The file is not pinned", body = PinSet))
)]
pub async fn unpin(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    _: web::Query<NoQuery>,
) -> Result<web::Json<PinSet>, Refusal<CommitProblems>> {
    Ok(set(file_in_path(&request, "/pin")?, &state, &caller, false).await?)
}

pub async fn set(
    name: FileName,
    state: &NodeHttpState,
    caller: &RequestCaller,
    pinned: bool,
) -> Result<web::Json<PinSet>, ProblemResponse> {
    let request = caller.request(&format!("pin {} {pinned}", name.to_percent()));
    let pin = PinFile { name, pinned, asked_by: caller.name(), request };
    let changed = state.actors.remover.ask(pin).await??;
    Ok(web::Json(PinSet { pinned, changed }))
}
