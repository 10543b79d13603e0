//! `/api/v1/audit`: changes and refused calls.

use actix_web::web;
use reelyard_access::audit::{AuditOrder, AuditOutcome, AuditPage, AuditReader, AuditRowFilter};
use reelyard_api::{AuditRowInfo, Cursor, Page, ProblemKind, refused};
use serde::Deserialize;
use tokio::sync::Semaphore;
use utoipa::{IntoParams, ToSchema};

use super::row_filter::AuditFilterQuery;
use crate::http::api::call_parts::PageQuery;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// Number of lists that are read at the same time: each needs memory for a segment.
static READS: Semaphore = Semaphore::const_new(2);

/// Filter, order and page of the audit.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditRowQuery {
    /// Only acts of this actor: a kind, a name, or both as in "user alice".
    pub actor: Option<String>,
    /// Only acts on this object: "share ABC", its kind or its name.
    pub subject: Option<String>,
    /// Only this operation: the id of the call in this document, or a name such as "node.started".
    pub operation: Option<String>,
    /// Leave out the accepted acts of this operation, such as "takeReports": the reports of workers. Refused ones stay.
    pub without: Option<String>,
    /// Only acts at or after this time, in RFC 3339.
    pub since: Option<String>,
    /// Only acts before this time, in RFC 3339.
    pub until: Option<String>,
    /// Only accepted acts, or only refused ones.
    #[param(inline)]
    pub outcome: Option<AuditOutcome>,
    /// Order of the rows.
    #[param(inline)]
    pub order: Option<RowOrder>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

/// Whether a list begins at its newest or at its oldest end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

/// `GET /audit`. A page can be short or empty and still have a next page.
#[utoipa::path(
    get,
    path = "/audit",
    tag = "audit",
    operation_id = "listAudit",
    summary = "Lists changes and refused calls with their callers, newest first",
    description = "A page reads a limited part of the log. So it can be short or empty and still have a next page.",
    params(AuditRowQuery),
    responses((status = 200, description = "A page of rows", body = Page<AuditRowInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<AuditRowQuery>,
) -> Result<web::Json<Page<AuditRowInfo>>, Refusal<(refused::Unreadable, refused::Stopped)>> {
    let AuditRowQuery {
        actor,
        subject,
        operation,
        without,
        since,
        until,
        outcome,
        order,
        limit,
        cursor,
    } = query.into_inner();
    let filter =
        AuditFilterQuery { actor, subject, operation, without, since, until, outcome }.filter()?;
    let paging = PageQuery { limit, cursor };
    let (limit, from) = (paging.limit()?, paging.position::<u64>()?);
    let order = match order.unwrap_or_default() {
        RowOrder::Newest => AuditOrder::NewestFirst,
        RowOrder::Oldest => AuditOrder::OldestFirst,
    };
    let page = read_page(state.audit.reader(), filter, order, from, limit).await?;
    let items = page.rows.iter().map(AuditRowInfo::of).collect();
    Ok(web::Json(Page { items, next: page.next.map(|seq| Cursor(seq.to_string())) }))
}

/// Reads a page on a thread that may wait for the disk.
pub async fn read_page(
    reader: AuditReader,
    filter: AuditRowFilter,
    order: AuditOrder,
    from: Option<u64>,
    limit: usize,
) -> Result<AuditPage, ProblemResponse> {
    let permit = READS.acquire().await;
    let read = web::block(move || reader.page(&filter, order, from, limit)).await;
    drop(permit);
    let read = read.map_err(|_| ProblemResponse::stopped())?;
    read.map_err(|error| unreadable(&error))
}

pub(super) fn unreadable(error: &std::io::Error) -> ProblemResponse {
    let detail = format!("the audit cannot be read: {error}");
    ProblemResponse::new(ProblemKind::Unreadable, detail)
}
