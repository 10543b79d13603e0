//! The panels of the page Plan.

use maud::{Markup, html};

use super::model::{
    BackOffLine, CopyProgress, DestinationReason, ExchangeLine, PassedLine, PlanLine,
    PlanPageModel, RemovalLine, RemoverMode,
};
use super::query::PlanPageQuery;
use crate::address::{ROOT, SortBy};
use crate::format::{
    age, age_tag, bytes, clock, count, counted, file_name, host_short, node_text, percent,
    visible_text,
};
use crate::pages::yard::flow;
use crate::parts::bars::reason_bar;
use crate::parts::filter::{order_menu, orders};
use crate::parts::icon::{Glyph, shape};
use crate::parts::mark::{Tone, state_saying, tag};
use crate::parts::panel::{PanelHead, flush_panel, panel};
use crate::parts::table::{TableColumn, column_head, table_foot};
use crate::text::{Text, common, plan, states};
use crate::viewer::Viewer;

fn head<'a>(viewer: &Viewer, class: &'a str, id: &'a str, title: Text) -> PanelHead<'a> {
    PanelHead { class, id, title: title.of(viewer.language).to_owned(), ..PanelHead::default() }
}

const COPIES: [TableColumn; 6] = [
    TableColumn::sorted(common::FILE, "file", ""),
    TableColumn::sorted(common::BECAUSE, "rank", ""),
    TableColumn::sorted(common::FROM_TO, "from", ""),
    TableColumn::plain(plan::WHY_THERE, "p1"),
    TableColumn::plain(common::WHEN, ""),
    TableColumn::sorted(common::SIZE, "size", "num p0"),
];

const REMOVALS: [TableColumn; 4] = [
    TableColumn::sorted(common::FILE, "file", ""),
    TableColumn::sorted(common::FROM, "from", ""),
    TableColumn::sorted(common::SIZE, "size", "num none"),
    TableColumn::sorted(common::BECAUSE, "because", ""),
];

/// A panel without rows: its head says so in one line.
fn empty_panel(viewer: &Viewer, head: PanelHead<'_>, words: Text, effect: &str) -> Markup {
    let head = PanelHead { remark: words.of(viewer.language).to_owned(), link: None, ..head };
    flush_panel(&head, html! { @if !effect.is_empty() { p.says { (effect) } } })
}

fn all_link(
    viewer: &Viewer,
    query: &PlanPageQuery,
    list: &str,
    shown: usize,
    total: u64,
) -> Option<(String, String)> {
    let all = list.to_owned();
    let address = PlanPageQuery { all, after: String::new(), ..query.clone() }.address();
    let words = common::ALL_N.fill(viewer.language, &[("n", &count(total))]);
    (shown as u64 != total && query.all != list).then_some((words, address))
}

/// The steps through a list that is shown alone.
fn foot(viewer: &Viewer, query: &PlanPageQuery, model: &PlanPageModel, list: &str) -> Markup {
    html! { @if query.all == list && model.page.has_others() { (table_foot(viewer, &model.page)) } }
}

/// Copies of the round.
pub fn copies(viewer: &Viewer, query: &PlanPageQuery, model: &PlanPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c12", "line", plan::NEXT_IN_LINE);
    head.remark = plan::LINE_REMARK.fill(language, &[("n", &count(model.waiting))]);
    head.link = all_link(viewer, query, "copies", model.copies.len(), model.copies_total);
    if model.copies.is_empty() {
        return empty_panel(viewer, head, plan::NO_COPIES, "");
    }
    let address = |copies_sort: SortBy| {
        format!(
            "{}#line",
            PlanPageQuery { copies_sort, after: String::new(), ..query.clone() }.address()
        )
    };
    let body = html! {
        div.narrows.filters { (orders(viewer, &order_menu(viewer, &COPIES, &query.copies_sort, &address))) }
        table.cards {
            caption.vh { (plan::CAPTION.of(language)) }
            thead { tr { @for column in &COPIES { (column_head(viewer, column, &query.copies_sort, &address)) } } }
            tbody { @for line in &model.copies { (copy_row(viewer, line)) } }
        }
        (foot(viewer, query, model, "copies"))
    };
    flush_panel(&head, body)
}

fn copy_row(viewer: &Viewer, line: &PlanLine) -> Markup {
    let language = viewer.language;
    html! {
        tr {
            td.file data-l="" { (file_name(&line.name, Some(&line.name.why_address()))) }
            td data-l=(common::BECAUSE.of(language)) {
                @match (line.hits, line.rank) {
                    (0, Some(rank)) => (plan::BY_RANK.fill(language, &[("n", &count(rank))])),
                    (0, None) => span.muted { "–" },
                    (hits, _) => (tag(Some(Glyph::Rise), Tone::Hot, &plan::HOT_HITS.fill(language, &[("n", &count(hits))]))),
                }
            }
            td data-l=(common::FROM_TO.of(language)) { (flow(&line.source, &line.destination)) }
            td.soft.p1.why-there data-l=(plan::WHY_THERE.of(language)) { (why_there(viewer, &line.why_there)) }
            td.nw.soft data-l=(common::WHEN.of(language)) { (when(viewer, line)) }
            td.num.nw.none.p0 data-l=(common::SIZE.of(language)) { (bytes(line.size)) }
        }
    }
}

fn why_there(viewer: &Viewer, reason: &DestinationReason) -> String {
    let language = viewer.language;
    match reason {
        DestinationReason::NotKnown => "–".to_owned(),
        DestinationReason::Asked(by) => {
            plan::BY_PERSON.fill(language, &[("user", &visible_text(by))])
        }
        DestinationReason::NextInTurn => plan::NEXT_IN_TURN.of(language).to_owned(),
        DestinationReason::RoomMade => plan::ROOM_MADE.of(language).to_owned(),
        DestinationReason::OnTrial => plan::ON_TRIAL.of(language).to_owned(),
        DestinationReason::MostRoom(room) => {
            plan::MOST_ROOM.fill(language, &[("room", &bytes(*room))])
        }
    }
}

fn when(viewer: &Viewer, line: &PlanLine) -> Markup {
    let language = viewer.language;
    let share = |copied: u64| percent((copied as f64 * 100.0 / line.size.max(1) as f64).floor());
    html! {
        @match line.progress {
            CopyProgress::Ready => div.chips { (state_saying(Glyph::Wait, Tone::Plain, plan::READY_SINCE.of(language))) (age_tag(viewer, line.planned)) },
            CopyProgress::Working { copied, left: None } => (state_saying(Glyph::Work, Tone::Work, &share(copied))),
            CopyProgress::Working { copied, left: Some(left) } => {
                @let values = [("share", share(copied)), ("left", age(language, left))];
                @let values = [("share", &*values[0].1), ("left", &*values[1].1)];
                (state_saying(Glyph::Work, Tone::Work, &plan::DONE_IN.fill(language, &values)))
            },
        }
    }
}

/// Open and decided removals.
pub fn removals(viewer: &Viewer, query: &PlanPageQuery, model: &PlanPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c7 full-md", "removals", plan::REMOVALS);
    head.remark = plan::MODE.fill(language, &[("mode", model.remover_mode.word())]);
    head.link = all_link(viewer, query, "removals", model.removals.len(), model.removals_total);
    let effect = match model.remover_mode {
        RemoverMode::On => "",
        RemoverMode::DryRun => plan::DRY_RUN.of(language),
        RemoverMode::Off => plan::REMOVALS_OFF.of(language),
    };
    if model.removals.is_empty() {
        return empty_panel(viewer, head, plan::NO_REMOVALS, effect);
    }
    let address = |removals_sort: SortBy| {
        format!(
            "{}#removals",
            PlanPageQuery { removals_sort, after: String::new(), ..query.clone() }.address()
        )
    };
    let body = html! {
        @if !effect.is_empty() { p.says { (effect) } }
        table.tiny {
            thead { tr { @for column in &REMOVALS { (column_head(viewer, column, &query.removals_sort, &address)) } } }
            tbody { @for line in &model.removals { (removal_row(viewer, line)) } }
        }
        (foot(viewer, query, model, "removals"))
    };
    flush_panel(&head, body)
}

fn removal_row(viewer: &Viewer, line: &RemovalLine) -> Markup {
    let language = viewer.language;
    html! {
        tr {
            td.file { (file_name(&line.name, Some(&line.name.why_address()))) }
            td { (host_short(&line.host)) }
            td.num.nw.none { (line.size.map_or_else(|| "–".to_owned(), bytes)) }
            td.two.soft {
                (node_text(language, &line.reason))
                @if let Some(keeper) = &line.keeper { small { (plan::KEEPER.fill(language, &[("host", keeper)])) } }
                @if let Some(user) = &line.asked_by { small { (plan::BY_PERSON.fill(language, &[("user", &visible_text(user))])) } }
            }
        }
    }
}

/// Copies that stay, and why.
pub fn spared(viewer: &Viewer, model: &PlanPageModel) -> Markup {
    let mut head = head(viewer, "c5 full-md", "spared", plan::KEEPS);
    head.remark = plan::KEEPS_REMARK.of(viewer.language).to_owned();
    let body = html! {
        ul.list { @for line in &model.spared { li { div.grow { (node_text(viewer.language, &line.reason)) } span.r.b { (count(line.copies)) } } } }
    };
    flush_panel(&head, body)
}

/// Files for which room was sought.
pub fn exchanges(viewer: &Viewer, query: &PlanPageQuery, model: &PlanPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c5 full-md", "exchanges", plan::EXCHANGES);
    head.remark = plan::EXCHANGES_REMARK.of(language).to_owned();
    let shown = model.exchanges.len();
    head.link = all_link(viewer, query, "exchanges", shown, model.exchanges_total);
    if model.exchanges.is_empty() {
        return empty_panel(viewer, head, plan::NO_EXCHANGES, "");
    }
    let body = html! {
        ul.list {
            @for line in &model.exchanges { li { (exchange(viewer, line)) } }
        }
        (foot(viewer, query, model, "exchanges"))
    };
    flush_panel(&head, body)
}

/// The file that comes, the copies that go for it, and where.
fn exchange(viewer: &Viewer, line: &ExchangeLine) -> Markup {
    let language = viewer.language;
    html! {
        div.grow.exch {
            div.flow {
                (state_saying(Glyph::Rise, Tone::Hot, plan::COMES.of(language)))
                (file_name(&line.name, Some(&line.name.why_address())))
                span.muted { (plan::HOT_HITS.fill(language, &[("n", &count(line.hits))])) }
            }
            @for going in &line.goes {
                div.flow {
                    (state_saying(Glyph::Gone, Tone::Hold, plan::GOES.of(language)))
                    (file_name(&going.name, Some(&going.name.why_address())))
                    @if let Some(rank) = going.rank { span.muted { (plan::BY_RANK.fill(language, &[("n", &count(rank))])) } }
                    @else if let Some(size) = going.size { span.muted { (bytes(size)) } }
                }
            }
            @if line.more_go > 0 { span.muted { (common::AND_MORE.fill(language, &[("n", &count(line.more_go))])) } }
            small {
                @if let Some(host) = &line.host { (host_short(host)) " · " }
                (bytes(line.size)) " · " (node_text(language, &line.verdict))
            }
        }
    }
}

/// Files that were passed over, by reason.
pub fn passed(viewer: &Viewer, model: &PlanPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c7 full-md", "passed", plan::PASSED_TITLE);
    head.remark = plan::PASSED_REMARK.of(language).to_owned();
    let most = model.passed.iter().map(|line| line.files).max().unwrap_or(0) as f64;
    let body =
        html! { ul.reasons { @for line in &model.passed { (passed_row(viewer, line, most)) } } };
    panel(&head, body)
}

fn passed_row(viewer: &Viewer, line: &PassedLine, most: f64) -> Markup {
    let share = (line.files as f64).ln_1p() / most.ln_1p().max(f64::MIN_POSITIVE) * 100.0;
    html! {
        li {
            a href={ (ROOT) "/files?reason=" (line.reason.api_word()) } title=[line.first.as_deref().map(visible_text)] {
                (line.reason.words().of(viewer.language))
            }
            span.n { (count(line.files)) }
            (reason_bar(share, line.reason.tone()))
        }
    }
}

/// Pauses after failures.
pub fn back_offs(viewer: &Viewer, query: &PlanPageQuery, model: &PlanPageModel) -> Markup {
    let mut head = head(viewer, "c12", "backoff", plan::BACKED_OFF);
    let shown = model.back_offs.len();
    head.link = all_link(viewer, query, "backoff", shown, model.back_offs_total);
    if model.back_offs.is_empty() {
        return empty_panel(viewer, head, plan::NO_BACK_OFFS, "");
    }
    let body = html! {
        ul.list { @for line in &model.back_offs { (back_off_row(viewer, line)) } }
        (foot(viewer, query, model, "backoff"))
    };
    flush_panel(&head, body)
}

fn back_off_row(viewer: &Viewer, line: &BackOffLine) -> Markup {
    let language = viewer.language;
    html! {
        li {
            span.st.warn { (shape(Glyph::Probation, "")) span.vh { (states::BACKING_OFF.of(language)) } }
            div.grow.soft {
                @if let Some(host) = &line.source { (host_short(host)) " " (plan::AS_SOURCE.of(language)) " " }
                @if let Some(host) = &line.destination { (host_short(host)) " " (plan::AS_DESTINATION.of(language)) " " }
                @if let Some(name) = &line.file { (file_name(name, Some(&name.why_address()))) }
                small { (counted(language, common::FAILURES, line.failures)) " · " (node_text(language, &line.reason)) }
            }
            span.r.nw { (plan::UNTIL.fill(language, &[("at", &clock(viewer, line.until))])) }
        }
    }
}
