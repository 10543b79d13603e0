//! The reload of the configuration, and the way back to earlier settings on record.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{ProblemKind, WantedSettings};
use reelyard_console::format::count;
use reelyard_console::text::{access, outcomes};

use super::{done, refused};
use crate::http::api::node_calls::config::{ReloadQuery, reload as reload_now};
use crate::http::api::node_calls::config_versions::put_on_record;
use crate::http::audit::{AuditDetails, kept_reason};
use crate::http::console::pages::of_node::settings::{SEEN_CHANGES, digest};
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

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
    // The file may have changed since the page showed what a reload would do.
    if let Some(seen) = form.first(SEEN_CHANGES) {
        let found = state.reloader.reload(true).await;
        if found.is_ok_and(|found| digest(&found) != seen) {
            let detail = "the configuration changed since the page showed what a reload would do. Nothing was done. \
                          Look at the changes, and reload if you still want to.";
            let why = ProblemResponse::new(ProblemKind::ChangedMeanwhile, detail);
            return Ok(refused(&form, &visitor.viewer, 0, &why));
        }
    }
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

/// `POST /console/settings/versions/{number}/revert`.
pub async fn revert(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    number: Path<u64>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::ConfigWrite)?;
    let (old, language) = (number.into_inner(), visitor.viewer.language);
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let follows = form.first("follows").and_then(|follows| follows.parse().ok());
    let wanted = WantedSettings { version: Some(old), follows, ..WantedSettings::default() };
    let reason = form.first("reason").and_then(kept_reason).unwrap_or_default();
    let recorded = put_on_record(&state, &visitor.caller, &audit, wanted, reason).await;
    let recorded = match recorded.map_err(Refusal::into_response) {
        Ok(recorded) => recorded,
        Err(why) => return Ok(refused(&form, &visitor.viewer, 0, &why)),
    };
    let (version, old) = (recorded.version.to_string(), old.to_string());
    let outcome = match recorded.is_recorded {
        true => access::REVERTED.fill(language, &[("version", &version), ("old", &old)]),
        false => access::SAME_AS_IN_FORCE.fill(language, &[("newest", &version)]),
    };
    Ok(done(&form, outcome))
}
