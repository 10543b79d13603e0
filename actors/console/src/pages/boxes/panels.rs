//! The panels of the page Boxes.

use maud::{Markup, html};

use super::model::{LeaseLine, PoolPanel, QuarantineLine, QueueLine};
use super::query::BoxesPageQuery;
use crate::address::{SortBy, encoded};
use crate::format::{age, age_tag, count, counted, left, since, visible_text, with_running_age};
use crate::parts::boxes::{box_grid, box_legend};
use crate::parts::icon::Glyph;
use crate::parts::mark::{Tone, state_saying};
use crate::parts::notice::empty;
use crate::parts::panel::{PanelHead, flush_panel, panel_with};
use crate::parts::table::{
    RowPage, TableColumn, column_head, named_table_foot, order_in_force, sorted_words,
};
use crate::text::{Text, boxes, common};
use crate::viewer::Viewer;

/// A lease that ends within this many seconds is marked.
const SOON: u64 = 10;

/// A pool as a grid. Its id is `pool-NAME`, for live updates. The grid of the chosen pool has pages; another one that has no
/// room for all boxes leads to them.
pub fn pool_grid(
    viewer: &Viewer,
    query: &BoxesPageQuery,
    pool: &PoolPanel,
    pages: Option<&RowPage>,
) -> Markup {
    let language = viewer.language;
    let id = format!("pool-{}", encoded(&pool.name));
    let shown = counted(language, common::BOXES, pool.size());
    let ttl = age(language, pool.ttl);
    let remark = match &pool.host {
        Some(host) => {
            boxes::POOL_REMARK.fill(language, &[("boxes", &shown), ("host", host), ("ttl", &ttl)])
        }
        None => boxes::POOL_REMARK_PLAIN.fill(language, &[("boxes", &shown), ("ttl", &ttl)]),
    };
    let head =
        PanelHead { class: "c6 full-md", id: &id, title: pool.name.clone(), remark, link: None };
    // The positions in lists are those of the chosen pool.
    let here = if pages.is_some() { query.clone() } else { query.of_other_pool() };
    let address = |number: u32| {
        let number = Some(u64::from(number));
        BoxesPageQuery { pool: pool.name.clone(), number, ..here.clone() }.address()
    };
    let body = html! {
        (box_grid(viewer, &pool.boxes, &address))
        (box_legend(viewer, &pool.counts))
    };
    panel_with(&head, "body", body, grid_foot(viewer, query, pool, pages))
}

fn grid_foot(
    viewer: &Viewer,
    query: &BoxesPageQuery,
    pool: &PoolPanel,
    pages: Option<&RowPage>,
) -> Markup {
    let language = viewer.language;
    let (shown, size) = (pool.boxes.len() as u64, pool.size());
    match pages {
        Some(pages) if pages.has_others() => {
            let name = boxes::BOXES_PAGES.fill(language, &[("pool", &pool.name)]);
            named_table_foot(viewer, pages, &name)
        }
        None if shown < size => {
            let whole = BoxesPageQuery { pool: pool.name.clone(), ..query.of_other_pool() };
            let (shown, size) = (count(shown), count(size));
            html! {
                footer {
                    span { (common::FOOT_SHOWN.fill(language, &[("n", &shown), ("total", &size)])) }
                    a.more href=(whole.address()) { (common::ALL_N.fill(language, &[("n", &size)])) span.vh { " " (pool.name) } }
                }
            }
        }
        _ => html! {},
    }
}

const QUEUE: [TableColumn; 5] = [
    TableColumn::sorted(boxes::PLACE, "place", "num"),
    TableColumn::sorted(boxes::HOLDER, "holder", ""),
    TableColumn::sorted(boxes::PRIORITY, "priority", "num none"),
    TableColumn::sorted(boxes::COUNT, "count", "num none"),
    TableColumn::sorted(boxes::WAITS, "waits", "num"),
];

const LEASES: [TableColumn; 5] = [
    TableColumn::sorted(boxes::BOX, "box", "num"),
    TableColumn::sorted(boxes::HOLDER, "holder", ""),
    TableColumn::sorted(boxes::TOKEN, "token", "num none"),
    TableColumn::sorted(boxes::ENDS_IN, "ends", "num"),
    TableColumn::sorted(boxes::HELD_FOR, "held", "num none"),
];

/// The foot of a list that has several pages.
fn foot(viewer: &Viewer, pages: &RowPage, name: Text) -> Markup {
    match pages.has_others() {
        true => named_table_foot(viewer, pages, name.of(viewer.language)),
        false => html! {},
    }
}

/// The queue of a pool.
pub fn queue(
    viewer: &Viewer,
    query: &BoxesPageQuery,
    pool: &PoolPanel,
    lines: &[QueueLine],
    pages: &RowPage,
) -> Markup {
    let language = viewer.language;
    let values = [("n", count(pool.queue)), ("most", count(pool.queue_most))];
    let head = PanelHead {
        class: "c6 full-md",
        id: "box-queue",
        title: boxes::QUEUE_OF.fill(language, &[("pool", &pool.name)]),
        remark: boxes::QUEUE_REMARK.fill(language, &[("n", &values[0].1), ("most", &values[1].1)]),
        link: None,
    };
    if lines.is_empty() {
        return flush_panel(&head, empty(boxes::NO_QUEUE.of(language), "", html! {}));
    }
    let sort = order_in_force(&query.queue_sort, SortBy::ascending("place"));
    let body = html! {
        table.tiny {
            thead { tr {
                @for column in &QUEUE {
                    (column_head(viewer, column, &sort, &|queue_sort: SortBy| {
                        let (pool, queued) = (pool.name.clone(), None);
                        let sorted = BoxesPageQuery { pool, queue_sort, queued, ..query.clone() };
                        format!("{}#box-queue", sorted.address())
                    }))
                }
            } }
            tbody {
                @for line in lines {
                    tr {
                        td.num.b { (count(line.place)) }
                        td { bdi { (visible_text(&line.holder)) } }
                        td.num.none { (line.priority) }
                        td.num.none { (count(line.count)) }
                        td.num.nw { (age_tag(viewer, line.since)) }
                    }
                }
            }
        }
        (foot(viewer, pages, boxes::QUEUE_PAGES))
    };
    flush_panel(&head, body)
}

/// The leases of a pool.
pub fn leases(
    viewer: &Viewer,
    query: &BoxesPageQuery,
    pool: &PoolPanel,
    lines: &[LeaseLine],
    pages: &RowPage,
) -> Markup {
    let language = viewer.language;
    let sort = order_in_force(&query.leases_sort, SortBy::ascending("ends"));
    let total = count(pages.total.unwrap_or_default());
    let head = PanelHead {
        class: "c6 full-md",
        id: "box-leases",
        title: boxes::LEASES_OF.fill(language, &[("pool", &pool.name)]),
        remark: match sort == SortBy::ascending("ends") {
            true => format!("{total}, {}", boxes::LEASES_REMARK.of(language)),
            false => format!("{total}, {}", sorted_words(viewer, &LEASES, &sort)),
        },
        link: None,
    };
    if lines.is_empty() {
        return flush_panel(&head, empty(boxes::NO_LEASES.of(language), "", html! {}));
    }
    let body = html! {
        table.tiny {
            thead { tr {
                @for column in &LEASES {
                    (column_head(viewer, column, &sort, &|leases_sort: SortBy| {
                        let (pool, leases) = (pool.name.clone(), None);
                        let sorted = BoxesPageQuery { pool, leases_sort, leases, ..query.clone() };
                        format!("{}#box-leases", sorted.address())
                    }))
                }
                th.act scope="col" { span.vh { (common::ACTIONS.of(language)) } }
            } }
            tbody { @for line in lines { (lease_row(viewer, query, &pool.name, line)) } }
        }
        (foot(viewer, pages, boxes::LEASES_PAGES))
    };
    flush_panel(&head, body)
}

fn lease_row(viewer: &Viewer, query: &BoxesPageQuery, pool: &str, line: &LeaseLine) -> Markup {
    let language = viewer.language;
    let seconds = viewer.now.seconds_until(line.ends);
    let number = line.number.to_string();
    let ask = BoxesPageQuery {
        pool: pool.to_owned(),
        ask: "revoke".to_owned(),
        lease: line.id.clone(),
        ..query.clone()
    };
    html! {
        tr {
            td.num.b { (number) }
            td { bdi { (visible_text(&line.holder)) } }
            td.num.mono.none { (line.token) }
            td.num.nw {
                @if seconds <= SOON { (state_saying(Glyph::Warn, Tone::Warn, &left(seconds))) } @else { (left(seconds)) }
            }
            td.num.nw.none { (age_tag(viewer, line.granted)) }
            td.act {
                @if viewer.rights.boxes {
                    a.btn.sm href=(ask.address()) aria-label=(boxes::REVOKE_ONE.fill(language, &[("n", &number)])) { (boxes::REVOKE.of(language)) }
                }
            }
        }
    }
}

/// Boxes in quarantine with the evidence.
pub fn quarantine(
    viewer: &Viewer,
    query: &BoxesPageQuery,
    lines: &[QuarantineLine],
    pages: &RowPage,
) -> Markup {
    let language = viewer.language;
    let head = PanelHead {
        class: "c12",
        id: "box-quarantine",
        title: boxes::QUARANTINE.of(language).to_owned(),
        remark: boxes::QUARANTINE_REMARK.of(language).to_owned(),
        link: None,
    };
    if lines.is_empty() {
        return flush_panel(&head, empty(boxes::NO_QUARANTINE.of(language), "", html! {}));
    }
    let body = html! { @for line in lines { (evidence(viewer, query, line)) } };
    panel_with(&head, "body", body, foot(viewer, pages, boxes::QUARANTINE_PAGES))
}

fn evidence(viewer: &Viewer, query: &BoxesPageQuery, line: &QuarantineLine) -> Markup {
    let language = viewer.language;
    let number = line.number.to_string();
    let values = [("n", number.as_str()), ("pool", line.pool.as_str())];
    let words = boxes::BOX_N.fill(language, &values);
    let cause = match (&line.by, line.failures) {
        (Some(user), _) => boxes::BY_USER.fill(language, &[("user", &visible_text(user))]),
        (None, Some(failures)) => {
            let failures = counted(language, common::FAILURES, failures);
            boxes::AFTER_FAILURES.fill(language, &[("failures", &failures)])
        }
        (None, None) => boxes::CLEANING_FAILED.of(language).to_owned(),
    };
    let begin = since(viewer, line.since);
    let quarantined = boxes::SINCE_BY.fill(language, &[("since", &begin), ("cause", &cause)]);
    let dialog = BoxesPageQuery {
        pool: line.pool.clone(),
        number: Some(line.number),
        ask: "unquarantine".to_owned(),
        ..if line.pool == query.pool { query.clone() } else { query.of_other_pool() }
    };
    html! {
        div.ev {
            div.evh {
                (state_saying(Glyph::Quarantine, Tone::Hold, &words))
                span.soft { (with_running_age(viewer, &quarantined, Some(line.since))) }
                @if viewer.rights.boxes {
                    span.push.acts {
                        a.btn.sm href=(dialog.address()) { (boxes::BACK_IN_USE.of(language)) span.vh { " " (words) } }
                    }
                }
            }
            @if !line.output.is_empty() {
                pre tabindex="0" aria-label=(boxes::EVIDENCE.fill(language, &[("n", &number)])) dir="auto" { (lines_of(&line.output)) }
            }
        }
    }
}

/// The output of a program: its lines stay lines, other control characters become visible.
pub fn lines_of(output: &str) -> String {
    let lines: Vec<String> = output.lines().map(visible_text).collect();
    lines.join("\n")
}
