//! The panels of the first screen. Each has an id, for live updates.

use maud::{Markup, html};

use super::model::{
    CopyLine, DiskSummary, DueLink, PoolSummary, RecentLine, RecentStep, YardPageModel,
};
use crate::address::{ROOT, encoded};
use crate::format::{
    age, age_tag, byte_rate, bytes, clock, count, counted, file_name, host_short, left, percent,
    short_host, until_tag,
};
use crate::parts::act::{CREATE_POOL, reelyard_command};
use crate::parts::bars::{progress, reason_bar};
use crate::parts::boxes::{BoxCondition, mini_boxes};
use crate::parts::disks::{all_disks, disk_legend};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::{StateMark, Tone, state, state_saying, tag};
use crate::parts::notice::empty;
use crate::parts::panel::{PanelHead, flush_panel, panel};
use crate::parts::spark::spark;
use crate::text::{Language, Text, boxes, common, files, frame, shares, states, yard};
use crate::viewer::Viewer;

pub(super) fn head<'a>(viewer: &Viewer, class: &'a str, id: &'a str, title: Text) -> PanelHead<'a> {
    PanelHead { class, id, title: title.of(viewer.language).to_owned(), ..PanelHead::default() }
}

pub(super) fn link(viewer: &Viewer, words: Text, path: &str) -> Option<(String, String)> {
    Some((words.of(viewer.language).to_owned(), format!("{ROOT}{path}")))
}

/// Copies under way.
pub fn copies(viewer: &Viewer, model: &YardPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c8", "yard-copies", yard::RUNNING);
    head.remark = match model.figures.may_run {
        Some(most) => yard::SOURCES_SERVE
            .fill(language, &[("n", &count(model.figures.running)), ("most", &count(most))]),
        None => count(model.figures.running),
    };
    head.link = link(viewer, frame::TASKS, "/tasks?state=open");
    if model.copies.is_empty() {
        let body = match model.figures.waiting {
            0 => yard::NO_COPIES_BODY,
            _ => yard::NO_COPIES_WAIT,
        };
        return flush_panel(
            &head,
            empty(yard::NO_COPIES.of(language), body.of(language), html! {}),
        );
    }
    let body = html! {
        table.cards.yard-copies {
            thead {
                tr {
                    th scope="col" { (common::FILE.of(language)) }
                    th scope="col" { (common::FROM_TO.of(language)) }
                    th.w-p scope="col" { (common::COPIED_PART.of(language)) }
                    th.num.p0 scope="col" { (common::RATE.of(language)) }
                    th.num.p0 scope="col" { (common::LEFT.of(language)) }
                }
            }
            tbody { @for line in &model.copies { (copy_row(viewer, line)) } }
        }
    };
    flush_panel(&head, body)
}

fn copy_row(viewer: &Viewer, line: &CopyLine) -> Markup {
    let language = viewer.language;
    html! {
        tr {
            td.file data-l="" {
                div.chips {
                    (file_name(&line.name, Some(&line.name.why_address())))
                    @if line.is_hot { (tag(Some(Glyph::Rise), Tone::Hot, states::HOT.of(language))) }
                }
            }
            td data-l=(common::FROM_TO.of(language)) { (flow(&line.source, &line.destination)) }
            td data-l=(common::COPIED_PART.of(language)) {
                @match line.percent() {
                    Some(percent) => (progress(&line.name, percent, line.stalled.is_some())),
                    None => span.muted { (common::NOT_KNOWN.of(language)) }
                }
            }
            td class={ "num nw p0" @if line.stalled.is_none() { " none" } } data-l=(common::RATE.of(language)) { (copy_rate(language, line)) }
            td.num.none.nw.p0 { (line.seconds_left().map_or_else(|| "–".to_owned(), left)) }
        }
    }
}

/// The rate of a copy, or for how long it has stalled.
pub fn copy_rate(language: Language, line: &CopyLine) -> Markup {
    let Some(seconds) = line.stalled else {
        return html! { (line.rate.map_or_else(|| "–".to_owned(), byte_rate)) };
    };
    let words = format!("{} {}", yard::STALLED.of(language), age(language, seconds));
    state_saying(Glyph::Warn, Tone::Warn, &words)
}

/// Source and destination with an arrow between.
pub fn flow(source: &str, destination: &str) -> Markup {
    html! { span.flow { (host_short(source)) (icon(Glyph::Arrow)) (host_short(destination)) } }
}

/// Files that wait, by reason. Without a round nothing has looked for the reasons of files.
pub fn waits(viewer: &Viewer, model: &YardPageModel) -> Markup {
    let (language, waits) = (viewer.language, &model.waits);
    let total: u64 = waits.iter().map(|line| line.files).sum();
    let mut head = head(viewer, "", "yard-waits", yard::WHY_WAIT);
    head.link = link(viewer, frame::PLAN, "/plan");
    if waits.is_empty() {
        let nothing = match model.figures.waiting {
            0 => empty(yard::NOTHING_WAITS.of(language), "", html! {}),
            files => {
                let title = counted(language, common::FILES_WAIT, files);
                empty(&title, yard::WAIT_UNEXAMINED_BODY.of(language), html! {})
            }
        };
        return flush_panel(&head, nothing);
    }
    head.remark = counted(language, common::FILES, total);
    let body = html! {
        ul.reasons {
            @for line in waits {
                li {
                    a href={ (ROOT) "/files?reason=" (line.reason.api_word()) } { (line.reason.words().of(language)) }
                    span.n { (count(line.files)) }
                    (reason_bar(line.files as f64 * 100.0 / total.max(1) as f64, line.reason.tone()))
                }
            }
        }
    };
    panel(&head, body)
}

/// Hot files.
pub fn hot(viewer: &Viewer, model: &YardPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "", "yard-hot", yard::HOT_NOW);
    head.link = link(viewer, common::ALL, "/files?state=hot");
    if model.hot.is_empty() {
        return flush_panel(&head, empty(yard::NOTHING_HOT.of(language), "", html! {}));
    }
    head.remark = yard::HITS_IN_10.of(language).to_owned();
    let body = html! {
        ul.list {
            @for line in &model.hot {
                @let hosts = first_hosts(viewer, &line.hosts);
                @let mark = line.condition.mark();
                li {
                    div.grow { (file_name(&line.name, Some(&line.name.why_address()))) }
                    @if !line.curve.is_empty() { (spark(&line.curve, Tone::Hot, &count(line.hits))) }
                    span.r.b { (count(line.hits)) }
                    span.r {
                        @if hosts.is_empty() { (state(language, mark)) }
                        @else {
                            span.vh { (mark.word.of(language)) " " }
                            (state_saying(mark.glyph, mark.tone, &hosts))
                        }
                    }
                }
            }
        }
    };
    flush_panel(&head, body)
}

/// The first three of these hosts, and how many further ones there are.
fn first_hosts(viewer: &Viewer, hosts: &[String]) -> String {
    let mut words: Vec<String> = hosts.iter().take(3).map(|host| short_host(host)).collect();
    if hosts.len() > 3 {
        let more = count(hosts.len() as u64 - 3);
        words.push(files::MORE_COPIES.fill(viewer.language, &[("n", &more)]));
    }
    words.join(" ")
}

/// Disks of all destinations.
pub fn disks(viewer: &Viewer, summary: &DiskSummary) -> Markup {
    let language = viewer.language;
    let destinations = counted(language, common::DESTINATIONS, summary.disks.len() as u64);
    let title = yard::DISKS.fill(language, &[("destinations", &destinations)]);
    if summary.disks.is_empty() {
        let head = head(viewer, "c12", "yard-disks", yard::DISKS_TITLE);
        if summary.destinations > 0 {
            let body = yard::NO_DISKS_BODY.of(language);
            let action =
                html! { a.btn.sm href={ (ROOT) "/hosts" } { (frame::HOSTS.of(language)) } };
            return flush_panel(&head, empty(yard::NO_DISKS.of(language), body, action));
        }
        let body = yard::NO_HOSTS_BODY.of(language);
        let action = html! { a.btn.sm href={ (ROOT) "/guide" } { (frame::GUIDE.of(language)) } };
        return flush_panel(&head, empty(yard::NO_HOSTS.of(language), body, action));
    }
    let values = [("size", bytes(summary.size)), ("used", percent(summary.used))];
    let remark = yard::DISKS_USED.fill(language, &[("size", &values[0].1), ("used", &values[1].1)]);
    html! {
        section #yard-disks .panel.c12 {
            header {
                h2 { (title) } span.sub { (remark) }
                (disk_legend(viewer, &percent(summary.limit), &percent(summary.low_water)))
            }
            div.body { (all_disks(viewer, &summary.disks)) }
        }
    }
}

const fn step_mark(step: RecentStep) -> StateMark {
    match step {
        RecentStep::Copied => StateMark::new(Glyph::Done, Tone::Ok, states::COPIED),
        RecentStep::Failed => StateMark::new(Glyph::Down, Tone::Bad, states::FAILED),
        RecentStep::Removed => StateMark::new(Glyph::Gone, Tone::Hold, states::REMOVED),
        RecentStep::Cancelled => StateMark::new(Glyph::Off, Tone::Off, states::CANCELLED),
    }
}

/// The last copies and removals.
pub fn recent(viewer: &Viewer, lines: &[RecentLine]) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c6 full-md", "yard-recent", yard::JUST_NOW);
    head.link = link(viewer, frame::HISTORY, "/history");
    if lines.is_empty() {
        return flush_panel(&head, empty(yard::NO_EVENTS.of(language), "", html! {}));
    }
    let body = html! {
        ul.list {
            @for line in lines {
                li {
                    (state(language, step_mark(line.step)))
                    div.grow { (file_name(&line.name, Some(&line.name.why_address()))) }
                    span.r.muted title=(line.host) { (short_host(&line.host)) }
                    span.r.muted { (age_tag(viewer, line.at)) }
                }
            }
        }
    };
    flush_panel(&head, body)
}

/// No link ends soon. Without any link, the way to the first one stands there.
fn no_link_ends(viewer: &Viewer, model: &YardPageModel) -> Markup {
    let language = viewer.language;
    if model.links > 0 {
        return empty(yard::NO_SHARES.of(language), "", html! {});
    }
    let action = html! {
        @if viewer.rights.shares && !model.has_no_root { a.btn.sm href={ (ROOT) "/shares?new=true" } { (shares::NEW.of(language)) } }
    };
    let why = if model.has_no_root { shares::EMPTY_SETUP.of(language) } else { "" };
    empty(shares::EMPTY_ALL.of(language), why, action)
}

fn downloads(viewer: &Viewer, link: &DueLink) -> String {
    match link.most {
        Some(most) => yard::TAKEN_OF
            .fill(viewer.language, &[("n", &count(link.downloads)), ("most", &count(most))]),
        None => counted(viewer.language, common::DOWNLOADS, link.downloads),
    }
}

/// Links that end next.
pub fn ending(viewer: &Viewer, model: &YardPageModel) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c6", "yard-ending", yard::ENDING_NEXT);
    head.remark = counted(language, common::LINKS, model.links);
    head.link = link(viewer, yard::TIMELINE, "/shares");
    if model.due.is_empty() {
        return flush_panel(&head, no_link_ends(viewer, model));
    }
    let body = html! {
        ul.list {
            @for due in &model.due {
                @let address = format!("{ROOT}/shares?q={}", encoded(&due.path));
                li {
                    div.grow { (file_name(&due.path, Some(&address))) small { (downloads(viewer, due)) } }
                    span.r { b { (until_tag(viewer, due.ends)) } small { (clock(viewer, due.ends)) } }
                }
            }
        }
    };
    flush_panel(&head, body)
}

/// Box pools.
pub fn pools(viewer: &Viewer, pools: &[PoolSummary]) -> Markup {
    let language = viewer.language;
    let mut head = head(viewer, "c6", "yard-pools", yard::POOLS);
    head.link = link(viewer, frame::BOXES, "/boxes");
    if pools.is_empty() {
        let create = reelyard_command(viewer, &CREATE_POOL);
        let nothing =
            empty(boxes::NO_POOLS.of(language), boxes::NO_POOLS_BODY.of(language), create);
        return flush_panel(&head, nothing);
    }
    let free_of = |free: u64, size: u64| {
        yard::FREE_OF.fill(language, &[("free", &count(free)), ("n", &count(size))])
    };
    let free: u64 = pools.iter().map(|pool| pool.boxes(BoxCondition::Free)).sum();
    head.remark = free_of(free, pools.iter().map(PoolSummary::size).sum());
    let body = html! {
        ul.list {
            @for pool in pools {
                li {
                    div.grow {
                        a.b dir="auto" href={ (ROOT) "/boxes?pool=" (encoded(&pool.name)) } { (pool.name) } " "
                        span.muted { (free_of(pool.boxes(BoxCondition::Free), pool.size())) }
                        (mini_boxes(&pool.counts))
                        small { (pool_remark(viewer, pool)) }
                    }
                }
            }
        }
    };
    flush_panel(&head, body)
}

fn pool_remark(viewer: &Viewer, pool: &PoolSummary) -> String {
    let language = viewer.language;
    let mut parts = Vec::new();
    if pool.queue == 0 {
        parts.push(yard::NO_QUEUE.of(language).to_owned());
    } else {
        parts.push(yard::QUEUE.fill(language, &[("n", &count(pool.queue))]));
    }
    let quarantined = pool.boxes(BoxCondition::Quarantined);
    if quarantined > 0 {
        parts.push(yard::IN_QUARANTINE.fill(language, &[("n", &count(quarantined))]));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn empty_panels_say_what_is_there_nevertheless() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment::default());
        let shown = |waiting: u64, destinations: u64| {
            let mut model = YardPageModel::default();
            (model.figures.waiting, model.disks.destinations) = (waiting, destinations);
            let parts = [copies(&viewer, &model), waits(&viewer, &model)];
            let disks = disks(&viewer, &model.disks);
            (parts.map(|part| part.into_string()).concat(), disks.into_string())
        };
        let (waits, disks) = shown(0, 0);
        assert!(waits.contains("Nothing waits for one") && waits.contains("No file waits"));
        assert!(disks.contains("No destination is set up"), "{disks}");
        let (waits, disks) = shown(208, 5000);
        assert!(waits.contains("Files wait.") && waits.contains("208 files wait"), "{waits}");
        assert!(disks.contains("No disk is known yet") && !disks.contains("set up"), "{disks}");
        let hosts = [21, 22, 23, 24, 25].map(|last| format!("10.4.2.{last}:8888"));
        assert_eq!(first_hosts(&viewer, &hosts), ".21 .22 .23 +2");
        let mut model = YardPageModel::default();
        let mut viewer = viewer;
        viewer.rights.shares = true;
        let none = ending(&viewer, &model).into_string();
        assert!(none.contains("Nothing is shared") && none.contains("shares?new=true"), "{none}");
        model.has_no_root = true;
        let without_root = ending(&viewer, &model).into_string();
        assert!(!without_root.contains("new=true"), "{without_root}");
        assert!(without_root.contains("No share root is set up"), "{without_root}");
        model.links = 1;
        let later = ending(&viewer, &model).into_string();
        assert!(later.contains("No link ends soon") && !later.contains("new=true"), "{later}");
    }
}
