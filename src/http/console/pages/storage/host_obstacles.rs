//! The obstacles to copies to a host, and its silence.

use reelyard_api::HostView;
use reelyard_console::Moment;
use reelyard_console::pages::why::{HostObstacle, HostSilence, ObstacleFact};
use reelyard_yard::heartbeat::Health;

use crate::http::node_state::NodeHttpState;
use crate::http::overview::host_lines::obstacle_of;

/// The obstacle to copies to a destination, or to copies from a source.
pub fn of_host(state: &NodeHttpState, host: &HostView) -> Vec<ObstacleFact> {
    let tasks = state.actors.task_views.load();
    let Some(planned) = tasks.host(host.host) else { return Vec::new() };
    let why = match host.role.is_destination() {
        true => planned.no_destination,
        false => planned.no_source,
    };
    let fact = |why| {
        let obstacle = obstacle_of(why);
        let is_silent = matches!(obstacle, HostObstacle::NotUp | HostObstacle::Lost);
        let silence = is_silent.then(|| silence(state, host)).flatten();
        ObstacleFact { obstacle, detail: String::new(), silence }
    };
    why.map(fact).into_iter().collect()
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
