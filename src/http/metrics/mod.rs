//! `GET /metrics`: metrics of a node or worker for Prometheus.
//!
//! All values come from the published views of the actors. There are about 100 series, and eight
//! more per host: with 2,000 hosts the page has about a megabyte. A pool of boxes adds about 100.
//! The actors of all hosts are summed up as `cfw_worker`. File names and paths are never labels.
//!
//! The page shows numbers and the addresses of the hosts. The addresses in `metrics.allow` read it without a token;
//! other callers need the scope `metrics:read`. A worker shows its own page to everybody.

mod actors;
mod audit;
mod boxes;
mod cluster;
mod hooks;
mod journal;
mod page;
pub mod requests;
mod shares;
mod worker;
mod yard;

use std::fmt;

use actix_web::http::header::{ACCEPT, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_core::clock::Millis;
use reelyard_yard::task_manager::PlanningMode;

use self::page::form;
use self::page::metrics_writer::{MetricsWriter, seconds};
use self::requests::RequestCounts;
use self::yard::{hosts, inputs, removals, tasks};
use super::access::{self, RequestCaller};
use super::api::cluster_calls;
use super::node_state::NodeHttpState;
use super::problem::ProblemResponse;
pub use worker::WorkerFigures;

/// `GET /metrics` of a node.
pub async fn node(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    requests: web::Data<RequestCounts>,
) -> Result<HttpResponse, ProblemResponse> {
    check_reader(&request, &state)?;
    let page = MetricsWriter::page(move |sheet| {
        about(sheet, "node", state.started)?;
        let ready = u64::from(state.not_ready().is_empty());
        sheet.gauge("ready", "1 if the node is ready, as /readyz says", ready)?;
        actors::write(sheet, &state.actors.statuses())?;
        tasks::write(sheet, &state.actors.task_views.load())?;
        let off = u64::from(state.live.now().config.yard.task.mode == PlanningMode::Off);
        sheet.gauge("planning_off", "1 if task.mode is off: no new copies are planned", off)?;
        removals::write(sheet, &state.actors.remover_views.load())?;
        let links = state.share_links.counters();
        shares::write(sheet, &state.actors.share_views, links)?;
        shares::write_access_log(sheet, state.share_links.access_log_status())?;
        hooks::write(sheet, &state.actors.hooks.views(), state.clock.now())?;
        shares::write_files(sheet, &state.actors.share_files_views.load(), state.clock.now())?;
        boxes::write(sheet, &state.actors.boxes.views)?;
        let refused = (&state.worker_refusals, state.clock.now());
        hosts::write(sheet, &state.actors, refused)?;
        inputs::write(sheet, &state.actors.catalog_view.load(), state.clock.now())?;
        journal::write(sheet, &state.journal.status())?;
        let certificate_end = state.cluster.certificate_end();
        cluster::write(sheet, &cluster_calls::cluster::view(&state), certificate_end)?;
        audit::write(sheet, &state.audit.status())?;
        let feed = &state.actors.changes;
        sheet.counter("changes_published", "Changes published to listeners", feed.published())?;
        sheet.gauge("change_listeners", "Clients that follow the events", feed.listeners())?;
        requests.write(sheet)
    });
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    Ok(answer(page, accept.unwrap_or_default()))
}

/// Refuses a caller that may not read the metrics.
fn check_reader(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
) -> Result<(), ProblemResponse> {
    let in_force = state.live.now();
    if state.is_allowed(in_force.config.metrics.allow.as_deref(), access::address_of(request)) {
        return Ok(());
    }
    let (RequestCaller(caller, _), _) = access::authenticate(request, state)?;
    access::require(&caller, &AccessScope::MetricsRead)
}

/// Writes role, version and start time.
fn about(sheet: &mut MetricsWriter<'_>, role: &str, started: Millis) -> fmt::Result {
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("role", role)];
    sheet.info("build", "Version of the program", &labels)?;
    sheet.gauge(
        "start_time_seconds",
        "Start time of the process, in seconds since 1970",
        seconds(started),
    )
}

/// Answers a request with a page in the format that `accept` selects.
fn answer(page: Result<String, fmt::Error>, accept: &str) -> HttpResponse {
    match page {
        Ok(page) if form::wants_open_metrics(accept) => {
            HttpResponse::Ok().insert_header((CONTENT_TYPE, form::OPEN_METRICS)).body(page)
        }
        Ok(page) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, form::PROMETHEUS))
            .body(form::as_prometheus(&page)),
        Err(error) => {
            tracing::error!(%error, "cannot write the metrics page");
            HttpResponse::InternalServerError().finish()
        }
    }
}
