//! The page Boxes as a whole.

use maud::{Markup, html};

use super::model::{BoxesPageModel, OneBox};
use super::panels::{leases, lines_of, pool_grid, quarantine, queue};
use super::query::BoxesPageQuery;
use crate::address::encoded;
use crate::format::{age, count, counted, since, visible_text};
use crate::parts::act::{CREATE_POOL, command_menu, list_lines_at, reelyard_command};
use crate::parts::boxes::BoxCondition;
use crate::parts::dialog::ask_dialog;
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::{StateMark, Tone, state};
use crate::parts::panel::page_head;
use crate::parts::table::named_table_foot;
use crate::parts::why::{side_panel, split};
use crate::text::{boxes, common, frame};
use crate::viewer::Viewer;

/// The content of the page.
pub fn render(query: &BoxesPageQuery, model: &BoxesPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(frame::BOXES.of(language), &boxes_sentence(viewer, model), actions(viewer, model)))
        (split(pools_in_full(viewer, query, model), model.one.as_ref().map(|one| one_box(viewer, query, one))))
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

/// The lists as commands, and the dialog of a new pool.
fn actions(viewer: &Viewer, model: &BoxesPageModel) -> Markup {
    let mut lists = vec![list_lines_at(&["box", "pools"], "/pools", &[], None)];
    if !model.chosen.is_empty() {
        let pool = model.chosen.as_str();
        for (word, of_pool) in [("list", "boxes"), ("leases", "leases")] {
            let path = format!("/pools/{}/{of_pool}", encoded(pool));
            lists.push(list_lines_at(&["box", word, pool], &path, &[], None));
        }
    }
    let new = BoxesPageQuery { ask: "new-pool".to_owned(), ..BoxesPageQuery::default() };
    html! {
        (command_menu(viewer, &lists))
        @if viewer.rights.boxes {
            a.btn.go href=(new.address()) { (icon(Glyph::Plus)) (boxes::NEW_POOL.of(viewer.language)) }
        }
    }
}

/// The pools with their queue, leases and quarantine. The id is `boxes-content`, for live updates.
pub fn pools_in_full(viewer: &Viewer, query: &BoxesPageQuery, model: &BoxesPageModel) -> Markup {
    let language = viewer.language;
    let chosen = model.pools.iter().find(|pool| pool.name == model.chosen);
    let query = &BoxesPageQuery { number: None, ask: String::new(), ..query.clone() };
    html! {
        div #boxes-content {
            @if model.pools.is_empty() {
                div.tablebox {
                    div.empty {
                        b { (boxes::NO_POOLS.of(language)) }
                        (boxes::NO_POOLS_BODY.of(language))
                        div.mt { (reelyard_command(viewer, &CREATE_POOL)) }
                    }
                }
            } @else {
                div.grid {
                    @for pool in &model.pools {
                        (pool_grid(viewer, query, pool, (pool.name == model.chosen).then_some(&model.pages.boxes)))
                    }
                    @if model.pages.pools.has_others() {
                        div.c12 { (named_table_foot(viewer, &model.pages.pools, boxes::POOLS_PAGES.of(language))) }
                    }
                    @if let Some(pool) = chosen {
                        (queue(viewer, query, pool, &model.queue, &model.pages.queue))
                        (leases(viewer, query, pool, &model.leases, &model.pages.leases))
                    }
                    (quarantine(viewer, query, &model.quarantine, &model.pages.quarantine))
                }
            }
        }
    }
}

/// The sentence at the top of the page.
pub fn boxes_sentence(viewer: &Viewer, model: &BoxesPageModel) -> String {
    let language = viewer.language;
    let totals = model.totals;
    let pools = counted(language, common::POOLS, totals.pools);
    let mut parts = vec![format!("{pools}, {}.", counted(language, common::BOXES, totals.boxes))];
    if totals.waiting > 0 {
        let waiting = count(totals.waiting);
        parts.push(match totals.longest_wait {
            Some(wait) => boxes::SENTENCE_QUEUE
                .fill(language, &[("n", &waiting), ("age", &age(language, wait))]),
            None => boxes::SENTENCE_WAITING.fill(language, &[("n", &waiting)]),
        });
    }
    if totals.quarantined > 0 {
        let shown = counted(language, common::BOXES, totals.quarantined);
        parts.push(boxes::SENTENCE_QUARANTINE.fill(language, &[("n", &shown)]));
    }
    if totals.waiting == 0 && totals.quarantined == 0 && totals.pools > 0 {
        parts.push(boxes::SENTENCE_FINE.of(language).to_owned());
    }
    parts.join(" ")
}

/// The action that the state of a box allows.
fn action_of_box(viewer: &Viewer, query: &BoxesPageQuery, one: &OneBox) -> Markup {
    let (ask, words) = match (one.condition, &one.lease) {
        (BoxCondition::Quarantined, _) => ("unquarantine", boxes::BACK_IN_USE),
        (_, Some(_)) => ("revoke", boxes::REVOKE),
        _ => ("quarantine", boxes::QUARANTINE_IT),
    };
    let lease = one.lease.as_ref().map(|lease| lease.id.clone()).unwrap_or_default();
    let address = BoxesPageQuery { ask: ask.to_owned(), lease, ..query.clone() }.address();
    html! { a.btn.sm href=(address) { (words.of(viewer.language)) } }
}

fn one_box(viewer: &Viewer, query: &BoxesPageQuery, one: &OneBox) -> Markup {
    let language = viewer.language;
    let close = BoxesPageQuery { number: None, ask: String::new(), ..query.clone() }.address();
    let number = one.number.to_string();
    let (_, glyph, word) = one.condition.looks();
    let body = html! {
        section {
            p.answer { (state(language, StateMark::new(glyph, Tone::Plain, word))) }
            @if viewer.rights.boxes { div.acts.mt { (action_of_box(viewer, query, one)) } }
        }
        section {
            dl.kv {
                dt { (boxes::BOX_SINCE.of(language)) } dd { (since(viewer, one.since)) }
                @if let Some(lease) = &one.lease {
                    dt { (boxes::HOLDER.of(language)) } dd { bdi { (visible_text(&lease.holder)) } }
                    dt { (boxes::BOX_LEASE.of(language)) } dd.mono { (lease.id) }
                    dt { (boxes::TOKEN.of(language)) } dd.mono { (lease.token) }
                }
                dt { (boxes::BOX_FAILURES.of(language)) } dd { (count(one.failures)) }
                @if let Some(slot) = one.slot { dt { (boxes::BOX_SLOT.of(language)) } dd { (slot) } }
            }
            @if !one.output.is_empty() {
                pre tabindex="0" aria-label=(boxes::EVIDENCE.fill(language, &[("n", &number)])) { (lines_of(&one.output)) }
            }
        }
    };
    side_panel(viewer, &boxes::BOX_TITLE.fill(language, &[("n", &number)]), &one.pool, &close, body)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::pages::boxes::LeaseLine;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn the_panel_of_a_box_offers_only_an_accepted_action() {
        let mut viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        viewer.rights.boxes = true;
        let query =
            BoxesPageQuery { pool: "p".into(), from: Some(100), ..BoxesPageQuery::default() };
        let offered = |condition, is_leased: bool| {
            let lease = LeaseLine { id: "17".into(), ..LeaseLine::default() };
            let one = OneBox {
                pool: "p".into(),
                number: 3,
                condition,
                since: Moment(0),
                lease: is_leased.then_some(lease),
                failures: 0,
                slot: None,
                output: String::new(),
            };
            action_of_box(&viewer, &query, &one).into_string()
        };
        let free = offered(BoxCondition::Free, false);
        assert!(free.contains("ask=quarantine") && free.contains("from=100"), "{free}");
        for condition in [BoxCondition::Leased, BoxCondition::Preparing] {
            let leased = offered(condition, true);
            assert!(leased.contains("ask=revoke&amp;lease=17"), "{leased}");
        }
        assert!(offered(BoxCondition::Quarantined, false).contains("ask=unquarantine"));
    }
}
