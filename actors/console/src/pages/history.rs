//! The history of copies and removals.

use maud::{Markup, html};

use crate::address::{QueryWord, ROOT, SortBy, page_query};
use crate::format::{
    bytes, count, counted, day_and_time, file_name, host_short, node_text, time_tag, visible_text,
};
use crate::pages::ended_troubles::{self, ended_table};
use crate::pages::yard::{EndedTrouble, RecentLine, RecentStep, flow};
use crate::parts::act::{CommandLines, command_menu, list_lines_at};
use crate::parts::filter::{
    FilterBar, FilterChoice, ROWS, filter_bar_with, further_fields, host_menu, order_menu,
};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::{StateMark, Tone, state};
use crate::parts::notice::{empty, empty_by_filter};
use crate::parts::panel::page_head;
use crate::parts::table::{
    RowPage, TableColumn, actions_head, column_head, order_in_force, sorted_words, table_foot,
    why_link,
};
use crate::text::{Text, access, common, frame, states};
use crate::viewer::{Moment, Viewer};

/// The steps that the history shows; all without a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryStepFilter {
    /// Copies that ended well.
    Copies,
    /// Copies that were taken off a host.
    Removals,
    /// Failures of both.
    Failures,
    /// Troubles of the yard that are over.
    Troubles,
}

impl QueryWord for HistoryStepFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("copies", HistoryStepFilter::Copies),
        ("removals", HistoryStepFilter::Removals),
        ("failures", HistoryStepFilter::Failures),
        ("troubles", HistoryStepFilter::Troubles),
    ];
}

page_query! {
    /// Query parameters of the page History.
    HistoryPageQuery at "/history" {
        /// Part of the file name.
        q: String,
        /// Only steps of this sort; all without it.
        step: Option<HistoryStepFilter>,
        /// Host that the file was copied to, or removed from.
        host: String,
        /// Part of the name of the requester.
        by: String,
        /// Earliest end.
        from: String,
        /// Latest end.
        to: String,
        /// Order of the rows; newest first without it.
        sort: SortBy,
        /// Cursor of the page of rows.
        after: String,
    }
}

/// A copy or removal that ended, with its reason.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    /// The step, its file, its host and its instant.
    pub line: RecentLine,
    /// The source of a copy.
    pub source: Option<String>,
    /// Size in bytes, if known.
    pub size: Option<u64>,
    /// The person or part of the node that asked.
    pub asked_by: String,
    /// How a removal failed, in the words of the node.
    pub ending: Option<String>,
    /// Why, in the words of the node; empty for none.
    pub reason: String,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct HistoryPageModel {
    /// Entries that the node keeps.
    pub kept: u64,
    /// Rows of this page, newest first.
    pub rows: Vec<HistoryRow>,
    /// Position of the page.
    pub page: RowPage,
    /// Hosts of the menu.
    pub hosts: Vec<String>,
    /// Earliest and latest end of the filter as the API reads them.
    pub span: [Option<String>; 2],
    /// Troubles that are over, if the page shows them.
    pub troubles: Option<EndedTroubles>,
}

/// The troubles that are over.
#[derive(Clone, Debug, Default)]
pub struct EndedTroubles {
    /// Since when the node remembers them.
    pub since: Moment,
    /// How many it remembers.
    pub kept: u64,
    /// Those that match, in the order of the page.
    pub rows: Vec<EndedTrouble>,
}

const COLUMNS: [TableColumn; 7] = [
    TableColumn::sorted(common::WHEN, "when", ""),
    TableColumn::sorted(access::STEP, "step", ""),
    TableColumn::sorted(common::FILE, "file", ""),
    TableColumn::sorted(common::HOST, "host", ""),
    TableColumn::sorted(common::SIZE, "size", "num p1"),
    TableColumn::sorted(common::BY, "by", "p1"),
    TableColumn::plain(access::WHY, "p2"),
];

impl HistoryPageQuery {
    /// The order in force.
    pub fn order(&self) -> SortBy {
        order_in_force(&self.sort, SortBy::descending("when"))
    }
}

/// The content of the page.
pub fn render(query: &HistoryPageQuery, model: &HistoryPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let sort = query.order();
    let pairs = query.pairs().print();
    let export = |format: &str| format!("{ROOT}/history/export?format={format}&{pairs}");
    let commands: Vec<CommandLines> = match model.troubles {
        Some(_) => Vec::new(),
        None => vec![as_command(query, model)],
    };
    let actions = html! {
        (command_menu(viewer, &commands))
        a.btn href=(export("csv")) { (icon(Glyph::Download)) (access::EXPORT_CSV.of(language)) }
        a.btn href=(export("jsonl")) { (icon(Glyph::Download)) (access::EXPORT_JSON.of(language)) }
    };
    html! {
        (page_head(frame::HISTORY.of(language), &sentence(viewer, model), actions))
        (filter_bar_with(viewer, &filters(viewer, query, model), fields(viewer, query)))
        div #(ROWS) .tablebox.sticky data-rows {
            @if let Some(troubles) = &model.troubles {
                (ended_rows(viewer, query, troubles))
            } @else if model.rows.is_empty() {
                (nothing(viewer, query, model))
            } @else {
                table.cards.dense {
                    caption.vh { (access::HISTORY_CAPTION.of(language)) }
                    thead { tr {
                        @for column in &COLUMNS {
                            (column_head(viewer, column, &sort, &|sort: SortBy| {
                                HistoryPageQuery { sort, after: String::new(), ..query.clone() }.address()
                            }))
                        }
                        (actions_head(viewer))
                    } }
                    tbody { @for row in &model.rows { (history_row(viewer, row)) } }
                }
                (table_foot(viewer, &model.page))
            }
        }
    }
}

/// The sentence at the top: how much is kept.
fn sentence(viewer: &Viewer, model: &HistoryPageModel) -> String {
    let language = viewer.language;
    match &model.troubles {
        Some(troubles) => {
            let (kept, at) = (count(troubles.kept), day_and_time(viewer, troubles.since));
            access::TROUBLES_SENTENCE.fill(language, &[("n", &kept), ("at", &at)])
        }
        None => access::HISTORY_SENTENCE.fill(language, &[("n", &count(model.kept))]),
    }
}

fn nothing(viewer: &Viewer, query: &HistoryPageQuery, model: &HistoryPageModel) -> Markup {
    let language = viewer.language;
    if HistoryPageQuery::default() == *query {
        let body = access::HISTORY_EMPTY_BODY.of(language);
        return empty(access::HISTORY_EMPTY.of(language), body, html! {});
    }
    let kept = counted(language, common::ENTRIES, model.kept);
    empty_by_filter(language, access::HISTORY_NONE.of(language), &kept, HistoryPageQuery::path())
}

fn ended_rows(viewer: &Viewer, query: &HistoryPageQuery, troubles: &EndedTroubles) -> Markup {
    let language = viewer.language;
    let all =
        HistoryPageQuery { step: Some(HistoryStepFilter::Troubles), ..HistoryPageQuery::default() };
    if troubles.kept == 0 {
        return empty(access::TROUBLES_EMPTY.of(language), "", html! {});
    }
    if troubles.rows.is_empty() {
        let kept = counted(language, common::ENTRIES, troubles.kept);
        let title = access::TROUBLES_NONE.of(language);
        return empty_by_filter(language, title, &kept, &all.address());
    }
    ended_table(viewer, &troubles.rows, &query.order(), &|sort: SortBy| {
        HistoryPageQuery { sort, ..query.clone() }.address()
    })
}

/// The fields for requester and time. Nobody asked for a trouble.
fn fields(viewer: &Viewer, query: &HistoryPageQuery) -> Markup {
    let times = [
        ("from", query.from.as_str(), access::AUDIT_FROM),
        ("to", query.to.as_str(), access::AUDIT_TO),
    ];
    let by = [("by", query.by.as_str(), access::HISTORY_BY)];
    let texts = if query.step == Some(HistoryStepFilter::Troubles) { &[] } else { &by[..] };
    further_fields(viewer, texts, &times)
}

/// The list as a command.
fn as_command(query: &HistoryPageQuery, model: &HistoryPageModel) -> CommandLines {
    let (part, host, by) = (query.q.trim(), query.host.as_str(), query.by.trim());
    let [since, until] = model.span.each_ref().map(|at| at.as_deref().unwrap_or_default());
    let (what, flag) = match query.step {
        None | Some(HistoryStepFilter::Troubles) => ("", None),
        Some(HistoryStepFilter::Copies) => ("copy", None),
        Some(HistoryStepFilter::Removals) => ("removal", None),
        Some(HistoryStepFilter::Failures) => ("", Some("failed")),
    };
    let named = [
        ("contains", part),
        ("host", host),
        ("what", what),
        ("by", by),
        ("since", since),
        ("until", until),
    ];
    let given = named.iter().filter(|(_, value)| !value.is_empty());
    let filters: Vec<(&str, String)> =
        given.map(|(name, value)| (*name, (*value).to_owned())).collect();
    list_lines_at(&["history"], "/history", &filters, flag)
}

fn filters(viewer: &Viewer, query: &HistoryPageQuery, model: &HistoryPageModel) -> FilterBar {
    let base = HistoryPageQuery { after: String::new(), ..query.clone() };
    let choices: [(Option<HistoryStepFilter>, Text); 5] = [
        (None, access::STEP_ALL),
        (Some(HistoryStepFilter::Copies), access::STEP_COPIES),
        (Some(HistoryStepFilter::Removals), access::STEP_REMOVALS),
        (Some(HistoryStepFilter::Failures), access::STEP_FAILURES),
        (Some(HistoryStepFilter::Troubles), access::STEP_TROUBLES),
    ];
    let mut states = Vec::new();
    for (step, words) in choices {
        states.push(FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: HistoryPageQuery { step, ..of_step(&base, step) }.address(),
            is_current: query.step == step,
        });
    }
    let with_host =
        |host: &str| HistoryPageQuery { host: host.to_owned(), ..base.clone() }.address();
    let columns =
        if model.troubles.is_some() { &ended_troubles::COLUMNS[..] } else { &COLUMNS[..] };
    let hosts = host_menu(viewer, access::HISTORY_HOST, &model.hosts, &query.host, &with_host);
    FilterBar {
        path: HistoryPageQuery::path(),
        field: Some(match model.troubles {
            Some(_) => access::TROUBLE_FIELD,
            None => access::HISTORY_FIELD,
        }),
        text: query.q.clone(),
        others: HistoryPageQuery {
            step: base.step,
            host: base.host.clone(),
            sort: base.sort.clone(),
            ..HistoryPageQuery::default()
        }
        .pairs()
        .pairs()
        .to_vec(),
        states_label: access::STEP,
        states,
        menus: vec![hosts],
        orders: order_menu(viewer, columns, &query.order(), &|sort: SortBy| {
            HistoryPageQuery { sort, ..base.clone() }.address()
        }),
        has_picks: false,
        status: match &model.troubles {
            Some(troubles) => {
                let shown = counted(viewer.language, common::ENTRIES, troubles.rows.len() as u64);
                let order = sorted_words(viewer, &ended_troubles::COLUMNS, &query.order());
                format!("{shown}, {order}")
            }
            None => sorted_words(viewer, &COLUMNS, &query.order()),
        },
    }
}

/// The filter for another kind of entries. Troubles have other columns than copies.
fn of_step(query: &HistoryPageQuery, step: Option<HistoryStepFilter>) -> HistoryPageQuery {
    let is_of_troubles = |step| step == Some(HistoryStepFilter::Troubles);
    match is_of_troubles(step) == is_of_troubles(query.step) {
        true => query.clone(),
        false => HistoryPageQuery { sort: SortBy::default(), q: String::new(), ..query.clone() },
    }
}

/// One row of the table. A copy shows both of its hosts.
pub fn history_row(viewer: &Viewer, row: &HistoryRow) -> Markup {
    let language = viewer.language;
    let line = &row.line;
    let why = line.name.why_address();
    let mark = match line.step {
        RecentStep::Copied => StateMark::new(Glyph::Done, Tone::Ok, states::COPIED),
        RecentStep::Failed => StateMark::new(Glyph::Down, Tone::Bad, states::FAILED),
        RecentStep::Removed => StateMark::new(Glyph::Gone, Tone::Hold, states::REMOVED),
        RecentStep::Cancelled => StateMark::new(Glyph::Off, Tone::Off, states::CANCELLED),
    };
    html! {
        tr {
            td.nw data-l=(common::WHEN.of(language)) { (time_tag(viewer, line.at)) }
            td data-l=(access::STEP.of(language)) { (state(language, mark)) }
            td.file data-l="" { (file_name(&line.name, Some(&why))) }
            td data-l=(common::HOST.of(language)) {
                @match &row.source {
                    Some(source) => (flow(source, &line.host)),
                    None => (host_short(&line.host)),
                }
            }
            td.num.nw.p1 data-l=(common::SIZE.of(language)) { (row.size.map_or_else(|| "–".to_owned(), bytes)) }
            td.p1.nw data-l=(common::BY.of(language)) { bdi { (visible_text(&row.asked_by)) } }
            @let is_plain = row.reason.is_empty() && row.ending.is_none();
            td class={ "soft p2 wide because" @if is_plain { " none" } } data-l=(access::WHY.of(language)) {
                @if let Some(ending) = &row.ending { (node_text(language, ending)) ". " }
                @if row.reason.is_empty() { "–" } @else { (node_text(language, &row.reason)) }
            }
            td.act { (why_link(viewer, &why, &line.name, false)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = HistoryPageQuery {
            q: "a b".into(),
            step: Some(HistoryStepFilter::Failures),
            host: "[::1]:1".into(),
            by: "ops-1".into(),
            from: "2026-11-23T00:00".into(),
            to: "2026-11-24T00:00".into(),
            sort: SortBy::descending("size"),
            after: "7".into(),
        };
        assert_eq!(HistoryPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
