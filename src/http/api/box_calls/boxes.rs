//! `/api/v1/pools/{pool}/boxes` and `/api/v1/pools/{pool}/audit`: single boxes and their audit.

use actix_web::web;
use reelyard_api::{AuditLine, BoxInfo, Cursor, Page, WantedQuarantine, refused};
use reelyard_boxes::box_lease::{
    AuditCursor, AuditEntry, AuditFilter, BoxPhase, BoxRefusal, LARGEST_PAGE, LeaseEnd,
    QuarantineBox, UnquarantineBox,
};
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, PoolName};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::box_refusals::of_box;
use super::pools::views;
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::PageQuery;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Filter of the list of boxes.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BoxListQuery {
    /// Only boxes in this state.
    pub state: Option<BoxPhase>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

/// `GET /pools/{pool}/boxes`.
#[utoipa::path(
    get,
    path = "/pools/{pool}/boxes",
    tag = "boxes",
    operation_id = "listBoxes",
    summary = "Lists the boxes of a pool by number, with state and holder",
    params(("pool" = String, Path, description = "The pool"), BoxListQuery),
    responses((status = 200, description = "A page of boxes", body = Page<BoxInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    pool: web::Path<PoolName>,
    query: web::Query<BoxListQuery>,
) -> Result<web::Json<Page<BoxInfo>>, Refusal<(refused::NoPool, refused::Starting)>> {
    let BoxListQuery { state: phase, limit, cursor } = query.into_inner();
    let paging = PageQuery { limit, cursor };
    let (limit, from) = (paging.limit()?, paging.position::<u32>()?.unwrap_or_default());
    let (views, mut from) = (views(&state)?, Some(BoxNumber(from)));
    let mut items = Vec::new();
    while let Some(number) = from.filter(|_| items.len() < limit) {
        let most = if phase.is_some() { LARGEST_PAGE } else { limit };
        let boxes = views.boxes(&pool, number, most)?;
        from = boxes.next;
        for status in &boxes.lines {
            if phase.is_some_and(|phase| status.record.state.phase() != phase) {
                continue;
            }
            if items.len() == limit {
                from = Some(status.number);
                break;
            }
            items.push(BoxInfo::from(status));
        }
    }
    Ok(web::Json(Page { items, next: from.map(|number| Cursor(number.to_string())) }))
}

/// `GET /pools/{pool}/boxes/{number}`.
#[utoipa::path(
    get,
    path = "/pools/{pool}/boxes/{number}",
    tag = "boxes",
    operation_id = "showBox",
    summary = "Shows a box: state, holder, and the evidence if it is quarantined",
    params(
        ("pool" = String, Path, description = "The pool"),
        ("number" = u32, Path, description = "Number of the box")
    ),
    responses((status = 200, description = "The box", body = BoxInfo))
)]
pub async fn one(
    state: web::Data<NodeHttpState>,
    at: web::Path<(PoolName, u32)>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<BoxInfo>, Refusal<(refused::NoPool, refused::NoBox, refused::Starting)>> {
    let (pool, number) = at.into_inner();
    Ok(box_info(&state, &pool, BoxNumber(number))?)
}

fn box_info(
    state: &NodeHttpState,
    pool: &PoolName,
    number: BoxNumber,
) -> Result<web::Json<BoxInfo>, ProblemResponse> {
    Ok(web::Json(BoxInfo::from(&views(state)?.one_box(pool, number)?)))
}

/// The part of a box that a quarantine changes, for the audit.
fn of_quarantine(state: &NodeHttpState, pool: &PoolName, number: BoxNumber) -> Option<Value> {
    let info = BoxInfo::from(&state.actors.boxes.views.one_box(pool, number).ok()?);
    let BoxInfo { state, output, quarantined_by, .. } = info;
    Some(json!({ "state": state, "output": output, "quarantined_by": quarantined_by }))
}

/// `POST /pools/{pool}/boxes/{number}/quarantine`.
#[utoipa::path(
    post,
    path = "/pools/{pool}/boxes/{number}/quarantine",
    tag = "boxes",
    operation_id = "quarantineBox",
    summary = "Quarantines a free box",
    params(
        ("pool" = String, Path, description = "The pool"),
        ("number" = u32, Path, description = "Number of the box")
    ),
    request_body(content = WantedQuarantine, description = "Why"),
    responses((status = 200, description = "The box after the change", body = BoxInfo))
)]
pub async fn quarantine(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    at: web::Path<(PoolName, u32)>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedQuarantine>,
) -> Result<
    web::Json<BoxInfo>,
    Refusal<(
        refused::NoPool,
        refused::NoBox,
        refused::BoxLeased,
        refused::AlreadyQuarantined,
        refused::Starting,
        CommitProblems,
    )>,
> {
    let (pool, number) = at.into_inner();
    let (number, reason) = (BoxNumber(number), wanted.into_inner().0.reason);
    let before = of_quarantine(&state, &pool, number);
    let request = caller.named_request(&format!("quarantine {pool} {number} {reason:?}"));
    let (of, asked_by) = (pool.clone(), caller.name());
    let quarantine = QuarantineBox { pool: of, number, reason, asked_by, request };
    let changed = state.actors.boxes.actor.ask(quarantine).await?;
    changed.map_err(|why| of_box(&pool, number, why))?;
    audit.changed(before.as_ref(), of_quarantine(&state, &pool, number).as_ref());
    Ok(box_info(&state, &pool, number)?)
}

/// `POST /pools/{pool}/boxes/{number}/unquarantine`.
#[utoipa::path(
    post,
    path = "/pools/{pool}/boxes/{number}/unquarantine",
    tag = "boxes",
    operation_id = "unquarantineBox",
    summary = "Cleans a quarantined box and uses it again",
    params(
        ("pool" = String, Path, description = "The pool"),
        ("number" = u32, Path, description = "Number of the box")
    ),
    responses((status = 200, description = "The box after the change", body = BoxInfo))
)]
pub async fn unquarantine(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    at: web::Path<(PoolName, u32)>,
    _: web::Query<NoQuery>,
) -> Result<
    web::Json<BoxInfo>,
    Refusal<(
        refused::NoPool,
        refused::NoBox,
        refused::NotQuarantined,
        refused::Starting,
        CommitProblems,
    )>,
> {
    let (pool, number) = at.into_inner();
    let number = BoxNumber(number);
    let before = of_quarantine(&state, &pool, number);
    let request = caller.named_request(&format!("unquarantine {pool} {number}"));
    let (of, asked_by) = (pool.clone(), caller.name());
    let unquarantine = UnquarantineBox { pool: of, number, asked_by, request };
    let changed = state.actors.boxes.actor.ask(unquarantine).await?;
    changed.map_err(|why| of_box(&pool, number, why))?;
    audit.changed(before.as_ref(), of_quarantine(&state, &pool, number).as_ref());
    Ok(box_info(&state, &pool, number)?)
}

/// Filter of the audit.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Only leases of this holder. Cleanups and checks between leases have no holder and are left
    /// out.
    pub holder: Option<String>,
    /// Only the lease with this fencing token, and the hooks after it.
    pub token: Option<u64>,
    /// Only entries of this kind. Ends of leases: `released`, `expired`, `revoked`, `not_taken`,
    /// `init_failed`. Work on boxes: `init_failed`, `cleaned`, `clean_failed`, `found_dirty`,
    /// `quarantined`, `unquarantined`, `wrong_token`, `adopted`.
    pub what: Option<String>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

/// The audit kinds of hooks and operator actions, as words of the API.
const BOX_LOG_KINDS: [&str; 8] = [
    "init_failed",
    "cleaned",
    "clean_failed",
    "found_dirty",
    "quarantined",
    "unquarantined",
    "wrong_token",
    "adopted",
];

impl AuditQuery {
    fn filter(
        &self,
        pool: PoolName,
        number: Option<BoxNumber>,
    ) -> Result<AuditFilter, ProblemResponse> {
        let holder = self.holder.as_deref().map(Holder::new).transpose();
        let known = || LeaseEnd::ALL.iter().map(|how| how.word()).chain(BOX_LOG_KINDS);
        if let Some(what) = self.what.as_deref().filter(|what| !known().any(|word| word == *what)) {
            let known: Vec<&str> = known().collect();
            let known = known.join(", ");
            return Err(ProblemResponse::bad_request(format!(
                "what: \"{what}\" is not valid: expected one of {known}"
            )));
        }
        Ok(AuditFilter {
            pool,
            number,
            holder: holder.map_err(BoxRefusal::from)?,
            token: self.token.map(FenceToken),
            what: self.what.clone(),
        })
    }

    fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit.clone(), cursor: self.cursor.clone() }
    }
}

/// `GET /pools/{pool}/audit`: works also for a removed pool while the node remembers entries of it.
#[utoipa::path(
    get,
    path = "/pools/{pool}/audit",
    tag = "boxes",
    operation_id = "auditPool",
    summary = "Lists the audit of a pool, newest first: leases, tokens, ends, hooks and their output",
    params(("pool" = String, Path, description = "The pool"), AuditQuery),
    responses((status = 200, description = "A page of audit lines", body = Page<AuditLine>))
)]
pub async fn audit_pool(
    state: web::Data<NodeHttpState>,
    pool: web::Path<PoolName>,
    query: web::Query<AuditQuery>,
) -> Result<web::Json<Page<AuditLine>>, Refusal<(refused::NoPool, refused::Starting)>> {
    Ok(audited(&state, query.filter(pool.into_inner(), None)?, &query.page())?)
}

/// `GET /pools/{pool}/boxes/{number}/audit`.
#[utoipa::path(
    get,
    path = "/pools/{pool}/boxes/{number}/audit",
    tag = "boxes",
    operation_id = "auditBox",
    summary = "Lists the audit of a box, newest first",
    params(
        ("pool" = String, Path, description = "The pool"),
        ("number" = u32, Path, description = "Number of the box"),
        AuditQuery
    ),
    responses((status = 200, description = "A page of audit lines", body = Page<AuditLine>))
)]
pub async fn audit_box(
    state: web::Data<NodeHttpState>,
    at: web::Path<(PoolName, u32)>,
    query: web::Query<AuditQuery>,
) -> Result<web::Json<Page<AuditLine>>, Refusal<(refused::NoPool, refused::Starting)>> {
    let (pool, number) = at.into_inner();
    Ok(audited(&state, query.filter(pool, Some(BoxNumber(number)))?, &query.page())?)
}

fn audited(
    state: &NodeHttpState,
    filter: AuditFilter,
    paging: &PageQuery,
) -> Result<web::Json<Page<AuditLine>>, ProblemResponse> {
    let (limit, from) = (paging.limit()?, paging.position::<AuditCursor>()?);
    let views = views(state)?;
    let found = views.audit(&filter, from.unwrap_or(AuditCursor::NEWEST), limit);
    if found.lines.is_empty() && found.next.is_none() && from.is_none() {
        // No entry is left. Answer 404 if the pool does not exist either.
        views.pool(&filter.pool)?;
    }
    let items = found.lines.iter().map(|line: &AuditEntry| AuditLine::from(line)).collect();
    Ok(web::Json(Page { items, next: found.next.map(|place| Cursor(place.to_string())) }))
}
