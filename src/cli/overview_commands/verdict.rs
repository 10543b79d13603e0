//! The verdict on the yard in words, with the texts of the console.

use reelyard_api::{OverviewView, TroubleSeverity, TroubleView};
use reelyard_console::format::{self, counted, duration};
use reelyard_console::parts::mark::Tone;
use reelyard_console::text::{common, yard};
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;

use crate::cli::output::{PartLook, PrintStyle, ShownLine, plain, wrapped};

/// Indentation of a trouble, and of its details.
const INDENT: [usize; 2] = [2, 4];

/// "3 things are wrong, the oldest since 13:34", or "Nothing is wrong".
pub fn sentence(view: &OverviewView, style: &PrintStyle) -> ShownLine {
    let worst = view.troubles.first().map(|trouble| trouble.severity);
    let (shape, tone) = match worst {
        Some(severity) => shape_of(severity),
        None if is_bare(view) => ('○', Tone::Off),
        None => ('✓', Tone::Ok),
    };
    let mut line = ShownLine::default();
    if style.has_shapes {
        line.add(format!("{shape} "), PartLook::State(tone));
    }
    line.add(words(view, &style.viewer), PartLook::Strong);
    line
}

/// Whether the node has neither hosts nor inputs.
fn is_bare(view: &OverviewView) -> bool {
    view.hosts.total == 0 && view.inputs == 0
}

fn words(view: &OverviewView, viewer: &Viewer) -> String {
    let language = viewer.language;
    if view.troubles.is_empty() && is_bare(view) {
        return yard::NOTHING_SET_UP.of(language).to_owned();
    }
    if view.troubles.is_empty() {
        let Some(since) = view.fine_since else {
            return yard::NOTHING_WRONG.of(language).to_owned();
        };
        let span = duration(language, Moment(since.0).seconds_until(viewer.now));
        return yard::NOTHING_WRONG_FOR.fill(language, &[("duration", &span)]);
    }
    let wrong = counted(language, common::TROUBLES, view.troubles_total);
    match view.troubles.iter().filter_map(|trouble| trouble.since).min() {
        Some(since) => {
            let at = format::since(viewer, Moment(since.0));
            yard::WRONG.fill(language, &[("n", &wrong), ("at", &at)])
        }
        None => wrong,
    }
}

const fn shape_of(severity: TroubleSeverity) -> (char, Tone) {
    match severity {
        TroubleSeverity::Bad => ('■', Tone::Bad),
        TroubleSeverity::Warn => ('▲', Tone::Warn),
    }
}

/// Each trouble with its begin, its consequences and the command that shows more.
pub fn troubles(view: &OverviewView, style: &PrintStyle) -> Vec<ShownLine> {
    let mut lines: Vec<ShownLine> =
        view.troubles.iter().flat_map(|trouble| of_one(trouble, style)).collect();
    if let more @ 1.. = view.troubles_total.saturating_sub(view.troubles.len() as u64) {
        let more = yard::MORE_TROUBLES.fill(style.viewer.language, &[("n", &more.to_string())]);
        lines.push(ShownLine::of(format!("  {more}"), PartLook::Dim));
    }
    lines
}

fn of_one(trouble: &TroubleView, style: &PrintStyle) -> Vec<ShownLine> {
    let (shape, tone) = shape_of(trouble.severity);
    let state = plain(&trouble.state).to_lowercase();
    let state = if style.has_shapes { format!("{shape} {state}") } else { state };
    let mut lines = Vec::new();
    for (index, part) in wrapped_at(&title(trouble, style), style, INDENT[0] + state.len() + 2)
        .into_iter()
        .enumerate()
    {
        let mut line = ShownLine::default();
        if index == 0 {
            line.add(" ".repeat(INDENT[0]), PartLook::Plain);
            line.add(&state, PartLook::State(tone));
            line.add("  ", PartLook::Plain);
        } else {
            line.add(" ".repeat(INDENT[1]), PartLook::Plain);
        }
        line.add(part, PartLook::Plain);
        lines.push(line);
    }
    let mut details = vec![plain(&trouble.detail)];
    details.extend(trouble.lost_at.map(|at| lost(at, style)));
    details.retain(|detail| !detail.is_empty());
    let details = details.join(" ");
    let command = command(trouble).map(|command| format!("$ {command}"));
    let details = Some(details).filter(|details| !details.is_empty());
    for text in [details, command].into_iter().flatten() {
        for part in wrapped_at(&text, style, INDENT[1]) {
            let text = format!("{}{part}", " ".repeat(INDENT[1]));
            lines.push(ShownLine::of(text, PartLook::Dim));
        }
    }
    lines
}

/// The trouble in one sentence, with its begin.
pub fn title(trouble: &TroubleView, style: &PrintStyle) -> String {
    let title = plain(&trouble.title);
    let Some(at) = trouble.since else { return title };
    let since = format::since(&style.viewer, Moment(at.0));
    // A warning is one or more sentences.
    if title.ends_with('.') {
        format!("{title} Since {since}.")
    } else {
        format!("{title}, since {since}")
    }
}

fn lost(at: Millis, style: &PrintStyle) -> String {
    let at = format::day_and_time(&style.viewer, Moment(at.0));
    yard::DOWN_LOST.fill(style.viewer.language, &[("at", &at)])
}

/// The command that shows more about a trouble.
fn command(trouble: &TroubleView) -> Option<String> {
    let subject = trouble.subject.as_deref().map(plain).unwrap_or_default();
    match trouble.kind.as_str() {
        "host_down" | "suspect" | "other_manager" => Some(format!("reelyard hosts show {subject}")),
        "many_down" => Some("reelyard hosts --health down".to_owned()),
        "over_limit" => Some("reelyard removals".to_owned()),
        "input_unreadable" | "bad_rows" => Some("reelyard files --limit 1".to_owned()),
        "blocked" | "not_served" => Some("reelyard plan".to_owned()),
        "no_masters" => Some("reelyard files --state no_master".to_owned()),
        "hook_fails" => Some("reelyard share status".to_owned()),
        "input_unset" => Some("reelyard config show".to_owned()),
        "no_leader" => Some("reelyard cluster status".to_owned()),
        "not_ready" | "warning" => Some("reelyard guide troubleshooting".to_owned()),
        _ => None,
    }
}

/// Hosts in maintenance; and if nothing is wrong, the things that were looked at.
pub fn remarks(view: &OverviewView, style: &PrintStyle) -> Vec<ShownLine> {
    let language = style.viewer.language;
    let mut remarks = Vec::new();
    if view.troubles.is_empty() {
        let hosts = counted(language, common::HOSTS, view.hosts.total);
        let inputs = format::count(view.inputs);
        let at = style.clock(view.at);
        let values = [("hosts", hosts.as_str()), ("inputs", &inputs), ("at", &at)];
        remarks.push(yard::LOOKED_AT.fill(language, &values));
    }
    if let Some(cleared) = view.cleared {
        remarks.push(yard::CLEARED.fill(language, &[("n", &format::count(cleared))]));
    }
    if view.hosts.maintenance > 0 {
        let first = view.hosts.in_maintenance.iter().take(5);
        let mut hosts = first.map(|host| plain(host)).collect::<Vec<_>>().join(", ");
        if let more @ 1.. = view.hosts.maintenance.saturating_sub(5) {
            hosts.push_str(&format!(
                ", {}",
                common::AND_MORE.fill(language, &[("n", &more.to_string())])
            ));
        }
        remarks.push(yard::IN_MAINTENANCE.fill(language, &[("hosts", &hosts)]));
    }
    let lines = remarks.iter().flat_map(|remark| wrapped_at(remark, style, INDENT[0]));
    lines.map(|line| ShownLine::of(format!("  {line}"), PartLook::Dim)).collect()
}

/// The text in lines that fit the terminal behind an indentation.
fn wrapped_at(text: &str, style: &PrintStyle, indent: usize) -> Vec<String> {
    match style.width {
        Some(width) => wrapped(text, width.saturating_sub(indent)),
        None => vec![text.to_owned()],
    }
}
