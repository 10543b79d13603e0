//! `/api/v1/shares/{id}/downloads`: the access log of a share.

use actix_web::web;
use reelyard_api::{Cursor, DownloadInfo, Page, ProblemKind, refused};
use reelyard_links::LinkAccessRow;
use reelyard_shares::share_expiry::ShareId;

use crate::http::api::call_parts::PageQuery;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// `GET /shares/{id}/downloads`: also for ended shares.
#[utoipa::path(
    get,
    path = "/shares/{id}/downloads",
    tag = "shares",
    operation_id = "listDownloads",
    summary = "Lists the logged downloads of a share, newest first",
    description = "The log is on the node that served the links. `share.access_log` sets its place.",
    params(("id" = String, Path, description = "Id of the share"), PageQuery),
    responses((status = 200, description = "A page of downloads", body = Page<DownloadInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    paging: web::Query<PageQuery>,
) -> Result<
    web::Json<Page<DownloadInfo>>,
    Refusal<(refused::NotFound, refused::NotAllowed, refused::Unreadable, refused::Stopped)>,
> {
    let (limit, skip) = (paging.limit()?, paging.position::<usize>()?.unwrap_or(0));
    let id = id.parse::<ShareId>();
    let id = id.map_err(|_| ProblemResponse::not_found("the share does not exist"))?;
    let Some(log) = state.share_links.downloads() else {
        let detail = "downloads are not logged: set share.access_log, and reload";
        return Err(ProblemResponse::new(ProblemKind::NotAllowed, detail).into());
    };
    let read = web::block(move || log.page(&id.to_string(), skip, limit)).await;
    let page = read.map_err(|_| ProblemResponse::stopped())?.map_err(|error| {
        let detail = format!("the access log cannot be read: {error}");
        ProblemResponse::new(ProblemKind::Unreadable, detail)
    })?;
    let items = page.rows.into_iter().map(info).collect();
    Ok(web::Json(Page { items, next: page.next.map(|skip| Cursor(skip.to_string())) }))
}

fn info(row: LinkAccessRow) -> DownloadInfo {
    DownloadInfo {
        at: row.at,
        address: row.address,
        part: row.part,
        status: row.status,
        bytes: row.bytes,
        user_agent: row.user_agent,
    }
}
