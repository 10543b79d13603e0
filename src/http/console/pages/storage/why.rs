//! The facts of the panel "Why?".

use actix_web::web;
use reelyard_api::ExplainView;
use reelyard_console::Moment;
use reelyard_console::format::FileText;
use reelyard_console::pages::why::{
    DestinationAnswer, HeldCopy, HostObstacle, SourceAnswer, WhyAnswer, WhyFile,
};
use reelyard_console::parts::act::CommandLines;
use reelyard_core::names::FileName;
use reelyard_yard::heartbeat::HeartbeatView;
use reelyard_yard::task_manager::{HostUsability, HostsLeftOut, MasterState, PlanVerdict};

use crate::http::api::yard_calls::explain;
use crate::http::api::yard_calls::pins::require_known;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::reasons::passed;
use crate::http::overview::yard_model::recent::file_text;
use crate::http::problem::ProblemResponse;

/// The explanation of the file with this name, as the console writes names. None without a name, and for a text that
/// is no name.
///
/// # Errors
/// The owners of tasks and removals do not answer.
pub async fn of_file(
    state: &web::Data<NodeHttpState>,
    name: &str,
) -> Result<Option<WhyFile>, ProblemResponse> {
    let Some(name) = file_name(state, name) else { return Ok(None) };
    let view = explain::explained(state, &name).await?;
    let file = state.names.find(name.as_bytes());
    let catalog = state.actors.catalog_view.load();
    let removals = state.actors.remover_views.load();
    let size = file.and_then(|file| catalog.master_sizes.get(file));
    let wanted = state.actors.task_views.load().plan.wanted;
    let in_force = state.live.now();
    let hot_from = in_force.config.yard.event_log.hit_base.get();
    let beats = state.actors.heartbeat_view.load();
    let explained = explained(&view, &name.to_percent(), &beats);
    // With another holder the file is in reach, and no silence makes the node copy it again.
    let is_silent =
        !explained.copies.is_empty() && explained.copies.iter().all(|copy| copy.is_down);
    let silent = view.silent_on.iter().filter(|_| is_silent);
    let lost_at = silent.filter_map(|holder| holder.presumed_lost_at).map(|at| at.0).min();
    Ok(Some(WhyFile {
        rank: view.explanation.rank.map(u64::from),
        ranked: catalog.ranking.as_ref().map(|ranking| ranking.files().len() as u64),
        place: view.explanation.ahead.map(|ahead| (ahead + 1, wanted.max(ahead + 1))),
        hot_from: Some(u64::from(hot_from)),
        size: size.or_else(|| size_of(&view.explanation.master)),
        is_unknown: require_known(state, &name).is_err(),
        is_pinned: file.is_some_and(|file| removals.pins.contains_key(&file)),
        lost_at: lost_at.map(Moment),
        ..explained
    }))
}

/// The file that an address of the console names by a percent-encoded text. A person may also type the name itself.
fn file_name(state: &NodeHttpState, text: &str) -> Option<FileName> {
    let decoded = FileName::from_percent(text).ok();
    let typed = FileName::new(text.as_bytes()).ok();
    let is_known = |name: &FileName| state.names.find(name.as_bytes()).is_some();
    let known = [&decoded, &typed].into_iter().flatten().find(|name| is_known(name)).cloned();
    known.or(decoded).or(typed)
}

fn size_of(master: &MasterState) -> Option<u64> {
    match master {
        MasterState::Found { size, .. } => Some(*size),
        _ => None,
    }
}

fn explained(view: &ExplainView, key: &str, beats: &HeartbeatView) -> WhyFile {
    let explanation = &view.explanation;
    let (answer, passed) = match explanation.verdict {
        PlanVerdict::Skipped(why) => (None, passed(why)),
        verdict => (answer(verdict), None),
    };
    let detail = explanation.back_off.as_ref().map(|held| held.reason.clone());
    let room = view.demand.as_ref().and_then(|demand| demand.room.clone());
    let name = file_text(view.name.clone());
    WhyFile {
        answer,
        passed,
        detail: detail.or(room).unwrap_or_default(),
        hits: u64::from(explanation.hits),
        requests_a_day: view.demand.as_ref().map(|demand| demand.requests_a_day),
        score: view
            .demand
            .as_ref()
            .and_then(|demand| demand.parts.as_ref()?.requests_a_day_per_tib),
        master_dir: match &explanation.master {
            MasterState::Found { dir, .. } => Some(dir.clone()),
            _ => None,
        },
        task: explanation.task.map(|task| task.to_string()),
        copies: copies(view, beats),
        copies_left_out: explanation.held_on_left_out,
        sources: explanation
            .sources
            .iter()
            .map(|source| SourceAnswer {
                host: source.host.to_string(),
                says: obstacle(source.usability),
                serving: source.serving as u64,
            })
            .collect(),
        destinations: explanation
            .destinations
            .iter()
            .map(|destination| DestinationAnswer {
                host: destination.host.to_string(),
                says: obstacle(destination.usability),
                room: destination.room,
                is_down: beats.is_down(destination.host),
            })
            .collect(),
        sources_left_out: left_out(&explanation.sources_left_out, |_| true),
        refusing_left_out: left_out(&explanation.destinations_left_out, |says| {
            says != HostUsability::Yes
        }),
        agreeing_left_out: left_out(&explanation.destinations_left_out, |says| {
            says == HostUsability::Yes
        }),
        commands: commands(&name, key),
        key: key.to_owned(),
        name,
        ..WhyFile::default()
    }
}

/// The number of those whose usability is wanted.
fn left_out(hosts: &[HostsLeftOut], is_wanted: impl Fn(HostUsability) -> bool) -> u64 {
    hosts.iter().filter(|more| is_wanted(more.usability)).map(|more| more.hosts).sum()
}

fn copies(view: &ExplainView, beats: &HeartbeatView) -> Vec<HeldCopy> {
    let held = view.explanation.held_on.iter().map(|held| {
        let decision = view.copies.iter().find(|copy| copy.host == held.host);
        let decision = decision.map(|copy| copy.outlook.words()).unwrap_or_default();
        let is_down = beats.is_down(held.host);
        let since = beats.of(held.host).and_then(|beats| beats.changed).filter(|_| is_down);
        let since = since.map(|at| Moment(at.0));
        HeldCopy { host: held.host.to_string(), decision, is_down, since }
    });
    held.collect()
}

fn answer(verdict: PlanVerdict) -> Option<WhyAnswer> {
    let word = serde_json::to_value(verdict).ok()?;
    WhyAnswer::of_api(word.as_str()?)
}

fn obstacle(usability: HostUsability) -> HostObstacle {
    let word = serde_json::to_value(usability).ok();
    let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
    HostObstacle::of_api(word).unwrap_or(HostObstacle::Usable)
}

fn commands(name: &FileText, key: &str) -> CommandLines {
    let path = format!("/files/{key}/explain");
    let explained = format!("--explain={}", &**name);
    let flag = name.is_encoded.then_some("--percent-encoded");
    let words: Vec<&str> = ["plan", &explained].into_iter().chain(flag).collect();
    CommandLines::new(&words, ("GET", &path, ""))
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::NameText;

    use super::*;

    #[test]
    fn a_name_that_begins_with_a_dash_is_explained() {
        let name = "-dash.mpg".to_owned();
        let name = file_text(NameText { name, percent_encoded: false });
        let lines = commands(&name, "-dash.mpg");
        assert_eq!(lines.reelyard, [["plan", "--explain=-dash.mpg"]]);
        assert_eq!(lines.curl[0].path, "/files/-dash.mpg/explain");
    }
}
