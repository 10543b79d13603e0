//! `/api/v1/workers/{host}/..`: polls and reports of the workers. See
//! [`reelyard_protocol::worker`].

use reelyard_api::{ProblemKind, refused};
use std::collections::HashSet;
use std::time::Duration;

use actix_web::web;
use reelyard_core::host::HostAddr;
use reelyard_file_server::data_port::master_path;
use reelyard_file_server::ticket::TicketKey;
use reelyard_protocol::worker::{CopyTickets, Reports, ReportsTaken, TaskId, TaskOrders};
use reelyard_yard::task_manager::TakeReports;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Longest wait of a poll.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long the tickets of an order are valid. A copy that needs a connection later fails, and is ordered again.
const ORDER_TICKET_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The state that the worker knows, and its wait for changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TasksQuery {
    /// Ids of the tasks that the worker has, separated by commas.
    #[serde(default)]
    known: String,
    /// How long to wait for a change, for example `25s`; at most a minute. Without it the answer
    /// comes at once.
    #[serde(default, with = "humantime_serde")]
    #[param(value_type = Option<String>)]
    wait: Option<Duration>,
    /// The `rates` value that the worker received with these tasks.
    rates: Option<u32>,
}

/// `GET /workers/{host}/tasks`: the long poll.
#[utoipa::path(
    get,
    path = "/workers/{host}/tasks",
    tag = "workers",
    operation_id = "takeOrders",
    summary = "Returns the orders for a worker",
    description = "The answer comes at once if the worker does not know the current orders, else \
                   at a change or after `wait`.",
    params(("host" = HostAddr, Path, description = "The worker's address"), TasksQuery),
    responses((status = 200, description = "The tasks of the worker", body = TaskOrders))
)]
pub async fn tasks(
    state: web::Data<NodeHttpState>,
    host: web::Path<HostAddr>,
    query: web::Query<TasksQuery>,
) -> Result<web::Json<TaskOrders>, Refusal<(refused::UnknownHost, refused::NotLeader)>> {
    let host = known_host(&state, *host)?;
    let known = known_tasks(&query.known)?;
    let until = Instant::now() + query.wait.unwrap_or_default().min(LONGEST_WAIT);
    let mut changes = state.actors.task_views.news();
    let mut stopping = state.stopping.clone();
    loop {
        changes.mark_unchanged();
        let view = state.actors.task_views.load();
        let orders = view.orders_for(host).ok_or_else(|| not_leader(&state))?;
        if orders.is_news_for(&known, query.rates) || *stopping.borrow() {
            return Ok(web::Json(with_access(&state, orders)));
        }
        tokio::select! {
            // In both cases the orders are read again. If the sender no longer exists, nothing
            // changes.
            _ = changes.changed() => {}
            _ = stopping.changed() => {}
            () = sleep_until(until) => return Ok(web::Json(with_access(&state, orders))),
        }
    }
}

/// Adds the access to each source: whether it uses TLS, and a ticket for its data port. A worker knows no token of
/// another one.
fn with_access(state: &NodeHttpState, mut orders: TaskOrders) -> TaskOrders {
    let end = state.clock.now().after(ORDER_TICKET_LIFE);
    let tls = state.live.now().config.yard.calls.host_tls();
    for order in &mut orders.tasks {
        order.source_tls = tls.is_on(order.source);
        let Some(port) = order.source_data else { continue };
        let Some(token) = state.worker_token(order.source) else { continue };
        let key = TicketKey::of(&token);
        let sign = |hash| {
            let path = master_path(&order.dir, &order.name, hash);
            key.sign(port, path.as_bytes(), end)
        };
        order.tickets = Some(CopyTickets { master: sign(false), hash: sign(true) });
    }
    orders
}

/// `POST /workers/{host}/reports`.
#[utoipa::path(
    post,
    path = "/workers/{host}/reports",
    tag = "workers",
    operation_id = "takeReports",
    summary = "Takes the reports of a worker",
    description = "The answer comes when the ends are durable.",
    params(("host" = HostAddr, Path, description = "The worker's address")),
    request_body(content = Reports, description = "The reports, in the order of the events"),
    responses((status = 200, description = "The reports are taken", body = ReportsTaken))
)]
pub async fn reports(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    host: web::Path<HostAddr>,
    _: web::Query<NoQuery>,
    body: Body<Reports>,
) -> Result<web::Json<ReportsTaken>, Refusal<(refused::UnknownHost, CommitProblems)>> {
    let host = known_host(&state, *host)?;
    let reports = body.into_inner().0.reports;
    let ended = reports.iter().filter(|report| report.is_end());
    let ended: Vec<_> = ended.map(|report| report.task).take(NAMED).collect();
    // Progress comes each second, and is no change.
    match ended.is_empty() {
        true => audit.changes_nothing(),
        false => audit.after(serde_json::json!({ "ended_tasks": ended })),
    }
    let take = TakeReports { host, reports };
    Ok(web::Json(state.actors.task_manager.ask(take).await??))
}

/// Number of tasks that a row of the audit names.
const NAMED: usize = 20;

fn known_host(state: &NodeHttpState, host: HostAddr) -> Result<HostAddr, ProblemResponse> {
    if state.actors.hosts.get(host).is_some() {
        return Ok(host);
    }
    let detail = format!(
        "{host} is not a host of this yard: add it to hosts.sources or hosts.destinations of the \
         node, or by \"reelyard hosts add\""
    );
    Err(ProblemResponse::new(ProblemKind::UnknownHost, detail))
}

fn known_tasks(text: &str) -> Result<HashSet<TaskId>, ProblemResponse> {
    let wrong =
        || ProblemResponse::bad_request(format!("known: \"{text}\" is not a list of task numbers"));
    let ids = text.split(',').filter(|id| !id.is_empty());
    ids.map(|id| id.parse().map(TaskId).map_err(|_| wrong())).collect()
}

pub(in crate::http::api) fn not_leader(state: &NodeHttpState) -> ProblemResponse {
    let leader = state.journal.leader().filter(|leader| *leader != state.node_id);
    let who = leader
        .map_or("no node leads yet".to_owned(), |leader| format!("the leader is node {leader}"));
    let detail = format!("this node does not lead the yard; {who}");
    ProblemResponse::new(ProblemKind::NotLeader, detail)
}
