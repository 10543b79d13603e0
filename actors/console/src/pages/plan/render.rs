//! The page Plan as a whole.

use maud::{Markup, html};

use super::model::{PlanPageModel, RemoverMode};
use super::panels::{back_offs, copies, exchanges, passed, removals, spared};
use super::query::PlanPageQuery;
use crate::address::ROOT;
use crate::format::{age, bytes, count, counted, node_sentence};
use crate::pages::settings::SettingsPageQuery;
use crate::pages::why::PassedReason;
use crate::parts::act::{command_menu, list_lines};
use crate::parts::mark::Tone;
use crate::parts::notice::notice;
use crate::parts::panel::{Figure, figure_strip, page_head};
use crate::text::{Text, common, frame, plan};
use crate::viewer::Viewer;

/// The content of the page.
pub fn render(query: &PlanPageQuery, model: &PlanPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(frame::PLAN.of(language), &plan_sentence(viewer, model), acts(viewer, model)))
        (round_in_full(viewer, query, model))
    }
}

/// The same lists as commands, and the way to the setting that holds removals. As a setting, it outlives a start of the
/// node and a change of the leader.
fn acts(viewer: &Viewer, model: &PlanPageModel) -> Markup {
    let words = match model.remover_mode {
        RemoverMode::On => plan::HOLD_REMOVALS,
        RemoverMode::DryRun | RemoverMode::Off => plan::START_REMOVALS,
    };
    let setting =
        SettingsPageQuery { q: "remover.mode".to_owned(), ..SettingsPageQuery::default() };
    html! {
        (command_menu(viewer, &[list_lines("plan", &[]), list_lines("removals", &[])]))
        @if viewer.rights.config { a.btn href=(setting.address()) { (words.of(viewer.language)) } }
    }
}

/// The round with all its lists. The id is `plan-content`, for live updates.
pub fn round_in_full(viewer: &Viewer, query: &PlanPageQuery, model: &PlanPageModel) -> Markup {
    let language = viewer.language;
    html! { div #plan-content {
        @if let Some(reason) = &model.blocked {
            div.mb { (notice(Tone::Warn, plan::BLOCKED.of(language), html! { p { (node_sentence(language, reason)) } }, html! { a.btn.sm href={ (ROOT) "/hosts" } { (frame::HOSTS.of(language)) } })) }
        }
        @if !model.unlisted.is_empty() {
            @let hosts = model.unlisted.join(", ");
            p.soft.mb { (plan::UNLISTED.fill(language, &[("hosts", &hosts)])) }
        }
        @match query.all.as_str() {
            "copies" => div.grid { (copies(viewer, query, model)) },
            "removals" => div.grid { (removals(viewer, query, model)) },
            "exchanges" => div.grid { (exchanges(viewer, query, model)) },
            "backoff" => div.grid { (back_offs(viewer, query, model)) },
            _ => {
                (figure_strip("plan-figures", "s4", plan::NEXT_ROUND.of(language), &figures(viewer, model)))
                div.grid {
                    (copies(viewer, query, model))
                    (removals(viewer, query, model))
                    @if !model.spared.is_empty() { (spared(viewer, model)) }
                    (exchanges(viewer, query, model))
                    @if !model.passed.is_empty() { (passed(viewer, model)) }
                    (back_offs(viewer, query, model))
                }
            }
        }
    } }
}

/// The sentence at the top of the page.
pub fn plan_sentence(viewer: &Viewer, model: &PlanPageModel) -> String {
    let language = viewer.language;
    let Some(at) = model.at else { return plan::SENTENCE_NONE.of(language).to_owned() };
    let values = [
        ("age", age(language, at.seconds_until(viewer.now))),
        ("took", format!("{:.1}", model.took as f64 / 1000.0)),
        ("copies", counted(language, common::COPY_TASKS, model.copies_total)),
        ("removals", counted(language, common::REMOVALS, model.removals_total)),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|pair| (pair.0, pair.1.as_str())).collect();
    let last = plan::SENTENCE.fill(language, &values);
    let next = match model.next_at {
        Some(at) => {
            let left = age(language, viewer.now.seconds_until(at));
            plan::SENTENCE_NEXT_AT.fill(language, &[("age", &left)])
        }
        None => plan::SENTENCE_NEXT.of(language).to_owned(),
    };
    format!("{last} {next}")
}

fn figures(viewer: &Viewer, model: &PlanPageModel) -> Vec<Figure> {
    let language = viewer.language;
    let figure = |name: Text, value: u64, target: &str, detail: String| Figure {
        name: name.of(language).to_owned(),
        value: count(value),
        detail,
        address: Some(format!("{}#{target}", PlanPageQuery::path())),
        ..Figure::default()
    };
    let hosts = counted(language, common::HOSTS, model.removal_hosts);
    let size = bytes(model.removal_bytes);
    let from = plan::REMOVALS_FROM.fill(language, &[("bytes", &size), ("hosts", &hosts)]);
    let held: u64 = model
        .passed
        .iter()
        .filter(|line| line.reason == PassedReason::Placed)
        .map(|line| line.files)
        .sum();
    let passed: u64 = model.passed.iter().map(|line| line.files).sum();
    let mut copies = figure(plan::COPIES_PLANNED, model.copies_total, "line", String::new());
    copies.unit = plan::IN_LINE.fill(language, &[("n", &count(model.waiting))]);
    vec![
        copies,
        figure(plan::REMOVALS, model.removals_total, "removals", from),
        figure(
            plan::EXCHANGES,
            model.exchanges_total,
            "exchanges",
            plan::EXCHANGES_REMARK.of(language).to_owned(),
        ),
        figure(
            plan::PASSED,
            passed,
            "passed",
            plan::PASSED_HELD.fill(language, &[("n", &count(held))]),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::model::{BackOffLine, ExchangeLine};
    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn the_way_to_hold_removals_needs_the_right_to_settings() {
        let mut viewer =
            Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        let page = |viewer: &Viewer, remover_mode| {
            let model = PlanPageModel { remover_mode, ..PlanPageModel::default() };
            render(&PlanPageQuery::default(), &model, viewer).into_string()
        };
        assert!(!page(&viewer, RemoverMode::On).contains("remover.mode\""));
        viewer.rights.config = true;
        let link = "href=\"/console/settings?q=remover.mode\">";
        assert!(page(&viewer, RemoverMode::On).contains(&format!("{link}Hold removals…")));
        assert!(page(&viewer, RemoverMode::Off).contains(&format!("{link}Start removals…")));
    }

    #[test]
    fn a_list_that_is_cut_says_how_much_is_left() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        let page = |query: &PlanPageQuery, back_offs_total| {
            let model = PlanPageModel {
                at: Some(Moment(0)),
                exchanges: vec![ExchangeLine { more_go: 3, ..ExchangeLine::default() }],
                exchanges_total: 1,
                back_offs: vec![BackOffLine::default()],
                back_offs_total,
                ..PlanPageModel::default()
            };
            render(query, &model, &viewer).into_string()
        };
        let all = "href=\"/console/plan?all=backoff\">All 20<";
        let cut = page(&PlanPageQuery::default(), 20);
        assert!(cut.contains(all) && cut.contains("and 3 more"), "{cut}");
        assert!(!page(&PlanPageQuery::default(), 1).contains(all));
        let alone = PlanPageQuery { all: "backoff".to_owned(), ..PlanPageQuery::default() };
        assert!(!page(&alone, 20).contains(all));
    }
}
