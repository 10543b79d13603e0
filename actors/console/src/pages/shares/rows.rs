//! The table of share links.

use maud::{Markup, html};

use super::model::{ShareCondition, ShareLine, SharesPageModel};
use super::query::SharesPageQuery;
use crate::address::{ROOT, SortBy, encoded};
use crate::format::{count, counted, day_and_time, file_name, until_tag, visible_text};
use crate::parts::act::command;
use crate::parts::bulk::{
    BulkBar, BulkSum, PickBox, PickTable, PickedSum, bulk_bar, bulk_button, pick_cell,
};
use crate::parts::icon::{Glyph, icon, symbol};
use crate::parts::mark::{Tone, state, tag};
use crate::parts::notice::{empty, empty_by_filter};
use crate::parts::table::{TableColumn, order_in_force, table_foot};
use crate::text::{common, shares};
use crate::viewer::Viewer;

/// The form of the picked rows.
const FORM: &str = "pick-shares";

/// The columns of the table.
pub(super) const COLUMNS: [TableColumn; 7] = [
    TableColumn::sorted(shares::PATH, "path", ""),
    TableColumn::plain(common::STATE, "p3"),
    TableColumn::sorted(shares::ENDS_IN, "ends", ""),
    TableColumn::plain(shares::ENDS, "p2"),
    TableColumn::sorted(shares::DOWNLOADS, "downloads", "num"),
    TableColumn::sorted(shares::OWNER, "owner", ""),
    TableColumn::plain(shares::PASSWORD, "p3"),
];

/// The table with its bulk bar and foot. Its id is `rows`, for filters and live updates.
pub fn share_rows(viewer: &Viewer, query: &SharesPageQuery, model: &SharesPageModel) -> Markup {
    let sort = order_in_force(&query.sort, SortBy::ascending("ends"));
    let table = PickTable {
        caption: shares::CAPTION,
        columns: &COLUMNS,
        sort: &sort,
        sorted: &|sort| SharesPageQuery { sort, after: String::new(), ..query.clone() }.address(),
        base: base(query).address(),
        page: &model.page,
    };
    let bulk = viewer.rights.shares.then(|| bulk(viewer, query, model));
    let rows = model.rows.iter().map(|line| row(viewer, query, line)).collect();
    table.render(viewer, bulk, rows, || {
        html! {
            (nothing(viewer, query, model))
            // A page looks at a part of the links only, so later ones can match.
            @if model.page.next.is_some() { (table_foot(viewer, &model.page)) }
        }
    })
}

/// The page without picked rows and dialog.
fn base(query: &SharesPageQuery) -> SharesPageQuery {
    SharesPageQuery { pick: Vec::new(), all: false, ask: String::new(), ..query.clone() }
}

fn bulk(viewer: &Viewer, query: &SharesPageQuery, model: &SharesPageModel) -> Markup {
    let language = viewer.language;
    let hidden = base(query);
    let bar = BulkBar {
        form: FORM,
        picked: model.rows.iter().filter(|line| query.pick.contains(&line.id)).count() as u64,
        is_all: query.all,
        matching: model.page.total.unwrap_or_default(),
        shown: model.rows.len() as u64,
        sum: BulkSum::None,
        amount: PickedSum::default(),
        clear: &hidden.address(),
    };
    html! {
        form #(FORM) method="get" action=(SharesPageQuery::path()) {
            @for (name, value) in hidden.pairs().pairs() { input type="hidden" name=(name) value=(value); }
        }
        (bulk_bar(viewer, &bar, html! {
            (bulk_button(FORM, "extend", shares::EXTEND.of(language)))
            (bulk_button(FORM, "revoke", shares::REVOKE.of(language)))
        }))
    }
}

fn nothing(viewer: &Viewer, query: &SharesPageQuery, model: &SharesPageModel) -> Markup {
    let language = viewer.language;
    let totals = model.totals;
    if model.has_no_root && totals.working + totals.ended == 0 {
        return html! {
            div.empty {
                b { (shares::EMPTY_SETUP.of(language)) }
                (shares::EMPTY_SETUP_BODY.of(language))
                div.mt { (command(language, "[share.roots]\nmovies = \"/data/movies\"")) }
                div.acts { a.btn.sm.go href={ (ROOT) "/guide/links" } { (shares::HOW_TO_SHARE.of(language)) } }
            }
        };
    }
    if totals.working + totals.ended == 0 {
        let body = shares::EMPTY_ALL_BODY.of(language);
        let new = SharesPageQuery { new: true, ..SharesPageQuery::default() }.address();
        let action = html! {
            @if viewer.rights.shares { a.btn.sm.go href=(new) { (shares::NEW.of(language)) } }
        };
        return empty(shares::EMPTY_ALL.of(language), body, action);
    }
    let title = if query.q.is_empty() {
        shares::EMPTY_STATE.of(language).to_owned()
    } else {
        shares::EMPTY_FILTER.fill(language, &[("text", &visible_text(&query.q))])
    };
    let looked = counted(language, common::LINKS, totals.working + totals.ended);
    empty_by_filter(language, &title, &looked, SharesPageQuery::path())
}

fn row(viewer: &Viewer, query: &SharesPageQuery, line: &ShareLine) -> Markup {
    let language = viewer.language;
    let is_picked = query.pick.contains(&line.id);
    let path = visible_text(&line.path);
    let downloads = match line.most {
        Some(most) => {
            shares::OF_MOST.fill(language, &[("n", &count(line.downloads)), ("most", &count(most))])
        }
        None => count(line.downloads),
    };
    let works = line.condition == ShareCondition::Works;
    let pick = PickBox { form: FORM, value: &line.id, shown: &path, is_picked, amount: None };
    html! {
        tr #{ "share-" (encoded(&line.id)) } aria-selected=[is_picked.then_some("true")] {
            @if viewer.rights.shares { (pick_cell(viewer, &pick)) }
            td.file data-l="" {
                div.chips {
                    (file_name(&line.path, Some(&format!("{ROOT}/shares/{}", encoded(&line.id)))))
                    @if line.is_directory { (tag(None, Tone::Plain, shares::DIRECTORY.of(language))) }
                }
            }
            td.p3 data-l=(common::STATE.of(language)) { (state(language, line.condition.mark())) }
            td.nw data-l=(shares::ENDS_IN.of(language)) { @if let (true, Some(ends)) = (works, line.ends) { b { (until_tag(viewer, ends)) } } @else { span.muted { "–" } } }
            td.nw.soft.none.p2 data-l=(shares::ENDS.of(language)) { @if let Some(ends) = line.ends { (day_and_time(viewer, ends)) } @else { (shares::NEVER_ENDS.of(language)) } }
            td.num data-l=(shares::DOWNLOADS.of(language)) { (downloads) }
            td data-l=(shares::OWNER.of(language)) { @if line.owner.is_empty() { span.muted { "–" } } @else { bdi { (visible_text(&line.owner)) } } }
            td.none.p3 data-l=(shares::PASSWORD.of(language)) {
                @if line.has_password {
                    svg.i viewBox="0 0 16 16" role="img" aria-label=(shares::WITH_PASSWORD.of(language)) { use href=(symbol(Glyph::Lock)) {} }
                } @else { span.muted { "–" } }
            }
            td.act {
                @if let Some(address) = &line.address {
                    button.ib.js-only type="button" data-copy=(address) aria-label=(shares::COPY_LINK.fill(language, &[("path", &path)])) { (icon(Glyph::Copy)) }
                }
                @if viewer.rights.shares && works {
                    @let ask = SharesPageQuery { pick: vec![line.id.clone()], ask: "revoke".to_owned(), ..query.clone() };
                    a.ib href=(ask.address()) aria-label=(shares::REVOKE_ONE.fill(language, &[("path", &path)])) { (icon(Glyph::Off)) }
                }
            }
        }
    }
}
