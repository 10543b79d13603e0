//! "Why is this file not where I want it?"

use maud::{Markup, html};

use super::reasons::{HostObstacle, PassedReason, WhyAnswer};
use crate::address::{ROOT, encoded};
use crate::format::{
    FileText, bytes, count, day_and_time, host_short, node_sentence, node_text, percent_number,
    since, visible_text, with_code,
};
use crate::parts::act::{CommandLines, as_command, command_lines, post_button};
use crate::parts::icon::Glyph;
use crate::parts::mark::{Tone, state, state_saying};
use crate::parts::why::side_panel;
use crate::text::{common, frame, plan, states, why};
use crate::viewer::{Moment, Viewer};

/// Refusing destinations with a row of their own.
const REFUSALS: usize = 20;
/// Hosts that the answer names for a file out of reach; further ones are counted.
const NAMED_HOLDERS: usize = 3;

/// A source, with its obstacle to serving the file.
#[derive(Clone, Debug)]
pub struct SourceAnswer {
    /// The source.
    pub host: String,
    /// Its answer.
    pub says: HostObstacle,
    /// Copies that it serves now.
    pub serving: u64,
}

/// A destination, with its obstacle to getting the file.
#[derive(Clone, Debug)]
pub struct DestinationAnswer {
    /// The destination.
    pub host: String,
    /// Its answer.
    pub says: HostObstacle,
    /// Its room in bytes, if known.
    pub room: Option<u64>,
    /// It does not answer.
    pub is_down: bool,
}

/// A copy of the file, and why it stays or goes.
#[derive(Clone, Debug)]
pub struct HeldCopy {
    /// Address and port of the host that holds it.
    pub host: String,
    /// The decision in the words of the node; empty if it simply stays.
    pub decision: String,
    /// The host does not answer.
    pub is_down: bool,
    /// Since when it does not answer, if known.
    pub since: Option<Moment>,
}

/// Everything about the place of a file.
#[derive(Clone, Debug, Default)]
pub struct WhyFile {
    /// As the API writes it, with control characters.
    pub name: FileText,
    /// The name in forms: percent-encoded, any bytes.
    pub key: String,
    /// The answer of the planner.
    pub answer: Option<WhyAnswer>,
    /// The reason, if the planner passed it over.
    pub passed: Option<PassedReason>,
    /// Further words of the node, such as the last failure; empty for none.
    pub detail: String,
    /// Place in line and length of the line.
    pub place: Option<(u64, u64)>,
    /// Place in the ranking, from 1; `None` for a file that is not ranked.
    pub rank: Option<u64>,
    /// Files in the ranking.
    pub ranked: Option<u64>,
    /// Hits in the last 10 minutes.
    pub hits: u64,
    /// Hits from which a file is hot.
    pub hot_from: Option<u64>,
    /// Requests a day, if counted.
    pub requests_a_day: Option<f64>,
    /// Requests a day for each TiB, if counted and the size is known.
    pub score: Option<f64>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Directory of the master.
    pub master_dir: Option<String>,
    /// Number of the task that copies it.
    pub task: Option<String>,
    /// No input, host, task or pin names it: no action on it would be accepted.
    pub is_unknown: bool,
    /// A person protects its copies from removal.
    pub is_pinned: bool,
    /// Hosts that hold the file, each with the decision of the remover.
    pub copies: Vec<HeldCopy>,
    /// Further hosts that hold the file.
    pub copies_left_out: u64,
    /// The instant from which the first of its hosts is presumed lost, while none of them answers.
    pub lost_at: Option<Moment>,
    /// Answers of the hosts that serve masters.
    pub sources: Vec<SourceAnswer>,
    /// Further hosts that serve masters.
    pub sources_left_out: u64,
    /// Answers of the hosts that take copies.
    pub destinations: Vec<DestinationAnswer>,
    /// Further hosts that take copies, and do not take this file.
    pub refusing_left_out: u64,
    /// Further hosts that could take it.
    pub agreeing_left_out: u64,
    /// The same as command lines.
    pub commands: CommandLines,
}

/// The panel. `close` is the address of the page without it.
pub fn why_file(viewer: &Viewer, file: &WhyFile, close: &str) -> Markup {
    let language = viewer.language;
    let body = html! {
        section {
            p.answer { (answer(viewer, file)) }
            @if file.name.is_encoded { p.muted { (why::NAME_IN_BYTES.of(language)) } }
            @if file.is_out_of_reach() { p { (with_code(&until_reached(viewer, file))) } }
            @if !file.detail.is_empty() { p { (node_sentence(language, &file.detail)) } }
            (actions(viewer, file))
        }
        section { (facts(viewer, file)) }
        @if !file.copies.is_empty() {
            section {
                h3 { (why::COPIES_SAY.of(language)) }
                table { tbody {
                    @for copy in &file.copies { (copy_row(viewer, copy)) }
                } }
                (and_more(viewer, file.copies_left_out))
            }
        }
        @if !file.sources.is_empty() { section { (sources(viewer, file)) } }
        @if !file.destinations.is_empty() { section { (destinations(viewer, file)) } }
        section { h3 { (why::SAME_AS_COMMAND.of(language)) } (command_lines(viewer, &file.commands)) }
    };
    side_panel(viewer, why::FILE_QUESTION.of(language), &file.name, close, body)
}

impl WhyFile {
    /// The number of its copies, with those that are not listed.
    fn held(&self) -> u64 {
        self.copies.len() as u64 + self.copies_left_out
    }

    /// Hosts hold it, and none of them answers.
    pub fn is_out_of_reach(&self) -> bool {
        let is_held = !self.copies.is_empty() && self.copies.iter().all(|copy| copy.is_down);
        is_held && self.passed == Some(PassedReason::Placed)
    }
}

fn copy_row(viewer: &Viewer, copy: &HeldCopy) -> Markup {
    let language = viewer.language;
    html! {
        tr {
            td { (host_short(&copy.host)) }
            td.num.wraps {
                @if copy.is_down { (state(language, HostObstacle::NotUp.mark())) }
                @else if copy.decision.is_empty() { (why::STAYS.of(language)) }
                @else { (node_text(language, &copy.decision)) }
            }
        }
    }
}

/// The hosts of a file that none of its hosts serves, and since when.
fn only_on(viewer: &Viewer, file: &WhyFile) -> String {
    let language = viewer.language;
    if let [copy] = file.copies.as_slice() {
        let host = copy.host.as_str();
        return match copy.since {
            Some(at) => {
                why::ONLY_ON_SINCE.fill(language, &[("host", host), ("since", &since(viewer, at))])
            }
            None => why::ONLY_ON.fill(language, &[("host", host)]),
        };
    }
    let hosts: Vec<&str> =
        file.copies.iter().take(NAMED_HOLDERS).map(|copy| copy.host.as_str()).collect();
    let more = file.held().saturating_sub(hosts.len() as u64);
    let hosts = match more {
        0 => hosts.join(", "),
        _ => {
            let more = common::AND_MORE.fill(language, &[("n", &count(more))]);
            format!("{}, {more}", hosts.join(", "))
        }
    };
    why::ONLY_ON_SILENT.fill(language, &[("hosts", &hosts)])
}

/// How a file that is out of reach comes back, and how a person brings it back before.
fn until_reached(viewer: &Viewer, file: &WhyFile) -> String {
    let language = viewer.language;
    let mut sentences = Vec::new();
    if file.master_dir.is_none() {
        sentences.push(why::REACH_NO_MASTER.of(language).to_owned());
    } else if let Some(at) = file.lost_at {
        let at = day_and_time(viewer, at);
        sentences.push(why::REACH_LOST.fill(language, &[("at", &at)]));
    }
    if viewer.rights.storage && file.master_dir.is_some() {
        let words = if file.is_pinned { why::REACH_COPY } else { why::REACH_PIN };
        sentences.push(words.of(language).to_owned());
    }
    sentences.push(why::REACH_HOST.of(language).to_owned());
    sentences.join(" ")
}

fn answer(viewer: &Viewer, file: &WhyFile) -> String {
    let language = viewer.language;
    if file.is_unknown {
        return why::UNKNOWN.of(language).to_owned();
    }
    if file.is_out_of_reach() {
        return only_on(viewer, file);
    }
    match (file.passed, file.answer) {
        (Some(reason), _) => format!("{}.", reason.words().of(language)),
        (None, Some(answer)) => answer.words().of(language).to_owned(),
        (None, None) => common::NOT_KNOWN.of(language).to_owned(),
    }
}

fn actions(viewer: &Viewer, file: &WhyFile) -> Markup {
    let language = viewer.language;
    let name = encoded(&file.name.in_address());
    if !viewer.rights.storage || file.is_unknown {
        return html! {};
    }
    let (verb, words) = if file.is_pinned { ("unpin", why::UNPIN) } else { ("pin", why::PIN) };
    let words = words.of(language);
    // A picked name is percent-encoded itself.
    let dialog =
        |ask: &str| format!("{ROOT}/files?ask={ask}&pick={}&why={name}", encoded(&file.key));
    // The node copies a held file only if it is pinned.
    let is_held = !file.copies.is_empty() && !file.is_pinned;
    let pin_class = if is_held { "btn sm go" } else { "btn sm" };
    let copy_words = why::COPY_NOW.of(language);
    html! {
        div.acts.mt {
            @if is_held {
                span.btn.sm role="link" aria-disabled="true" aria-describedby="pin-first" { (copy_words) }
            } @else {
                a.btn.sm.go href=(dialog("copy")) { (copy_words) }
            }
            (post_button(&format!("{ROOT}/files/{}/{verb}", file.key), pin_class, html! { (words) }))
            (as_command(viewer, words, &dialog(verb)))
            @if is_held { span #pin-first .muted { (plan::MAP_PIN_FIRST.of(language)) } }
        }
    }
}

fn facts(viewer: &Viewer, file: &WhyFile) -> Markup {
    let language = viewer.language;
    let hits = count(file.hits);
    let is_hot = file.hot_from.is_some_and(|from| file.hits >= from);
    html! {
        dl.kv {
            @if let Some((place, total)) = file.place {
                dt { (why::PLACE_IN_LINE.of(language)) }
                dd { (why::PLACE.fill(language, &[("n", &count(place)), ("total", &count(total))])) }
            }
            dt { (why::HEAT.of(language)) }
            dd {
                @match file.hot_from {
                    Some(from) => {
                        @let words = why::HITS_HOT.fill(language, &[("n", &hits), ("threshold", &count(from))]);
                        @if is_hot { (state_saying(Glyph::Rise, Tone::Hot, &words)) } @else { (words) }
                    }
                    None => (why::HITS.fill(language, &[("n", &hits)]))
                }
            }
            @if let Some(requests) = file.requests_a_day {
                dt { (why::REQUESTS_A_DAY.of(language)) } dd { (percent_number(requests)) }
            }
            @if let Some(score) = file.score {
                dt { (why::SCORE.of(language)) } dd { (count(score.round() as u64)) }
            }
            dt { (why::RANK_GRADE.of(language)) }
            dd {
                @match (file.rank, file.ranked) {
                    (Some(rank), Some(total)) => (why::RANK_OF.fill(language, &[("rank", &count(rank)), ("total", &count(total))])),
                    (Some(rank), None) => (count(rank)),
                    (None, _) => (states::UNGRADED.of(language)),
                }
                @if file.is_pinned { " · " (states::PINNED.of(language)) }
            }
            dt { (why::MASTER.of(language)) }
            dd {
                @if let Some(size) = file.size { (bytes(size)) " " }
                @match &file.master_dir {
                    Some(dir) => { @let dir = visible_text(dir); (why::MASTER_THERE.fill(language, &[("dir", &dir)])) }
                    None => (why::MASTER_NONE.of(language)),
                }
            }
            dt { (why::COPIES.of(language)) } dd { (count(file.held())) }
            @if let Some(task) = &file.task {
                dt { (why::TASK.of(language)) }
                dd { a.mono href={ (ROOT) "/tasks?q=" (encoded(task)) } { (task) } }
            }
        }
    }
}

fn sources(viewer: &Viewer, file: &WhyFile) -> Markup {
    let language = viewer.language;
    html! {
        h3 { (why::SOURCES_SAY.of(language)) }
        table { tbody {
            @for source in &file.sources {
                tr {
                    td { (host_short(&source.host)) }
                    td.num {
                        @match source.says {
                            HostObstacle::Busy => (state_saying(Glyph::Wait, Tone::Off, &why::SERVES.fill(language, &[("n", &count(source.serving))]))),
                            HostObstacle::Usable => (state_saying(Glyph::Up, Tone::Ok, why::COULD_SERVE.of(language))),
                            says => (state(language, says.mark())),
                        }
                    }
                }
            }
        } }
        (and_more(viewer, file.sources_left_out))
    }
}

/// The number of hosts without a row; nothing for none.
fn and_more(viewer: &Viewer, hosts: u64) -> Markup {
    html! {
        @if hosts > 0 {
            p.mt.muted { (common::AND_MORE.fill(viewer.language, &[("n", &count(hosts))])) }
        }
    }
}

/// Those that refuse come first; those that agree are one line.
fn destinations(viewer: &Viewer, file: &WhyFile) -> Markup {
    let language = viewer.language;
    let refusing: Vec<&DestinationAnswer> =
        file.destinations.iter().filter(|answer| answer.says != HostObstacle::Usable).collect();
    let agreeing = (file.destinations.len() - refusing.len()) as u64 + file.agreeing_left_out;
    let without_row = refusing.len().saturating_sub(REFUSALS) as u64 + file.refusing_left_out;
    html! {
        h3 { (why::DESTINATIONS_SAY.of(language)) }
        table {
            thead { tr {
                th scope="col" { (common::HOST.of(language)) }
                th scope="col" { (common::STATE.of(language)) }
                th.num scope="col" { (why::ROOM.of(language)) }
            } }
            tbody {
                @for answer in refusing.iter().take(REFUSALS) {
                    tr {
                        td { (host_short(&answer.host)) }
                        td {
                            @if answer.is_down && answer.says == HostObstacle::Holds {
                                (state_saying(Glyph::Down, Tone::Bad, why::H_HOLDS_DOWN.of(language)))
                            } @else { (state(language, answer.says.mark())) }
                        }
                        td.num.nw { (answer.room.map_or_else(|| "–".to_owned(), bytes)) }
                    }
                }
            }
        }
        (and_more(viewer, without_row))
        @if agreeing > 0 {
            p.mt { a.more href={ (ROOT) "/hosts" } title=(frame::HOSTS.of(language)) { (why::MORE_SAY_YES.fill(language, &[("n", &count(agreeing))])) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;

    #[test]
    fn a_name_that_no_file_has_offers_nothing_that_would_be_refused() {
        let mut viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        viewer.rights.storage = true;
        let panel = |is_unknown| {
            let file = WhyFile {
                passed: Some(PassedReason::Ungraded),
                key: "nothere.mpg".to_owned(),
                is_unknown,
                ..WhyFile::default()
            };
            why_file(&viewer, &file, "/").into_string()
        };
        let unknown = panel(true);
        assert!(unknown.contains("No file has this name"), "{unknown}");
        assert!(!unknown.contains("nothere.mpg/pin") && !unknown.contains("ask=copy"), "{unknown}");
        let known = panel(false);
        assert!(known.contains("nothere.mpg/pin") && known.contains("ask=copy"), "{known}");
    }

    #[test]
    fn a_file_is_out_of_reach_if_no_holder_answers() {
        let mut viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(60_000));
        viewer.rights.storage = true;
        let copy = |last: u8, is_down| HeldCopy {
            host: format!("10.4.2.{last}:8888"),
            decision: String::new(),
            is_down,
            since: is_down.then_some(Moment(0)),
        };
        let panel = |copies: Vec<HeldCopy>| {
            let file = WhyFile {
                passed: Some(PassedReason::Placed),
                destinations: vec![DestinationAnswer {
                    host: "10.4.2.31:8888".to_owned(),
                    says: HostObstacle::Holds,
                    room: None,
                    is_down: true,
                }],
                copies,
                name: "100%41.mpg".into(),
                key: "100%2541.mpg".to_owned(),
                master_dir: Some("/m".to_owned()),
                lost_at: Some(Moment(3_600_000)),
                ..WhyFile::default()
            };
            why_file(&viewer, &file, "/").into_string()
        };
        let only = "Only on 10.4.2.31:8888, which does not answer since 00:00 (1 min).";
        let shown = panel(vec![copy(31, true)]);
        for words in
            [only, "presumed lost", "pin it, then copy it", "holds the file, does not answer"]
        {
            assert!(shown.contains(words), "{shown}");
        }
        assert!(!shown.contains("A host holds it already") && !shown.contains("stays<"), "{shown}");
        let shown = panel(vec![copy(31, true), copy(32, true)]);
        let both = "Only on hosts that do not answer: 10.4.2.31:8888, 10.4.2.32:8888.";
        assert!(shown.contains(both), "{shown}");
        let shown = panel(vec![copy(31, true), copy(32, false)]);
        assert!(shown.contains("A host holds it already."), "{shown}");
        // A further copy of an unpinned file would be refused.
        assert!(!shown.contains("ask=copy") && shown.contains("only of a pinned file"), "{shown}");
        let shown = panel(Vec::new());
        assert!(shown.contains("ask=copy") && !shown.contains("pin-first"), "{shown}");
        let asked = format!("ask=copy&amp;pick={}", encoded("100%2541.mpg"));
        assert!(shown.contains(&asked) && shown.contains("/files/100%2541.mpg/pin"), "{shown}");
    }

    #[test]
    fn hosts_without_a_row_are_counted() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let refusing = |last| DestinationAnswer {
            host: format!("10.4.2.{last}:8888"),
            says: HostObstacle::NotUp,
            room: None,
            is_down: true,
        };
        let file = WhyFile {
            destinations: (0..REFUSALS + 5).map(refusing).collect(),
            sources: vec![SourceAnswer {
                host: "10.4.1.1:8888".to_owned(),
                says: HostObstacle::Usable,
                serving: 0,
            }],
            sources_left_out: 7,
            copies: vec![HeldCopy {
                host: "10.4.2.1:8888".to_owned(),
                decision: String::new(),
                is_down: true,
                since: None,
            }],
            copies_left_out: 41,
            refusing_left_out: 9000,
            agreeing_left_out: 12,
            ..WhyFile::default()
        };
        let shown = why_file(&viewer, &file, "/").into_string();
        let more = |n| common::AND_MORE.fill(viewer.language, &[("n", n)]);
        for words in [more("7"), more("41"), more("9,005"), "<dd>42</dd>".to_owned()] {
            assert!(shown.contains(&words), "{words}: {shown}");
        }
        assert!(
            shown.contains(&why::MORE_SAY_YES.fill(viewer.language, &[("n", "12")])),
            "{shown}"
        );
    }
}
