//! The page Hosts as a whole.

use maud::{Markup, html};

use super::model::{HostLine, HostRoleWord, HostsPageModel};
use super::query::{HealthFilter, HostsPageQuery, ModeFilter, RoleFilter};
use super::rows::{COLUMNS, host_rows};
use crate::address::{QueryWord, SortBy, encoded, host_page};
use crate::format::{count, counted};
use crate::pages::why::{ObstacleFact, not_in_the_way, obstacle_command, obstacle_row};
use crate::parts::act::{CommandLines, command_lines, command_menu, list_lines};
use crate::parts::dialog::ask_dialog;
use crate::parts::filter::{self, FilterBar, FilterChoice, FilterMenu, filter_bar, order_menu};
use crate::parts::icon::{Glyph, icon};
use crate::parts::panel::page_head;
use crate::parts::why::{side_panel, split};
use crate::text::{Text, common, frame, hosts, states, why, yard};
use crate::viewer::Viewer;

/// The content of the page.
pub fn render(query: &HostsPageQuery, model: &HostsPageModel, viewer: &Viewer) -> Markup {
    let panel = model.why.as_ref().map(|(line, reasons)| why_host(viewer, query, line, reasons));
    html! {
        (page_head(frame::HOSTS.of(viewer.language), &hosts_sentence(viewer, model), actions(viewer, query)))
        (filter_bar(viewer, &filters(viewer, query, model)))
        (split(host_rows(viewer, query, model), panel))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The list as a command, and the dialog of new hosts.
fn actions(viewer: &Viewer, query: &HostsPageQuery) -> Markup {
    let role = query.role.map(|role| ("role", role.word().to_owned()));
    let health = query.health.map(|health| ("health", health.word().to_owned()));
    let mode = query.mode.map(|mode| ("mode", mode.word().to_owned()));
    let part = Some(("contains", query.q.trim().to_owned())).filter(|(_, part)| !part.is_empty());
    let filters: Vec<(&str, String)> = [role, health, mode, part].into_iter().flatten().collect();
    html! {
        (command_menu(viewer, &[list_lines("hosts", &filters)]))
        @if viewer.rights.storage {
            @let add = HostsPageQuery { ask: "add".to_owned(), ..HostsPageQuery::default() };
            a.btn.go href=(add.address()) { (icon(Glyph::Plus)) (hosts::ADD_HOSTS.of(viewer.language)) }
        }
    }
}

/// The sentence at the top: how many there are, and what differs.
pub fn hosts_sentence(viewer: &Viewer, model: &HostsPageModel) -> String {
    let language = viewer.language;
    let totals = model.totals;
    if totals.sources + totals.destinations == 0 {
        return format!("{}.", hosts::EMPTY_SETUP.of(language));
    }
    let sources = counted(language, common::SOURCES, totals.sources);
    let destinations = counted(language, common::DESTINATIONS, totals.destinations);
    let values = [("sources", sources.as_str()), ("destinations", destinations.as_str())];
    let first = hosts::SENTENCE.fill(language, &values);
    let differing = [
        (totals.down, hosts::N_DOWN),
        (totals.suspect, hosts::N_SUSPECT),
        (totals.over_limit, hosts::N_OVER),
        (totals.probation, hosts::N_PROBATION),
        (totals.draining, hosts::N_DRAINING),
        (totals.maintenance, hosts::N_MAINTENANCE),
    ];
    let mut parts = Vec::new();
    for (value, words) in differing {
        if value > 0 {
            parts.push(words.fill(language, &[("n", &count(value))]));
        }
    }
    if parts.is_empty() {
        return format!("{first} {}", hosts::SENTENCE_FINE.of(language));
    }
    format!("{first} {}.", parts.join(", "))
}

/// The parts above the rows that follow changes with them.
pub fn live_head(
    viewer: &Viewer,
    query: &HostsPageQuery,
    model: &HostsPageModel,
) -> Vec<(String, Markup)> {
    filter::live_head(viewer, &hosts_sentence(viewer, model), &filters(viewer, query, model))
}

fn filters(viewer: &Viewer, query: &HostsPageQuery, model: &HostsPageModel) -> FilterBar {
    let language = viewer.language;
    let totals = model.totals;
    let base = HostsPageQuery {
        after: String::new(),
        pick: Vec::new(),
        all: false,
        ask: String::new(),
        why: String::new(),
        ..query.clone()
    };
    let health = |filter: Option<HealthFilter>, words: Text, rows: u64| FilterChoice {
        words: words.of(language).to_owned(),
        rows: Some(rows),
        address: HostsPageQuery { health: filter, ..base.clone() }.address(),
        is_current: query.health == filter,
    };
    let all = totals.sources + totals.destinations;
    let mut states = vec![
        health(None, common::ALL, all),
        health(Some(HealthFilter::Up), states::UP, totals.up),
        health(Some(HealthFilter::Suspect), states::SUSPECT, totals.suspect),
        health(Some(HealthFilter::Down), states::DOWN, totals.down),
    ];
    if totals.unknown > 0 || query.health == Some(HealthFilter::Unknown) {
        states.push(health(Some(HealthFilter::Unknown), states::UNKNOWN, totals.unknown));
    }
    let shown = counted(language, common::HOSTS, model.matching);
    let is_usual = query.sort.key.is_empty();
    let status = if is_usual { hosts::STATUS.fill(language, &[("n", &shown)]) } else { shown };
    let others = HostsPageQuery { q: String::new(), ..base.clone() }.pairs().pairs().to_vec();
    FilterBar {
        path: HostsPageQuery::path(),
        field: Some(hosts::FIELD),
        text: query.q.clone(),
        others,
        states_label: hosts::HEALTH,
        states,
        menus: vec![role_menu(viewer, query, &base), mode_menu(viewer, query, &base)],
        orders: order_menu(viewer, &COLUMNS, &query.sort, &|sort: SortBy| {
            HostsPageQuery { sort, ..base.clone() }.address()
        }),
        has_picks: viewer.rights.storage,
        status,
    }
}

fn role_menu(viewer: &Viewer, query: &HostsPageQuery, base: &HostsPageQuery) -> FilterMenu {
    let roles = [
        (None, hosts::ROLE_BOTH),
        (Some(RoleFilter::Source), states::SOURCE),
        (Some(RoleFilter::Destination), states::DESTINATION),
    ];
    let mut menu = FilterMenu { label: hosts::ROLE, chosen: String::new(), choices: Vec::new() };
    for (role, words) in roles {
        let choice = FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: HostsPageQuery { role, ..base.clone() }.address(),
            is_current: query.role == role,
        };
        if choice.is_current {
            menu.chosen.clone_from(&choice.words);
        }
        menu.choices.push(choice);
    }
    menu
}

fn mode_menu(viewer: &Viewer, query: &HostsPageQuery, base: &HostsPageQuery) -> FilterMenu {
    let modes = [
        (None, common::ANY),
        (Some(ModeFilter::Active), states::ACTIVE),
        (Some(ModeFilter::Draining), states::DRAINING),
        (Some(ModeFilter::Maintenance), states::MAINTENANCE),
    ];
    let mut menu = FilterMenu { label: hosts::MODE, chosen: String::new(), choices: Vec::new() };
    for (mode, words) in modes {
        let choice = FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: HostsPageQuery { mode, ..base.clone() }.address(),
            is_current: query.mode == mode,
        };
        if choice.is_current {
            menu.chosen.clone_from(&choice.words);
        }
        menu.choices.push(choice);
    }
    menu
}

fn why_host(
    viewer: &Viewer,
    query: &HostsPageQuery,
    line: &HostLine,
    reasons: &[ObstacleFact],
) -> Markup {
    let language = viewer.language;
    let close = HostsPageQuery { why: String::new(), ..query.clone() }.address();
    let answer = match reasons.first() {
        Some(fact) => format!("{} {}.", line.host, fact.obstacle.words().of(language)),
        None if line.role == HostRoleWord::Source => why::SOURCE_FINE.of(language).to_owned(),
        None => why::HOST_FINE.of(language).to_owned(),
    };
    let because = match line.role {
        HostRoleWord::Destination | HostRoleWord::Both => hosts::NOTHING_BECAUSE,
        HostRoleWord::Source => hosts::NOTHING_FROM_BECAUSE,
    };
    // A source gets no copies, so nothing is checked there.
    let passed = match line.role {
        HostRoleWord::Destination | HostRoleWord::Both => {
            not_in_the_way(reasons.first().map(|fact| fact.obstacle))
        }
        HostRoleWord::Source => Vec::new(),
    };
    let lines = CommandLines::new(
        &["hosts", &format!("--contains={}", line.host)],
        ("GET", &format!("/hosts/{}", encoded(&line.host)), ""),
    );
    let body = html! {
        section {
            p.answer { (answer) }
            div.acts.mt { a.btn.sm.go href=(host_page(&line.host)) { (yard::OPEN_HOST.of(language)) } }
        }
        @if !reasons.is_empty() {
            section {
                h3 { (because.of(language)) }
                ol.steps { @for fact in reasons { (obstacle_row(viewer, fact)) } }
                (obstacle_command(viewer, &line.host, reasons))
            }
        }
        @if !passed.is_empty() {
            section {
                h3 { (why::NOT_IN_THE_WAY.of(language)) }
                ul.muted { @for words in passed { li { (words.of(language)) } } }
            }
        }
        section { h3 { (why::SAME_AS_COMMAND.of(language)) } (command_lines(viewer, &lines)) }
    };
    side_panel(viewer, why::HOST_QUESTION.of(language), &line.host, &close, body)
}
