//! `/api/v1/pins` and `/api/v1/files/{name}/pin`: files of which no copy is removed.

use actix_web::{HttpRequest, web};
use reelyard_actors::event::RequestId;
use reelyard_actors::names::FileName;
use reelyard_actors::remover::PinFile;
use reelyard_actors::wire::api::{Page, PinSet, PinView};

use super::NoQuery;
use super::explain::file_in_path;
use super::paging::{PageQuery, page};
use crate::http::node::NodeState;
use crate::http::problem::Refusal;

/// `GET /pins`: by name.
#[utoipa::path(
    get,
    path = "/pins",
    tag = "files",
    operation_id = "listPins",
    summary = "Lists the files of which no copy is removed, by name",
    params(PageQuery),
    responses((status = 200, description = "A page of files", body = Page<PinView>))
)]
pub async fn list(
    state: web::Data<NodeState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<PinView>>, Refusal> {
    let (limit, after) = (query.limit()?, query.position::<String>()?);
    let after = after.map(|text| FileName::from_percent(&text));
    let after = after.transpose().map_err(|bad| Refusal::bad_request(format!("cursor: {bad}")))?;
    let pins = state.actors.remover_board.view().pins.clone();
    let mut pins: Vec<(FileName, _)> =
        pins.iter().map(|(file, pin)| (state.names.name(*file), pin.clone())).collect();
    pins.sort_by(|(a, _), (b, _)| a.cmp(b));
    let behind =
        pins.into_iter().filter(|(name, _)| after.as_ref().is_none_or(|after| name > after));
    let Page { items, next } = page(behind, limit, |(name, _)| name.to_percent());
    let shown = |(name, pin): (FileName, reelyard_actors::remover::Pin)| PinView {
        name: name.shown(),
        asked_by: pin.asked_by,
        since: pin.at,
    };
    Ok(web::Json(Page { items: items.into_iter().map(shown).collect(), next }))
}

/// `PUT /files/{name}/pin`.
#[utoipa::path(
    put,
    path = "/files/{name}/pin",
    tag = "files",
    operation_id = "pinFile",
    summary = "Has no copy of a file removed, until it is unpinned",
    params(("name" = String, Path, description = "Its name, percent-encoded, of any bytes")),
    responses((status = 200, description = "It is pinned", body = PinSet))
)]
pub async fn pin(
    request: HttpRequest,
    state: web::Data<NodeState>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<PinSet>, Refusal> {
    set(&request, &state, true).await
}

/// `DELETE /files/{name}/pin`.
#[utoipa::path(
    delete,
    path = "/files/{name}/pin",
    tag = "files",
    operation_id = "unpinFile",
    summary = "Treats a file like any other again",
    params(("name" = String, Path, description = "Its name, percent-encoded, of any bytes")),
    responses((status = 200, description = "It is not pinned", body = PinSet))
)]
pub async fn unpin(
    request: HttpRequest,
    state: web::Data<NodeState>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<PinSet>, Refusal> {
    set(&request, &state, false).await
}

async fn set(
    request: &HttpRequest,
    state: &NodeState,
    pinned: bool,
) -> Result<web::Json<PinSet>, Refusal> {
    let name = file_in_path(request, "/pin")?;
    let pin = PinFile { name, pinned, asked_by: "api".to_owned(), request: RequestId::random() };
    let changed = state.actors.remover.ask(pin).await??;
    Ok(web::Json(PinSet { pinned, changed }))
}
