//! `/api/v1/pools`: sets of numbered boxes.

use actix_web::{HttpResponse, web};
use reelyard_api::{Page, PoolAdoption, PoolInfo, PoolRemoval, WantedPool, refused};
use reelyard_boxes::box_lease::{
    AdoptPool, BoxViewHandle, PoolPut, PoolSpec, PutPool, RecheckPool, RemovePool,
};
use reelyard_protocol::boxes::PoolName;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::{PageQuery, page};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// `GET /pools`.
#[utoipa::path(
    get,
    path = "/pools",
    tag = "boxes",
    operation_id = "listPools",
    summary = "Lists the pools of boxes by name",
    params(PageQuery),
    responses((status = 200, description = "A page of pools", body = Page<PoolInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<PoolInfo>>, Refusal<refused::Starting>> {
    let (limit, from) = (query.limit()?, query.position::<String>()?.unwrap_or_default());
    let views = views(&state)?;
    let view = views.view();
    let pools = views.pools().into_iter().filter(|pool| pool.name.as_str() > from.as_str());
    let infos = pools.map(|pool| PoolInfo::of(&pool, view.queues.get(&pool.name)));
    Ok(web::Json(page(infos, limit, |pool| pool.name.clone())))
}

/// `GET /pools/{pool}`.
#[utoipa::path(
    get,
    path = "/pools/{pool}",
    tag = "boxes",
    operation_id = "showPool",
    summary = "Shows a pool: settings, states of its boxes, queue and counters",
    params(("pool" = String, Path, description = "Name of the pool")),
    responses((status = 200, description = "The pool", body = PoolInfo))
)]
pub async fn one(
    state: web::Data<NodeHttpState>,
    pool: web::Path<PoolName>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<PoolInfo>, Refusal<(refused::NoPool, refused::Starting)>> {
    Ok(web::Json(pool_info(views(&state)?, &pool)?))
}

/// `PUT /pools/{pool}`: creates a pool or replaces its settings.
#[utoipa::path(
    put,
    path = "/pools/{pool}",
    tag = "boxes",
    operation_id = "putPool",
    summary = "Creates or replaces a pool",
    description = "Omitted members get their default. Surplus boxes disappear when they are free.",
    params(("pool" = String, Path, description = "Name of the pool")),
    request_body(content = WantedPool, description = "The settings of the pool"),
    responses(
        (status = 200, description = "The pool was changed", body = PoolInfo),
        (status = 201, description = "The pool was created", body = PoolInfo)
    )
)]
pub async fn put(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    pool: web::Path<PoolName>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedPool>,
) -> Result<
    HttpResponse,
    Refusal<(
        refused::BadPool,
        refused::PoolInUse,
        refused::NoPool,
        refused::IdsTaken,
        CommitProblems,
    )>,
> {
    let (pool, spec) = (pool.into_inner(), PoolSpec::from(wanted.into_inner().0));
    let request = caller.named_request(&format!("put {pool} {spec:?}"));
    let (of, asked_by) = (pool.clone(), caller.name());
    let put = PutPool { pool: of, spec, by_settings: None, asked_by, request };
    let put = state.actors.boxes.actor.ask(put).await??;
    let mut answer = match put {
        PoolPut::Created => HttpResponse::Created(),
        PoolPut::Changed | PoolPut::AlreadySo => HttpResponse::Ok(),
    };
    Ok(answer.json(pool_info(&state.actors.boxes.views, &pool)?))
}

/// Options of the removal.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// Revoke the leases of the pool instead of waiting for their ends.
    #[serde(default)]
    pub revoke: bool,
}

/// `DELETE /pools/{pool}`.
#[utoipa::path(
    delete,
    path = "/pools/{pool}",
    tag = "boxes",
    operation_id = "removePool",
    summary = "Removes a pool: it grants no more boxes and disappears with its last lease",
    params(("pool" = String, Path, description = "Name of the pool"), RemoveQuery),
    responses(
        (status = 200, description = "The pool was removed", body = PoolRemoval),
        (status = 202, description = "The pool disappears with its last box", body = PoolRemoval)
    )
)]
pub async fn remove(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    pool: web::Path<PoolName>,
    query: web::Query<RemoveQuery>,
) -> Result<HttpResponse, Refusal<(refused::NoPool, CommitProblems)>> {
    let (pool, revoke) = (pool.into_inner(), query.revoke);
    let request = caller.named_request(&format!("remove {pool} {revoke}"));
    let remove = RemovePool { pool, revoke, asked_by: caller.name(), request };
    let gone = state.actors.boxes.actor.ask(remove).await??;
    let mut answer = if gone { HttpResponse::Ok() } else { HttpResponse::Accepted() };
    Ok(answer.json(PoolRemoval { gone }))
}

/// `POST /pools/{pool}/recheck`.
#[utoipa::path(
    post,
    path = "/pools/{pool}/recheck",
    tag = "boxes",
    operation_id = "recheckPool",
    summary = "Lets the host of a pool check its free boxes before they are granted",
    params(("pool" = String, Path, description = "Name of the pool")),
    responses((status = 202, description = "The check will run"))
)]
pub async fn recheck(
    state: web::Data<NodeHttpState>,
    pool: web::Path<PoolName>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, Refusal<(refused::NoPool, CommitProblems)>> {
    let recheck = RecheckPool { pool: pool.into_inner() };
    state.actors.boxes.actor.ask(recheck).await??;
    Ok(HttpResponse::Accepted().finish())
}

/// `POST /pools/{pool}/adopt`.
#[utoipa::path(
    post,
    path = "/pools/{pool}/adopt",
    tag = "boxes",
    operation_id = "adoptPool",
    summary = "Assigns the boxes on the pool's host to this pool",
    description = "A worker serves each box for one pool of one cluster. After that pool was \
                   removed, or its cluster was replaced, this call assigns the boxes. A pool \
                   that still uses them loses them.",
    params(("pool" = String, Path, description = "Name of the pool")),
    responses((status = 200, description = "The boxes belong to this pool", body = PoolAdoption))
)]
pub async fn adopt(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    pool: web::Path<PoolName>,
    _: web::Query<NoQuery>,
) -> Result<
    web::Json<PoolAdoption>,
    Refusal<(refused::NoPool, refused::BadPool, refused::HostSilent, CommitProblems)>,
> {
    let adopt = AdoptPool { pool: pool.into_inner(), asked_by: caller.name() };
    let from = state.actors.boxes.actor.ask(adopt).await??;
    Ok(web::Json(PoolAdoption { from }))
}

/// The view of the boxes. Refused until this node has read its journal, because an unknown pool may
/// exist in it.
pub(in crate::http) fn views(state: &NodeHttpState) -> Result<&BoxViewHandle, ProblemResponse> {
    let views = &state.actors.boxes.views;
    if views.is_up() { Ok(views) } else { Err(ProblemResponse::starting()) }
}

fn pool_info(views: &BoxViewHandle, pool: &PoolName) -> Result<PoolInfo, ProblemResponse> {
    let status = views.pool(pool)?;
    Ok(PoolInfo::of(&status, views.view().queues.get(pool)))
}
