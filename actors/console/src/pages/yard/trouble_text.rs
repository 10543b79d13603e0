//! The text of a trouble: its cause, its consequences, and links to the actions.

use super::trouble::{Trouble, TroubleCause, TroublePlace};
use crate::address::{ROOT, encoded, host_page};
use crate::format::{
    bare_host, bytes, count, counted, day_and_time, node_sentence, node_text, percent, since,
};
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::parts::verdict::VerdictRow;
use crate::text::{Text, common, states, yard};
use crate::viewer::{Moment, Viewer};

const fn mark(cause: &TroubleCause) -> StateMark {
    match cause {
        TroubleCause::HostDown { is_lost: true, .. } => {
            StateMark::new(Glyph::Down, Tone::Bad, states::LOST)
        }
        TroubleCause::HostDown { .. } | TroubleCause::ManyDown { .. } => {
            StateMark::new(Glyph::Down, Tone::Bad, states::DOWN)
        }
        TroubleCause::Suspect { .. } => StateMark::new(Glyph::Warn, Tone::Warn, states::SUSPECT),
        TroubleCause::OverLimit { .. } => {
            StateMark::new(Glyph::Warn, Tone::Warn, states::OVER_LIMIT)
        }
        TroubleCause::InputUnreadable { .. } | TroubleCause::BadRows { .. } => {
            StateMark::new(Glyph::Warn, Tone::Warn, states::STALE_INPUT)
        }
        TroubleCause::InputUnset { .. } => {
            StateMark::new(Glyph::Warn, Tone::Warn, states::NO_INPUT)
        }
        TroubleCause::NoLeader => StateMark::new(Glyph::Down, Tone::Bad, states::NO_LEADER),
        TroubleCause::NotReady { .. } => StateMark::new(Glyph::Down, Tone::Bad, states::NOT_READY),
        TroubleCause::Blocked { .. } => StateMark::new(Glyph::Warn, Tone::Warn, states::NO_PLAN),
        TroubleCause::Warning { .. } => StateMark::new(Glyph::Warn, Tone::Warn, states::WARNING),
        TroubleCause::OtherManager { .. } => {
            StateMark::new(Glyph::Down, Tone::Bad, states::OTHER_MANAGER)
        }
        TroubleCause::NotServed { .. } => {
            StateMark::new(Glyph::Warn, Tone::Warn, states::NOT_SERVED)
        }
        TroubleCause::NoMasters { .. } => {
            StateMark::new(Glyph::Warn, Tone::Warn, states::NO_MASTER)
        }
        TroubleCause::HookFails { .. } => {
            StateMark::new(Glyph::Warn, Tone::Warn, states::HOOK_FAILS)
        }
    }
}

/// A title with the begin, or the short title if the begin is not known.
fn dated(
    viewer: &Viewer,
    at: Option<Moment>,
    long: Text,
    short: Text,
    value: (&str, &str),
) -> String {
    match at {
        Some(at) => long.fill(viewer.language, &[value, ("since", &since(viewer, at))]),
        None => short.fill(viewer.language, &[value]),
    }
}

fn title(viewer: &Viewer, trouble: &Trouble) -> String {
    let language = viewer.language;
    let at = trouble.since;
    let begin = at.map_or_else(|| "–".to_owned(), |at| since(viewer, at));
    match &trouble.cause {
        TroubleCause::HostDown { host, .. } => {
            dated(viewer, at, yard::DOWN_TITLE, yard::DOWN_TITLE_SHORT, ("host", bare_host(host)))
        }
        TroubleCause::ManyDown { hosts, .. } => {
            let hosts = counted(language, common::HOSTS, *hosts);
            let (long, short) = (yard::MANY_DOWN_TITLE, yard::MANY_DOWN_TITLE_SHORT);
            dated(viewer, at, long, short, ("hosts", &hosts))
        }
        TroubleCause::Suspect { host } => {
            let (long, short) = (yard::SUSPECT_TITLE, yard::SUSPECT_TITLE_SHORT);
            dated(viewer, at, long, short, ("host", bare_host(host)))
        }
        TroubleCause::OverLimit { host, used, limit, .. } => {
            let title = if at.is_some() { yard::OVER_TITLE_SINCE } else { yard::OVER_TITLE };
            let (used, limit) = (percent(*used), percent(*limit));
            let values =
                [("host", bare_host(host)), ("used", &used), ("limit", &limit), ("since", &begin)];
            title.fill(language, &values)
        }
        TroubleCause::InputUnreadable { input, .. } => {
            dated(viewer, at, yard::INPUT_TITLE, yard::INPUT_TITLE_SHORT, ("input", input))
        }
        TroubleCause::InputUnset { input } => {
            yard::INPUT_UNSET_TITLE.fill(language, &[("input", input)])
        }
        TroubleCause::BadRows { input, rows, .. } => {
            yard::BAD_ROWS_TITLE.fill(language, &[("input", input), ("rows", &count(*rows))])
        }
        TroubleCause::NoLeader => yard::NO_LEADER_TITLE.of(language).to_owned(),
        TroubleCause::NotReady { .. } => yard::NOT_READY_TITLE.of(language).to_owned(),
        TroubleCause::Blocked { .. } => yard::BLOCKED_TITLE.of(language).to_owned(),
        TroubleCause::OtherManager { host } => {
            yard::FOREIGN_TITLE.fill(language, &[("host", bare_host(host))])
        }
        TroubleCause::HookFails { hook, .. } => {
            dated(viewer, at, yard::HOOK_TITLE, yard::HOOK_TITLE_SHORT, ("hook", hook))
        }
        TroubleCause::NotServed { now, .. } => {
            yard::NOT_SERVED_TITLE.fill(language, &[("now", &percent(*now))])
        }
        TroubleCause::NoMasters { files } => {
            let files = counted(language, common::FILES, *files);
            yard::NO_MASTERS_TITLE.fill(language, &[("files", &files)])
        }
        TroubleCause::Warning { text, .. } => node_text(language, text),
    }
}

fn host_down(viewer: &Viewer, cause: &TroubleCause) -> String {
    let TroubleCause::HostDown {
        files,
        only_here,
        failed_copies,
        lost_at,
        is_lost,
        is_last,
        is_only_source,
        ..
    } = cause
    else {
        return String::new();
    };
    let language = viewer.language;
    if *is_only_source {
        return yard::DOWN_SOURCE.of(language).to_owned();
    }
    let mut sentences = Vec::new();
    if *is_last {
        sentences.push(yard::DOWN_LAST.of(language).to_owned());
    }
    if let Some(files) = files {
        let files = counted(language, common::FILES, *files);
        sentences.push(yard::DOWN_HOLDS.fill(language, &[("files", &files)]));
    }
    if let Some(only) = only_here.filter(|only| *only > 0) {
        sentences.push(yard::DOWN_ONLY.fill(language, &[("n", &count(only))]));
    }
    if *failed_copies > 0 {
        let copies = counted(language, common::COPY_TASKS, *failed_copies);
        sentences.push(yard::DOWN_FAILED.fill(language, &[("n", &copies)]));
    }
    match (is_lost, lost_at) {
        (true, _) => sentences.push(yard::IS_LOST.of(language).to_owned()),
        (false, Some(at)) => {
            sentences.push(yard::DOWN_LOST.fill(language, &[("at", &day_and_time(viewer, *at))]));
        }
        (false, None) => {}
    }
    sentences.join(" ")
}

/// The begin of a trouble whose title does not say it, and its consequences.
fn detail(viewer: &Viewer, trouble: &Trouble) -> String {
    let is_undated = matches!(
        trouble.cause,
        TroubleCause::InputUnset { .. }
            | TroubleCause::BadRows { .. }
            | TroubleCause::NoLeader
            | TroubleCause::NotReady { .. }
            | TroubleCause::Blocked { .. }
            | TroubleCause::OtherManager { .. }
            | TroubleCause::NotServed { .. }
            | TroubleCause::NoMasters { .. }
            | TroubleCause::Warning { .. }
    );
    let consequences = consequences(viewer, trouble);
    match trouble.since.filter(|_| is_undated) {
        Some(at) => {
            let begin = yard::SEEN_SINCE.fill(viewer.language, &[("since", &since(viewer, at))]);
            format!("{begin} {consequences}").trim_end().to_owned()
        }
        None => consequences,
    }
}

fn consequences(viewer: &Viewer, trouble: &Trouble) -> String {
    let language = viewer.language;
    match &trouble.cause {
        TroubleCause::HostDown { .. } => host_down(viewer, &trouble.cause),
        TroubleCause::ManyDown { is_last: false, .. } => yard::MANY_DOWN.of(language).to_owned(),
        TroubleCause::ManyDown { is_last: true, .. } => {
            format!("{} {}", yard::DOWN_LAST.of(language), yard::MANY_DOWN.of(language))
        }
        TroubleCause::Suspect { .. } => yard::SUSPECT_DETAIL.of(language).to_owned(),
        TroubleCause::OverLimit { removing: 0, .. } => yard::OVER_STUCK.of(language).to_owned(),
        TroubleCause::OverLimit { removing, removing_bytes, low_water, .. } => {
            let copies = counted(language, common::COPIES, *removing);
            let values = [
                ("copies", copies.as_str()),
                ("bytes", &bytes(*removing_bytes)),
                ("low", &percent(*low_water)),
            ];
            yard::OVER_REMOVING.fill(language, &values)
        }
        TroubleCause::InputUnreadable { reason, .. } => {
            yard::INPUT_DETAIL.fill(language, &[("reason", &node_text(language, reason))])
        }
        TroubleCause::InputUnset { .. } => yard::INPUT_UNSET.of(language).to_owned(),
        TroubleCause::BadRows { line, reason, .. } => {
            let values = [("line", line.to_string()), ("reason", node_text(language, reason))];
            yard::BAD_ROWS.fill(language, &[("line", &values[0].1), ("reason", &values[1].1)])
        }
        TroubleCause::NoLeader => yard::NO_LEADER_DETAIL.of(language).to_owned(),
        TroubleCause::NotReady { reasons, .. } => {
            let reasons: Vec<String> =
                reasons.iter().map(|reason| node_sentence(language, reason)).collect();
            reasons.join(" ")
        }
        TroubleCause::Blocked { reason } => node_sentence(language, reason),
        TroubleCause::NotServed { usual, .. } => {
            let usual = usual
                .map(|usual| yard::NOT_SERVED_USUAL.fill(language, &[("usual", &percent(usual))]));
            let next = yard::NOT_SERVED_NEXT.of(language).to_owned();
            usual.into_iter().chain([next]).collect::<Vec<_>>().join(" ")
        }
        TroubleCause::NoMasters { .. } => yard::NO_MASTERS_DETAIL.of(language).to_owned(),
        TroubleCause::OtherManager { .. } => yard::FOREIGN_DETAIL.of(language).to_owned(),
        TroubleCause::HookFails { reason, .. } => {
            yard::HOOK_DETAIL.fill(language, &[("reason", &node_text(language, reason))])
        }
        TroubleCause::Warning { .. } => String::new(),
    }
}

/// Links of a trouble, and whether the last one is the remedy.
fn links(viewer: &Viewer, cause: &TroubleCause) -> (Vec<(String, String)>, bool) {
    let link = |words: Text, address: String| (words.of(viewer.language).to_owned(), address);
    match cause {
        TroubleCause::HostDown { host, only_here, .. } => {
            let mut links = Vec::new();
            if let Some(only) = only_here.filter(|only| *only > 0) {
                let words = yard::SEE_ONLY_FILES.fill(viewer.language, &[("n", &count(only))]);
                links.push((
                    words,
                    format!("{ROOT}/files?state=out_of_reach&host={}", encoded(host)),
                ));
            }
            links.push(link(yard::OPEN_HOST, host_page(host)));
            (links, true)
        }
        TroubleCause::ManyDown { .. } => {
            (vec![link(yard::SEE_HOSTS, format!("{ROOT}/hosts?health=down"))], true)
        }
        TroubleCause::Suspect { host } | TroubleCause::OtherManager { host } => {
            (vec![link(yard::OPEN_HOST, host_page(host))], false)
        }
        TroubleCause::OverLimit { removing: 0, host, .. } => {
            (vec![link(yard::OPEN_HOST, host_page(host))], true)
        }
        TroubleCause::OverLimit { .. } => {
            (vec![link(yard::SEE_REMOVALS, format!("{ROOT}/plan#removals"))], false)
        }
        TroubleCause::Blocked { .. } | TroubleCause::NotServed { .. } => {
            (vec![link(yard::OPEN_PLAN, format!("{ROOT}/plan"))], false)
        }
        TroubleCause::NoMasters { files } => {
            let words = yard::SEE_ONLY_FILES.fill(viewer.language, &[("n", &count(*files))]);
            let address = format!("{ROOT}/files?reason=no_master");
            (vec![(words, address), place(viewer, &TroublePlace::Settings)], false)
        }
        TroubleCause::HookFails { .. } => (vec![place(viewer, &TroublePlace::Shares)], false),
        TroubleCause::NoLeader => (vec![place(viewer, &TroublePlace::Cluster)], true),
        TroubleCause::NotReady { remedy, .. } => (vec![place(viewer, remedy)], true),
        TroubleCause::Warning { remedy, .. } => (vec![place(viewer, remedy)], false),
        TroubleCause::InputUnreadable { .. }
        | TroubleCause::InputUnset { .. }
        | TroubleCause::BadRows { .. } => (vec![place(viewer, &TroublePlace::Settings)], false),
    }
}

/// The link to a page.
fn place(viewer: &Viewer, place: &TroublePlace) -> (String, String) {
    let (words, address) = match place {
        TroublePlace::Settings => (yard::OPEN_SETTINGS, format!("{ROOT}/settings")),
        TroublePlace::Cluster => (yard::OPEN_CLUSTER, format!("{ROOT}/cluster")),
        TroublePlace::Boxes => (yard::OPEN_BOXES, format!("{ROOT}/boxes")),
        TroublePlace::Shares => (yard::OPEN_SHARES, format!("{ROOT}/shares")),
        TroublePlace::Host(host) => (yard::OPEN_HOST, host_page(host)),
        TroublePlace::Manual => (yard::HOW_TO_MEND, format!("{ROOT}/guide/troubleshooting")),
    };
    (words.of(viewer.language).to_owned(), address)
}

/// The row of a trouble.
pub fn row(viewer: &Viewer, trouble: &Trouble) -> VerdictRow {
    let (links, has_remedy) = links(viewer, &trouble.cause);
    VerdictRow {
        mark: mark(&trouble.cause),
        title: title(viewer, trouble),
        detail: detail(viewer, trouble),
        since: trouble.since,
        links,
        has_remedy,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::parts::verdict::{VerdictText, verdict};
    use crate::text::Language;

    #[test]
    fn a_source_that_is_down_loses_no_copies() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let words = |is_only_source, is_lost| {
            let cause = TroubleCause::HostDown {
                host: "10.4.1.2:8888".to_owned(),
                files: None,
                only_here: None,
                failed_copies: 0,
                lost_at: Some(Moment(60_000)),
                is_lost,
                is_last: false,
                is_only_source,
            };
            row(&viewer, &Trouble { cause, since: None }).detail
        };
        let of_source =
            "Copies from it wait, unless another source that is up has the same masters.";
        assert_eq!([words(true, false), words(true, true)], [of_source, of_source]);
        assert!(words(false, false).contains("its files are copied again"));
        assert!(words(false, true).contains("Its files are copied again"));
    }

    #[test]
    fn each_trouble_leads_to_the_page_that_ends_it() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let warning = |remedy| TroubleCause::Warning { text: "w".into(), remedy };
        let not_ready = |remedy| TroubleCause::NotReady { reasons: vec!["r".into()], remedy };
        for (cause, address, is_remedy) in [
            (TroubleCause::NoLeader, "/console/cluster", true),
            (warning(TroublePlace::Cluster), "/console/cluster", false),
            (TroubleCause::NoMasters { files: 7 }, "/console/settings", false),
            (warning(TroublePlace::Boxes), "/console/boxes", false),
            (warning(TroublePlace::Host("[::1]:80".into())), "/console/hosts/%5B::1%5D:80", false),
            (not_ready(TroublePlace::Settings), "/console/settings", true),
            (not_ready(TroublePlace::Manual), "/console/guide/troubleshooting", true),
        ] {
            let row = row(&viewer, &Trouble { cause, since: None });
            let last = row.links.last().map(|(_, address)| address.as_str());
            assert_eq!((last, row.has_remedy), (Some(address), is_remedy));
        }
    }

    /// An age in plain words would change the verdict each second.
    #[test]
    fn the_age_of_a_trouble_goes_on_by_itself() {
        let dated = TroubleCause::Suspect { host: "10.4.1.2:8888".to_owned() };
        for (language, cause) in [
            (Language::English, dated.clone()),
            (Language::Korean, dated),
            (Language::English, TroubleCause::NoLeader),
        ] {
            let viewer = Viewer::without_session(language, TimeZone::UTC, Moment(4000));
            let row = row(&viewer, &Trouble { cause, since: Some(Moment(0)) });
            let texts = [row.title.clone(), row.detail.clone()];
            let (tone, sentence, remark, checked) =
                (Tone::Bad, String::new(), String::new(), vec![]);
            let text = VerdictText { tone, sentence, remark, rows: vec![row], checked };
            let shown = verdict(&viewer, &text).into_string();
            let (before, tag) = shown.split_once("<time ").unwrap();
            let (tag, after) = tag.split_once("</time>").unwrap();
            let (attributes, age) = tag.split_once('>').unwrap();
            assert!(attributes.ends_with("data-age=\"0\""), "{shown}");
            let plain = format!("{before}{age}{after}");
            assert!(texts.iter().all(|text| plain.contains(text)), "{plain}");
        }
    }
}
