//! The hosts of the yard as all surfaces show them: facts of several actors, joined.

mod holdings;

pub use holdings::HostHoldings;
use reelyard_api::{BackOffView, BreakerOf, BreakerState, BreakerView, HostView};
use reelyard_core::backoff::BackOff;
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::cfw_worker::CfwWorkerView as Called;
use reelyard_yard::heartbeat::HostBeats;
use reelyard_yard::task_manager::{Blamed, HostRecord, PlannedHost, TaskManagerView};

use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

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

/// One host of the yard.
///
/// # Errors
/// The host does not belong to the yard.
pub fn one_host(state: &NodeHttpState, host: HostAddr) -> Result<HostView, ProblemResponse> {
    let (tasks, beats) = (state.actors.task_views.load(), state.actors.heartbeat_view.load());
    let actor = state.actors.hosts.get(host).ok_or_else(|| unknown_host(host))?;
    let beats = beats.of(host);
    let (called, catalog) = (actor.view.load(), state.actors.catalog_view.load());
    let holdings = HostHoldings::new(&tasks, &catalog, &state.actors.remover_views.load());
    let seen = host_view(&called, beats.map(|beats| &**beats), &tasks, &holdings);
    Ok(with_refusal(seen, state))
}

/// The refusal for a host that does not belong to the yard.
pub fn unknown_host(host: HostAddr) -> ProblemResponse {
    ProblemResponse::not_found(format!("{host} is not a host of this yard"))
}

/// Adds why the calls of the host's worker are refused, if the node sees no other problem with its token.
pub fn with_refusal(mut seen: HostView, state: &NodeHttpState) -> HostView {
    if seen.token_trouble.is_none() {
        seen.token_trouble = state.worker_refusals.of(seen.host, state.clock.now());
    }
    seen
}

/// A host as its actors see it.
pub fn host_view(
    called: &Called,
    beats: Option<&HostBeats>,
    tasks: &TaskManagerView,
    holdings: &HostHoldings<'_>,
) -> HostView {
    let host = called.host;
    let record = holdings::record(tasks, host);
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
    let back_off_entry = |of, held: &BackOff, now| {
        let state = if held.holds(now) { BreakerState::Open } else { BreakerState::Probation };
        BreakerView { of, state, back_off: back_off_view(held) }
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
        let back_off = back_off_view(&trouble.back_off);
        BreakerView { of: BreakerOf::Calls, state, back_off }
    });
    held.chain(trouble).collect()
}

/// A backoff without its host or file.
pub fn back_off_view(held: &BackOff) -> BackOffView {
    BackOffView { until: held.until, failures: held.failures, reason: held.reason.clone() }
}
