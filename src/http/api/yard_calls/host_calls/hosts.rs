//! `/api/v1/hosts`: the hosts and their state.

use actix_web::web;
use reelyard_api::{HostAdopted, HostProbed, HostReset, HostView, Page, ProblemKind, refused};
use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_yard::cfw_worker::{AdoptHost, ResetBreaker};
use reelyard_yard::heartbeat::{Health, NotProbed, ProbeNow};
use reelyard_yard::task_manager::ResetHost;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::{PageQuery, page};
use crate::http::host_facts::{HostHoldings, host_view, one_host, unknown_host, with_refusal};
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
    /// Only hosts with this text in their address.
    contains: Option<String>,
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
            && self.contains.as_ref().is_none_or(|part| host.host.to_string().contains(part))
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
    let actor = state.actors.hosts.get(host).ok_or_else(|| unknown_host(host))?;
    let request = caller.request(&format!("reset host {host}"));
    let reset = ResetHost { host, asked_by: caller.name(), request };
    let back_offs = state.actors.task_manager.ask(reset).await??;
    actor.worker.ask(ResetBreaker).await?;
    Ok(web::Json(HostReset { back_offs }))
}

/// `POST /hosts/{host}/probe`: the leader asks the host at once, and answers when the probe has ended.
#[utoipa::path(
    post,
    path = "/hosts/{host}/probe",
    tag = "hosts",
    operation_id = "probeHost",
    summary = "Probes a host now, and returns the result",
    description = "The probe counts like every other one.",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    responses((status = 200, description = "The probe has ended", body = HostProbed))
)]
pub async fn probe(
    state: web::Data<NodeHttpState>,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<HostProbed>, Refusal<(refused::NotFound, refused::NotAllowed, AskProblems)>> {
    let host = *host;
    let beats = state.actors.heartbeat.ask(ProbeNow { host }).await?;
    let beats = beats.map_err(|why| match why {
        NotProbed::NotWatched => unknown_host(host),
        NotProbed::InMaintenance => {
            ProblemResponse::new(ProblemKind::NotAllowed, format!("{host}: {why}"))
        }
        NotProbed::GivenUp => ProblemResponse::new(ProblemKind::Busy, format!("{host}: {why}")),
    })?;
    Ok(web::Json(HostProbed {
        host,
        health: beats.health,
        latency_ms: beats.latency_ms,
        failure: beats.last_miss.clone().filter(|_| beats.latency_ms.is_none()),
        misses_in_a_row: beats.misses_in_a_row,
    }))
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
    let actor = state.actors.hosts.get(host).ok_or_else(|| unknown_host(host))?;
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
