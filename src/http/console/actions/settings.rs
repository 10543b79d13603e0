//! The reload of the configuration.

use actix_web::web::{Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_console::format::count;
use reelyard_console::text::outcomes;

use super::{done, refused};
use crate::http::api::node_calls::config::{ReloadQuery, reload as reload_now};
use crate::http::audit::AuditDetails;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::Refusal;

/// `POST /console/settings/reload`.
pub async fn reload(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::ConfigWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject("configuration");
    let reloaded = reload_now(state.clone(), audit, Query(ReloadQuery { dry_run: false })).await;
    Ok(match reloaded.map_err(Refusal::into_response) {
        Ok(reloaded) => {
            let (applied, later) = (reloaded.applied.len(), reloaded.needs_restart.len());
            let values = [("n", count(applied as u64)), ("later", count(later as u64))];
            let values = [("n", values[0].1.as_str()), ("later", values[1].1.as_str())];
            done(&form, outcomes::RELOADED.fill(visitor.viewer.language, &values))
        }
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}
