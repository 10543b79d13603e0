//! `/api/v1/cluster/members`: changes of the members, one at a time.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use reelyard_api::{ProblemKind, refused};
use reelyard_journal::{MemberChange, MemberChangeError};
use reelyard_replication::CommitError;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use crate::http::api::call_parts::NoQuery;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

type MemberRefusal = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::ChangedMeanwhile),
    (refused::NotLeader, refused::Starting, refused::OutcomeUnknown, refused::Busy),
)>;

/// When a request may be repeated that met a silent member, or one without the last entries.
const BEHIND_RETRY: Duration = Duration::from_secs(1);

/// `POST /cluster/members/{number}/promote`.
#[utoipa::path(
    post,
    path = "/cluster/members/{number}/promote",
    tag = "cluster",
    operation_id = "promoteMember",
    summary = "Gives a learner a vote before it gets one by itself",
    params(("number" = u64, Path, description = "Number of the learner")),
    responses((status = 204, description = "The node votes"))
)]
pub async fn promote(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    number: web::Path<u64>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, MemberRefusal> {
    let number = number.into_inner();
    audit.subject(format!("node {number}"));
    let change = MemberChange::Promote { number };
    state.journal.change_members(change).await.map_err(problem)?;
    Ok(HttpResponse::NoContent().finish())
}

/// The node that gets the vote.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReplaceQuery {
    /// Number of the member that gets the vote. Usually a learner that has just joined.
    pub by: u64,
}

/// `POST /cluster/members/{number}/replace`.
#[utoipa::path(
    post,
    path = "/cluster/members/{number}/replace",
    tag = "cluster",
    operation_id = "replaceMember",
    summary = "Gives the vote of a member to another one, and removes the former",
    description = "Both happen in one step, also if the leader fails meanwhile. The former may be lost already. \
                   The new member must have joined. If it votes already, the former is only removed. While it \
                   does not answer, or is more than 1,000 entries behind, the answer is 503 `busy`. A repeated call finds the work done, and succeeds.",
    params(("number" = u64, Path, description = "Number of the member that leaves"), ReplaceQuery),
    responses((status = 204, description = "The new member votes, and the former is no member any more"))
)]
pub async fn replace(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    number: web::Path<u64>,
    query: web::Query<ReplaceQuery>,
) -> Result<HttpResponse, MemberRefusal> {
    let (old, new) = (number.into_inner(), query.into_inner().by);
    audit.subject(format!("node {old}"));
    audit.after(json!({ "replaced_by": new }));
    let change = MemberChange::Replace { old, new };
    state.journal.change_members(change).await.map_err(problem)?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /cluster/members/{number}`.
#[utoipa::path(
    delete,
    path = "/cluster/members/{number}",
    tag = "cluster",
    operation_id = "removeMember",
    summary = "Removes a member; its number is never given again",
    description = "A removal that would leave no live quorum is refused.",
    params(("number" = u64, Path, description = "Number of the member")),
    responses((status = 204, description = "The node is no member any more"))
)]
pub async fn remove(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    number: web::Path<u64>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, MemberRefusal> {
    let number = number.into_inner();
    audit.subject(format!("node {number}"));
    let change = MemberChange::Remove { number };
    state.journal.change_members(change).await.map_err(problem)?;
    Ok(HttpResponse::NoContent().finish())
}

fn problem(error: MemberChangeError) -> ProblemResponse {
    let detail = error.to_string();
    match error {
        MemberChangeError::NotLeader { leader } => CommitError::NotLeader { leader }.into(),
        MemberChangeError::NoMember(_) => ProblemResponse::not_found(detail),
        MemberChangeError::LastVoter(_)
        | MemberChangeError::NoQuorum { .. }
        | MemberChangeError::SameMember(_)
        | MemberChangeError::NoVote(_) => ProblemResponse::new(ProblemKind::NotAllowed, detail),
        MemberChangeError::Behind { .. } | MemberChangeError::Silent(_) => {
            ProblemResponse::new(ProblemKind::Busy, detail).retry_after(BEHIND_RETRY)
        }
        MemberChangeError::InProgress => {
            ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail)
        }
        MemberChangeError::Undecided => ProblemResponse::new(ProblemKind::OutcomeUnknown, detail),
        MemberChangeError::NotReady(_) | MemberChangeError::OfLeader { .. } => {
            ProblemResponse::starting()
        }
    }
}
