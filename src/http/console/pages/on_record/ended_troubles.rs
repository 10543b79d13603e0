//! Troubles that are over, for the page History and its export.

use jiff::Timestamp;
use reelyard_console::pages::ended_troubles::{trouble_title, trouble_word};
use reelyard_console::pages::history::{EndedTroubles, HistoryPageModel, HistoryPageQuery};
use reelyard_console::pages::yard::EndedTrouble;
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;
use serde_json::json;

use super::instants::instant;
use crate::csv;
use crate::http::api::audit_calls::row_filter::instant as read_instant;
use crate::http::console::pages::host_choices::host_choices;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// The first line of an export with commas.
const HEAD: &str = "began,ended,state,host,trouble\r\n";

/// The page with the troubles that match.
///
/// # Errors
/// An instant of the filter cannot be read.
pub fn model(
    state: &NodeHttpState,
    query: &HistoryPageQuery,
    viewer: &Viewer,
) -> Result<HistoryPageModel, ProblemResponse> {
    Ok(HistoryPageModel {
        hosts: host_choices(state.actors.hosts.present().keys(), &query.host),
        troubles: Some(matching(state, query, viewer)?),
        ..HistoryPageModel::default()
    })
}

fn matching(
    state: &NodeHttpState,
    query: &HistoryPageQuery,
    viewer: &Viewer,
) -> Result<EndedTroubles, ProblemResponse> {
    let (begun, ended) = state.overview.ended_troubles();
    let kept = ended.len() as u64;
    let read = |name, text: &str| read_instant(name, instant(text, &viewer.zone).as_deref());
    let (from, to) = (read("from", &query.from)?, read("to", &query.to)?);
    let part = query.q.trim().to_lowercase();
    let is_wanted = |ended: &EndedTrouble| {
        let at = Millis(ended.to.0);
        from.is_none_or(|from| at >= from)
            && to.is_none_or(|to| at <= to)
            && (query.host.is_empty() || ended.cause.host() == Some(query.host.as_str()))
            && (part.is_empty() || trouble_title(viewer, ended).to_lowercase().contains(&part))
    };
    let mut rows: Vec<EndedTrouble> = ended.into_iter().filter(is_wanted).collect();
    let sort = query.order();
    match sort.key.as_str() {
        "begun" => rows.sort_by_key(|ended| ended.from),
        "lasted" => rows.sort_by_key(|ended| ended.to.0 - ended.from.0),
        "state" => rows.sort_by_key(|ended| trouble_word(viewer, ended)),
        "trouble" => rows.sort_by_cached_key(|ended| trouble_title(viewer, ended)),
        "host" => rows.sort_by(|a, b| a.cause.host().cmp(&b.cause.host())),
        _ => rows.sort_by_key(|ended| ended.to),
    }
    if sort.descending {
        rows.reverse();
    }
    let since = Moment(begun.unwrap_or(state.clock.now()).0);
    Ok(EndedTroubles { since, kept, rows })
}

/// The troubles that match as text: with commas, or a line of JSON for each.
///
/// # Errors
/// An instant of the filter cannot be read.
pub fn export(
    state: &NodeHttpState,
    query: &HistoryPageQuery,
    viewer: &Viewer,
    is_csv: bool,
) -> Result<String, ProblemResponse> {
    let at = |moment: Moment| {
        let instant = Timestamp::from_millisecond(moment.0).unwrap_or(Timestamp::UNIX_EPOCH);
        instant.to_string()
    };
    let mut text = if is_csv { HEAD.to_owned() } else { String::new() };
    for ended in matching(state, query, viewer)?.rows {
        let (began, end) = (at(ended.from), at(ended.to));
        let (word, host) = (trouble_word(viewer, &ended), ended.cause.host().unwrap_or_default());
        let title = trouble_title(viewer, &ended);
        if is_csv {
            text.push_str(&csv::row([began.as_str(), &end, word, host, &title]));
        } else {
            let line = json!({
                "began": began, "ended": end, "state": word, "host": host, "trouble": title,
            });
            text.push_str(&format!("{line}\n"));
        }
    }
    Ok(text)
}
