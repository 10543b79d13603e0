//! The panels of the page of a host.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::model::{Breaker, BreakerRole, HostPageModel, HostTraffic};
use crate::address::{ROOT, encoded, host_page};
use crate::format::{
    bit_rate, bytes, clock, count, counted, day_and_time, file_name, node_text, percent, time_tag,
    visible_text,
};
use crate::pages::ended_troubles::ended_line;
use crate::pages::hosts::HostRoleWord;
use crate::pages::why::{obstacle_command, obstacle_row};
use crate::pages::yard::{RecentLine, RecentStep, TRAFFIC_TABLE, figures_table};
use crate::parts::act::reelyard_command;
use crate::parts::bars::big_disk;
use crate::parts::chart::chart;
use crate::parts::disks::disk_legend;
use crate::parts::icon::{Glyph, shape};
use crate::parts::mark::{StateMark, Tone, state};
use crate::parts::notice::empty;
use crate::parts::panel::{PanelHead, flush_panel, panel};
use crate::parts::spark::{HealthSpan, health_marks};
use crate::text::{Text, common, hosts, shares, states, why, yard};
use crate::viewer::{Moment, Viewer};

/// Lines of the panel of the last events.
const RECENT: usize = 20;

fn head<'a>(viewer: &Viewer, class: &'a str, id: &'a str, title: Text) -> PanelHead<'a> {
    PanelHead { class, id, title: title.of(viewer.language).to_owned(), ..PanelHead::default() }
}

/// Health in half hours.
pub fn health(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c12", "host-health", hosts::HEALTH_48);
    head.remark = hosts::EACH_MARK.of(language).to_owned();
    let legend = [
        ("f-ok", 0, 12, states::UP),
        ("f-warn", 6, 6, states::SUSPECT),
        ("f-bad", 0, 12, states::DOWN),
    ];
    let sentence = health_words(viewer, &model.health);
    let half_hours = model.health.len() as i64;
    let before = |parts: i64| Moment(viewer.now.0 - half_hours * 1_800_000 * parts / 2);
    let body = html! {
        (health_marks(&model.health, &sentence))
        div.axisrow {
            span { (day_and_time(viewer, before(2))) }
            span { (day_and_time(viewer, before(1))) }
            span { (shares::AXIS_NOW.of(language)) }
        }
        div.legend.mt {
            @for (class, y, height, words) in legend {
                span {
                    svg aria-hidden="true" {
                        rect class=(class) y=(y) width="10" height=(height) {}
                        @if class == "f-bad" { rect.f-sur y="5" width="10" height="2" {} }
                    }
                    (words.of(language))
                }
            }
            span { (sentence) }
        }
    };
    panel(&head, body)
}

/// The marks in words, for people who do not see them.
fn health_words(viewer: &Viewer, spans: &[HealthSpan]) -> String {
    let language = viewer.language;
    let of = |span| count(spans.iter().filter(|other| **other == span).count() as u64);
    let (up, suspect, down) = (of(HealthSpan::Up), of(HealthSpan::Suspect), of(HealthSpan::Down));
    let asked = spans.iter().filter(|span| **span != HealthSpan::NotAsked).count();
    let asked = counted(language, common::HALF_HOURS, asked as u64);
    let values = [("up", &*up), ("suspect", &*suspect), ("down", &*down), ("spans", &*asked)];
    hosts::HEALTH_SENTENCE.fill(language, &values)
}

/// Obstacles, and pauses after failures.
pub fn breakers(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let is_source = model.line.role == HostRoleWord::Source;
    let title = match (is_source, model.obstacles.is_empty()) {
        (false, true) => hosts::FREE_TO_TAKE,
        (false, false) => hosts::NOTHING_BECAUSE,
        (true, true) => hosts::FREE_TO_SERVE,
        (true, false) => hosts::NOTHING_FROM_BECAUSE,
    };
    let fine = if is_source { why::SOURCE_FINE } else { why::HOST_FINE };
    let head = head(viewer, "c6 full-md", "host-obstacles", title);
    let body = html! {
        ol.steps {
            @for fact in &model.obstacles { (obstacle_row(viewer, fact)) }
            @for breaker in &model.breakers { (breaker_row(viewer, breaker)) }
            @if let Some(room) = model.line.room.filter(|room| *room > 0) {
                @let room = bytes(room);
                li { (shape(Glyph::Up, "i ok")) div.soft { (hosts::ROOM_TO_LIMIT.fill(language, &[("room", &room)])) } }
            }
        }
        @if model.obstacles.is_empty() && model.breakers.is_empty() { p.soft { (fine.of(language)) } }
        (obstacle_command(viewer, &model.line.host, &model.obstacles))
        @if model.obstacles.is_empty() && !model.breakers.is_empty() {
            div.mt { (reelyard_command(viewer, &["hosts", "reset", &model.line.host])) }
        }
    };
    panel(&head, body)
}

fn breaker_row(viewer: &Viewer, breaker: &Breaker) -> Markup {
    let language = viewer.language;
    let of = match breaker.of {
        BreakerRole::Source => hosts::BREAKER_SOURCE,
        BreakerRole::Destination => hosts::BREAKER_DESTINATION,
        BreakerRole::Calls => hosts::BREAKER_CALLS,
    };
    let (glyph, tone, word) = if breaker.is_probation {
        (Glyph::Probation, "warn", hosts::PROBATION)
    } else {
        (Glyph::Warn, "warn", hosts::OPEN)
    };
    let failures = counted(language, common::FAILURES, breaker.failures);
    let reason = node_text(viewer.language, &breaker.reason);
    let values = [("at", clock(viewer, breaker.until)), ("failures", failures), ("reason", reason)];
    let values: Vec<(&str, &str)> = values.iter().map(|pair| (pair.0, pair.1.as_str())).collect();
    html! {
        li {
            (shape(glyph, &format!("i {tone}")))
            div { (of.of(language)) ": " (word.of(language)) small { (hosts::UNTIL.fill(language, &values)) } }
        }
    }
}

/// Files that no other host holds.
pub fn only_here(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c6 full-md", "host-only-here", hosts::ONLY_FILES);
    if model.only_files.is_empty() {
        return flush_panel(&head, empty(hosts::NO_ONLY_FILES.of(language), "", html! {}));
    }
    head.remark = hosts::MOST_ASKED.of(language).to_owned();
    if model.lost_at.is_some() {
        let host = encoded(&model.line.host);
        head.link = Some((
            common::ALL_N.fill(language, &[("n", &count(model.only_here.unwrap_or_default()))]),
            format!("{ROOT}/files?state=out_of_reach&host={host}"),
        ));
    }
    let body = html! {
        table.tiny {
            thead { tr {
                th scope="col" { (common::FILE.of(language)) }
                th.num.none scope="col" { (common::RANK.of(language)) }
                th.num scope="col" { (why::HEAT.of(language)) }
                th.num.none scope="col" { (common::SIZE.of(language)) }
                th scope="col" { (common::STATE.of(language)) }
            } }
            tbody {
                @for file in &model.only_files {
                    tr {
                        td.file { (file_name(&file.name, Some(&file.name.why_address()))) }
                        td.num.none { (file.rank.map_or_else(|| "–".to_owned(), count)) }
                        td.num { (count(file.hits)) }
                        td.num.nw.none { (file.size.map_or_else(|| "–".to_owned(), bytes)) }
                        td { (state(language, file.condition.mark())) }
                    }
                }
            }
        }
    };
    flush_panel(&head, body)
}

/// The disk and its figures.
pub fn disk(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c6 full-md", "host-disk", hosts::DISK_TITLE);
    if let Some(listed) = model.listed {
        head.remark = hosts::AS_OF.fill(language, &[("at", &clock(viewer, listed))]);
    }
    let Some(level) = &model.line.disk else {
        return flush_panel(&head, empty(common::NOT_KNOWN.of(language), "", html! {}));
    };
    let mut facts = Vec::new();
    let mut add = |name: Text, value: Option<String>| {
        if let Some(value) = value {
            facts.push((name.of(language), value));
        }
    };
    add(hosts::DISK_SIZE, model.disk_size.map(bytes));
    add(
        hosts::DISK_USED,
        model.disk_used.map(|used| format!("{} · {}", bytes(used), percent(level.used))),
    );
    add(hosts::DISK_FREE, model.line.room.map(bytes));
    add(hosts::LIMIT, Some(percent(level.limit)));
    add(hosts::LOW_WATER, Some(percent(level.low_water)));
    add(hosts::MAY_SEND, model.sends_below.map(bit_rate));
    add(hosts::MAY_RECEIVE, model.receives_below.map(bit_rate));
    let body = html! {
        (big_disk(viewer, level))
        div.mt {
            (disk_legend(viewer, &percent(level.limit), &percent(level.low_water)))
            @if level.others.is_some_and(|others| others > 0.0) {
                div.legend { span { svg aria-hidden="true" { rect.f-n width="14" height="10" y="1" {} } (hosts::OTHER_FILES.of(language)) } }
            }
        }
        dl.kv.mt2 { @for (name, value) in facts { dt { (name) } dd { (value) } } }
    };
    panel(&head, body)
}

/// The link and its traffic.
pub fn link(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c6 full-md", "host-link", hosts::LINK_TITLE);
    let Some(traffic) = &model.traffic else {
        return flush_panel(
            &head,
            empty(hosts::NO_TRAFFIC.of(language), hosts::NO_TRAFFIC_BODY.of(language), html! {}),
        );
    };
    if let Some(at) = traffic.at {
        head.remark = hosts::AS_OF.fill(language, &[("at", &clock(viewer, at))]);
    }
    let page = host_page(&model.line.host);
    let Some(figure) = &model.traffic_hour else {
        let body = html! { p.soft.mb { (hosts::NO_SERIES.of(language)) } (traffic_facts(viewer, traffic)) };
        return panel(&head, body);
    };
    let body = if model.traffic_as_table {
        head.link = Some((yard::AS_CHART.of(language).to_owned(), format!("{page}#host-link")));
        html! { div.scroll-y tabindex="0" role="region" aria-label=(hosts::LINK_TITLE.of(language)) { (figures_table(viewer, figure)) } }
    } else {
        let table = format!("{page}?{TRAFFIC_TABLE}#host-link");
        head.link = Some((common::AS_TABLE.of(language).to_owned(), table));
        chart(viewer, figure)
    };
    panel(&head, html! { (body) div.mt2 { (traffic_facts(viewer, traffic)) } })
}

fn traffic_facts(viewer: &Viewer, traffic: &HostTraffic) -> Markup {
    let language = viewer.language;
    let share = |rate: u64| match traffic.speed {
        Some(speed) if speed > 0 => format!(" ({})", percent(rate as f64 * 100.0 / speed as f64)),
        _ => String::new(),
    };
    html! {
        dl.kv {
            dt { (hosts::INTERFACE.of(language)) } dd.mono { (visible_text(&traffic.interface)) }
            dt { (hosts::SPEED.of(language)) }
            dd { (traffic.speed.map_or_else(|| common::NOT_KNOWN.of(language).to_owned(), bit_rate)) }
            dt { (hosts::OUT.of(language)) }
            dd {
                (bit_rate(traffic.out)) (share(traffic.out))
                @if let Some(copies) = traffic.copies_out { span.muted { " " (hosts::OF_COPIES.of(language)) " " (bit_rate(copies)) } }
            }
            dt { (hosts::IN.of(language)) }
            dd {
                (bit_rate(traffic.inward)) (share(traffic.inward))
                @if let Some(copies) = traffic.copies_in { span.muted { " " (hosts::OF_COPIES.of(language)) " " (bit_rate(copies)) } }
            }
        }
    }
}

/// The last copies, removals and ended troubles of the host.
pub fn recent_on_host(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c12", "host-recent", hosts::HISTORY_HERE);
    head.link = Some((
        hosts::HISTORY_LINK.of(language).to_owned(),
        format!("{ROOT}/history?host={}", encoded(&model.line.host)),
    ));
    if let Some(at) = model.ended_since {
        let at = day_and_time(viewer, at);
        head.remark = hosts::TROUBLES_SINCE.fill(language, &[("at", &at)]);
    }
    let copies = model.recent.iter().map(|line| (line.at, recent_line(viewer, line)));
    let troubles = model.ended.iter().map(|ended| (ended.to, ended_line(viewer, ended)));
    let mut lines: Vec<(Moment, Markup)> = copies.chain(troubles).collect();
    if lines.is_empty() {
        return flush_panel(&head, empty(hosts::NO_HISTORY.of(language), "", html! {}));
    }
    lines.sort_by_key(|(at, _)| Reverse(*at));
    lines.truncate(RECENT);
    flush_panel(&head, html! { ul.list { @for (_, line) in lines { (line) } } })
}

fn recent_line(viewer: &Viewer, line: &RecentLine) -> Markup {
    let mark = match line.step {
        RecentStep::Copied => StateMark::new(Glyph::Done, Tone::Ok, states::COPIED),
        RecentStep::Failed => StateMark::new(Glyph::Down, Tone::Bad, states::FAILED),
        RecentStep::Removed => StateMark::new(Glyph::Gone, Tone::Hold, states::REMOVED),
        RecentStep::Cancelled => StateMark::new(Glyph::Off, Tone::Off, states::CANCELLED),
    };
    let why = line.name.why_address();
    html! {
        li {
            span.r.muted.w64 { (time_tag(viewer, line.at)) }
            (state(viewer.language, mark))
            div.grow { (file_name(&line.name, Some(&why))) }
        }
    }
}
