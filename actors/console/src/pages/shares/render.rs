//! The page Shares as a whole.

use maud::{Markup, html};

use super::form::new_link;
use super::model::SharesPageModel;
use super::query::{ShareStateFilter, SharesPageQuery};
use super::rows::{COLUMNS, share_rows};
use crate::address::SortBy;
use crate::format::{age, count, counted, day_and_time, node_sentence, visible_text};
use crate::parts::act::{CommandLines, command_menu, list_lines_at};
use crate::parts::dialog::ask_dialog;
use crate::parts::filter::{self, FilterBar, FilterChoice, ROWS, filter_bar, order_menu};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::Tone;
use crate::parts::notice::notice;
use crate::parts::panel::{PanelHead, page_head, panel};
use crate::parts::table::order_in_force;
use crate::parts::timeline::end_timeline;
use crate::parts::why::split;
use crate::text::{Text, common, frame, shares};
use crate::viewer::{Moment, Viewer};

/// A day in milliseconds.
const DAY_MILLIS: i64 = 86_400_000;

/// The content of the page.
pub fn render(query: &SharesPageQuery, model: &SharesPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let new = SharesPageQuery { new: true, ..query.clone() }.address();
    let actions = html! {
        (command_menu(viewer, &as_commands(viewer, query, model.due_span)))
        @if viewer.rights.shares && model.has_no_root {
            span #no-root .muted { (shares::EMPTY_SETUP.of(language)) }
            span.btn.go role="link" aria-disabled="true" aria-describedby="no-root" { (icon(Glyph::Plus)) (shares::NEW.of(language)) }
        } @else if viewer.rights.shares {
            a.btn.go href=(new) { (icon(Glyph::Plus)) (shares::NEW.of(language)) }
        }
    };
    let rows = html! {
        (failing_hooks(viewer, model))
        @if !model.columns.is_empty() { (timeline(viewer, model)) }
        (filter_bar(viewer, &filters(viewer, query, model)))
        (share_rows(viewer, query, model))
    };
    html! {
        (page_head(frame::SHARES.of(language), &sentence(viewer, model), actions))
        (split(rows, model.new.as_ref().map(|link| new_link(viewer, query, link))))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The commands that list the same links: one for each state of the API that the filter stands for.
fn as_commands(
    viewer: &Viewer,
    query: &SharesPageQuery,
    span: Option<(Moment, Moment)>,
) -> Vec<CommandLines> {
    let states: &[&str] = match query.state {
        Some(ShareStateFilter::Ended) => &["due", "exhausted"],
        Some(ShareStateFilter::Due) | None => &["live"],
    };
    let day = Some(Moment(viewer.now.0 + DAY_MILLIS));
    let is_due = query.state == Some(ShareStateFilter::Due);
    let before = span.map(|(_, end)| end).or(day.filter(|_| is_due));
    let mut all = Vec::new();
    for state in states {
        let mut filters = vec![("state", (*state).to_owned())];
        for (name, at) in [("due_after", span.map(|(begin, _)| begin)), ("due_before", before)] {
            let at = at.and_then(|at| jiff::Timestamp::from_millisecond(at.0).ok());
            filters.extend(at.map(|at| (name, at.to_string())));
        }
        let part = query.q.trim();
        if !part.is_empty() {
            filters.push(("contains", part.to_owned()));
        }
        all.push(list_lines_at(&["share", "list"], "/shares", &filters, None));
    }
    all
}

/// The sentence at the top of the page.
pub fn sentence(viewer: &Viewer, model: &SharesPageModel) -> String {
    let language = viewer.language;
    let totals = model.totals;
    let links = counted(language, shares::LINKS_WORK, totals.working);
    let mut text = format!("{links} {}", counted(language, shares::LINKS_DUE, totals.due));
    if let Some(next) = model.next_due {
        let left = age(language, viewer.now.seconds_until(next));
        text.push_str(", ");
        text.push_str(&shares::SENTENCE_NEXT.fill(language, &[("age", &left)]));
    }
    text.push_str(". ");
    let all = count(totals.hooks);
    match (totals.hooks, totals.failing_hooks) {
        (0, _) => {}
        (_, 0) => text.push_str(&shares::HOOKS_FINE.fill(language, &[("n", &all)])),
        (_, failing) => {
            let values = [("n", count(failing)), ("all", all)];
            text.push_str(
                &shares::HOOKS_FAIL.fill(language, &[("n", &values[0].1), ("all", &values[1].1)]),
            );
        }
    }
    text
}

/// The failing webhooks by name, each with its last failure. Its id is `shares-hooks`, for live updates.
pub fn failing_hooks(viewer: &Viewer, model: &SharesPageModel) -> Markup {
    let language = viewer.language;
    let rest = model.totals.failing_hooks.saturating_sub(model.failing_hooks.len() as u64);
    html! {
        div #shares-hooks {
            @for (name, reason) in &model.failing_hooks {
                @let title = shares::HOOK_FAILS.fill(language, &[("hook", &visible_text(name))]);
                div.mb { (notice(Tone::Warn, &title, html! { p { (node_sentence(language, reason)) } }, html! {})) }
            }
            @if rest > 0 { p.soft.mb { (common::AND_MORE.fill(language, &[("n", &count(rest))])) } }
        }
    }
}

/// The ends of the next 30 days. Its id is `shares-timeline`, for live updates.
pub fn timeline(viewer: &Viewer, model: &SharesPageModel) -> Markup {
    let language = viewer.language;
    let peak = match model.peak {
        Some((at, links)) => {
            let at = day_and_time(viewer, at);
            shares::PEAK.fill(language, &[("at", &at), ("n", &count(links))])
        }
        None => String::new(),
    };
    let links =
        counted(language, common::LINKS, model.columns.iter().map(|column| column.links).sum());
    // The rows below are the table: the link that ends next comes first.
    let table = SharesPageQuery { sort: SortBy::ascending("ends"), ..SharesPageQuery::default() };
    let table = format!("{}#{ROWS}", table.address());
    let head = PanelHead {
        class: "mb",
        id: "shares-timeline",
        title: shares::ENDS_NEXT.of(language).to_owned(),
        remark: shares::TIMELINE_LINKS.fill(language, &[("links", &links)]),
        link: Some((common::AS_TABLE.of(language).to_owned(), table)),
    };
    panel(&head, end_timeline(viewer, &model.columns, &peak))
}

/// The parts above the rows that follow changes with them.
pub fn live_head(
    viewer: &Viewer,
    query: &SharesPageQuery,
    model: &SharesPageModel,
) -> Vec<(String, Markup)> {
    filter::live_head(viewer, &sentence(viewer, model), &filters(viewer, query, model))
}

fn filters(viewer: &Viewer, query: &SharesPageQuery, model: &SharesPageModel) -> FilterBar {
    let base = SharesPageQuery {
        after: String::new(),
        pick: Vec::new(),
        all: false,
        ask: String::new(),
        new: false,
        path: String::new(),
        ttl: String::new(),
        ..query.clone()
    };
    let choices: [(Option<ShareStateFilter>, Text, u64); 3] = [
        (None, shares::WORKING, model.totals.working),
        (Some(ShareStateFilter::Due), shares::DUE_DAY, model.totals.due),
        (Some(ShareStateFilter::Ended), shares::ENDED, model.totals.ended),
    ];
    let mut states = Vec::new();
    for (state, words, rows) in choices {
        states.push(FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: Some(rows),
            address: SharesPageQuery { state, due: None, ..base.clone() }.address(),
            is_current: query.state == state,
        });
    }
    let sort = order_in_force(&query.sort, SortBy::ascending("ends"));
    let orders = order_menu(viewer, &COLUMNS, &sort, &|sort: SortBy| {
        SharesPageQuery { sort, ..base.clone() }.address()
    });
    FilterBar {
        path: SharesPageQuery::path(),
        field: Some(shares::FIELD),
        text: query.q.clone(),
        others: SharesPageQuery { q: String::new(), ..base }.pairs().pairs().to_vec(),
        states_label: common::STATE,
        states,
        menus: Vec::new(),
        orders,
        has_picks: viewer.rights.shares,
        status: status(viewer, query, model),
    }
}

/// The count of the links that match, and their usual order.
fn status(viewer: &Viewer, query: &SharesPageQuery, model: &SharesPageModel) -> String {
    let links = counted(viewer.language, common::LINKS, model.page.total.unwrap_or_default());
    let has_ended = query.state == Some(ShareStateFilter::Ended);
    match query.sort.key.as_str() {
        "" if !has_ended && model.page.total != Some(0) => {
            shares::STATUS.fill(viewer.language, &[("links", &links)])
        }
        _ => links,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;

    #[test]
    fn every_filter_is_a_command() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let of = |state, q: &str, span| {
            let query = SharesPageQuery { state, q: q.to_owned(), ..SharesPageQuery::default() };
            let lines = as_commands(&viewer, &query, span);
            lines.iter().map(|lines| lines.reelyard[0].join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(of(None, " a ", None), ["share list --state=live --contains=a"]);
        let ended = ["due", "exhausted"].map(|state| format!("share list --state={state}"));
        assert_eq!(of(Some(ShareStateFilter::Ended), "", None), ended);
        let day = "--due-before=1970-01-02T00:00:00Z";
        let due = of(Some(ShareStateFilter::Due), "", None);
        assert_eq!(due, [format!("share list --state=live {day}")]);
        let column = of(None, "", Some((Moment(3_600_000), Moment(DAY_MILLIS))));
        let after = "--due-after=1970-01-01T01:00:00Z";
        assert_eq!(column, [format!("share list --state=live {after} {day}")]);
    }
}
