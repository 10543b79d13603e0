//! The bar above a table: a field, states with counts, menus, and the count of rows.

use maud::{Markup, html};

use super::icon::{Glyph, icon, shape};
use super::mark::Tone;
use super::notice::notice;
use super::panel::{PAGE_ACTS, page_sentence};
use super::table::TableColumn;
use crate::address::SortBy;
use crate::format::count;
use crate::text::{Text, common, refusals};
use crate::viewer::Viewer;

/// One choice of a row of states or of a menu.
#[derive(Clone, Debug, Default)]
pub struct FilterChoice {
    /// Text of the link, in the language of the viewer.
    pub words: String,
    /// Rows with this state, if known.
    pub rows: Option<u64>,
    /// Address of the page with this choice.
    pub address: String,
    /// This choice is in force.
    pub is_current: bool,
}

/// A menu of choices.
#[derive(Clone, Debug)]
pub struct FilterMenu {
    /// Name of the menu.
    pub label: Text,
    /// Words of the choice in force.
    pub chosen: String,
    /// Entries of the menu, in their order.
    pub choices: Vec<FilterChoice>,
}

/// The controls above a table.
#[derive(Clone, Debug)]
pub struct FilterBar {
    /// Path of the page.
    pub path: &'static str,
    /// Label and placeholder of the field; without it there is no field.
    pub field: Option<Text>,
    /// Text of the field.
    pub text: String,
    /// Other parameters in force, sent along with the field.
    pub others: Vec<(String, String)>,
    /// Label of the row of states.
    pub states_label: Text,
    /// The row of states.
    pub states: Vec<FilterChoice>,
    /// Drop-down menus beside the states.
    pub menus: Vec<FilterMenu>,
    /// The orders of the table, for screens that are too narrow for its heads.
    pub orders: Option<FilterMenu>,
    /// The rows have boxes to tick.
    pub has_picks: bool,
    /// Count and order of the rows.
    pub status: String,
}

/// The id of the part of a page that a filter replaces.
pub const ROWS: &str = "rows";

/// The bar. With the script it filters while one types; without it, on Enter.
pub fn filter_bar(viewer: &Viewer, bar: &FilterBar) -> Markup {
    filter_bar_with(viewer, bar, html! {})
}

/// The bar with further fields.
pub fn filter_bar_with(viewer: &Viewer, bar: &FilterBar, fields: Markup) -> Markup {
    let others = format!(
        "#filter-states:outerMorph,#filter-menus:outerMorph,#filter-status:outerMorph,#stream:outerHTML,\
         #{PAGE_ACTS}:outerMorph"
    );
    html! {
        form #filters .filters role="search" action=(bar.path) method="get"
            hx-get=(bar.path) hx-trigger="input delay:150ms, submit"
            hx-target={ "#" (ROWS) } hx-select={ "#" (ROWS) } hx-select-oob=(others)
            hx-swap="outerMorph" hx-push-url="true"
            hx-nonce=(viewer.nonce) {
            @for (name, value) in &bar.others { input type="hidden" name=(name) value=(value); }
            @if let Some(field) = bar.field { (search_field(viewer, field, &bar.text)) }
            (fields)
            (states(viewer, bar))
            div #filter-menus .contents {
                @for menu in &bar.menus { (filter_menu(viewer, "menu", menu)) }
                @if let Some(orders) = &bar.orders { (filter_menu(viewer, "menu narrows", orders)) }
            }
            @if bar.has_picks {
                label.narrows.every.js-only { input type="checkbox" data-pick-all; (common::PICK_PAGE.of(viewer.language)) }
            }
            (status(bar, None))
        }
        (unanswered(viewer))
    }
}

/// Further fields of a bar, each with its name, value and label: texts, and times in the zone of the viewer.
pub fn further_fields(
    viewer: &Viewer,
    texts: &[(&str, &str, Text)],
    times: &[(&str, &str, Text)],
) -> Markup {
    html! {
        @for (name, value, label) in texts {
            @let label = label.of(viewer.language);
            div.search.plain { input type="text" name=(name) value=(value) aria-label=(label) placeholder=(label) title=(label) maxlength="100" autocomplete="off" spellcheck="false"; }
        }
        @for (name, value, label) in times {
            label.time { span { (label.of(viewer.language)) } input type="datetime-local" name=(name) value=(value); }
        }
    }
}

/// Why the last filter was not answered. The script shows it above the rows of the filter before.
fn unanswered(viewer: &Viewer) -> Markup {
    let language = viewer.language;
    // A refusal has the words of its status, or else of its first digit. Without an answer the status is 0.
    let reasons = [
        ("0", refusals::NO_ANSWER),
        ("403", refusals::FORBIDDEN),
        ("429", refusals::TOO_MANY),
        ("4", refusals::OTHER),
        ("5", refusals::BUSY),
    ];
    let words = html! {
        p { @for (status, reason) in reasons { span data-status=(status) hidden { (reason.of(language)) ". " } } (common::ROWS_BEFORE.of(language)) }
    };
    let again = html! { button.btn.sm form="filters" { (common::ASK_AGAIN.of(language)) } };
    html! {
        div #unanswered .mb hidden { (notice(Tone::Bad, common::UNANSWERED.of(language), words, again)) }
    }
}

/// The parts above the rows that follow changes with them: the sentence of the page, and the counts of the bar. Screen
/// readers say a count after a filter only, not after each change.
pub fn live_head(viewer: &Viewer, sentence: &str, bar: &FilterBar) -> Vec<(String, Markup)> {
    vec![
        ("page-sentence".to_owned(), page_sentence(sentence)),
        ("filter-states".to_owned(), states(viewer, bar)),
        ("filter-status".to_owned(), status(bar, Some("off"))),
    ]
}

fn status(bar: &FilterBar, live: Option<&str>) -> Markup {
    html! { span #filter-status .count.push role="status" aria-live=[live] { (bar.status) } }
}

fn search_field(viewer: &Viewer, label: Text, text: &str) -> Markup {
    let words = label.of(viewer.language);
    html! {
        div.search {
            (icon(Glyph::Search))
            input type="search" name="q" value=(text) aria-label=(words) placeholder=(words)
                autocomplete="off" spellcheck="false" maxlength="255" data-filter;
            kbd aria-hidden="true" { "/" }
        }
    }
}

fn states(viewer: &Viewer, bar: &FilterBar) -> Markup {
    html! {
        @if !bar.states.is_empty() {
            div #filter-states .seg role="group" aria-label=(bar.states_label.of(viewer.language)) {
                @for choice in &bar.states {
                    a href=(choice.address) aria-current=[choice.is_current.then_some("true")] {
                        (choice.words)
                        @if let Some(rows) = choice.rows { " " span.c { (count(rows)) } }
                    }
                }
            }
        }
    }
}

/// The orders by these columns. The order in force leads to the opposite one.
pub fn order_menu(
    viewer: &Viewer,
    columns: &[TableColumn],
    sort: &SortBy,
    address: &dyn Fn(SortBy) -> String,
) -> Option<FilterMenu> {
    let mut menu =
        FilterMenu { label: common::SORT_BY, chosen: String::new(), choices: Vec::new() };
    for column in columns.iter().filter(|column| !column.key.is_empty()) {
        let is_current = sort.key == column.key;
        let mut words = column.label.of(viewer.language).to_owned();
        if is_current {
            words.push_str(if sort.descending { " ↓" } else { " ↑" });
            menu.chosen.clone_from(&words);
        }
        let next =
            SortBy { key: column.key.to_owned(), descending: is_current && !sort.descending };
        menu.choices.push(FilterChoice { words, rows: None, address: address(next), is_current });
    }
    Some(menu).filter(|menu| !menu.choices.is_empty())
}

/// A menu of orders outside of a filter bar.
pub fn orders(viewer: &Viewer, menu: &Option<FilterMenu>) -> Markup {
    html! { @if let Some(menu) = menu { (filter_menu(viewer, "menu", menu)) } }
}

fn filter_menu(viewer: &Viewer, class: &str, menu: &FilterMenu) -> Markup {
    html! {
        details class=(class) {
            summary.drop { (menu.label.of(viewer.language)) b dir="auto" { (menu.chosen) } (icon(Glyph::Chevron)) }
            ul {
                @for choice in &menu.choices {
                    li {
                        a href=(choice.address) dir="auto" aria-current=[choice.is_current.then_some("true")] {
                            (choice.words)
                            @if let Some(rows) = choice.rows { span.c { (count(rows)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A menu of hosts. `address` is that of the page with one of them, or with none.
pub fn host_menu(
    viewer: &Viewer,
    label: Text,
    hosts: &[String],
    chosen: &str,
    address: &dyn Fn(&str) -> String,
) -> FilterMenu {
    let any = common::ANY.of(viewer.language);
    let choice = |words: &str, host: &str| FilterChoice {
        words: words.to_owned(),
        rows: None,
        address: address(host),
        is_current: chosen == host,
    };
    let mut choices = vec![choice(any, "")];
    choices.extend(hosts.iter().map(|host| choice(host, host)));
    let chosen = if chosen.is_empty() { any } else { chosen };
    FilterMenu { label, chosen: chosen.to_owned(), choices }
}

/// A filter in force that is not visible otherwise, with a cross that removes it.
pub fn filter_token(viewer: &Viewer, words: &str, without: &str) -> Markup {
    let label = common::REMOVE_FILTER.fill(viewer.language, &[("filter", words)]);
    html! {
        span.token { bdi { (words) } a href=(without) aria-label=(label) { (shape(Glyph::Cross, "")) } }
    }
}
