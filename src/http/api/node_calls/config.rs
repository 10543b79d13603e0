//! `/api/v1/config/reload`: reloads the configuration.

use actix_web::web;
use reelyard_api::{ProblemKind, ReloadView, SettingChange, refused};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::config::{Difference, Values};
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};
use crate::reloading::{ReloadRefused, Reloaded};

/// Options of a reload.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReloadQuery {
    /// Only report the changes, and apply nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// `POST /config/reload`
#[utoipa::path(
    post,
    path = "/config/reload",
    tag = "node",
    operation_id = "reloadConfiguration",
    summary = "Reloads the configuration and returns the changes",
    params(ReloadQuery),
    responses((status = 200, description = "Settings that changed, or would change", body = ReloadView))
)]
pub async fn reload(
    state: web::Data<NodeHttpState>,
    audit: AuditDetails,
    query: web::Query<ReloadQuery>,
) -> Result<web::Json<ReloadView>, Refusal<refused::BadConfiguration>> {
    let dry_run = query.dry_run;
    if !dry_run {
        tracing::info!("reloading the configuration on request");
    }
    let reloaded = state.reloader.reload(dry_run).await?;
    match dry_run {
        true => audit.changes_nothing(),
        false => {
            reloaded.log();
            audit.after(reloaded.summary());
        }
    }
    let Reloaded { applied, needs_restart, not_as_recorded } = reloaded;
    let changes = |all: Vec<Difference>| all.into_iter().map(setting_change).collect();
    Ok(web::Json(ReloadView {
        dry_run,
        applied: changes(applied),
        needs_restart: changes(needs_restart),
        not_as_recorded: changes(not_as_recorded),
    }))
}

/// A difference, as the API shows it.
pub fn setting_change(Difference { key, values }: Difference) -> SettingChange {
    match values {
        Values::Plain { from, to } => SettingChange { key, from, to, secret: false },
        Values::Secret => SettingChange { key, from: None, to: None, secret: true },
    }
}

impl From<ReloadRefused> for ProblemResponse {
    fn from(refused: ReloadRefused) -> Self {
        let detail = format!("the running configuration stays in use: {refused:#}");
        ProblemResponse::new(ProblemKind::BadConfiguration, detail)
    }
}
