//! Actions on hosts: their mode, their circuit breakers, and their place in the yard.

use actix_web::web::{Data, Json, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{HostProbed, WantedMode};
use reelyard_console::address::{QueryPairs, ROOT};
use reelyard_console::format::count;
use reelyard_console::pages::hosts::HostsPageQuery;
use reelyard_console::parts::dialog::TYPED_FROM;
use reelyard_console::parts::notice::UndoAction;
use reelyard_console::text::{Language, Text, node_words, outcomes};
use reelyard_core::host::{HostAddr, HostMode};
use reelyard_yard::task_manager::TaskManagerView;
use serde::Deserialize;

use super::{acted_on, refused};
use crate::http::api::call_parts::{NoQuery, Objects};
use crate::http::api::yard_calls::host_calls::{host_changes, hosts};
use crate::http::audit::AuditDetails;
use crate::http::computing::computed;
use crate::http::console::changed_meanwhile::{SEEN, SeenHost, changed_meanwhile, seen_hosts};
use crate::http::console::chosen;
use crate::http::console::pages::storage::dialogs::host_dialogs;
use crate::http::console::pages::storage::hosts as hosts_page;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// An action on a host, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostAction {
    /// Uses the host again.
    Active,
    /// Copies its files elsewhere and then removes them.
    Drain,
    /// Neither asks the host nor sends copies to it.
    Maintenance,
    /// Ends its backoffs.
    Reset,
    /// Probes it now.
    Probe,
    /// Takes its worker over from another manager.
    Adopt,
    /// Removes it from the yard.
    Remove,
}

impl HostAction {
    /// The word in addresses.
    const fn word(self) -> &'static str {
        match self {
            HostAction::Active => "active",
            HostAction::Drain => "drain",
            HostAction::Maintenance => "maintenance",
            HostAction::Reset => "reset",
            HostAction::Probe => "probe",
            HostAction::Adopt => "adopt",
            HostAction::Remove => "remove",
        }
    }

    /// The sentence after the action, with the number of hosts as `{n}`.
    fn outcome(self) -> Text {
        match self {
            HostAction::Active => outcomes::HOSTS_ACTIVE,
            HostAction::Drain => outcomes::HOSTS_DRAINING,
            HostAction::Maintenance => outcomes::HOSTS_IN_MAINTENANCE,
            HostAction::Reset => outcomes::HOSTS_TRUSTED,
            HostAction::Probe => outcomes::HOSTS_PROBED,
            HostAction::Adopt => outcomes::HOSTS_ADOPTED,
            HostAction::Remove => outcomes::HOSTS_REMOVED,
        }
    }
}

/// `POST /console/hosts/{host}/{action}`.
pub async fn act_on_one(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(HostAddr, HostAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let (host, action) = path.into_inner();
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    let seen = seen_hosts(&request, &form, &[host]);
    Ok(act(&visitor, &state, &audit, (vec![host], 0), action, (&form, &seen)).await)
}

/// `POST /console/host-actions/{action}`: on all hosts in the fields `pick`, or on all that match the filter of the
/// form.
pub async fn act_on_picked(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    action: Path<HostAction>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    let action = action.into_inner();
    let hosts = if let Some(filter) = chosen::filter_of(&form) {
        let ask = action.word().to_owned();
        let query = HostsPageQuery { ask, ..HostsPageQuery::parse(filter) };
        let lines = computed(&state, move |state| hosts_page::matching(state, &query).rows).await?;
        match chosen::gone_since(&form, lines.iter().map(host_dialogs::key)) {
            Ok(gone) => (lines.iter().filter_map(|line| line.host.parse().ok()).collect(), gone),
            Err(why) => return Ok(refused(&form, &visitor.viewer, 0, &why)),
        }
    } else {
        (picked_hosts(&request, &form)?, 0)
    };
    let seen = seen_hosts(&request, &form, &hosts.0);
    Ok(act(&visitor, &state, &audit, hosts, action, (&form, &seen)).await)
}

/// The hosts in the fields `pick`. The way back of an action on several hosts has them in its address.
fn picked_hosts(
    request: &HttpRequest,
    form: &PostedForm,
) -> Result<Vec<HostAddr>, ProblemResponse> {
    let in_address = QueryPairs::parse(request.query_string()).all("pick");
    let parsed = form.all("pick").chain(in_address.iter().map(String::as_str)).map(|picked| {
        picked.parse().map_err(|error| {
            ProblemResponse::bad_request(format!("pick: \"{picked}\" is no host: {error}"))
        })
    });
    parsed.collect()
}

async fn act(
    visitor: &Visitor,
    state: &Data<NodeHttpState>,
    audit: &AuditDetails,
    (hosts, gone): (Vec<HostAddr>, u64),
    action: HostAction,
    (form, seen): (&PostedForm, &[SeenHost]),
) -> HttpResponse {
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let names: Vec<String> = hosts.iter().map(HostAddr::to_string).collect();
    audit.subjects("host", &names);
    // The dialog counted those too that no longer match.
    let expected = hosts.len() as u64 + gone;
    let typed = form.first("typed").and_then(|typed| typed.parse::<u64>().ok());
    if action == HostAction::Remove && expected >= TYPED_FROM && typed != Some(expected) {
        let detail = format!("typed: expected {expected}, the number of hosts to remove");
        let refusal = ProblemResponse::bad_request(detail);
        return refused(form, &visitor.viewer, 0, &refusal);
    }
    if let Some(why) = changed_meanwhile(state, &visitor.caller, seen).await {
        return refused(form, &visitor.viewer, 0, &why);
    }
    if action == HostAction::Probe {
        return probe(visitor, state, hosts, form).await;
    }
    let undo = undo(&state.actors.task_views.load(), &hosts, action);
    let carry_out = |host| carry_out(state, visitor, audit, host, action);
    let all = chosen::act_on_all(hosts, chosen::AT_ONCE, carry_out).await;
    let acted = all.done.len() as u64;
    let outcome = action.outcome().fill(visitor.viewer.language, &[("n", &count(acted))]);
    let outcome = chosen::with_gone(&visitor.viewer, outcome, gone);
    acted_on(form, &visitor.viewer, (acted, &all), outcome, undo)
}

/// The way back of an activation: the mode that all these hosts had before.
fn undo(tasks: &TaskManagerView, hosts: &[HostAddr], action: HostAction) -> Option<UndoAction> {
    if action != HostAction::Active {
        return None;
    }
    let mode = |host: &HostAddr| Some(tasks.host(*host)?.record.mode);
    let before = mode(hosts.first()?)?;
    if !hosts.iter().all(|host| mode(host) == Some(before)) {
        return None;
    }
    let word = match before {
        HostMode::Active => return None,
        HostMode::Draining => HostAction::Drain.word(),
        HostMode::Maintenance => HostAction::Maintenance.word(),
    };
    let pick: Vec<String> = hosts.iter().map(HostAddr::to_string).collect();
    let dialog = HostsPageQuery { ask: word.to_owned(), pick, ..HostsPageQuery::default() };
    let mut picked = QueryPairs::default();
    dialog.pick.iter().for_each(|host| picked.add("pick", host.clone()));
    // Another person may change the hosts before the way back is taken.
    picked.add(SEEN, HostMode::Active.to_string());
    let action = format!("{ROOT}/host-actions/{word}?{}", picked.print());
    Some(UndoAction { action, dialog: dialog.address() })
}

/// Probes all hosts at once, and returns to the page with their answers. The number of running probes has its own
/// limit.
async fn probe(
    visitor: &Visitor,
    state: &Data<NodeHttpState>,
    probed: Vec<HostAddr>,
    form: &PostedForm,
) -> HttpResponse {
    let probe = |host| async move {
        let probed = hosts::probe(state.clone(), Path::from(host), Query(NoQuery {})).await;
        probed.map(Json::into_inner).map_err(Refusal::into_response)
    };
    let all = chosen::act_on_all(probed, chosen::MOST_CHOSEN, probe).await;
    let outcome = answers(visitor.viewer.language, &all.done);
    acted_on(form, &visitor.viewer, (all.done.len() as u64, &all), outcome, None)
}

/// The results of probes in one sentence.
fn answers(language: Language, probed: &[HostProbed]) -> String {
    if let [HostProbed { host, latency_ms, failure, .. }] = probed {
        let host = host.to_string();
        return match latency_ms {
            Some(ms) => {
                outcomes::HOST_ANSWERED.fill(language, &[("host", &host), ("ms", &count(*ms))])
            }
            None => {
                let why = node_words(language, failure.as_deref().unwrap_or_default());
                outcomes::HOST_SILENT.fill(language, &[("host", &host), ("why", &why)])
            }
        };
    }
    let silent = probed.iter().filter(|host| host.latency_ms.is_none()).count();
    let values = [count(probed.len() as u64), count(silent as u64)];
    outcomes::HOSTS_PROBED.fill(language, &[("n", &values[0]), ("silent", &values[1])])
}

/// Does what the call of the API does.
async fn carry_out(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    host: HostAddr,
    action: HostAction,
) -> Result<(), ProblemResponse> {
    let (state, caller) = (state.clone(), visitor.caller.clone());
    let (path, query) = (Path::from(host), Query(NoQuery {}));
    let set_mode = |mode| {
        let body = Json(Objects(WantedMode { mode }));
        let (state, caller, audit) = (state.clone(), caller.clone(), audit.clone());
        host_changes::set_mode(state, caller, audit, Path::from(host), Query(NoQuery {}), body)
    };
    match action {
        HostAction::Active => {
            set_mode(HostMode::Active).await.map_err(Refusal::into_response).map(drop)?
        }
        HostAction::Drain => {
            set_mode(HostMode::Draining).await.map_err(Refusal::into_response).map(drop)?
        }
        HostAction::Maintenance => {
            set_mode(HostMode::Maintenance).await.map_err(Refusal::into_response).map(drop)?
        }
        HostAction::Reset => hosts::reset(state, caller, path, query)
            .await
            .map_err(Refusal::into_response)
            .map(drop)?,
        HostAction::Probe => {
            hosts::probe(state, path, query).await.map_err(Refusal::into_response).map(drop)?
        }
        HostAction::Adopt => {
            hosts::adopt(state, path, query).await.map_err(Refusal::into_response).map(drop)?
        }
        HostAction::Remove => {
            host_changes::remove(state, caller, audit.clone(), path, query)
                .await
                .map_err(Refusal::into_response)
                .map(drop)?;
        }
    }
    Ok(())
}
