//! `/api/v1/leases` and `/api/v1/pools/{pool}/leases`: leases of boxes.

use actix_web::{HttpRequest, web};
use reelyard_api::{
    Cursor, GrantedLease, LeaseEnded, LeaseInfo, LeaseToken, LeaseVerified, Page, REPEATED, Span,
    WantedLeaseRevocation, WantedRenewal, refused,
};
use reelyard_boxes::box_lease::{
    BoxRefusal, FoundLease, LeaseEnd, ReleaseLease, RenewLease, RevokeLease, VerifyLease,
};
use reelyard_protocol::boxes::{BoxNumber, Holder, LeaseId, PoolName};
use serde::Deserialize;
use utoipa::IntoParams;

use super::box_refusals::{EndedLeaseProblems, LeaseProblems, of_revocation};
use super::pools::views;
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::PageQuery;
use crate::http::api::call_parts::{LeaderProblems, require_leader};
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{AskProblems, CommitProblems, ProblemResponse, Refusal};

/// Filter of the leases.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LeaseListQuery {
    /// Only leases of this holder.
    pub holder: Option<String>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    pub limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    pub cursor: Option<String>,
}

/// `GET /pools/{pool}/leases`: a page can be short or empty and still have a next page.
#[utoipa::path(
    get,
    path = "/pools/{pool}/leases",
    tag = "boxes",
    operation_id = "listLeases",
    summary = "Lists the live leases of a pool by box",
    params(("pool" = String, Path, description = "The pool"), LeaseListQuery),
    responses((status = 200, description = "A page of leases", body = Page<LeaseInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    pool: web::Path<PoolName>,
    query: web::Query<LeaseListQuery>,
) -> Result<web::Json<Page<LeaseInfo>>, Refusal<(refused::NoPool, refused::Starting)>> {
    let LeaseListQuery { holder, limit, cursor } = query.into_inner();
    let paging = PageQuery { limit, cursor };
    let (limit, from) = (paging.limit()?, paging.position::<u32>()?.unwrap_or_default());
    let holder = holder.as_deref().map(Holder::new).transpose().map_err(BoxRefusal::from)?;
    let leases = views(&state)?.leases(&pool, holder.as_ref(), BoxNumber(from), limit)?;
    let items = leases.lines.iter().map(LeaseInfo::live).collect();
    let next = leases.next.map(|number| Cursor(number.to_string()));
    Ok(web::Json(Page { items, next }))
}

/// `GET /leases/{id}`.
#[utoipa::path(
    get,
    path = "/leases/{id}",
    tag = "boxes",
    operation_id = "showLease",
    summary = "Shows a lease; for an ended one also when and how it ended",
    params(("id" = String, Path, description = "Id of the lease")),
    responses((status = 200, description = "The lease", body = LeaseInfo))
)]
pub async fn one(
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<LeaseInfo>, Refusal<(refused::UnknownLease, refused::Starting)>> {
    let (id, views) = (lease_id(&id)?, views(&state)?);
    let lease_info = views.with_table(|table| match table.find(id) {
        FoundLease::Live(lease) => Ok(LeaseInfo::live(lease)),
        FoundLease::Ended(ended) => Ok(LeaseInfo::ended(ended)),
        FoundLease::Unknown => Err(BoxRefusal::UnknownLease),
    });
    Ok(web::Json(lease_info?))
}

/// `POST /leases/{id}/renew`.
#[utoipa::path(
    post,
    path = "/leases/{id}/renew",
    tag = "boxes",
    operation_id = "renewLease",
    summary = "Renews a lease from now on",
    params(("id" = String, Path, description = "Id of the lease")),
    request_body(content = WantedRenewal, description = "Fencing token and wanted lease time"),
    responses((status = 200, description = "The renewed lease", body = GrantedLease))
)]
pub async fn renew(
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedRenewal>,
) -> Result<
    web::Json<GrantedLease>,
    Refusal<(LeaseProblems, refused::Terms, refused::HeldTooLong, CommitProblems)>,
> {
    let WantedRenewal { token, ttl } = wanted.into_inner().0;
    let renew = RenewLease { lease: lease_id(&id)?, token, ttl: ttl.map(|Span(ttl)| ttl) };
    let lease = state.actors.boxes.actor.ask(renew).await??;
    Ok(web::Json(GrantedLease::of(&lease, state.clock.now())))
}

/// `POST /leases/{id}/release`.
#[utoipa::path(
    post,
    path = "/leases/{id}/release",
    tag = "boxes",
    operation_id = "releaseLease",
    summary = "Releases a lease",
    params(("id" = String, Path, description = "The id of the lease")),
    request_body(content = LeaseToken, description = "The token of the lease"),
    responses((status = 200, description = "The lease has ended", body = LeaseEnded))
)]
pub async fn release(
    state: web::Data<NodeHttpState>,
    request: HttpRequest,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<LeaseToken>,
) -> Result<web::Json<LeaseEnded>, Refusal<(LeaseProblems, CommitProblems)>> {
    let lease = lease_id(&id)?;
    let may_be_repeated = request.headers().contains_key(REPEATED);
    let release = ReleaseLease { lease, token: wanted.token, may_be_repeated };
    state.actors.boxes.actor.ask(release).await??;
    Ok(web::Json(LeaseEnded { lease_id: lease, state: LeaseEnd::Released.into() }))
}

/// `POST /leases/{id}/verify`: read without a commit. Only the deciding node may answer it.
#[utoipa::path(
    post,
    path = "/leases/{id}/verify",
    tag = "boxes",
    operation_id = "verifyLease",
    summary = "Checks whether a lease is valid",
    description = "A lease is valid if a holder got it with this token, no end is recorded and \
                   its term is not over. A valid lease can be renewed. After a restart or a \
                   change of leader a lease lasts until the end that its holder knows, and at most \
                   `cluster.clock_bound` longer. \
                   While a lease is valid, no other holder has the box. Only the leader answers.",
    params(("id" = String, Path, description = "Id of the lease")),
    request_body(content = LeaseToken, description = "Fencing token of the lease"),
    responses((status = 200, description = "The lease is valid", body = LeaseVerified))
)]
pub async fn verify(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<LeaseToken>,
) -> Result<web::Json<LeaseVerified>, Refusal<(LeaseProblems, AskProblems, LeaderProblems)>> {
    audit.changes_nothing();
    let (id, views) = (lease_id(&id)?, &state.actors.boxes.views);
    require_leader(views.is_up(), views.view().epoch, *state.journal.leadership().borrow())?;
    let verify = VerifyLease { lease: id, token: wanted.token };
    let lease = state.actors.boxes.actor.ask(verify).await??;
    Ok(web::Json(LeaseVerified::from(&*lease)))
}

/// `POST /leases/{id}/revoke`.
#[utoipa::path(
    post,
    path = "/leases/{id}/revoke",
    tag = "boxes",
    operation_id = "revokeLease",
    summary = "Revokes a lease",
    params(("id" = String, Path, description = "The id of the lease")),
    request_body(content = WantedLeaseRevocation, description = "Why"),
    responses((status = 200, description = "The lease has ended", body = LeaseEnded))
)]
pub async fn revoke(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedLeaseRevocation>,
) -> Result<
    web::Json<LeaseEnded>,
    Refusal<(refused::UnknownLease, EndedLeaseProblems, CommitProblems)>,
> {
    let (lease, reason) = (lease_id(&id)?, wanted.into_inner().0.reason);
    audit.after(serde_json::json!({ "revoked": reason }));
    let request = caller.named_request(&format!("revoke {lease} {reason:?}"));
    let revoke = RevokeLease { lease, reason, asked_by: caller.name(), request };
    let revoked = state.actors.boxes.actor.ask(revoke).await?;
    revoked.map_err(|why| of_revocation(state.actors.boxes.views.box_of_lease(lease), why))?;
    Ok(web::Json(LeaseEnded { lease_id: lease, state: LeaseEnd::Revoked.into() }))
}

/// Parses a lease id. An invalid id gets the same answer as an unknown lease, so that the answer
/// does not help to guess ids.
fn lease_id(text: &str) -> Result<LeaseId, ProblemResponse> {
    text.parse().map_err(|_| BoxRefusal::UnknownLease.into())
}
