//! Changes of the members of the cluster.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{INVITATION_TTL, Ttl, WantedToken};
use reelyard_console::pages::cluster::{ClusterPageModel, ClusterPageQuery};
use reelyard_console::text::cluster as text;
use serde::Deserialize;

use super::{done, refused};
use crate::http::api::access_calls::tokens;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::cluster_calls::cluster;
use crate::http::api::cluster_calls::members::{self, ReplaceQuery};
use crate::http::api::cluster_calls::transfer::{self, TransferQuery};
use crate::http::audit::AuditDetails;
use crate::http::console::answer;
use crate::http::console::pages::of_node::cluster as page;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// An action on a member, by its word in addresses.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberAction {
    /// Gives a vote.
    Promote,
    /// Passes the vote to another member, and ends the membership.
    Replace,
    /// Makes it the leader.
    Transfer,
    /// Ends the membership.
    Remove,
}

/// `POST /console/cluster/invite`: answers with the page, which shows the secret. No cookie has it.
pub async fn invite(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AccessWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let join = match join_command(&state, &visitor, &audit).await {
        Ok(join) => join,
        Err(why) => return Ok(refused(&form, &visitor.viewer, 0, &why)),
    };
    let model = ClusterPageModel { invited: Some(join), ..page::model(&state) };
    let parts = page::parts(&model, &visitor.viewer);
    Ok(answer::page_at(ClusterPageQuery::path(), &request, &state, &visitor, &parts))
}

/// The command with which a node joins, with the secret of a new invitation.
async fn join_command(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
) -> Result<String, ProblemResponse> {
    let view = cluster::view(state);
    let at = view.members.into_iter().find(|member| Some(member.number) == view.leader);
    let Some(at) = at.filter(|member| !member.cluster_address.is_empty()) else {
        return Err(ProblemResponse::bad_request(
            "the node has no address for other nodes: set cluster.listen in its configuration, and reload",
        ));
    };
    let wrong = |error: &dyn std::fmt::Display| ProblemResponse::bad_request(error.to_string());
    let name = format!("invite-{:08x}", fastrand::u32(..)).parse();
    let ttl: Ttl = INVITATION_TTL.parse().map_err(|error| wrong(&error))?;
    let wanted = WantedToken {
        name: Some(name.map_err(|error| wrong(&error))?),
        scopes: vec![AccessScope::ClusterJoin],
        ttl: Some(ttl),
        ..WantedToken::default()
    };
    let created = tokens::create_token(state, visitor.caller.clone(), audit, wanted).await?;
    let (at, secret) = (at.cluster_address, created.token);
    Ok(format!("reelyard cluster join --at {at} --secret {secret} --config node.toml"))
}

/// `POST /console/cluster/members/{number}/{action}`.
pub async fn change_member(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(u64, MemberAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::ClusterWrite)?;
    let (number, action) = path.into_inner();
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let by = form.first("by").unwrap_or_default().to_owned();
    let (path, query) = (Path::from(number), Query(NoQuery {}));
    let (changed, words) = match action {
        MemberAction::Promote => {
            let changed = members::promote(state.clone(), audit, path, query).await;
            (changed.map(drop).map_err(Refusal::into_response), text::PROMOTED)
        }
        MemberAction::Replace => {
            let changed = replace(&state, audit, number, &by).await;
            (changed, text::REPLACED)
        }
        MemberAction::Transfer => {
            let to = Query(TransferQuery { to: Some(number) });
            let changed = transfer::transfer(state.clone(), audit, to).await;
            (changed.map(drop).map_err(Refusal::into_response), text::TRANSFERRED)
        }
        MemberAction::Remove => {
            let changed = members::remove(state.clone(), audit, path, query).await;
            (changed.map(drop).map_err(Refusal::into_response), text::REMOVED)
        }
    };
    let number = number.to_string();
    let named = [("node", number.as_str()), ("by", by.as_str())];
    Ok(match changed {
        Ok(()) => done(&form, words.fill(visitor.viewer.language, &named)),
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}

async fn replace(
    state: &Data<NodeHttpState>,
    audit: AuditDetails,
    old: u64,
    by: &str,
) -> Result<(), ProblemResponse> {
    let Ok(by) = by.parse() else {
        let detail =
            format!("{by:?} is not the number of a node: choose the node that gets the vote");
        return Err(ProblemResponse::bad_request(detail));
    };
    let query = Query(ReplaceQuery { by });
    let replaced = members::replace(state.clone(), audit, Path::from(old), query).await;
    replaced.map(drop).map_err(Refusal::into_response)
}
