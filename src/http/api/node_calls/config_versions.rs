//! `/api/v1/config/versions`: the settings that the cluster has on record.

use actix_web::{HttpRequest, web};
use reelyard_api::{
    Page, ProblemKind, RecordedSetting, Rfc3339, SettingsRecorded, SettingsVersionInfo,
    SettingsVersionView, WantedSettings, refused,
};
use reelyard_core::settings::EffectiveSetting;
use reelyard_settings::cluster_settings::{
    ClusterSettingsError, ClusterSettingsView, RecordSettings, SettingsRefusal, SettingsVersion,
};

use super::config::setting_change;
use crate::config::reading::recorded::{self, RecordedSettings};
use crate::config::{ConfigFaults, Difference};
use crate::http::access::RequestCaller;
use crate::http::api::call_parts::{Body, NoQuery, PageQuery, page};
use crate::http::audit::{AuditDetails, reason_of};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};
use crate::reloading::Reloaded;

type SettingsProblems = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::ChangedMeanwhile),
    (refused::BadConfiguration, refused::Terms, refused::Starting),
    CommitProblems,
)>;

/// `GET /config/versions`.
#[utoipa::path(
    get,
    path = "/config/versions",
    tag = "node",
    operation_id = "listSettingsVersions",
    summary = "Lists the versions of the settings that the cluster has on record, newest first",
    description = "The list is empty while the node runs alone: its file decides.",
    params(PageQuery),
    responses((status = 200, description = "A page of versions", body = Page<SettingsVersionInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<PageQuery>,
) -> Result<web::Json<Page<SettingsVersionInfo>>, Refusal<()>> {
    let (limit, after) = (query.limit()?, query.position::<u64>()?);
    let view = state.actors.settings_views.load();
    let versions = view.book.newest_first();
    let rest = versions.filter(|version| after.is_none_or(|after| version.number < after));
    Ok(web::Json(page(rest.map(|version| info(version)), limit, |version| version.version)))
}

/// `GET /config/versions/{number}`.
#[utoipa::path(
    get,
    path = "/config/versions/{number}",
    tag = "node",
    operation_id = "showSettingsVersion",
    summary = "Shows the settings of a version; secrets are hidden",
    params(("number" = u64, Path, description = "Number of the version")),
    responses((status = 200, description = "The version", body = SettingsVersionView))
)]
pub async fn show(
    state: web::Data<NodeHttpState>,
    number: web::Path<u64>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<SettingsVersionView>, Refusal<(refused::NotFound, refused::BadConfiguration)>>
{
    let view = state.actors.settings_views.load();
    let version = known(&view, number.into_inner())?;
    let shown = RecordedSettings::from(version).shown().map_err(bad_configuration)?;
    let value = |setting: EffectiveSetting| RecordedSetting {
        value: setting.value.filter(|_| !setting.is_secret),
        key: setting.key,
    };
    let values = shown.into_iter().map(value).collect();
    Ok(web::Json(SettingsVersionView { info: info(version), values }))
}

/// `POST /config/versions`.
#[utoipa::path(
    post,
    path = "/config/versions",
    tag = "node",
    operation_id = "recordSettings",
    summary = "Puts other settings of the cluster on record, and returns the changes",
    description = "All settings of the cluster that the text does not set get their defaults. Settings that equal \
                   those on record make no version.",
    request_body(content = WantedSettings, description = "A configuration file, or an earlier version"),
    responses((status = 200, description = "Settings that change, or would change", body = SettingsRecorded))
)]
pub async fn record(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    request: HttpRequest,
    _: web::Query<NoQuery>,
    wanted: Body<WantedSettings>,
) -> Result<web::Json<SettingsRecorded>, SettingsProblems> {
    let reason = reason_of(&request).unwrap_or_default();
    put_on_record(&state, &caller, &audit, wanted.into_inner().0, reason).await
}

/// Puts these settings on record for this reason.
///
/// # Errors
/// They have faults; this node runs alone; or another version came on record meanwhile.
pub async fn put_on_record(
    state: &web::Data<NodeHttpState>,
    caller: &RequestCaller,
    audit: &AuditDetails,
    wanted: WantedSettings,
    reason: String,
) -> Result<web::Json<SettingsRecorded>, SettingsProblems> {
    let WantedSettings { text, version, follows, dry_run } = wanted;
    let view = state.actors.settings_views.load();
    require_record(state, &view)?;
    let follows = match follows {
        Some(follows) => follows,
        None if dry_run => view.book.newest_number(),
        None => {
            return Err(ProblemResponse::bad_request(
                "set follows to the newest version, as a dry run returns it",
            )
            .into());
        }
    };
    let (text, left_out) = match (text, version) {
        (Some(text), None) => recorded::of_file(&text).map_err(bad_configuration)?,
        (None, Some(version)) => (known(&view, version)?.text.clone(), Vec::new()),
        _ => return Err(ProblemResponse::bad_request("set exactly one of text and version").into()),
    };
    let before = RecordedSettings::from(known(&view, follows)?);
    let is_same = before.text == text;
    let after = RecordedSettings { version: follows.saturating_add(1), text: text.clone() };
    let changes = state.reloader.changes(Some(before), after).await?;
    let mut answer = answer(changes, left_out, follows);
    if dry_run || is_same {
        audit.changes_nothing();
        return Ok(web::Json(answer));
    }
    let request = caller.request(&format!("record {follows} {reason:?} {}", &*text));
    let asked = RecordSettings { text, follows, by: caller.name(), why: reason, request };
    let recorded = state.actors.settings.ask(asked).await??;
    audit.subject(format!("settings version {}", recorded.number));
    let changes =
        serde_json::json!({ "applied": answer.applied, "needs_restart": answer.needs_restart });
    audit.after(changes);
    answer.is_recorded = true;
    answer.version = recorded.number;
    Ok(web::Json(answer))
}

/// Refuses a record where the file of the node decides, or where a member cannot read it.
fn require_record(
    state: &NodeHttpState,
    view: &ClusterSettingsView,
) -> Result<(), ProblemResponse> {
    if !view.is_ready {
        let detail = "the settings on record are still being read: try again in a moment";
        return Err(ProblemResponse::new(ProblemKind::Starting, detail));
    }
    if view.book.newest().is_none() && state.journal.members().len() < 2 {
        let detail = "this node runs alone, and its file decides: change the file, and run \"reelyard config reload\"";
        return Err(ProblemResponse::new(ProblemKind::NotAllowed, detail));
    }
    match state.cluster.older_member() {
        None => Ok(()),
        Some(node) => {
            let detail = format!(
                "node {node} runs a version of reelyard without settings on record: upgrade it"
            );
            Err(ProblemResponse::new(ProblemKind::NotAllowed, detail))
        }
    }
}

fn answer(changes: Reloaded, left_out: Vec<String>, version: u64) -> SettingsRecorded {
    let shown = |all: Vec<Difference>| all.into_iter().map(setting_change).collect();
    let (applied, needs_restart) = (shown(changes.applied), shown(changes.needs_restart));
    SettingsRecorded { is_recorded: false, version, applied, needs_restart, left_out }
}

fn known(view: &ClusterSettingsView, number: u64) -> Result<&SettingsVersion, ProblemResponse> {
    let version = view.book.version(number);
    let kept = || match view.book.newest() {
        Some(newest) => format!(
            "no settings of version {number} are on record. The newest is {}",
            newest.number
        ),
        None => "no settings are on record".to_owned(),
    };
    version.map(AsRef::as_ref).ok_or_else(|| ProblemResponse::not_found(kept()))
}

fn info(version: &SettingsVersion) -> SettingsVersionInfo {
    SettingsVersionInfo {
        version: version.number,
        at: Rfc3339(version.at),
        by: version.by.clone(),
        reason: Some(version.why.clone()).filter(|reason| !reason.is_empty()),
    }
}

fn bad_configuration(faults: ConfigFaults) -> ProblemResponse {
    let detail = format!("the settings on record stay in force: {faults}");
    ProblemResponse::new(ProblemKind::BadConfiguration, detail)
}

impl From<ClusterSettingsError> for ProblemResponse {
    fn from(error: ClusterSettingsError) -> Self {
        let detail = error.to_string();
        let refusal = match error {
            ClusterSettingsError::Journal(error) => return error.into(),
            ClusterSettingsError::Refused(refusal) => refusal,
        };
        let kind = match refusal {
            SettingsRefusal::NotTheNewest { .. }
            | SettingsRefusal::Incomplete { .. }
            | SettingsRefusal::UnderWay => ProblemKind::ChangedMeanwhile,
            SettingsRefusal::TooLong { .. } | SettingsRefusal::ReasonTooLong { .. } => {
                ProblemKind::Terms
            }
        };
        ProblemResponse::new(kind, detail)
    }
}
