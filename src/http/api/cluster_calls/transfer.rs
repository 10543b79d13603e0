//! `/api/v1/cluster/transfer`: another node leads.

use actix_web::web;
use reelyard_api::{LeadTransfer, ProblemKind, refused};
use reelyard_journal::HandOverError;
use reelyard_replication::CommitError;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

type TransferRefusal = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::ChangedMeanwhile),
    (refused::NotLeader, refused::Busy, refused::OutcomeUnknown),
)>;

/// The next leader.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TransferQuery {
    /// Number of the voter that leads next. Without it, the voter that has most of the log.
    pub to: Option<u64>,
}

/// `POST /cluster/transfer`.
#[utoipa::path(
    post,
    path = "/cluster/transfer",
    tag = "cluster",
    operation_id = "transferLead",
    summary = "Makes another voter the leader, without the wait of an election",
    description = "Changes wait meanwhile, usually for less than 300 ms. A graceful stop of the leader does the same.",
    params(TransferQuery),
    responses((status = 200, description = "The node that leads now", body = LeadTransfer))
)]
pub async fn transfer(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    query: web::Query<TransferQuery>,
) -> Result<web::Json<LeadTransfer>, TransferRefusal> {
    let wanted = query.into_inner().to;
    audit.subject(wanted.map_or("another node".to_owned(), |node| format!("node {node}")));
    let own = state.journal.identity().number;
    if wanted == Some(own) && state.journal.leader() == wanted {
        return Ok(web::Json(LeadTransfer { leader: own }));
    }
    let leader = state.journal.hand_over(wanted).await.map_err(problem)?;
    tracing::info!(leader, "the lead was handed over");
    Ok(web::Json(LeadTransfer { leader }))
}

fn problem(error: HandOverError) -> ProblemResponse {
    let detail = error.to_string();
    match error {
        HandOverError::NotLeader { leader } => CommitError::NotLeader { leader }.into(),
        HandOverError::NoVoter(_) => ProblemResponse::not_found(detail),
        HandOverError::NobodyElse | HandOverError::Silent(_) => {
            ProblemResponse::new(ProblemKind::NotAllowed, detail)
        }
        HandOverError::InProgress => ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail),
        HandOverError::Behind { within, .. } => {
            ProblemResponse::new(ProblemKind::Busy, detail).retry_after(within)
        }
        // `NotLeader` would say that nothing was done, and the request would be passed on.
        HandOverError::NotElected { .. } => {
            ProblemResponse::new(ProblemKind::OutcomeUnknown, detail)
        }
    }
}
