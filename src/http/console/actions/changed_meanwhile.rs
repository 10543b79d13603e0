//! Two people who act on the same host: the second one acts only on what the page showed.

use reelyard_api::ProblemKind;
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::task_manager::TaskManagerView;

use crate::http::console::posted_form::PostedForm;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Field of a form with a host and the mode that the page showed: `10.0.0.1:8888 active`.
pub const SEEN: &str = "seen";

/// The refusal if a host has another mode than the page showed. A form without such fields is not checked.
pub fn changed_meanwhile(state: &NodeHttpState, form: &PostedForm) -> Option<ProblemResponse> {
    let tasks = state.actors.task_views.load();
    let (host, seen, mode) = form.all(SEEN).find_map(|seen| changed_host(&tasks, seen))?;
    let detail = format!(
        "{host} is {mode} now, but the page showed {seen}. Nothing was done. The audit says who changed it. Look at \
         the host, and act again if you still want to."
    );
    Some(ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail))
}

fn changed_host<'a>(
    tasks: &TaskManagerView,
    seen: &'a str,
) -> Option<(HostAddr, &'a str, &'static str)> {
    let (host, shown) = seen.split_once(' ')?;
    let host: HostAddr = host.parse().ok()?;
    let mode = mode_word(tasks.host(host)?.record.mode);
    (mode != shown).then_some((host, shown, mode))
}

/// The mode in the words of forms and of the API.
pub const fn mode_word(mode: HostMode) -> &'static str {
    match mode {
        HostMode::Active => "active",
        HostMode::Draining => "draining",
        HostMode::Maintenance => "maintenance",
    }
}
