//! The table of files and its rows.

use maud::{Markup, html};

use super::model::{FileLine, FilesPageModel};
use super::query::FilesPageQuery;
use crate::address::{ROOT, host_page};
use crate::format::{bytes, count, counted, file_name, percent_number, short_host, visible_text};
use crate::parts::act::command;
use crate::parts::bulk::{
    BulkBar, BulkSum, PickBox, PickTable, PickedSum, bulk_bar, bulk_button, pick_cell,
};
use crate::parts::icon::Glyph;
use crate::parts::mark::{Tone, state, tag};
use crate::parts::notice::empty_by_filter;
use crate::parts::spark::spark;
use crate::parts::table::{TableColumn, why_link};
use crate::text::{common, files, states};
use crate::viewer::Viewer;

/// The form of the picked rows.
const FORM: &str = "pick-files";

/// Hosts of a file that are shown; further ones are counted.
const HOSTS_SHOWN: usize = 3;

/// The columns of the table.
pub(super) const COLUMNS: [TableColumn; 8] = [
    TableColumn::sorted(common::RANK, "rank", "num"),
    TableColumn::sorted(common::FILE, "name", ""),
    TableColumn::sorted(common::STATE, "state", ""),
    TableColumn::plain(files::WHERE, ""),
    TableColumn::sorted(files::HITS, "hits", "num"),
    TableColumn::sorted(files::A_DAY, "requests", "num p2"),
    TableColumn::sorted(files::SCORE, "score", "num p3"),
    TableColumn::sorted(common::SIZE, "size", "num p2"),
];

/// The table with its bulk bar and foot. Its id is `rows`, for filters and live updates.
pub fn file_rows(viewer: &Viewer, query: &FilesPageQuery, model: &FilesPageModel) -> Markup {
    let table = PickTable {
        caption: files::CAPTION,
        columns: &COLUMNS,
        sort: &query.sort,
        sorted: &|sort| FilesPageQuery { sort, after: String::new(), ..query.clone() }.address(),
        base: base(query).address(),
        page: &model.page,
    };
    let bulk = viewer.rights.storage.then(|| bulk(viewer, query, model));
    let rows = model.rows.iter().map(|line| file_row(viewer, query, line)).collect();
    table.render(viewer, bulk, rows, || nothing(viewer, query, model))
}

/// The page without picked rows, dialog and panel.
fn base(query: &FilesPageQuery) -> FilesPageQuery {
    FilesPageQuery {
        pick: Vec::new(),
        all: false,
        ask: String::new(),
        why: String::new(),
        ..query.clone()
    }
}

fn bulk(viewer: &Viewer, query: &FilesPageQuery, model: &FilesPageModel) -> Markup {
    let language = viewer.language;
    let hidden = base(query);
    let picked = |line: &&FileLine| query.pick.contains(&line.key);
    let bar = BulkBar {
        form: FORM,
        picked: model.rows.iter().filter(picked).count() as u64,
        is_all: query.all,
        matching: model.matching.unwrap_or_default(),
        shown: model.rows.len() as u64,
        sum: BulkSum::Bytes,
        amount: PickedSum::of(model.rows.iter().filter(picked).map(|line| line.size)),
        clear: &hidden.address(),
    };
    html! {
        form #(FORM) method="get" action=(FilesPageQuery::path()) {
            @for (name, value) in hidden.pairs().pairs() { input type="hidden" name=(name) value=(value); }
        }
        (bulk_bar(viewer, &bar, html! {
            (bulk_button(FORM, "pin", files::PIN_MANY.of(language)))
            (bulk_button(FORM, "unpin", files::UNPIN_MANY.of(language)))
        }))
    }
}

fn nothing(viewer: &Viewer, query: &FilesPageQuery, model: &FilesPageModel) -> Markup {
    let language = viewer.language;
    if !model.is_set_up {
        return html! {
            div.empty {
                b { (files::EMPTY_SETUP.of(language)) }
                (files::EMPTY_SETUP_BODY.of(language))
                div.mt { (command(language, "[catalog]\ngrade_info_file = \"/data/.grade.info\"")) }
                div.acts { a.btn.sm.go href={ (ROOT) "/guide" } { (files::HOW_TO_BEGIN.of(language)) } }
            }
        };
    }
    let title = if query.q.is_empty() {
        files::EMPTY_STATE.of(language).to_owned()
    } else {
        files::EMPTY_FILTER.fill(language, &[("text", &visible_text(&query.q))])
    };
    let looked = counted(language, common::FILES, model.totals.all);
    empty_by_filter(language, &title, &looked, FilesPageQuery::path())
}

/// One row of the table, with its link to the panel "Why?".
pub fn file_row(viewer: &Viewer, query: &FilesPageQuery, line: &FileLine) -> Markup {
    let language = viewer.language;
    let is_picked = query.pick.contains(&line.key);
    let in_address = line.name.in_address();
    let is_open = query.why == in_address;
    let shown = visible_text(&line.name);
    let pick =
        PickBox { form: FORM, value: &line.key, shown: &shown, is_picked, amount: line.size };
    let why = FilesPageQuery { why: in_address.into_owned(), ..query.clone() }.address();
    let dash = || "–".to_owned();
    html! {
        tr #{ "file-" (line.key) } class=[is_open.then_some("open")] aria-selected=[is_picked.then_some("true")] {
            @if viewer.rights.storage { (pick_cell(viewer, &pick)) }
            td.num data-l=(common::RANK.of(language)) { (line.rank.map_or_else(dash, count)) }
            td.file data-l="" {
                div.chips {
                    (file_name(&line.name, Some(&why)))
                    @if line.is_hot { (tag(Some(Glyph::Rise), Tone::Hot, states::HOT.of(language))) }
                    @if line.name.is_encoded { (tag(None, Tone::Plain, states::BYTES.of(language))) }
                    @if line.is_pinned { (tag(Some(Glyph::Pin), Tone::Plain, states::PINNED.of(language))) }
                }
            }
            td data-l=(common::STATE.of(language)) { (state(language, line.condition.mark())) }
            td data-l=(files::WHERE.of(language)) { (hosts_of(viewer, line)) }
            td.num.nw data-l=(files::HITS.of(language)) { (hits(line)) }
            td.num.nw.none.p2 data-l=(files::A_DAY.of(language)) { (line.requests_a_day.map_or_else(dash, percent_number)) }
            td.num.nw.none.p3 data-l=(files::SCORE.of(language)) { (line.score.map_or_else(dash, |score| count(score.round() as u64))) }
            td.num.nw.none.p2 data-l=(common::SIZE.of(language)) { (line.size.map_or_else(dash, bytes)) }
            td.act { (why_link(viewer, &why, &line.name, is_open)) }
        }
    }
}

fn hosts_of(viewer: &Viewer, line: &FileLine) -> Markup {
    let rest = line.hosts_total.saturating_sub(line.hosts.len().min(HOSTS_SHOWN) as u64);
    html! {
        div.chips {
            @if line.hosts.is_empty() { span.muted { "–" } }
            @for (host, is_down) in line.hosts.iter().take(HOSTS_SHOWN) {
                a class={ "tag mono" @if *is_down { " bad" } } href=(host_page(host)) title=(host) {
                    (short_host(host))
                    @if *is_down { span.vh { " " (states::DOWN.of(viewer.language)) } }
                }
            }
            @if rest > 0 { span.soft.nw { (files::MORE_COPIES.fill(viewer.language, &[("n", &count(rest))])) } }
        }
    }
}

fn hits(line: &FileLine) -> Markup {
    let words = count(line.hits);
    if line.curve.len() < 2 {
        return html! { (words) };
    }
    let tone = if line.is_hot { Tone::Hot } else { Tone::Plain };
    html! { div.hits { (spark(&line.curve, tone, &words)) span { (words) } } }
}
