//! The table of hosts and its rows.

use maud::{Markup, html};

use super::model::{HostLine, HostRoleWord, HostsPageModel};
use super::query::HostsPageQuery;
use crate::address::ROOT;
use crate::format::{age_tag, bit_rate, bytes, count, host_link, percent};
use crate::parts::act::command;
use crate::parts::bars::{disk_cell, link_bar};
use crate::parts::bulk::{
    BulkBar, BulkSum, PickBox, PickTable, PickedSum, bulk_bar, bulk_button, pick_cell,
};
use crate::parts::mark::{Tone, state, tag};
use crate::parts::notice::empty_by_filter;
use crate::parts::table::{TableColumn, why_symbol};
use crate::text::{common, hosts};
use crate::viewer::Viewer;

/// The form of the picked rows.
const FORM: &str = "pick-hosts";

/// The columns of the table.
pub(super) const COLUMNS: [TableColumn; 10] = [
    TableColumn::sorted(common::HOST, "host", ""),
    TableColumn::sorted(common::STATE, "health", ""),
    TableColumn::sorted(hosts::FOR, "since", "p3"),
    TableColumn::sorted(hosts::ROLE, "role", "p2"),
    TableColumn::sorted(hosts::DISK, "disk", ""),
    TableColumn::sorted(hosts::ROOM, "room", "num p1"),
    TableColumn::sorted(hosts::FILES, "files", "num p3"),
    TableColumn::sorted(hosts::LINK_OUT, "link", "p2"),
    TableColumn::sorted(hosts::COPIES, "copies", "num p1"),
    TableColumn::plain(hosts::OBSTACLE, ""),
];

/// The table with its bulk bar and foot. Its id is `rows`, for filters and live updates.
pub fn host_rows(viewer: &Viewer, query: &HostsPageQuery, model: &HostsPageModel) -> Markup {
    let table = PickTable {
        caption: hosts::CAPTION,
        columns: &COLUMNS,
        sort: &query.sort,
        sorted: &|sort| HostsPageQuery { sort, after: String::new(), ..query.clone() }.address(),
        base: base(query).address(),
        page: &model.page,
    };
    let bulk = viewer.rights.storage.then(|| bulk(viewer, query, model));
    let rows = model.rows.iter().map(|line| host_row(viewer, query, line)).collect();
    table.render(viewer, bulk, rows, || nothing(viewer, query, model))
}

/// The page without picked rows, dialog and panel.
fn base(query: &HostsPageQuery) -> HostsPageQuery {
    HostsPageQuery {
        pick: Vec::new(),
        all: false,
        ask: String::new(),
        why: String::new(),
        ..query.clone()
    }
}

fn bulk(viewer: &Viewer, query: &HostsPageQuery, model: &HostsPageModel) -> Markup {
    let language = viewer.language;
    let hidden = base(query);
    let picked = |line: &&HostLine| query.pick.contains(&line.host);
    let bar = BulkBar {
        form: FORM,
        picked: model.rows.iter().filter(picked).count() as u64,
        is_all: query.all,
        matching: model.matching,
        shown: model.rows.len() as u64,
        sum: BulkSum::Files,
        amount: PickedSum::of(model.rows.iter().filter(picked).map(|line| line.files)),
        clear: &hidden.address(),
    };
    html! {
        form #(FORM) method="get" action=(HostsPageQuery::path()) {
            @for (name, value) in hidden.pairs().pairs() { input type="hidden" name=(name) value=(value); }
        }
        (bulk_bar(viewer, &bar, html! {
            (bulk_button(FORM, "drain", hosts::DRAIN.of(language)))
            (bulk_button(FORM, "maintenance", hosts::MAINTAIN.of(language)))
            (bulk_button(FORM, "active", hosts::ACTIVATE.of(language)))
            (bulk_button(FORM, "reset", hosts::TRUST.of(language)))
        }))
    }
}

fn nothing(viewer: &Viewer, query: &HostsPageQuery, model: &HostsPageModel) -> Markup {
    let language = viewer.language;
    if model.totals.sources + model.totals.destinations == 0 {
        return html! {
            div.empty {
                b { (hosts::EMPTY_SETUP.of(language)) }
                (hosts::EMPTY_SETUP_BODY.of(language))
                div.mt { (command(language, "[hosts]\nsources = [\"10.0.0.1:8888\"]\ndestinations = [\"10.0.0.2:8888\"]")) }
                div.acts { a.btn.sm.go href={ (ROOT) "/guide/first-yard" } { (hosts::HOW_TO_ADD.of(language)) } }
            }
        };
    }
    let title = if query.q.is_empty() {
        hosts::EMPTY_STATE.of(language).to_owned()
    } else {
        hosts::EMPTY_FILTER.fill(language, &[("text", &query.q)])
    };
    let all = model.totals.sources + model.totals.destinations;
    let looked = crate::format::counted(language, common::HOSTS, all);
    empty_by_filter(language, &title, &looked, HostsPageQuery::path())
}

/// The id of the row of a host, for live updates.
pub fn row_id(host: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    format!("host-{}", host.chars().map(plain).collect::<String>())
}

/// One row of the table. Its id is `row_id`, for live updates.
pub fn host_row(viewer: &Viewer, query: &HostsPageQuery, line: &HostLine) -> Markup {
    let language = viewer.language;
    let is_picked = query.pick.contains(&line.host);
    let is_open = query.why == line.host;
    let pick =
        PickBox { form: FORM, value: &line.host, shown: &line.host, is_picked, amount: line.files };
    let why = HostsPageQuery { why: line.host.clone(), ..query.clone() }.address();
    html! {
        tr #(row_id(&line.host)) class=[is_open.then_some("open")] aria-selected=[is_picked.then_some("true")] {
            @if viewer.rights.storage { (pick_cell(viewer, &pick)) }
            td data-l=(common::HOST.of(language)) { (host_link(&line.host)) }
            td data-l=(common::STATE.of(language)) { (states_of(viewer, line)) }
            td.nw.soft.p3.none data-l=(hosts::FOR.of(language)) {
                @match line.since { Some(since) => (age_tag(viewer, since)), None => "–" }
            }
            td.none.nw.soft.p2 data-l=(hosts::ROLE.of(language)) { (line.role.words().of(language)) }
            td.wide data-l=(hosts::DISK.of(language)) { (disk_of(viewer, line)) }
            td.num.nw.p1.none data-l=(hosts::ROOM.of(language)) { (line.room.map_or_else(|| "–".to_owned(), bytes)) }
            td.num.p3.none data-l=(hosts::FILES.of(language)) { (line.files.map_or_else(|| "–".to_owned(), count)) }
            td.p2.none data-l=(hosts::LINK_OUT.of(language)) { (link_of(viewer, line)) }
            td.num.nw.p1.none data-l=(hosts::COPIES.of(language)) { (copies_of(viewer, line)) }
            td class={ "wide" @if line.obstacle.is_none() { " none" } } data-l=(hosts::OBSTACLE.of(language)) {
                @match line.obstacle {
                    Some(obstacle) => a.plain href=(why) { (obstacle.words().of(language)) },
                    None => span.muted { "–" },
                }
            }
            td.act { (why_symbol(viewer, &why, &line.host, is_open)) }
        }
    }
}

/// Health and mode side by side.
pub fn states_of(viewer: &Viewer, line: &HostLine) -> Markup {
    let language = viewer.language;
    html! {
        div.chips.wr {
            (state(language, line.condition.mark()))
            @if let Some(mark) = line.mode.mark() { (tag(Some(mark.glyph), mark.tone, mark.word.of(language))) }
            @if line.is_contested { (tag(None, Tone::Bad, hosts::FOREIGN.of(language))) }
        }
    }
}

fn disk_of(viewer: &Viewer, line: &HostLine) -> Markup {
    let language = viewer.language;
    match (&line.disk, line.role) {
        (Some(level), _) => disk_cell(viewer, level),
        (None, HostRoleWord::Source) => {
            html! { span.muted { (hosts::SERVES_MASTERS.of(language)) } }
        }
        (None, HostRoleWord::Destination | HostRoleWord::Both) => {
            html! { span.muted { (common::NOT_KNOWN.of(language)) } }
        }
    }
}

fn link_of(viewer: &Viewer, line: &HostLine) -> Markup {
    match &line.link {
        Some(link) => html! {
            div.lk {
                (link_bar(viewer, link.out, link.inward, &bit_rate(link.speed)))
                span.num { (percent(link.out.round())) }
            }
        },
        None => html! { span.muted { (common::NOT_KNOWN.of(viewer.language)) } },
    }
}

fn copies_of(viewer: &Viewer, line: &HostLine) -> String {
    let language = viewer.language;
    let mut parts = Vec::new();
    if line.copies_in > 0 {
        parts.push(hosts::COPIES_IN.fill(language, &[("n", &count(line.copies_in))]));
    }
    if line.copies_out > 0 {
        parts.push(hosts::COPIES_OUT.fill(language, &[("n", &count(line.copies_out))]));
    }
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn links_of_the_rows_keep_those_that_the_address_picks() {
        let mut viewer =
            Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        viewer.rights.storage = true;
        let (here, elsewhere) = ("10.4.2.31:8888".to_owned(), "10.4.2.99:8888".to_owned());
        let query =
            HostsPageQuery { pick: vec![here.clone(), elsewhere], ..HostsPageQuery::default() };
        let line = HostLine { host: here, ..HostLine::default() };
        let model = HostsPageModel { rows: vec![line], ..HostsPageModel::default() };
        let rows = host_rows(&viewer, &query, &model).into_string();
        let picks = "pick=10.4.2.31:8888&amp;pick=10.4.2.99:8888";
        assert!(rows.contains(&format!("sort=disk&amp;{picks}")), "{rows}");
        assert!(rows.contains(&format!("{picks}&amp;why=10.4.2.31:8888")), "{rows}");
        // The form of the bar sends the rows of the page only.
        assert!(rows.contains("data-picked=\"1\""), "{rows}");
    }
}
