//! `/console/hosts`: the table of hosts.

use std::cmp::Ordering;
use std::collections::HashSet;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_console::Viewer;
use reelyard_console::address::SortBy;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::hosts::{
    self, HealthFilter, HostCondition, HostLine, HostModeWord, HostsPageModel, HostsPageQuery,
    ModeFilter, RoleFilter,
};
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::parts::table::RowPage;
use reelyard_console::text::outcomes;
use reelyard_core::host::HostAddr;

use super::dialogs::{drain_dialog, host_dialogs, new_hosts};
use super::host_obstacles;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::chosen::{self, ChosenRows};
use crate::http::console::live_part::LivePart;
use crate::http::console::pages::row_cursor::{cursor, first_behind};
use crate::http::console::posted_form::typed_in;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::host_facts::{host_views, one_host};
use crate::http::node_state::NodeHttpState;
use crate::http::overview::{DiskMarks, host_lines};

/// Rows of a page.
const ROWS: usize = 50;

/// `GET /console/hosts`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = HostsPageQuery::parse(request.query_string());
    let viewer = visitor.viewer.clone();
    let is_added = query.ask == new_hosts::ADD && viewer.rights.storage;
    let added = is_added.then(|| new_hosts::new_hosts(&viewer, &typed_in(&request)));
    let parts = computed(&state, move |state| parts(state, &query, added, &viewer)).await?;
    Ok(answer::live_page(&request, &state, &visitor, &parts, "hosts"))
}

/// Answers a form with the page and with this dialog.
pub async fn show_dialog(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    visitor: &Visitor,
    ask: AskDialog,
) -> Result<HttpResponse, ConsoleRefusal> {
    let (query, viewer) = (HostsPageQuery::default(), visitor.viewer.clone());
    let parts = computed(state, move |state| parts(state, &query, Some(ask), &viewer)).await?;
    Ok(answer::page_at(HostsPageQuery::path(), request, state, visitor, &parts))
}

/// The page of this state, with this dialog if there is one.
fn parts(
    state: &NodeHttpState,
    query: &HostsPageQuery,
    ask: Option<AskDialog>,
    viewer: &Viewer,
) -> PageParts {
    let model = model(state, query, viewer);
    let model = HostsPageModel { ask: ask.or(model.ask), ..model };
    let title = NavPage::Hosts.title().of(viewer.language);
    let is_known = host_dialogs::WORDS.contains(&query.ask.as_str());
    let is_gone = is_known && !query.all && model.ask.is_none();
    let picked = if is_gone { query.pick.as_slice() } else { &[] };
    PageParts::new(NavPage::Hosts, title, hosts::render(query, &model, viewer))
        .with_gone(chosen::gone(viewer, outcomes::GONE_HOSTS, picked))
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    // A dialog stays as it was opened.
    let query = HostsPageQuery { ask: String::new(), ..HostsPageQuery::parse(query) };
    let model = model(state, &query, viewer);
    let mut parts = hosts::live_head(viewer, &query, &model);
    parts.push(("rows".to_owned(), hosts::host_rows(viewer, &query, &model)));
    parts
}

/// The rows of this state of the page.
fn model(state: &NodeHttpState, query: &HostsPageQuery, viewer: &Viewer) -> HostsPageModel {
    let lines = lines(state);
    let totals = host_lines::totals(&lines);
    let closed = HostsPageQuery { ask: String::new(), ..query.clone() }.address();
    let ask = match query.ask.as_str() {
        "" => None,
        _ => asked(state, query, &lines, &closed, viewer),
    };
    let why = lines.iter().find(|line| line.host == query.why).cloned();
    let mut matching: Vec<HostLine> =
        lines.into_iter().filter(|line| is_wanted(line, query)).collect();
    // Hosts that are alike keep the order of their addresses.
    matching.sort_by(|a, b| order(a, b, &query.sort));
    let total = matching.len();
    let position = |key: &str| matching.iter().position(|line| line.host == key);
    let first = first_behind(&query.after, (ROWS, total), position);
    let rows: Vec<HostLine> = matching.iter().skip(first).take(ROWS).cloned().collect();
    let at = |after: String| HostsPageQuery { after, pick: Vec::new(), ..query.clone() }.address();
    let next = rows.last().filter(|_| first + rows.len() < total);
    let before = first.saturating_sub(ROWS).checked_sub(1).and_then(|last| matching.get(last));
    HostsPageModel {
        totals,
        matching: total as u64,
        page: RowPage {
            first: if rows.is_empty() { 0 } else { first as u64 + 1 },
            shown: rows.len() as u64,
            total: Some(total as u64),
            previous: (first > 0).then(|| {
                at(before.map_or_else(String::new, |line| cursor(first - ROWS, &line.host)))
            }),
            next: next.map(|line| at(cursor(first + rows.len(), &line.host))),
        },
        why: why.and_then(|line| {
            let host = one_host(state, line.host.parse().ok()?).ok()?;
            let obstacles = host_obstacles::of_host(state, &host);
            Some((line, obstacles))
        }),
        rows,
        ask,
    }
}

/// The dialog that an address asks for.
fn asked(
    state: &NodeHttpState,
    query: &HostsPageQuery,
    lines: &[HostLine],
    closed: &str,
    viewer: &Viewer,
) -> Option<AskDialog> {
    let chosen = chosen_hosts(lines, query);
    let hosts = chosen.rows.clone();
    let mut ask = host_dialogs::of_chosen(query, chosen, closed, viewer)?;
    let mut absent = query.pick.clone();
    let known: HashSet<&str> = lines.iter().map(|line| line.host.as_str()).collect();
    absent.retain(|host| !query.all && !known.contains(host.as_str()));
    ask.left_out.extend(chosen::gone(viewer, outcomes::GONE_HOSTS, &absent));
    Some(match query.ask.as_str() {
        "drain" => drain_dialog::with_facts(state, ask, &hosts, viewer),
        _ => ask,
    })
}

/// The picked hosts, or those that match the filter of a page, for which its action can do something.
pub fn matching(state: &NodeHttpState, query: &HostsPageQuery) -> ChosenRows<HostLine> {
    chosen_hosts(&lines(state), query)
}

fn chosen_hosts(lines: &[HostLine], query: &HostsPageQuery) -> ChosenRows<HostLine> {
    let unsuited = match query.ask.as_str() {
        "drain" => Some(HostModeWord::Draining),
        "maintenance" => Some(HostModeWord::Maintenance),
        "active" => Some(HostModeWord::Active),
        _ => None,
    };
    let is_chosen = |line: &&HostLine| match query.all {
        true => is_wanted(line, query),
        false => query.pick.contains(&line.host),
    };
    let matching = lines.iter().filter(is_chosen);
    ChosenRows::of(matching, |line| Some(line.mode) != unsuited).map(HostLine::clone)
}

/// All hosts of the yard.
pub fn lines(state: &NodeHttpState) -> Vec<HostLine> {
    let (tasks, marks, now) =
        (state.actors.task_views.load(), DiskMarks::of(state), state.clock.now());
    let views = host_views(state);
    views.iter().map(|view| host_lines::line(view, &tasks, marks, now)).collect()
}

fn is_wanted(line: &HostLine, query: &HostsPageQuery) -> bool {
    let health = query.health.is_none_or(|wanted| match line.condition {
        HostCondition::Up | HostCondition::Probation => wanted == HealthFilter::Up,
        HostCondition::Suspect => wanted == HealthFilter::Suspect,
        HostCondition::Down | HostCondition::Lost => wanted == HealthFilter::Down,
        HostCondition::NotAsked | HostCondition::Unknown => wanted == HealthFilter::Unknown,
    });
    let role = query.role.is_none_or(|wanted| match wanted {
        RoleFilter::Source => line.role.is_source(),
        RoleFilter::Destination => line.role.is_destination(),
    });
    let mode = query.mode.is_none_or(|wanted| match line.mode {
        HostModeWord::Active => wanted == ModeFilter::Active,
        HostModeWord::Draining => wanted == ModeFilter::Draining,
        HostModeWord::Maintenance => wanted == ModeFilter::Maintenance,
    });
    health && role && mode && line.host.contains(query.q.trim())
}

/// The order of two hosts. Without a column, hosts with troubles come first.
fn order(a: &HostLine, b: &HostLine, sort: &SortBy) -> Ordering {
    let used = |line: &HostLine| line.disk.map_or(-1.0, |disk| disk.used);
    let link = |line: &HostLine| line.link.as_ref().map_or(-1.0, |link| link.out.max(link.inward));
    let ascending = match sort.key.as_str() {
        "disk" => used(a).total_cmp(&used(b)),
        "room" => a.room.cmp(&b.room),
        "files" => a.files.cmp(&b.files),
        "link" => link(a).total_cmp(&link(b)),
        "copies" => (a.copies_in + a.copies_out).cmp(&(b.copies_in + b.copies_out)),
        "health" => urgency(a).cmp(&urgency(b)),
        "since" => a.since.cmp(&b.since),
        "role" => (a.role as u8).cmp(&(b.role as u8)),
        "host" => address(a).cmp(&address(b)),
        _ => return urgency(a).cmp(&urgency(b)),
    };
    if sort.descending { ascending.reverse() } else { ascending }
}

/// The address as numbers: .9 comes before .10.
fn address(line: &HostLine) -> Option<HostAddr> {
    line.host.parse().ok()
}

/// 0 for the host that needs attention first.
fn urgency(line: &HostLine) -> u8 {
    let is_over = line.disk.is_some_and(|disk| disk.used > disk.limit);
    match line.condition {
        HostCondition::Lost | HostCondition::Down => 0,
        _ if is_over || line.is_contested => 1,
        HostCondition::Suspect => 2,
        HostCondition::Probation => 3,
        HostCondition::Unknown => 4,
        HostCondition::NotAsked => 5,
        HostCondition::Up => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_sorted_as_numbers() {
        let line = |host: &str| HostLine { host: host.to_owned(), ..HostLine::default() };
        let mut lines = ["10.0.0.10:8888", "10.0.0.9:8888", "10.0.0.9:888"].map(line);
        let sorted = |lines: &mut [HostLine], key: &str| {
            lines.sort_by(|a, b| {
                order(a, b, &SortBy { key: "host".to_owned(), descending: key.starts_with('-') })
            });
            lines.iter().map(|line| line.host.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sorted(&mut lines, "host"), "10.0.0.9:888 10.0.0.9:8888 10.0.0.10:8888");
        assert_eq!(sorted(&mut lines, "-host"), "10.0.0.10:8888 10.0.0.9:8888 10.0.0.9:888");
    }
}
