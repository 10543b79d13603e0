//! `/api/v1/cluster/members`: changes of the members, one at a time.

use actix_web::{HttpResponse, web};
use reelyard_api::{ProblemKind, refused};
use reelyard_journal::{MemberChange, MemberChangeError};
use reelyard_replication::CommitError;

use crate::http::api::call_parts::NoQuery;
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

type MemberRefusal = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::ChangedMeanwhile),
    (refused::NotLeader, refused::Starting, refused::OutcomeUnknown),
)>;

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
    require_quorum(&state, Some(number), None)?;
    let change = MemberChange::Promote { number };
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
    require_quorum(&state, None, Some(number))?;
    let change = MemberChange::Remove { number };
    state.journal.change_members(change).await.map_err(problem)?;
    Ok(HttpResponse::NoContent().finish())
}

/// Refuses a change after which too few of the voters would answer.
fn require_quorum(
    state: &NodeHttpState,
    coming: Option<u64>,
    leaving: Option<u64>,
) -> Result<(), ProblemResponse> {
    let own = state.journal.identity().number;
    let members = state.journal.members();
    let staying: Vec<u64> = members
        .iter()
        .filter(|member| member.is_voter || Some(member.number) == coming)
        .filter(|member| Some(member.number) != leaving)
        .map(|member| member.number)
        .collect();
    let patience = state.live.now().config.journal.election.election_max;
    let peers = state.cluster.peers();
    let is_live = |number: &u64| {
        let peer = peers.iter().find(|peer| peer.number == *number);
        let contact = peer.and_then(|peer| peer.since_contact);
        *number == own || contact.is_some_and(|since| since <= patience)
    };
    let silent: Vec<u64> = staying.iter().copied().filter(|number| !is_live(number)).collect();
    let live = staying.len() - silent.len();
    if live > staying.len() / 2 || staying.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "of the {} nodes that would vote, {silent:?} do not answer, so no quorum would be left. Start them, or \
         remove them first",
        staying.len()
    );
    Err(ProblemResponse::new(ProblemKind::NotAllowed, detail))
}

fn problem(error: MemberChangeError) -> ProblemResponse {
    let detail = error.to_string();
    match error {
        MemberChangeError::NotLeader { leader } => CommitError::NotLeader { leader }.into(),
        MemberChangeError::NoMember(_) => ProblemResponse::not_found(detail),
        MemberChangeError::LastVoter(_) => ProblemResponse::new(ProblemKind::NotAllowed, detail),
        MemberChangeError::InProgress => {
            ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail)
        }
        MemberChangeError::Undecided => ProblemResponse::new(ProblemKind::OutcomeUnknown, detail),
        MemberChangeError::NotReady(_) => ProblemResponse::starting(),
    }
}
