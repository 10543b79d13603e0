//! Two people who act on the same host: the second one acts only on what the page showed.

use actix_web::HttpRequest;
use actix_web::web::Data;
use reelyard_access::audit::{AuditOrder, AuditOutcome, AuditRecord, AuditRowFilter};
use reelyard_access::rights::AccessScope;
use reelyard_api::ProblemKind;
use reelyard_console::address::QueryPairs;
use reelyard_console::format::age;
use reelyard_console::text::Language;
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::task_manager::TaskManagerView;

use crate::http::access::RequestCaller;
use crate::http::api::audit_calls::audit::read_page;
use crate::http::console::posted_form::PostedForm;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Field of a form with a host and the mode that the page showed: `10.0.0.1:8888 active`. In an address it has only the
/// mode, which the page showed for each host of the action.
pub const SEEN: &str = "seen";

/// Newest rows of the audit among which the other person is sought.
const ROWS_LOOKED_AT: usize = 100;

/// Calls that can set the mode of a host. Their row then has the mode among the values after the call. A form of the
/// console has another operation for each mode.
fn is_setter(operation: &str) -> bool {
    let of_console = operation.strip_prefix("console.");
    operation == "setHostMode"
        || of_console.is_some_and(|act| act.trim_end_matches('s').ends_with("Host"))
}

/// A host, and the mode that the page showed.
pub type SeenHost = (HostAddr, String);

/// The hosts with the modes that the page showed: those of the form, and `hosts` with the mode in the address.
pub fn seen_hosts(request: &HttpRequest, form: &PostedForm, hosts: &[HostAddr]) -> Vec<SeenHost> {
    let of_form = form.all(SEEN).filter_map(|seen| {
        let (host, mode) = seen.split_once(' ')?;
        Some((host.parse().ok()?, mode.to_owned()))
    });
    let of_address = QueryPairs::parse(request.query_string()).all(SEEN);
    let of_address = of_address
        .first()
        .into_iter()
        .flat_map(|mode| hosts.iter().map(|host| (*host, mode.clone())));
    of_form.chain(of_address).collect()
}

/// The refusal if a host has another mode than the page showed.
pub async fn changed_meanwhile(
    state: &Data<NodeHttpState>,
    caller: &RequestCaller,
    seen: &[SeenHost],
) -> Option<ProblemResponse> {
    let tasks = state.actors.task_views.load();
    let (host, seen, mode) = seen.iter().find_map(|seen| changed_host(&tasks, seen))?;
    let who = last_change(state, host, &mode.to_string()).await.map(|(who, age)| {
        let is_shown = caller.0.rights.allow(&AccessScope::AuditRead);
        let who = if is_shown { who.as_str() } else { "someone" };
        format!(": {who} changed it {age} ago")
    });
    let detail = format!(
        "the mode of {host} is {mode} now, but the page showed {seen}{}. Look at the host, and act again if you still \
         want to.",
        who.unwrap_or_default()
    );
    Some(ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail))
}

fn changed_host<'a>(
    tasks: &TaskManagerView,
    (host, shown): &'a SeenHost,
) -> Option<(HostAddr, &'a str, HostMode)> {
    let mode = tasks.host(*host)?.record.mode;
    (shown.parse() != Ok(mode)).then_some((*host, shown, mode))
}

/// The person who gave this host its mode, and how long ago. None if the audit has no row about it lately.
async fn last_change(
    state: &Data<NodeHttpState>,
    host: HostAddr,
    mode: &str,
) -> Option<(String, String)> {
    let accepted =
        AuditRowFilter { outcome: Some(AuditOutcome::Accepted), ..AuditRowFilter::default() };
    let reader = state.audit.reader();
    let page = read_page(reader, accepted, AuditOrder::NewestFirst, None, ROWS_LOOKED_AT).await;
    let rows = page.ok()?.rows;
    let host = host.to_string();
    let newest = rows.iter().find_map(|row| Some((&row.record, mode_set(&row.record, &host)?)));
    // A row with another mode is older than the change that is sought.
    let (record, _) = newest.filter(|(_, set)| *set == mode)?;
    let seconds = state.clock.now().0.saturating_sub(record.at.0).max(0).unsigned_abs() / 1000;
    // A refusal is written in English. The page puts it into the language of its viewer.
    Some((record.actor.name.clone(), age(Language::English, seconds)))
}

/// The mode that this act gave to the host. None for another act, and for one about other hosts.
fn mode_set<'a>(record: &'a AuditRecord, host: &str) -> Option<&'a str> {
    let is_about_it = record.subject.as_ref()?.split([' ', ',']).any(|word| word == host);
    let mode = record.after.as_ref()?.get("mode")?.as_str()?;
    (is_about_it && is_setter(&record.operation)).then_some(mode)
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_act_that_set_the_mode_of_the_host_counts() {
        let act = |operation: &str, after| AuditRecord {
            subject: Some("host 10.0.0.1:8888, 10.0.0.2:8888".to_owned()),
            after,
            ..AuditRecord::of_node(Millis(0), operation)
        };
        let mode = Some(json!({ "mode": "draining" }));
        for operation in ["setHostMode", "console.drainHost", "console.maintainHosts"] {
            let set = act(operation, mode.clone());
            assert_eq!(mode_set(&set, "10.0.0.2:8888"), Some("draining"), "{operation}");
            assert_eq!(mode_set(&set, "10.0.0.3:8888"), None, "{operation}");
            // A reset, and a change to the mode that the host has already.
            assert_eq!(mode_set(&act(operation, None), "10.0.0.1:8888"), None, "{operation}");
            let same = act(operation, Some(json!({})));
            assert_eq!(mode_set(&same, "10.0.0.1:8888"), None, "{operation}");
        }
        assert_eq!(mode_set(&act("addHost", mode), "10.0.0.1:8888"), None);
    }
}
