//! Tables whose rows can be picked: the boxes to tick, and the bar with their number, their sum and their actions.

use maud::{Markup, html};

use super::filter::ROWS;
use super::table::{RowPage, TableColumn, actions_head, column_head, pick_all_head, table_foot};
use crate::address::SortBy;
use crate::format::{bytes, count, counted};
use crate::text::{Text, common};
use crate::viewer::Viewer;

/// A table whose rows can be picked.
pub struct PickTable<'t> {
    /// Its title for screen readers.
    pub caption: Text,
    /// The heads of its columns.
    pub columns: &'t [TableColumn],
    /// The order in force.
    pub sort: &'t SortBy,
    /// The address of the page in another order.
    pub sorted: &'t dyn Fn(SortBy) -> String,
    /// The address of the page without picked rows, dialog and panel.
    pub base: String,
    /// Position of the page.
    pub page: &'t RowPage,
}

impl PickTable<'_> {
    /// The table with its foot, for filters and live updates. `bulk` is the bar of a viewer who may act on rows. Without
    /// rows their place has `nothing`.
    pub fn render(
        &self,
        viewer: &Viewer,
        bulk: Option<Markup>,
        rows: Vec<Markup>,
        nothing: impl FnOnce() -> Markup,
    ) -> Markup {
        html! {
            div #(ROWS) .tablebox.sticky data-rows {
                @if let Some(bulk) = &bulk { (bulk) }
                (new_rows(viewer, &self.base))
                @if rows.is_empty() {
                    (nothing())
                } @else {
                    table.cards.dense {
                        caption.vh { (self.caption.of(viewer.language)) }
                        thead {
                            tr {
                                @if bulk.is_some() { (pick_all_head(viewer)) }
                                @for column in self.columns { (column_head(viewer, column, self.sort, self.sorted)) }
                                (actions_head(viewer))
                            }
                        }
                        tbody { @for row in &rows { (row) } }
                    }
                    (table_foot(viewer, self.page))
                }
            }
        }
    }
}

/// The quantity that the bar adds up over the picked rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BulkSum {
    /// Nothing.
    #[default]
    None,
    /// The sizes of the rows.
    Bytes,
    /// How many files the rows hold.
    Files,
}

impl BulkSum {
    /// The word that the script reads.
    const fn word(self) -> &'static str {
        match self {
            BulkSum::None => "",
            BulkSum::Bytes => "bytes",
            BulkSum::Files => "files",
        }
    }

    /// The sum in words; empty without one.
    fn words(self, viewer: &Viewer, picked: PickedSum) -> String {
        let words = match self {
            BulkSum::None => String::new(),
            BulkSum::Bytes => bytes(picked.sum),
            BulkSum::Files => counted(viewer.language, common::FILES, picked.sum),
        };
        if picked.is_at_least { format!("≥ {words}") } else { words }
    }
}

/// The amounts of the picked rows, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PickedSum {
    /// The sum of the known amounts.
    pub sum: u64,
    /// The amount of a picked row is not known.
    pub is_at_least: bool,
}

impl PickedSum {
    /// The sum of the amounts of the picked rows.
    pub fn of(amounts: impl Iterator<Item = Option<u64>>) -> Self {
        let mut picked = PickedSum::default();
        for amount in amounts {
            picked.sum += amount.unwrap_or(0);
            picked.is_at_least |= amount.is_none();
        }
        picked
    }
}

/// The box to tick of a row. The bar adds up the amounts of the ticked rows.
#[derive(Clone, Copy, Debug)]
pub struct PickBox<'a> {
    /// Id of the form of the bar.
    pub form: &'a str,
    /// Value in the address.
    pub value: &'a str,
    /// Name of the row for people.
    pub shown: &'a str,
    /// It is ticked.
    pub is_picked: bool,
    /// Bytes or files of the row, if known.
    pub amount: Option<u64>,
}

/// The cell with the box to tick of a row.
pub fn pick_cell(viewer: &Viewer, pick: &PickBox<'_>) -> Markup {
    let label = common::PICK_ONE.fill(viewer.language, &[("name", pick.shown)]);
    html! {
        td.pick {
            label.hit {
                input type="checkbox" name="pick" form=(pick.form) value=(pick.value) checked[pick.is_picked]
                    data-amount=[pick.amount] aria-label=(label);
            }
        }
    }
}

/// The bar of picked rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct BulkBar<'a> {
    /// Id of the form that opens a dialog.
    pub form: &'a str,
    /// Rows that the address picks on this page.
    pub picked: u64,
    /// The address picks all rows that match the filter.
    pub is_all: bool,
    /// All rows that match the filter; 0 if the node does not count them.
    pub matching: u64,
    /// Rows of this page.
    pub shown: u64,
    /// The quantity that is added up.
    pub sum: BulkSum,
    /// The amounts of the picked rows, added up.
    pub amount: PickedSum,
    /// Address of the page without picked rows.
    pub clear: &'a str,
}

/// The bar. A tick there extends the actions from the picked rows to all rows that match the filter.
pub fn bulk_bar(viewer: &Viewer, bar: &BulkBar<'_>, actions: Markup) -> Markup {
    let language = viewer.language;
    let chosen = if bar.is_all { bar.matching } else { bar.picked };
    let more = bar.matching > bar.shown;
    html! {
        div.bulk role="region" aria-label=(common::PICKED_ROWS.of(language)) data-picked=(chosen) data-form=(bar.form)
            data-sum=[(bar.sum != BulkSum::None).then(|| bar.sum.word())] data-files=(common::FILES.many.of(language)) {
            span {
                b data-picked-count { (count(chosen)) } " " (common::PICKED.of(language))
                span.muted data-picked-sum {
                    @if !bar.is_all && bar.amount.sum > 0 { " · " (bar.sum.words(viewer, bar.amount)) }
                }
            }
            @if more {
                label.every {
                    input type="checkbox" name="all" value="true" form=(bar.form) checked[bar.is_all] data-pick-every=(bar.matching);
                    span { (common::PICK_EVERY.fill(language, &[("n", &count(bar.matching))])) }
                }
            }
            a href=(bar.clear) data-pick-none { (common::CLEAR.of(language)) }
            span.push.acts { (actions) }
        }
    }
}

/// A button of the bar: opens the dialog of an action for the picked rows.
pub fn bulk_button(form: &str, action: &str, words: &str) -> Markup {
    html! { button.btn.sm type="submit" form=(form) name="ask" value=(action) { (words) } }
}

/// The link that brings new rows in. The script shows it while it keeps them back, so that the rows that a person
/// reads or points at do not move.
fn new_rows(viewer: &Viewer, address: &str) -> Markup {
    let words = common::NEW_ROWS.of(viewer.language);
    html! { div data-new-rows=(words) hidden role="status" { a.newrows href=(address) {} } }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn a_sum_with_an_unknown_amount_is_a_lower_bound() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let shown = |amounts: &[Option<u64>]| {
            let amount = PickedSum::of(amounts.iter().copied());
            let bar = BulkBar { sum: BulkSum::Bytes, amount, ..BulkBar::default() };
            bulk_bar(&viewer, &bar, html! {}).into_string()
        };
        assert!(shown(&[Some(1 << 20), Some(1 << 20)]).contains(" · 2.0 MiB"));
        assert!(shown(&[Some(2 << 20), None]).contains(" · ≥ 2.0 MiB"));
        assert!(!shown(&[None]).contains(" · "));
    }
}
