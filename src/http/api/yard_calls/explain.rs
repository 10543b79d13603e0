//! `/api/v1/files/{name}/explain`: explains why a file is planned or not.

use actix_web::{HttpRequest, web};
use reelyard_api::{DemandPartsView, DemandView, ExplainView, SilentHolder};
use reelyard_core::names::FileName;
use reelyard_yard::catalog::popularity::popularity_order::DemandParts;
use reelyard_yard::remover::{CopiesExplained, ExplainCopies, RoomVerdict};
use reelyard_yard::task_manager::ExplainFile;
use reelyard_yard::task_manager::{Explanation, MasterState, PlanVerdict, Skip};

use crate::http::api::call_parts::NoQuery;
use crate::http::host_facts::one_host;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{AskProblems, ProblemResponse, Refusal};

pub(super) const TIB: f64 = (1_u64 << 40) as f64;

/// The verdict on room for a file that fits nowhere, before the first round for it.
const NO_ROUND: &str = "no round of removal has looked for room for it";

/// `GET /files/{name}/explain`. Unknown names are explained like any other name.
#[utoipa::path(
    get,
    path = "/files/{name}/explain",
    tag = "files",
    operation_id = "explainFile",
    summary = "Explains why a file is planned or not, host by host",
    description = "Unknown names are accepted as well. A list has at most 500 hosts, and those with which a source \
                   backs off at most 10. The others are counted.",
    params(("name" = String, Path, description = "Percent-encoded name of the file; any bytes are allowed")),
    responses((status = 200, description = "The explanation", body = ExplainView))
)]
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<ExplainView>, Refusal<AskProblems>> {
    let name = file_in_path(&request, "/explain")?;
    Ok(web::Json(explained(&state, &name).await?))
}

/// Why a file is planned or not.
///
/// # Errors
/// An owner does not answer.
pub async fn explained(
    state: &NodeHttpState,
    name: &FileName,
) -> Result<ExplainView, ProblemResponse> {
    let explanation = state.actors.task_manager.ask(ExplainFile { name: name.clone() }).await?;
    let without_room = size_without_room(&explanation);
    let hosts = explanation.held_on.iter().map(|held| held.host).collect();
    let asked = ExplainCopies { name: name.clone(), hosts, without_room };
    let CopiesExplained { copies, room } = state.actors.remover.ask(asked).await?;
    let seen = match &explanation.master {
        MasterState::Found { size, .. } => Some(*size),
        _ => None,
    };
    let demand = demand(state, name, seen, room, without_room.is_some());
    let silent_on = silent_holders(state, &explanation);
    Ok(ExplainView { silent_on, ..ExplainView::of(name, explanation, copies, demand) })
}

/// The listed holders that do not answer.
fn silent_holders(state: &NodeHttpState, explanation: &Explanation) -> Vec<SilentHolder> {
    let beats = state.actors.heartbeat_view.load();
    let after = state.live.now().config.yard.hosts.presumed_lost_after;
    let silent = explanation.held_on.iter().filter(|held| beats.is_down(held.host));
    let holder = |host| {
        let since = one_host(state, host).ok().and_then(|host| host.silent_since);
        let presumed_lost_at = since.map(|since| since.after(after));
        SilentHolder { host, silent_since: since, presumed_lost_at }
    };
    silent.map(|held| holder(held.host)).collect()
}

/// The size of a file in bytes, if no destination has room for it.
fn size_without_room(explanation: &Explanation) -> Option<u64> {
    match (explanation.verdict, &explanation.master) {
        (PlanVerdict::Skipped(Skip::TooBig | Skip::NoRoom), MasterState::Found { size, .. }) => {
            Some(*size)
        }
        _ => None,
    }
}

/// The demand for a file; none while demand is not measured, or if no input names the file. `seen` is the size of
/// its master, `outlook` the verdict on an exchange for it at this moment, and `needs_room` whether it fits nowhere.
fn demand(
    state: &NodeHttpState,
    name: &FileName,
    seen: Option<u64>,
    outlook: Option<String>,
    needs_room: bool,
) -> Option<DemandView> {
    let file = state.names.find(name.as_bytes())?;
    let catalog = state.actors.catalog_view.load();
    let ranking = catalog.ranking.as_ref()?;
    let order = ranking.demand()?;
    let demand = order.demand(file);
    let removals = state.actors.remover_views.load();
    let mut rooms = removals.last.iter().flat_map(|last| &last.rooms);
    let decided = rooms.find(|sought| sought.file == *name).map(|sought| &sought.verdict);
    Some(DemandView {
        rank: order.ranks(&[file.0].into_iter().collect()).get(&file).copied(),
        ranked: order.files().len() as u64,
        requests_a_day: rounded(demand.rate.per_day()),
        kept_requests_a_day: rounded(demand.kept_rate.per_day()),
        half_life_days: order.half_life_days(),
        parts: ranking.rank(file).map(|rank| {
            parts(
                order.parts(file, rank),
                demand.rate.per_day(),
                seen.or_else(|| ranking.size(file)),
            )
        }),
        in_force: ranking.is_by_demand(),
        room: room(decided, outlook, needs_room),
    })
}

/// The verdict on room for a file in words. `decided` is the verdict of the last round.
fn room(
    decided: Option<&RoomVerdict>,
    outlook: Option<String>,
    needs_room: bool,
) -> Option<String> {
    let of_round = decided.map(RoomVerdict::words);
    let known = match decided {
        // The outlook says more: what an exchange for this file alone needs.
        Some(
            RoomVerdict::AfterOthers
            | RoomVerdict::SizesUnknown
            | RoomVerdict::TooLittleDemand { needed: None, .. },
        ) => outlook.or(of_round),
        _ => of_round.or(outlook),
    };
    match known {
        None if needs_room => Some(NO_ROUND.to_owned()),
        known => known,
    }
}

fn parts(parts: DemandParts, requests_a_day: f64, size: Option<u64>) -> DemandPartsView {
    let size = size.filter(|size| *size > 0);
    let requests_a_day_per_tib = size.and_then(|size| per_tib(requests_a_day, size));
    DemandPartsView {
        remembered_requests: rounded(parts.remembered),
        known_days: rounded(parts.known_days),
        prior_requests_a_day: rounded(parts.prior_a_day),
        size,
        requests_a_day_per_tib,
    }
}

/// The score of a file: expected requests a day for each TiB; none without a size.
pub(super) fn per_tib(requests_a_day: f64, size: u64) -> Option<f64> {
    (size > 0).then(|| rounded(requests_a_day / size as f64 * TIB))
}

/// Three digits after the point.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Reads the name of a file from the request path, before `suffix`. It uses the raw request line,
/// because a name is decoded exactly once and may contain any bytes.
pub(in crate::http) fn file_in_path(
    request: &HttpRequest,
    suffix: &str,
) -> Result<FileName, ProblemResponse> {
    let segment = name_segment(request.uri().path(), suffix);
    FileName::from_percent(segment)
        .map_err(|bad| ProblemResponse::bad_request(format!("\"{segment}\": {bad}")))
}

/// The segment with the name of the file, still percent-encoded.
fn name_segment<'a>(path: &'a str, suffix: &str) -> &'a str {
    let file = path.strip_suffix(suffix).unwrap_or(path);
    file.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_room_has_a_verdict_before_its_first_round() {
        let outlook = || Some("an outlook".to_owned());
        assert_eq!(room(None, None, true).as_deref(), Some(NO_ROUND));
        assert_eq!(room(None, None, false), None);
        assert_eq!(room(None, outlook(), true), outlook());
        let decided = RoomVerdict::AfterOthers;
        assert_eq!(room(Some(&decided), outlook(), true), outlook());
        assert_eq!(room(Some(&decided), None, true), Some(decided.words()));
    }

    #[test]
    fn a_file_may_be_named_like_the_call() {
        assert_eq!(name_segment("/api/v1/files/a%2Fb.mpg/explain", "/explain"), "a%2Fb.mpg");
        assert_eq!(name_segment("/api/v1/files/explain/explain", "/explain"), "explain");
    }
}
