//! `/api/v1/hosts`: the hosts and their state.

use actix_web::web;
use reelyard_api::{
    BreakerOf, BreakerState, BreakerView, HostAdopted, HostReset, HostView, Page, ProblemKind,
    refused,
};
use reelyard_core::backoff::BackOff;
use reelyard_core::event::RequestId;
use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_yard::cfw_worker::{AdoptHost, CfwWorkerView as Called, ResetBreaker};
use reelyard_yard::heartbeat::{Health, HostBeats};
use reelyard_yard::task_manager::{Blamed, HostRecord, PlannedHost, ResetHost, TaskManagerView};
use serde::Deserialize;
use utoipa::IntoParams;

use super::holdings::HostHoldings;
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::{PageQuery, page};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{AskProblems, CommitProblems, ProblemResponse, Refusal};

/// Filter of the hosts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HostQuery {
    /// Only hosts with this role, alone or among others.
    role: Option<HostRole>,
    /// Only hosts with this health.
    health: Option<Health>,
    /// Only hosts in this mode.
    mode: Option<HostMode>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    cursor: Option<String>,
}

impl HostQuery {
    fn takes(&self, host: &HostView) -> bool {
        let role = self.role.is_none_or(|role| match role {
            HostRole::Source => host.role.is_source(),
            HostRole::Destination => host.role.is_destination(),
            HostRole::Both => host.role == role,
        });
        role && self.health.is_none_or(|health| host.health == health)
            && self.mode.is_none_or(|mode| host.mode == mode)
    }
}

/// `GET /hosts`: sorted by address.
#[utoipa::path(
    get,
    path = "/hosts",
    tag = "hosts",
    operation_id = "listHosts",
    summary = "Lists the hosts by address",
    params(HostQuery),
    responses((status = 200, description = "A page of hosts", body = Page<HostView>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<HostQuery>,
) -> Result<web::Json<Page<HostView>>, Refusal<()>> {
    let paging = PageQuery { limit: query.limit.clone(), cursor: query.cursor.clone() };
    let (limit, after) = (paging.limit()?, paging.position::<HostAddr>()?);
    let (tasks, beats) = (state.actors.task_views.load(), state.actors.heartbeat_view.load());
    let (hosts, catalog) = (state.actors.hosts.present(), state.actors.catalog_view.load());
    let holdings = HostHoldings::new(&tasks, &catalog, &state.actors.remover_views.load());
    let items = hosts.iter().filter(|(host, _)| after.is_none_or(|after| **host > after)).map(
        |(host, actor)| {
            let beats = beats.of(*host);
            let seen =
                host_view(&actor.view.load(), beats.map(|beats| &**beats), &tasks, &holdings);
            with_refusal(seen, &state)
        },
    );
    let items = items.filter(|host| query.takes(host));
    Ok(web::Json(page(items, limit, |view| view.host)))
}

/// All hosts of the yard, by address.
pub fn host_views(state: &NodeHttpState) -> Vec<HostView> {
    let (tasks, beats) = (state.actors.task_views.load(), state.actors.heartbeat_view.load());
    let (hosts, catalog) = (state.actors.hosts.present(), state.actors.catalog_view.load());
    let removals = state.actors.remover_views.load();
    let holdings = HostHoldings::new(&tasks, &catalog, &removals);
    let mut views = Vec::with_capacity(hosts.len());
    for (host, actor) in &*hosts {
        let beats = beats.of(*host);
        let seen = host_view(&actor.view.load(), beats.map(|beats| &**beats), &tasks, &holdings);
        views.push(with_refusal(seen, state));
    }
    views
}

/// `GET /hosts/{host}`
#[utoipa::path(
    get,
    path = "/hosts/{host}",
    tag = "hosts",
    operation_id = "showHost",
    summary = "Shows one host",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    responses((status = 200, description = "The host", body = HostView))
)]
pub async fn one(
    state: web::Data<NodeHttpState>,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<HostView>, Refusal<refused::NotFound>> {
    Ok(web::Json(one_host(&state, *host)?))
}

/// One host of the yard.
///
/// # Errors
/// The host does not belong to the yard.
pub fn one_host(state: &NodeHttpState, host: HostAddr) -> Result<HostView, ProblemResponse> {
    let (tasks, beats) = (state.actors.task_views.load(), state.actors.heartbeat_view.load());
    let actor = state.actors.hosts.get(host).ok_or_else(|| unknown(host))?;
    let beats = beats.of(host);
    let (called, catalog) = (actor.view.load(), state.actors.catalog_view.load());
    let holdings = HostHoldings::new(&tasks, &catalog, &state.actors.remover_views.load());
    let seen = host_view(&called, beats.map(|beats| &**beats), &tasks, &holdings);
    Ok(with_refusal(seen, state))
}

/// The refusal for a host that does not belong to the yard.
fn unknown(host: HostAddr) -> ProblemResponse {
    ProblemResponse::not_found(format!("{host} is not a host of this yard"))
}

/// Adds why the calls of the host's worker are refused, if the node sees no other problem with its token.
fn with_refusal(mut seen: HostView, state: &NodeHttpState) -> HostView {
    if seen.token_trouble.is_none() {
        seen.token_trouble = state.worker_refusals.of(seen.host, state.clock.now());
    }
    seen
}

fn host_view(
    called: &Called,
    beats: Option<&HostBeats>,
    tasks: &TaskManagerView,
    holdings: &HostHoldings<'_>,
) -> HostView {
    let host = called.host;
    let record = super::holdings::record(tasks, host);
    let record = record.unwrap_or(HostRecord::new(called.role, true));
    let is_draining = record.mode == HostMode::Draining;
    let planned = tasks.host(host);
    let (serving, fetching) = planned.map_or((0, 0), |planned| (planned.serving, planned.fetching));
    let missed = beats.filter(|beats| beats.misses_in_a_row > 0);
    let foreign_managers =
        tasks.foreign_managers.iter().filter(|manager| manager.host == Some(host));
    let breakers = breakers(called, tasks);
    let open = breakers.iter().filter(|one| one.state == BreakerState::Open);
    let back_off = open.max_by_key(|one| one.back_off.until).map(|one| one.back_off.clone());
    HostView {
        host,
        role: called.role,
        mode: record.mode,
        configured: record.configured,
        silent_since: record.silent_since,
        lost: record.lost,
        draining: is_draining.then(|| holdings.of(host)).flatten(),
        kind: called.kind,
        health: beats.map(|beats| beats.health).unwrap_or_default(),
        health_since: beats.and_then(|beats| beats.changed),
        latency_ms: called.latency_ms,
        failure: missed
            .and_then(|beats| beats.last_miss.clone())
            .or_else(|| called.refused_list.clone()),
        token_trouble: called.token_trouble.map(|trouble| trouble.to_string()),
        files: called.inventory.as_ref().map(|inventory| inventory.files),
        disk: called.disk,
        room: planned.and_then(|planned: &PlannedHost| planned.room),
        observed: called.inventory.as_ref().map(|inventory| inventory.at).or(called.disk_at),
        serving: u32::try_from(serving).unwrap_or(u32::MAX),
        fetching: u32::try_from(fetching).unwrap_or(u32::MAX),
        sends_below: planned.and_then(|planned| planned.sends_below),
        receives_below: planned.and_then(|planned| planned.receives_below),
        traffic: called.traffic.clone(),
        traffic_at: called.traffic_at,
        source_link: planned.and_then(|planned| planned.source_link),
        destination_link: planned.and_then(|planned| planned.destination_link),
        agent_failure: called.agent_failure.clone(),
        back_off,
        breakers,
        foreign_managers: foreign_managers.cloned().collect(),
    }
}

/// All circuit breakers of the host: as source, as destination, and for calls.
fn breakers(called: &Called, tasks: &TaskManagerView) -> Vec<BreakerView> {
    let back_off_entry = |of, back_off: &BackOff, now| {
        let state = if back_off.holds(now) { BreakerState::Open } else { BreakerState::Probation };
        BreakerView { of, state, back_off: crate::http::api::yard_calls::plan::back_off(back_off) }
    };
    let host = called.host;
    let copies = [
        (BreakerOf::Source, Blamed::Source(host)),
        (BreakerOf::Destination, Blamed::Destination(host)),
    ];
    let held = copies.into_iter().filter_map(|(of, blamed)| {
        Some(back_off_entry(of, tasks.back_offs.get(&blamed)?, tasks.at))
    });
    let trouble = called.trouble.as_ref().map(|trouble| {
        let state =
            if called.calls.is_open() { BreakerState::Open } else { BreakerState::Probation };
        let back_off = crate::http::api::yard_calls::plan::back_off(&trouble.back_off);
        BreakerView { of: BreakerOf::Calls, state, back_off }
    });
    held.chain(trouble).collect()
}

/// `POST /hosts/{host}/reset`: an operator repaired the host, so backoff and breakers end.
#[utoipa::path(
    post,
    path = "/hosts/{host}/reset",
    tag = "hosts",
    operation_id = "resetHost",
    summary = "Ends backoff, probation and open circuit breaker of a host",
    description = "Use it after you repaired the host.",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    responses((status = 200, description = "The host was reset", body = HostReset))
)]
pub async fn reset(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<HostReset>, Refusal<(refused::NotFound, CommitProblems)>> {
    let host = *host;
    let actor = state.actors.hosts.get(host).ok_or_else(|| unknown(host))?;
    let reset = ResetHost { host, asked_by: caller.name(), request: RequestId::random() };
    let back_offs = state.actors.task_manager.ask(reset).await??;
    actor.worker.ask(ResetBreaker).await?;
    Ok(web::Json(HostReset { back_offs }))
}

/// `POST /hosts/{host}/adopt`: an operator confirms that the worker belongs to this cluster.
#[utoipa::path(
    post,
    path = "/hosts/{host}/adopt",
    tag = "hosts",
    operation_id = "adoptHost",
    summary = "Lets a worker obey this cluster",
    description = "Use it for a worker that obeys another cluster, or that has seen a wrong epoch.",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    responses((status = 200, description = "The worker obeys this cluster", body = HostAdopted))
)]
pub async fn adopt(
    state: web::Data<NodeHttpState>,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
) -> Result<
    web::Json<HostAdopted>,
    Refusal<(refused::NotFound, refused::NotLeader, refused::HostRefused, AskProblems)>,
> {
    let host = *host;
    let actor = state.actors.hosts.get(host).ok_or_else(|| unknown(host))?;
    let leadership = *state.journal.leadership().borrow();
    let epoch = leadership
        .epoch()
        .ok_or_else(|| crate::http::api::yard_calls::workers::not_leader(&state))?;
    let adopted = actor.worker.ask(AdoptHost { epoch }).await?.map_err(|failure| {
        let detail = format!("{host} was not adopted: {failure}");
        ProblemResponse::new(ProblemKind::HostRefused, detail)
    })?;
    Ok(web::Json(HostAdopted { host, epoch: adopted.epoch, before: adopted.before }))
}
