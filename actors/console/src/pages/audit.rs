//! The audit: who changed what, from where, and with which outcome.

use maud::{Markup, html};

use crate::address::{QueryWord, ROOT, SortBy, page_query};
use crate::format::{count, node_text, time_tag, visible_text};
use crate::parts::act::{CommandLines, command_menu};
use crate::parts::filter::{
    FilterBar, FilterChoice, FilterMenu, ROWS, filter_bar_with, further_fields, order_menu,
};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::{StateMark, Tone, state};
use crate::parts::notice::{empty, notice};
use crate::parts::panel::page_head;
use crate::parts::table::{
    RowPage, TableColumn, column_head, order_in_force, sorted_words, table_foot,
};
use crate::text::{Text, access, common, frame, states};
use crate::viewer::{Moment, Viewer};

/// Outcome of the rows shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOutcomeFilter {
    /// Carried out.
    Done,
    /// The node answered with an error.
    Refused,
}

impl QueryWord for AuditOutcomeFilter {
    const WORDS: &'static [(&'static str, Self)] =
        &[("done", AuditOutcomeFilter::Done), ("refused", AuditOutcomeFilter::Refused)];
}

page_query! {
    /// Query parameters of the page Audit.
    AuditPageQuery at "/audit" {
        /// Part of the object.
        q: String,
        /// Account.
        actor: String,
        /// Name of the operation of the API; empty for all.
        action: String,
        /// Only actions that were carried out, or only refused ones.
        outcome: Option<AuditOutcomeFilter>,
        /// The reports of workers are shown too.
        reports: bool,
        /// Begin in the zone of the viewer, such as 2026-11-23T09:00.
        from: String,
        /// End in the same form.
        to: String,
        /// Order of the rows; newest first without it.
        sort: SortBy,
        /// Cursor of the page of rows.
        after: String,
        /// The chain is verified.
        check: bool,
    }
}

/// A row of the audit.
#[derive(Clone, Debug, Default)]
pub struct AuditLineView {
    /// When.
    pub at: Moment,
    /// Account.
    pub actor: String,
    /// Address of the caller.
    pub address: String,
    /// Name of the operation of the API.
    pub action: String,
    /// The host, file or other thing that it was for; empty for none.
    pub object: String,
    /// The values that it changed, such as "mode: active → draining"; empty for none.
    pub change: String,
    /// It was refused.
    pub is_refused: bool,
    /// Reason that the person gave, or the reason of the refusal; empty for none.
    pub reason: String,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct AuditPageModel {
    /// Rows that match, if counted.
    pub matching: Option<u64>,
    /// Rows of this page, newest first.
    pub rows: Vec<AuditLineView>,
    /// Position of the page.
    pub page: RowPage,
    /// The chain is whole up to this instant, if it was verified.
    pub whole_up_to: Option<Moment>,
    /// Only this many rows were sorted, the newest ones; `None` if all that match were.
    pub sorted_among: Option<u64>,
    /// Why the chain is broken.
    pub broken: Option<String>,
    /// The list as a command.
    pub commands: CommandLines,
}

const COLUMNS: [TableColumn; 8] = [
    TableColumn::sorted(common::WHEN, "when", ""),
    TableColumn::sorted(access::ACTOR, "actor", ""),
    TableColumn::sorted(access::ADDRESS, "address", "p1"),
    TableColumn::sorted(access::ACTION, "action", ""),
    TableColumn::sorted(access::OBJECT, "object", ""),
    TableColumn::plain(access::CHANGED_VALUES, "p2"),
    TableColumn::sorted(access::OUTCOME, "outcome", ""),
    TableColumn::sorted(access::WHY, "reason", "p2"),
];

impl AuditPageQuery {
    /// The order in force.
    pub fn order(&self) -> SortBy {
        order_in_force(&self.sort, SortBy::descending("when"))
    }
}

/// The content of the page.
pub fn render(query: &AuditPageQuery, model: &AuditPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let sort = query.order();
    let sentence = match model.matching {
        Some(rows) => access::AUDIT_SENTENCE.fill(language, &[("n", &count(rows))]),
        None => access::AUDIT_SENTENCE_PART.of(language).to_owned(),
    };
    let hidden = !query.reports && query.action.trim().is_empty();
    let hidden = if hidden { access::AUDIT_NO_REPORTS.of(language) } else { "" };
    let sentence = format!("{sentence} {hidden}");
    let actions = html! { (command_menu(viewer, std::slice::from_ref(&model.commands))) (check(viewer, query)) (export(viewer, query)) };
    html! {
        (page_head(frame::AUDIT.of(language), &sentence, actions))
        (chain(viewer, model))
        (filter_bar_with(viewer, &filters(viewer, query, model), fields(viewer, query)))
        div #(ROWS) .tablebox.sticky data-rows {
            @if model.rows.is_empty() {
                @let all = html! { a.btn.sm href=(AuditPageQuery::path()) { (common::CLEAR_FILTER.of(language)) } };
                (empty(access::AUDIT_EMPTY.of(language), "", all))
                // A page reads a part of the log only, so later rows can match.
                @if model.page.next.is_some() { (table_foot(viewer, &model.page)) }
            } @else {
                table.cards.dense {
                    caption.vh { (access::AUDIT_CAPTION.of(language)) }
                    thead { tr {
                        @for column in &COLUMNS {
                            (column_head(viewer, column, &sort, &|sort: SortBy| {
                                AuditPageQuery { sort, after: String::new(), ..query.clone() }.address()
                            }))
                        }
                    } }
                    tbody { @for row in &model.rows { (audit_row(viewer, row)) } }
                }
                (table_foot(viewer, &model.page))
            }
        }
    }
}

/// The form of an export with the filter of the page. It needs a reason.
/// The way to a verification of the whole log.
fn check(viewer: &Viewer, query: &AuditPageQuery) -> Markup {
    let checked = AuditPageQuery { check: true, ..query.clone() };
    html! { a.btn href=(checked.address()) { (access::CHECK_CHAIN.of(viewer.language)) } }
}

fn export(viewer: &Viewer, query: &AuditPageQuery) -> Markup {
    let reason = access::EXPORT_REASON.of(viewer.language);
    html! {
        form.acts method="post" action={ (ROOT) "/audit/export?" (query.pairs().print()) } {
            input type="hidden" name="csrf_token" value=(viewer.csrf);
            div.search.plain { input type="text" name="reason" required maxlength="200" aria-label=(reason) placeholder=(reason); }
            button.btn type="submit" { (icon(Glyph::Download)) (access::EXPORT_JSON.of(viewer.language)) }
        }
    }
}

/// The fields for account, action and time.
fn fields(viewer: &Viewer, query: &AuditPageQuery) -> Markup {
    let texts = [
        ("actor", query.actor.as_str(), access::AUDIT_ACTOR),
        ("action", query.action.as_str(), access::AUDIT_ACTION),
    ];
    let times = [
        ("from", query.from.as_str(), access::AUDIT_FROM),
        ("to", query.to.as_str(), access::AUDIT_TO),
    ];
    further_fields(viewer, &texts, &times)
}

fn chain(viewer: &Viewer, model: &AuditPageModel) -> Markup {
    let language = viewer.language;
    html! {
        @if let Some(reason) = &model.broken {
            @let reason = node_text(language, reason);
            div.mb { (notice(Tone::Bad, &access::CHAIN_BROKEN.fill(language, &[("reason", &reason)]), html! {}, html! {})) }
        } @else if let Some(at) = model.whole_up_to {
            @let at = crate::format::exact(viewer, at);
            div.mb { (notice(Tone::Ok, &access::CHAIN_WHOLE.fill(language, &[("at", &at)]), html! {}, html! {})) }
        }
    }
}

fn filters(viewer: &Viewer, query: &AuditPageQuery, model: &AuditPageModel) -> FilterBar {
    let mut status = sorted_words(viewer, &COLUMNS, &query.order());
    if let Some(rows) = model.sorted_among {
        let among = access::SORTED_AMONG.fill(viewer.language, &[("n", &count(rows))]);
        status = format!("{status}, {among}");
    }
    let base = AuditPageQuery { after: String::new(), ..query.clone() };
    let choices: [(Option<AuditOutcomeFilter>, Text); 3] = [
        (None, common::ALL),
        (Some(AuditOutcomeFilter::Done), access::DONE),
        (Some(AuditOutcomeFilter::Refused), access::REFUSED),
    ];
    let mut states = Vec::new();
    for (outcome, words) in choices {
        states.push(FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: AuditPageQuery { outcome, ..base.clone() }.address(),
            is_current: query.outcome == outcome,
        });
    }
    FilterBar {
        path: AuditPageQuery::path(),
        field: Some(access::AUDIT_FIELD),
        text: query.q.clone(),
        others: AuditPageQuery {
            outcome: base.outcome,
            reports: base.reports,
            sort: base.sort.clone(),
            ..AuditPageQuery::default()
        }
        .pairs()
        .pairs()
        .to_vec(),
        states_label: access::OUTCOME,
        states,
        menus: vec![reports_menu(viewer, &base)],
        orders: order_menu(viewer, &COLUMNS, &query.order(), &|sort: SortBy| {
            AuditPageQuery { sort, ..base.clone() }.address()
        }),
        has_picks: false,
        status,
    }
}

fn reports_menu(viewer: &Viewer, base: &AuditPageQuery) -> FilterMenu {
    let choices = [(false, access::REPORTS_HIDDEN), (true, access::REPORTS_SHOWN)];
    let mut menu =
        FilterMenu { label: access::REPORTS, chosen: String::new(), choices: Vec::new() };
    for (reports, words) in choices {
        let choice = FilterChoice {
            words: words.of(viewer.language).to_owned(),
            rows: None,
            address: AuditPageQuery { reports, ..base.clone() }.address(),
            is_current: base.reports == reports,
        };
        if choice.is_current {
            menu.chosen.clone_from(&choice.words);
        }
        menu.choices.push(choice);
    }
    menu
}

fn audit_row(viewer: &Viewer, row: &AuditLineView) -> Markup {
    let language = viewer.language;
    let mark = if row.is_refused {
        StateMark::new(Glyph::Off, Tone::Warn, states::REFUSED)
    } else {
        StateMark::new(Glyph::Done, Tone::Ok, states::DONE)
    };
    html! {
        tr {
            td.nw data-l=(common::WHEN.of(language)) { (time_tag(viewer, row.at)) }
            td data-l=(access::ACTOR.of(language)) { bdi { (visible_text(&row.actor)) } }
            td.mono.p1 data-l=(access::ADDRESS.of(language)) { (visible_text(&row.address)) }
            td.nw data-l=(access::ACTION.of(language)) { (visible_text(&row.action)) }
            td.wide data-l=(access::OBJECT.of(language)) { bdi { (visible_text(&row.object)) } }
            td.soft.p2.wide data-l=(access::CHANGED_VALUES.of(language)) { @if row.change.is_empty() { "–" } @else { bdi { (visible_text(&row.change)) } } }
            td data-l=(access::OUTCOME.of(language)) { (state(language, mark)) }
            td.soft.p2.wide data-l=(access::WHY.of(language)) { @if row.reason.is_empty() { "–" } @else { (visible_text(&row.reason)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = AuditPageQuery {
            q: "10.4".into(),
            actor: "ops-1".into(),
            action: "host.mode".into(),
            outcome: Some(AuditOutcomeFilter::Refused),
            reports: true,
            from: "2026-11-23T00:00:00+09:00".into(),
            to: "2026-11-24T00:00:00+09:00".into(),
            sort: SortBy::ascending("actor"),
            after: "c".into(),
            check: true,
        };
        assert_eq!(AuditPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
