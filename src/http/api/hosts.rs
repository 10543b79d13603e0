//! `/api/v1/hosts`: the hosts and what is known of them.

use actix_web::web;
use reelyard_actors::cfw_worker::HostView as Called;
use reelyard_actors::heartbeat::HostBeats;
use reelyard_actors::host::HostAddr;
use reelyard_actors::task_manager::{Blamed, PlannedHost, TaskManagerView};
use reelyard_actors::wire::api::{BackOffView, HostView, Page};

use super::paging::{PageQuery, page};
use crate::http::node::NodeState;
use crate::http::problem::Refusal;

/// `GET /hosts`: by address.
pub async fn list(
    state: web::Data<NodeState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<HostView>>, Refusal> {
    let (limit, after) = (query.limit()?, query.position::<HostAddr>()?);
    let (tasks, beats) = (state.actors.task_board.view(), state.actors.heartbeat_view.load_full());
    let hosts = state.actors.hosts.iter();
    let items =
        hosts.filter(|(host, _)| after.is_none_or(|after| **host > after)).map(|(host, actor)| {
            let beats = beats.hosts.iter().find(|beats| beats.host == *host);
            shown(&actor.view.load(), beats.map(|beats| &**beats), &tasks)
        });
    Ok(web::Json(page(items, limit, |view| view.host)))
}

fn shown(called: &Called, beats: Option<&HostBeats>, tasks: &TaskManagerView) -> HostView {
    let host = called.host;
    let planned = tasks.hosts.iter().find(|planned| planned.host == host);
    let fetching = tasks.open.values().filter(|task| task.destination == host).count();
    let serving = tasks.open.values().filter(|task| task.source == host).count();
    let missed = beats.filter(|beats| beats.misses_in_a_row > 0);
    HostView {
        host,
        role: called.role,
        kind: called.kind,
        health: beats.map(|beats| beats.health).unwrap_or_default(),
        health_since: beats.and_then(|beats| beats.changed),
        latency_ms: called.latency_ms,
        failure: missed.and_then(|beats| beats.last_miss.clone()),
        files: called.inventory.as_ref().map(|inventory| inventory.files),
        disk: called.disk,
        room: planned.and_then(|planned: &PlannedHost| planned.room),
        observed: called.inventory.as_ref().map(|inventory| inventory.at).or(called.disk_at),
        serving: u32::try_from(serving).unwrap_or(u32::MAX),
        fetching: u32::try_from(fetching).unwrap_or(u32::MAX),
        sends_below: planned.and_then(|planned| planned.sends_below),
        receives_below: planned.and_then(|planned| planned.receives_below),
        back_off: back_off(tasks, host),
    }
}

/// The back-off that holds for the host, as source or as destination.
fn back_off(tasks: &TaskManagerView, host: HostAddr) -> Option<BackOffView> {
    let of_host = |blamed: &Blamed| match blamed {
        Blamed::Source(blamed) | Blamed::Destination(blamed) => *blamed == host,
        Blamed::File(_) | Blamed::Pair(..) => false,
    };
    let held = tasks.back_offs.iter().find(|one| one.holds && of_host(&one.blamed))?;
    Some(super::plan::back_off(held))
}
