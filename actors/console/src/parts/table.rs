//! Tables: heads that sort, picked rows, foot with cursors.

use maud::{Markup, html};

use super::icon::{Glyph, icon, shape};
use crate::address::SortBy;
use crate::format::{count, thousands, visible_text};
use crate::text::{Text, common};
use crate::viewer::Viewer;

/// The head of a column, and the order that it offers.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    /// Words of the head.
    pub label: Text,
    /// Key of the order by this column; empty if it does not sort.
    pub key: &'static str,
    /// Classes of the head.
    pub class: &'static str,
}

impl TableColumn {
    /// A column that sorts.
    pub const fn sorted(label: Text, key: &'static str, class: &'static str) -> TableColumn {
        TableColumn { label, key, class }
    }

    /// A column that does not sort.
    pub const fn plain(label: Text, class: &'static str) -> TableColumn {
        TableColumn { label, key: "", class }
    }
}

/// The order in force: the chosen one, or the usual one.
pub fn order_in_force(chosen: &SortBy, usual: SortBy) -> SortBy {
    if chosen.key.is_empty() { usual } else { chosen.clone() }
}

/// The order of a list by time in words, such as "newest first" or "by Size".
pub fn sorted_words(viewer: &Viewer, columns: &[TableColumn], sort: &SortBy) -> String {
    let language = viewer.language;
    let column = columns.iter().find(|column| column.key == sort.key);
    match (column, sort.key.as_str(), sort.descending) {
        (None, _, _) | (_, "when", true) => common::NEWEST_FIRST.of(language).to_owned(),
        (_, "when", false) => common::OLDEST_FIRST.of(language).to_owned(),
        (Some(column), _, _) => {
            common::SORTED_BY.fill(language, &[("column", column.label.of(language))])
        }
    }
}

/// The head of a column: a link that sorts, or words.
pub fn column_head(
    viewer: &Viewer,
    column: &TableColumn,
    sort: &SortBy,
    address: &dyn Fn(SortBy) -> String,
) -> Markup {
    let label = column.label.of(viewer.language);
    let class = (!column.class.is_empty()).then_some(column.class);
    if column.key.is_empty() {
        return html! { th scope="col" class=[class] { (label) } };
    }
    let is_sorted = sort.key == column.key;
    let (order, glyph) = match (is_sorted, sort.descending) {
        (false, _) => (None, Glyph::Sort),
        (true, false) => (Some("ascending"), Glyph::Ascending),
        (true, true) => (Some("descending"), Glyph::Descending),
    };
    let next = SortBy { key: column.key.to_owned(), descending: is_sorted && !sort.descending };
    html! {
        th scope="col" class=[class] aria-sort=[order] {
            a href=(address(next)) { (label) (shape(glyph, "")) }
        }
    }
}

/// The box to tick that picks all rows of the page. It needs the script.
pub fn pick_all_head(viewer: &Viewer) -> Markup {
    html! {
        th.pick scope="col" {
            label.hit.js-only { input type="checkbox" data-pick-all aria-label=(common::PICK_PAGE.of(viewer.language)); }
        }
    }
}

/// The head above the actions of rows: hidden words.
pub fn actions_head(viewer: &Viewer) -> Markup {
    html! { th.act scope="col" { span.vh { (common::ACTIONS.of(viewer.language)) } } }
}

/// The link "Why?" of a row.
pub fn why_link(viewer: &Viewer, address: &str, name: &str, is_open: bool) -> Markup {
    why_with(viewer, address, name, is_open, html! { span { (common::WHY.of(viewer.language)) } })
}

/// The link "Why?" of a row as a symbol only, for tables that say the reason in a column.
pub fn why_symbol(viewer: &Viewer, address: &str, name: &str, is_open: bool) -> Markup {
    why_with(viewer, address, name, is_open, html! {})
}

fn why_with(viewer: &Viewer, address: &str, name: &str, is_open: bool, words: Markup) -> Markup {
    let why = common::WHY.of(viewer.language);
    let label = format!("{why} {}", visible_text(name));
    html! {
        a.ib.why-b href=(address) aria-label=(label) title=(why) aria-expanded=[is_open.then_some("true")] {
            (icon(Glyph::Help)) (words)
        }
    }
}

/// Position of a page of rows, and its neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPage {
    /// Number of the first row shown, from 1; 0 if the position is not known.
    pub first: u64,
    /// Rows shown.
    pub shown: u64,
    /// Rows that match, if the node counted them.
    pub total: Option<u64>,
    /// Address of the previous page.
    pub previous: Option<String>,
    /// Address of the next page.
    pub next: Option<String>,
}

impl RowPage {
    /// A page of a list whose cursors are positions: `first` counts from 0, and `address` is that of a position.
    pub fn at(
        first: usize,
        shown: usize,
        total: usize,
        rows: usize,
        address: &dyn Fn(usize) -> String,
    ) -> RowPage {
        let end = first.saturating_add(shown);
        RowPage {
            first: if shown == 0 { 0 } else { first as u64 + 1 },
            shown: shown as u64,
            total: Some(total as u64),
            previous: (first > 0).then(|| address(first.saturating_sub(rows))),
            next: (shown > 0 && end < total).then(|| address(end)),
        }
    }

    /// Whether there are rows on other pages.
    pub fn has_others(&self) -> bool {
        self.previous.is_some() || self.next.is_some()
    }
}

/// The foot of the only table of a page: position, Previous and Next.
pub fn table_foot(viewer: &Viewer, page: &RowPage) -> Markup {
    named_table_foot(viewer, page, common::PAGES.of(viewer.language))
}

/// The foot of one of several tables. Screen readers distinguish them by the name.
pub fn named_table_foot(viewer: &Viewer, page: &RowPage, name: &str) -> Markup {
    let language = viewer.language;
    let last = page.first + page.shown.saturating_sub(1);
    let position = match (page.first, page.total) {
        (0, Some(total)) => common::FOOT_SHOWN
            .fill(language, &[("n", &count(page.shown)), ("total", &count(total))]),
        (0, None) => String::new(),
        (first, Some(total)) => common::FOOT_POSITION.fill(
            language,
            &[
                ("first", &thousands(first)),
                ("last", &thousands(last)),
                ("total", &thousands(total)),
            ],
        ),
        (first, None) => format!("{}–{}", thousands(first), thousands(last)),
    };
    let step = |address: &Option<String>, words: Text, relation: &str| {
        html! {
            @match address {
                Some(address) => a.btn.sm href=(address) rel=(relation) { (words.of(language)) }
                None => span.btn.sm role="link" aria-disabled="true" { (words.of(language)) }
            }
        }
    };
    html! {
        div.tfoot {
            span { (position) }
            nav.acts aria-label=(name) {
                (step(&page.previous, common::PREVIOUS, "prev"))
                (step(&page.next, common::NEXT, "next"))
            }
        }
    }
}
