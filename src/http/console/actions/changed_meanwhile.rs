//! Two people who act on the same host: the second one acts only on what the page showed.

use actix_web::web::{Data, Query};
use reelyard_access::audit::AuditOutcome;
use reelyard_api::ProblemKind;
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::task_manager::TaskManagerView;

use crate::http::api::audit_calls::audit::{AuditRowQuery, list};
use crate::http::console::posted_form::PostedForm;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Field of a form with a host and the mode that the page showed: `10.0.0.1:8888 active`.
pub const SEEN: &str = "seen";

/// The refusal if a host has another mode than the page showed. A form without such fields is not checked.
pub async fn changed_meanwhile(
    state: &Data<NodeHttpState>,
    form: &PostedForm,
) -> Option<ProblemResponse> {
    let tasks = state.actors.task_views.load();
    let (host, seen, mode) = form.all(SEEN).find_map(|seen| changed_host(&tasks, seen))?;
    let by = changed_by(state, host).await;
    let detail = format!(
        "{host} is {mode}{by}, but the page showed {seen}. Nothing was done. Look at the host, and act again if you \
         still want to."
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

/// The actor and the age of the last change of a host, as a part of a sentence. Empty if the audit has none.
async fn changed_by(state: &Data<NodeHttpState>, host: HostAddr) -> String {
    let query = AuditRowQuery {
        subject: Some(format!("host {host}")),
        outcome: Some(AuditOutcome::Accepted),
        limit: Some("1".to_owned()),
        ..AuditRowQuery::default()
    };
    let Ok(page) = list(state.clone(), Query(query)).await else { return String::new() };
    let Some(row) = page.into_inner().items.into_iter().next() else { return String::new() };
    let seconds = state.clock.now().since(row.at.0).as_secs();
    format!(" since {} changed it {seconds} s ago", row.actor.name)
}
