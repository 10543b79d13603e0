//! The obstacles to copies to a host, and its silence.

use reelyard_api::HostView;
use reelyard_console::Moment;
use reelyard_console::pages::why::{HostObstacle, HostSilence, ObstacleFact};
use reelyard_yard::heartbeat::Health;

use crate::http::node_state::NodeHttpState;
use crate::http::overview::host_lines::obstacle_of;

/// The obstacles to copies to a destination, and to copies from a source.
pub fn of_host(state: &NodeHttpState, host: &HostView) -> Vec<ObstacleFact> {
    let tasks = state.actors.task_views.load();
    let Some(planned) = tasks.host(host.host) else { return Vec::new() };
    let why = [
        planned.no_destination.filter(|_| host.role.is_destination()),
        planned.no_source.filter(|_| host.role.is_source()),
    ];
    let mut why: Vec<_> = why.into_iter().flatten().collect();
    // A host with both roles is often kept from both by the same.
    why.dedup();
    let fact = |why| {
        let obstacle = obstacle_of(why);
        let is_silent = matches!(obstacle, HostObstacle::NotUp | HostObstacle::Lost);
        let silence = is_silent.then(|| silence(state, host)).flatten();
        ObstacleFact { obstacle, detail: String::new(), silence }
    };
    why.into_iter().map(fact).collect()
}

fn silence(state: &NodeHttpState, host: &HostView) -> Option<HostSilence> {
    let beats = state.actors.heartbeat_view.load();
    let beats = beats.of(host.host).filter(|beats| beats.misses_in_a_row > 0)?;
    let yard = &state.live.now().config.yard;
    let after = yard.hosts.presumed_lost_after;
    let silent = host.silent_since.filter(|_| host.health == Health::Down && !host.lost);
    Some(HostSilence {
        misses: u64::from(beats.misses_in_a_row),
        last_answer: beats.last_answer.map(|at| Moment(at.0)),
        interval: yard.heartbeat.interval.as_secs().max(1),
        lost_at: silent.map(|at| Moment(at.after(after).0)),
    })
}
