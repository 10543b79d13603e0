//! The export of the audit. It asks for a reason, so it is a form.

use actix_web::web::{Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_console::pages::audit::AuditPageQuery;

use crate::http::api::audit_calls::audit_export;
use crate::http::audit::AuditDetails;
use crate::http::console::pages::on_record::audit::filter;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// `POST /console/audit/export`: the rows that match, as they are stored.
pub async fn export(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AuditRead)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject("audit");
    if form.first("reason").is_none() {
        let detail = "reason: an export of the audit needs a reason";
        return Err(ProblemResponse::bad_request(detail).into());
    }
    let query = filter(&AuditPageQuery::parse(request.query_string()), &visitor.viewer.zone);
    let exported = audit_export::export(state.clone(), Query(query)).await;
    Ok(exported.map_err(Refusal::into_response)?)
}
