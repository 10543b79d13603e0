//! Changes of `/api/v1/hosts/{host}`: mode, role and membership. The answer shows the consequences.

use actix_web::web;
use reelyard_api::{HostChange, WantedMode, WantedRole, refused};
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::task_manager::{
    AddHost, RemoveHost, SetHostMode, Task, TaskManagerView, TaskState,
};
use serde_json::{Value, json};

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::audit::AuditDetails;
use crate::http::host_facts::HostHoldings;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// `PUT /hosts/{host}/mode`
#[utoipa::path(
    put,
    path = "/hosts/{host}/mode",
    tag = "hosts",
    operation_id = "setHostMode",
    summary = "Sets the mode of a host: active, draining or maintenance",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    request_body(content = WantedMode, description = "The new mode"),
    responses((status = 200, description = "Effects of the change", body = HostChange))
)]
pub async fn set_mode(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedMode>,
) -> Result<web::Json<HostChange>, Refusal<(refused::NotFound, CommitProblems)>> {
    let (host, mode) = (*host, wanted.mode);
    let before = state.actors.task_views.load();
    let mode_before = before.hosts.iter().find(|planned| planned.host == host);
    let mode_before = mode_before.map(|planned| json!({ "mode": planned.record.mode }));
    audit.changed(mode_before.as_ref(), Some(&json!({ "mode": mode })));
    let request = caller.request(&format!("mode {host} {mode}"));
    let set = SetHostMode { host, mode, asked_by: caller.name(), request };
    state.actors.task_manager.ask(set).await??;
    let is_taken_back = |task: &Task| match mode {
        HostMode::Active => false,
        HostMode::Draining => task.state == TaskState::Ready,
        HostMode::Maintenance => true,
    };
    Ok(web::Json(HostChange { mode: Some(mode), ..change(&state, &before, host, is_taken_back) }))
}

/// `PUT /hosts/{host}`: adds a host, or changes the role of an added host.
#[utoipa::path(
    put,
    path = "/hosts/{host}",
    tag = "hosts",
    operation_id = "addHost",
    summary = "Adds a host to the yard, or changes the role of an added host",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    request_body(content = WantedRole, description = "The role of the host"),
    responses((status = 200, description = "The host belongs to the yard", body = HostChange))
)]
pub async fn add(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedRole>,
) -> Result<web::Json<HostChange>, Refusal<(refused::Configured, CommitProblems)>> {
    let (host, role) = (*host, wanted.role);
    let before = state.actors.task_views.load();
    audit.changed(role_of(&before, host).as_ref(), Some(&json!({ "role": role })));
    if host.ip().is_unspecified() || host.ip().is_multicast() {
        return Err(
            ProblemResponse::bad_request(format!("{host} is not the address of one host")).into()
        );
    }
    let request = caller.request(&format!("add host {host} {role:?}"));
    let add = AddHost { host, role, asked_by: caller.name(), request };
    state.actors.task_manager.ask(add).await??;
    Ok(web::Json(change(&state, &before, host, |_| false)))
}

/// `DELETE /hosts/{host}`: removes an added host.
#[utoipa::path(
    delete,
    path = "/hosts/{host}",
    tag = "hosts",
    operation_id = "removeHost",
    summary = "Removes an added host and forgets its files",
    params(("host" = HostAddr, Path, description = "Address of the host, ip:port")),
    responses((status = 200, description = "The host no longer belongs to the yard", body = HostChange))
)]
pub async fn remove(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<HostChange>, Refusal<(refused::NotFound, refused::Configured, CommitProblems)>>
{
    let host = *host;
    let before = state.actors.task_views.load();
    audit.changed(role_of(&before, host).as_ref(), None);
    let request = caller.request(&format!("remove host {host}"));
    let remove = RemoveHost { host, asked_by: caller.name(), request };
    state.actors.task_manager.ask(remove).await??;
    Ok(web::Json(change(&state, &before, host, |_| true)))
}

/// The role of a host of the yard, for the audit.
fn role_of(view: &TaskManagerView, host: HostAddr) -> Option<Value> {
    let planned = view.hosts.iter().find(|planned| planned.host == host)?;
    Some(json!({ "role": planned.record.role }))
}

/// Builds the answer from the state before the change.
fn change(
    state: &NodeHttpState,
    before: &TaskManagerView,
    host: HostAddr,
    is_taken_back: impl Fn(&Task) -> bool,
) -> HostChange {
    let catalog = state.actors.catalog_view.load();
    let of_host =
        before.open.values().filter(|task| [task.source, task.destination].contains(&host));
    HostChange {
        host,
        mode: None,
        taken_back: of_host.filter(|task| is_taken_back(task)).count() as u64,
        holds: HostHoldings::new(before, &catalog, &state.actors.remover_views.load()).of(host),
    }
}
