//! Actions on boxes and leases.

use actix_web::web::{Data, Json, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{WantedLeaseRevocation, WantedQuarantine};
use reelyard_console::text::outcomes;
use reelyard_protocol::boxes::{PoolName, Reason};
use serde::Deserialize;

use super::{done, refused};
use crate::http::api::box_calls::{boxes, leases};
use crate::http::api::call_parts::{NoQuery, Objects};
use crate::http::audit::AuditDetails;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// An action on a box, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxAction {
    /// Takes a free box out of use.
    Quarantine,
    /// Cleans a quarantined box and uses it again.
    Unquarantine,
}

/// `POST /console/boxes/{pool}/{number}/{action}`.
pub async fn act_on_box(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(PoolName, u32, BoxAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::BoxesWrite)?;
    let (pool, number, action) = path.into_inner();
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject(format!("box {pool} {number}"));
    let place = Path::from((pool, number));
    let (result, outcome) = match action {
        BoxAction::Quarantine => {
            (quarantine(&state, &visitor, &audit, place, &form).await, outcomes::BOX_QUARANTINED)
        }
        BoxAction::Unquarantine => {
            (unquarantine(&state, &visitor, &audit, place).await, outcomes::BOX_CLEANED)
        }
    };
    Ok(match result {
        Ok(()) => done(&form, outcome.fill(visitor.viewer.language, &[("n", &number.to_string())])),
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}

async fn quarantine(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    place: Path<(PoolName, u32)>,
    form: &PostedForm,
) -> Result<(), ProblemResponse> {
    let reason = Reason::new(form.first("reason").unwrap_or_default()).map_err(bad_reason)?;
    let body = Json(Objects(WantedQuarantine { reason }));
    let (state, caller) = (state.clone(), visitor.caller.clone());
    boxes::quarantine(state, caller, audit.clone(), place, Query(NoQuery {}), body)
        .await
        .map_err(Refusal::into_response)?;
    Ok(())
}

async fn unquarantine(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    place: Path<(PoolName, u32)>,
) -> Result<(), ProblemResponse> {
    let (state, caller) = (state.clone(), visitor.caller.clone());
    boxes::unquarantine(state, caller, audit.clone(), place, Query(NoQuery {}))
        .await
        .map_err(Refusal::into_response)?;
    Ok(())
}

/// `POST /console/leases/{id}/revoke`.
pub async fn revoke_lease(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    id: Path<String>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::BoxesWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject(format!("lease {id}"));
    Ok(match revoke(&state, &visitor, &audit, id, form.first("reason")).await {
        Ok(()) => done(&form, outcomes::LEASE_REVOKED.of(visitor.viewer.language).to_owned()),
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}

async fn revoke(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    id: Path<String>,
    reason: Option<&str>,
) -> Result<(), ProblemResponse> {
    let reason = reason.map(Reason::new).transpose().map_err(bad_reason)?;
    let body = Json(Objects(WantedLeaseRevocation { reason }));
    let (state, caller) = (state.clone(), visitor.caller.clone());
    leases::revoke(state, caller, audit.clone(), id, Query(NoQuery {}), body)
        .await
        .map_err(Refusal::into_response)?;
    Ok(())
}

fn bad_reason(bad: impl std::fmt::Display) -> ProblemResponse {
    ProblemResponse::bad_request(format!("reason: {bad}"))
}
