//! Two people who act on the same host: the second one acts only on what the page showed.

use actix_web::web::Data;
use reelyard_access::audit::{AuditOrder, AuditOutcome, AuditRowFilter};
use reelyard_api::ProblemKind;
use reelyard_console::format::age;
use reelyard_console::text::Language;
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::task_manager::TaskManagerView;

use crate::http::api::audit_calls::audit::read_page;
use crate::http::console::posted_form::PostedForm;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Field of a form with a host and the mode that the page showed: `10.0.0.1:8888 active`.
pub const SEEN: &str = "seen";

/// Newest rows of the audit among which the other person is sought.
const ROWS_LOOKED_AT: usize = 100;

/// The refusal if a host has another mode than the page showed. A form without such fields is not checked.
pub async fn changed_meanwhile(
    state: &Data<NodeHttpState>,
    form: &PostedForm,
) -> Option<ProblemResponse> {
    let tasks = state.actors.task_views.load();
    let (host, seen, mode) = form.all(SEEN).find_map(|seen| changed_host(&tasks, seen))?;
    let who =
        last_change(state, host).await.map(|(who, age)| format!(": {who} changed it {age} ago"));
    let detail = format!(
        "{host} is {mode} now, but the page showed {seen}{}. Nothing was done. Look at the host, and act again if you \
         still want to.",
        who.unwrap_or_default()
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

/// The person who acted on this host last, and how long ago. None if the audit has no row about it lately.
async fn last_change(state: &Data<NodeHttpState>, host: HostAddr) -> Option<(String, String)> {
    let accepted =
        AuditRowFilter { outcome: Some(AuditOutcome::Accepted), ..AuditRowFilter::default() };
    let reader = state.audit.reader();
    let page = read_page(reader, accepted, AuditOrder::NewestFirst, None, ROWS_LOOKED_AT).await;
    let rows = page.ok()?.rows;
    let host = host.to_string();
    let is_about_it = |subject: &String| subject.split([' ', ',']).any(|word| word == host);
    let row = rows.iter().find(|row| row.record.subject.as_ref().is_some_and(is_about_it))?;
    let seconds = state.clock.now().0.saturating_sub(row.record.at.0).max(0).unsigned_abs() / 1000;
    // A refusal is written in English. The page puts it into the language of its viewer.
    Some((row.record.actor.name.clone(), age(Language::English, seconds)))
}

/// The mode in the words of forms and of the API.
pub const fn mode_word(mode: HostMode) -> &'static str {
    match mode {
        HostMode::Active => "active",
        HostMode::Draining => "draining",
        HostMode::Maintenance => "maintenance",
    }
}
