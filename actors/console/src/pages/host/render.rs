//! The page of a host as a whole: title, failures, and what depends on it.

use maud::{Markup, html};

use super::model::{DrainFacts, HostPageModel};
use super::panels::{breakers, disk, health, link, only_here, recent_on_host};
use crate::address::{ROOT, encoded, host_page};
use crate::format::{
    age, clock, count, day_and_time, node_sentence, since, visible_text, with_code,
    with_running_age,
};
use crate::pages::hosts::{HostCondition, HostModeWord};
use crate::parts::act::{as_command, post_button};
use crate::parts::dialog::ask_dialog;
use crate::parts::mark::{Tone, state, tag};
use crate::parts::notice::notice;
use crate::parts::panel::{Figure, figure_strip};
use crate::text::{Text, frame, hosts, outcomes};
use crate::viewer::{Moment, Viewer};

/// The content of the page.
pub fn render(model: &HostPageModel, viewer: &Viewer) -> Markup {
    html! {
        (title(viewer, model))
        div #host-notices .mb { (notices(viewer, model)) }
        (strip(viewer, model))
        div.grid {
            @if !model.health.is_empty() { (health(viewer, model)) }
            (breakers(viewer, model))
            @if model.only_here == Some(0) || !model.only_files.is_empty() { (only_here(viewer, model)) }
            (disk(viewer, model))
            (link(viewer, model))
            (recent_on_host(viewer, model))
        }
        @if let Some(ask) = &model.ask { (ask_dialog(viewer, ask)) }
    }
}

fn title(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let line = &model.line;
    html! {
        div.head {
            div {
                nav.crumb aria-label=(frame::HOSTS.of(language)) {
                    a href={ (ROOT) "/hosts" } { (frame::HOSTS.of(language)) } span aria-hidden="true" { "/" }
                }
                h1.mono.h1m { (line.host) }
                (sentence(viewer, model))
            }
            @if viewer.rights.storage { div.acts #host-acts { (actions(viewer, model)) } }
        }
    }
}

/// State, mode and origin in one line. Its id is `page-sentence`, for live updates.
fn sentence(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let line = &model.line;
    let origin = if model.is_configured { hosts::FROM_CONFIGURATION } else { hosts::FROM_CALL };
    let mut remarks = vec![line.role.words().of(language).to_owned()];
    if !model.program.is_empty() {
        remarks.push(visible_text(&model.program));
    }
    let answers = matches!(line.condition, HostCondition::Up | HostCondition::Probation);
    if let Some(latency) = model.latency.filter(|_| answers) {
        remarks.push(hosts::LATENCY.fill(language, &[("ms", &count(latency))]));
    }
    remarks.push(origin.of(language).to_owned());
    html! {
        p #page-sentence {
            (state(language, line.condition.mark())) " "
            @if let Some(mark) = line.mode.mark() { (tag(Some(mark.glyph), mark.tone, mark.word.of(language))) " " }
            @if let Some(at) = line.since { (with_running_age(viewer, &state_since(viewer, at), line.since)) " · " }
            (remarks.join(" · "))
        }
    }
}

fn state_since(viewer: &Viewer, at: Moment) -> String {
    hosts::STATE_SINCE.fill(viewer.language, &[("since", &since(viewer, at))])
}

/// The parts that follow changes, with their ids.
pub fn live_parts(viewer: &Viewer, model: &HostPageModel) -> Vec<(&'static str, Markup)> {
    let mut parts = vec![
        ("page-sentence", sentence(viewer, model)),
        ("host-notices", html! { div #host-notices .mb { (notices(viewer, model)) } }),
        ("host-figures", strip(viewer, model)),
        ("host-obstacles", breakers(viewer, model)),
        ("host-disk", disk(viewer, model)),
        ("host-recent", recent_on_host(viewer, model)),
    ];
    if viewer.rights.storage {
        parts.push(("host-acts", html! { div.acts #host-acts { (actions(viewer, model)) } }));
    }
    if !model.health.is_empty() {
        parts.push(("host-health", health(viewer, model)));
    }
    // A table of figures stays as it is while somebody reads it.
    if !model.traffic_as_table {
        parts.push(("host-link", link(viewer, model)));
    }
    parts
}

fn strip(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let label = hosts::HANGS.of(viewer.language);
    figure_strip("host-figures", "s4", label, &figures(viewer, model))
}

fn actions(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let base = host_page(&model.line.host);
    let post = |verb: &str, words: Text| act_now(viewer, &base, verb, ("btn", words));
    html! {
        (post("reset", hosts::TRUST))
        @if model.line.mode == HostModeWord::Active {
            a.btn href={ (base) "?ask=maintenance" } { (hosts::MAINTAIN.of(language)) }
            a.btn href={ (base) "?ask=drain" } { (hosts::DRAIN.of(language)) }
        } @else {
            (activate(viewer, &base, model.line.mode))
        }
        @if !model.is_configured { a.btn.danger href={ (base) "?ask=remove" } { (hosts::REMOVE.of(language)) } }
    }
}

/// The button that puts the host in operation again, unless its mode has changed since the page was shown.
fn activate(viewer: &Viewer, page: &str, shown: HostModeWord) -> Markup {
    let words = hosts::ACTIVATE.of(viewer.language);
    let address = format!("{page}/active?seen={}", shown.word());
    html! {
        (post_button(&address, "btn", html! { (words) }))
        (as_command(viewer, words, &format!("{page}?ask=active")))
    }
}

/// A button that acts at once on the host of this page, with the link to its command lines.
fn act_now(viewer: &Viewer, page: &str, verb: &str, (class, words): (&str, Text)) -> Markup {
    let words = words.of(viewer.language);
    html! {
        (post_button(&format!("{page}/{verb}"), class, html! { (words) }))
        (as_command(viewer, words, &format!("{page}?ask={verb}")))
    }
}

fn notices(viewer: &Viewer, model: &HostPageModel) -> Markup {
    let language = viewer.language;
    let words = [
        (hosts::TOKEN_TROUBLE, &model.token_trouble, Tone::Bad),
        (hosts::AGENT_FAILURE, &model.agent_failure, Tone::Warn),
    ];
    let page = host_page(&model.line.host);
    let adopt = format!("{page}?ask=adopt");
    html! {
        @if let Some(failure) = &model.failure {
            @let body = html! {
                p { (node_sentence(language, failure)) }
                p { (with_code(hosts::FAILURE_NEXT.of(language))) }
            };
            @let probe = html! {
                @if viewer.rights.storage { (act_now(viewer, &page, "probe", ("btn sm", outcomes::VERB_PROBE))) }
            };
            (notice(Tone::Bad, hosts::FAILURE.of(language), body, probe))
        }
        @for (title, text, tone) in words {
            @if let Some(text) = text {
                (notice(tone, title.of(language), html! { p { (node_sentence(language, text)) } }, html! {}))
            }
        }
        @if let Some(other) = &model.other_manager {
            @let name = visible_text(&other.name);
            @let values = [("manager", name.as_str()), ("since", &since(viewer, other.since))];
            (notice(
                Tone::Bad,
                hosts::FOREIGN_TITLE.of(language),
                html! { p { (with_running_age(viewer, &hosts::FOREIGN_DETAIL.fill(language, &values), Some(other.since))) } },
                html! { @if viewer.rights.storage { a.btn.sm href=(adopt) { (hosts::ADOPT.of(language)) } } },
            ))
        }
    }
}

fn figures(viewer: &Viewer, model: &HostPageModel) -> Vec<Figure> {
    let language = viewer.language;
    let host = encoded(&model.line.host);
    let dash = || "–".to_owned();
    let figure = |name: Text, value: String| Figure {
        name: name.of(language).to_owned(),
        value,
        ..Figure::default()
    };
    let is_silent = matches!(model.line.condition, HostCondition::Down | HostCondition::Lost);

    let mut holds = figure(hosts::HOLDS, model.line.files.map_or_else(dash, count));
    holds.address = Some(format!("{ROOT}/files?host={host}"));
    if let Some(listed) = model.listed {
        holds.detail = hosts::AS_OF.fill(language, &[("at", &clock(viewer, listed))]);
    }

    let mut only = figure(hosts::ONLY_HERE, model.only_here.map_or_else(dash, count));
    match model.only_here {
        Some(files) if files > 0 && is_silent => {
            only.detail = hosts::ONLY_HERE_BAD.of(language).to_owned();
            only.tone = Tone::Bad;
        }
        Some(files) if files > 0 && model.drain.is_some() => {
            only.detail = hosts::ONLY_HERE_DRAIN.of(language).to_owned();
        }
        _ => {}
    }

    let mut failed = figure(hosts::FAILED_COPIES, count(model.failed_copies));
    failed.address = Some(format!("{ROOT}/tasks?state=failed&host={host}"));
    failed.detail = hosts::LAST_HOUR.of(language).to_owned();
    failed.tone = if model.failed_copies > 0 { Tone::Bad } else { Tone::Plain };

    vec![holds, only, failed, last_figure(viewer, model)]
}

/// The fourth figure: time until it is lost, files left to drain, or copies now.
fn last_figure(viewer: &Viewer, model: &HostPageModel) -> Figure {
    let language = viewer.language;
    if let Some(at) = model.lost_at {
        return Figure {
            name: hosts::LOST_LEFT.of(language).to_owned(),
            value: age(language, viewer.now.seconds_until(at)),
            detail: day_and_time(viewer, at),
            ..Figure::default()
        };
    }
    if let Some(drain) = &model.drain {
        return Figure {
            name: hosts::LEFT_TO_DRAIN.of(language).to_owned(),
            value: count(drain.left),
            detail: stays(viewer, drain),
            ..Figure::default()
        };
    }
    Figure {
        name: hosts::COPIES_NOW.of(language).to_owned(),
        value: count(model.line.copies_in + model.line.copies_out),
        ..Figure::default()
    }
}

fn stays(viewer: &Viewer, drain: &DrainFacts) -> String {
    let language = viewer.language;
    let reasons = [
        (drain.stays_no_master, hosts::STAYS_NO_MASTER),
        (drain.stays_pinned, hosts::STAYS_PINNED),
        (drain.stays_ignored, hosts::STAYS_IGNORED),
    ];
    let mut parts = Vec::new();
    for (files, reason) in reasons {
        if files > 0 {
            let values = [("n", count(files)), ("reason", reason.of(language).to_owned())];
            parts.push(
                hosts::DRAIN_STAYS.fill(language, &[("n", &values[0].1), ("reason", &values[1].1)]),
            );
        }
    }
    parts.join(", ")
}
