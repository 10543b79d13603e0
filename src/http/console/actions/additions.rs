//! The forms that add hosts to the yard and create pools of boxes.

use actix_web::web::{Data, Json, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{ProblemKind, Span, WantedPool, WantedRole};
use reelyard_boxes::box_lease::{LARGEST_POOL, PoolSpec};
use reelyard_console::Viewer;
use reelyard_console::format::count;
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::text::outcomes;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_protocol::boxes::PoolName;

use super::{done, mark_refused, refusal_words};
use crate::http::api::box_calls::pools;
use crate::http::api::call_parts::{NoQuery, Objects};
use crate::http::api::yard_calls::host_calls::host_changes;
use crate::http::audit::AuditDetails;
use crate::http::console::chosen;
use crate::http::console::pages::given_out::{box_dialogs, boxes as boxes_page};
use crate::http::console::pages::storage::dialogs::new_hosts;
use crate::http::console::pages::storage::hosts as hosts_page;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// `POST /console/host-actions/add`. A refused form keeps what was typed.
pub async fn add_hosts(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let why = match wanted_hosts(&form) {
        Ok((hosts, role)) => {
            let names: Vec<String> = hosts.iter().map(HostAddr::to_string).collect();
            audit.subjects("host", &names);
            let add = |host| add_one(&state, &visitor, &audit, host, role);
            let all = chosen::act_on_all(hosts, chosen::AT_ONCE, add).await;
            // The form stays with the addresses. An address that was added is accepted again.
            match all.stopped.or(all.left_out.into_iter().next()) {
                None => return Ok(done(&form, added_words(&visitor.viewer, &all.done))),
                Some(why) => why,
            }
        }
        Err(why) => why,
    };
    let dialog = new_hosts::new_hosts(&visitor.viewer, &|name| form.text(name));
    let ask = asked_again(&visitor, dialog, &why);
    let mut answer = hosts_page::show_dialog(&request, &state, &visitor, ask).await?;
    mark_refused(&mut answer, &why);
    Ok(answer)
}

/// The outcome. Of each host it is known whether it is new to the yard.
fn added_words(viewer: &Viewer, are_new: &[bool]) -> String {
    let n = are_new.iter().filter(|is_new| **is_new).count() as u64;
    let known = count(are_new.len() as u64 - n);
    let n = count(n);
    match are_new.iter().all(|is_new| *is_new) {
        true => outcomes::HOSTS_ADDED.fill(viewer.language, &[("n", &n)]),
        false => outcomes::HOSTS_ADDED_KNOWN.fill(viewer.language, &[("n", &n), ("known", &known)]),
    }
}

fn wanted_hosts(form: &PostedForm) -> Result<(Vec<HostAddr>, HostRole), ProblemResponse> {
    let typed = form.text(new_hosts::ADDRESSES);
    let mut hosts = Vec::new();
    for address in new_hosts::separated(&typed) {
        let host = address.parse();
        let host = host.map_err(|bad| wrong(&format!("\"{address}\" is no host"), bad))?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.is_empty() {
        return Err(wrong("addresses", "an address such as 10.0.0.21:8888 is needed"));
    }
    let role = match form.text(new_hosts::ROLE).as_str() {
        "source" => HostRole::Source,
        "both" => HostRole::Both,
        "destination" => HostRole::Destination,
        other => return Err(wrong("role", format!("\"{other}\" is no role"))),
    };
    Ok((hosts, role))
}

/// Adds a host, or gives a known one this role. Answers whether it is new to the yard.
async fn add_one(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    host: HostAddr,
    role: HostRole,
) -> Result<bool, ProblemResponse> {
    let (state, caller) = (state.clone(), visitor.caller.clone());
    let is_new = !state.actors.task_views.load().hosts.iter().any(|known| known.host == host);
    let body = Json(Objects(WantedRole { role }));
    let (path, query) = (Path::from(host), Query(NoQuery {}));
    let added = host_changes::add(state, caller, audit.clone(), path, query, body).await;
    added.map(|_| is_new).map_err(Refusal::into_response)
}

/// `POST /console/pools/new`. A refused form keeps what was typed.
pub async fn create_pool(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::BoxesWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let why = match create(&state, &visitor, &audit, &form).await {
        Ok(pool) => {
            let name = [("name", pool.as_str())];
            return Ok(done(&form, outcomes::POOL_CREATED.fill(visitor.viewer.language, &name)));
        }
        Err(why) => why,
    };
    let dialog = box_dialogs::new_pool(&visitor.viewer, &|name| form.text(name));
    let ask = asked_again(&visitor, dialog, &why);
    let mut answer = boxes_page::show_dialog(&request, &state, &visitor, ask).await?;
    mark_refused(&mut answer, &why);
    Ok(answer)
}

async fn create(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    form: &PostedForm,
) -> Result<PoolName, ProblemResponse> {
    let pool = PoolName::new(form.text("name").trim()).map_err(|bad| wrong("name", bad))?;
    audit.subject(format!("pool {pool}"));
    // The call of the API would replace the settings of a pool that exists.
    if pools::views(state)?.pool(&pool).is_ok() {
        let detail = format!("a pool is named {pool} already");
        return Err(ProblemResponse::new(ProblemKind::NameTaken, detail));
    }
    let size = form.number(("size", outcomes::FIELD_SIZE), 0..=LARGEST_POOL)?;
    let size = size.ok_or_else(|| wrong("size", "a number of boxes is needed, such as 8"))?;
    let mut wanted = WantedPool::from(&PoolSpec::of(0, size));
    if let Some(host) = form.first("host") {
        wanted.host = Some(host.trim().parse().map_err(|bad| wrong("host", bad))?);
    }
    if let Some(ttl) = form.first("ttl_default") {
        wanted.ttl_default = ttl.trim().parse::<Span>().map_err(|bad| wrong("ttl_default", bad))?;
    }
    let (state, caller) = (state.clone(), visitor.caller.clone());
    let body = Json(Objects(wanted));
    let put = pools::put(state, caller, Path::from(pool.clone()), Query(NoQuery {}), body).await;
    put.map(|_| pool).map_err(Refusal::into_response)
}

/// The dialog with the reason of the refusal.
fn asked_again(visitor: &Visitor, dialog: AskDialog, why: &ProblemResponse) -> AskDialog {
    AskDialog { refused: Some(refusal_words(&visitor.viewer, why)), ..dialog }
}

fn wrong(what: &str, bad: impl std::fmt::Display) -> ProblemResponse {
    ProblemResponse::bad_request(format!("{what}: {bad}"))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use reelyard_console::Moment;
    use reelyard_console::text::Language;

    use super::*;

    #[test]
    fn only_new_hosts_count_as_added() {
        let words = |language, are_new: &[bool]| {
            let viewer = Viewer::without_session(language, TimeZone::UTC, Moment(0));
            added_words(&viewer, are_new)
        };
        assert_eq!(words(Language::English, &[true, true]), "Added to the yard: 2");
        let known = words(Language::English, &[false, true]);
        assert_eq!(known, "Added to the yard: 1. Known already, and with this role now: 1");
        assert!(words(Language::Korean, &[false]).contains("이미 있던 호스트: 1대"));
    }
}
