//! The first screen as a whole, and its verdict.

use maud::{Markup, html};

use super::figures::figures;
use super::model::{VerdictFacts, YardPageModel};
use super::panels::{copies, disks, ending, hot, pools, recent, waits};
use super::traffic::{traffic, traffic_table};
use super::trouble::{Trouble, TroubleCause, by_urgency};
use super::trouble_text::row;
use crate::address::ROOT;
use crate::format::{clock, count, counted, duration, percent};
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::Tone;
use crate::parts::verdict::{Severity, VerdictText, verdict};
use crate::text::{common, frame, hosts, yard};
use crate::viewer::{Moment, Viewer};

/// Troubles with a row of their own on the first screen; further ones are counted.
const ROWS: usize = 5;

/// Troubles of the longest list.
const ALL_ROWS: usize = 500;

/// The query of the page with all troubles.
pub const ALL_TROUBLES: &str = "troubles=all";

/// The content of the page.
pub fn render(model: &YardPageModel, viewer: &Viewer) -> Markup {
    html! {
        (yard_verdict(viewer, &model.verdict))
        (figures(viewer, &model.figures))
        div.grid {
            (copies(viewer, model))
            div.c4.stack { (waits(viewer, model)) (hot(viewer, model)) }
            (disks(viewer, &model.disks))
            @if let Some(figure) = &model.traffic {
                @if model.traffic_as_table {
                    (traffic_table(viewer, figure))
                } @else {
                    (traffic(viewer, figure))
                }
            }
            (recent(viewer, &model.recent))
            (ending(viewer, model))
            (pools(viewer, &model.pools))
        }
    }
}

/// The verdict: one sentence, and the five worst troubles, or all of them.
pub fn yard_verdict(viewer: &Viewer, facts: &VerdictFacts) -> Markup {
    let language = viewer.language;
    let sorted = by_urgency(&facts.troubles);
    let tone = match sorted.first().map(|trouble| trouble.severity()) {
        Some(Severity::Bad) => Tone::Bad,
        Some(Severity::Warn) => Tone::Warn,
        None if facts.is_bare() => Tone::Off,
        None => Tone::Ok,
    };
    let mut checked = Vec::new();
    let rows = if facts.shows_all { ALL_ROWS } else { ROWS };
    if sorted.len() > rows {
        let rest = count((sorted.len() - rows) as u64);
        let words = yard::MORE_TROUBLES.fill(language, &[("n", &rest)]);
        checked.push(match facts.shows_all {
            true => html! { b { (words) } },
            false => html! { a.more href={ (ROOT) "?" (ALL_TROUBLES) } { (words) } },
        });
    }
    if sorted.is_empty() && facts.is_bare() {
        checked.push(html! { a.more href={ (ROOT) "/guide/first-yard" } { (hosts::HOW_TO_ADD.of(language)) } });
    } else if sorted.is_empty() {
        checked.push(looked_at(viewer, facts));
    }
    if let Some(cleared) = facts.cleared {
        checked.push(html! {
            (yard::CLEARED.fill(language, &[("n", &count(cleared))])) " · "
            a.more href={ (ROOT) "/history?step=troubles" } { (frame::HISTORY.of(language)) }
        });
    }
    if !facts.maintenance.is_empty() {
        let hosts = facts.maintenance.join(", ");
        checked.push(html! {
            (icon(Glyph::Maintenance)) (yard::IN_MAINTENANCE.fill(language, &[("hosts", &hosts)]))
        });
    }
    let text = VerdictText {
        tone,
        sentence: sentence(viewer, facts),
        remark: remark(viewer, facts),
        rows: sorted.iter().take(rows).map(|trouble| row(viewer, trouble)).collect(),
        checked,
    };
    verdict(viewer, &text)
}

/// Shows which things were checked, and in which minute: silence alone proves nothing.
fn looked_at(viewer: &Viewer, facts: &VerdictFacts) -> Markup {
    let hosts = counted(viewer.language, common::HOSTS, facts.hosts);
    let at = short_clock(viewer, viewer.now);
    let values = [("hosts", hosts.as_str()), ("inputs", &count(facts.inputs)), ("at", &at)];
    html! { (icon(Glyph::Done)) (yard::LOOKED_AT.fill(viewer.language, &values)) }
}

fn sentence(viewer: &Viewer, facts: &VerdictFacts) -> String {
    let language = viewer.language;
    if facts.troubles.is_empty() && facts.is_bare() {
        return yard::NOTHING_SET_UP.of(language).to_owned();
    }
    if facts.troubles.is_empty() {
        return match facts.fine_since {
            Some(since) => {
                let span = duration(language, since.seconds_until(viewer.now));
                yard::NOTHING_WRONG_FOR.fill(language, &[("duration", &span)])
            }
            None => yard::NOTHING_WRONG.of(language).to_owned(),
        };
    }
    let wrong = counted(language, common::TROUBLES, facts.troubles.len() as u64);
    let oldest: Option<Moment> = facts.troubles.iter().filter_map(|trouble| trouble.since).min();
    match oldest {
        Some(at) => {
            let at = short_clock(viewer, at);
            let words = if facts.troubles.len() == 1 { yard::WRONG_ONE } else { yard::WRONG };
            words.fill(language, &[("n", &wrong), ("at", &at)])
        }
        None => wrong,
    }
}

/// The clock without seconds if it is today.
fn short_clock(viewer: &Viewer, at: Moment) -> String {
    let shown = clock(viewer, at);
    if shown.len() == "14:02:11".len() {
        shown.get(..5).unwrap_or(&shown).to_owned()
    } else {
        shown
    }
}

/// A share of requests in percent that is a trouble if there are enough of them.
const MANY_NOT_SERVED: f64 = 10.0;

fn remark(viewer: &Viewer, facts: &VerdictFacts) -> String {
    let language = viewer.language;
    if facts.troubles.is_empty() && facts.is_bare() {
        return yard::SET_UP_NEXT.of(language).to_owned();
    }
    let Some((now, usual)) = facts.not_served else { return String::new() };
    let is_not_served = |trouble: &Trouble| matches!(trouble.cause, TroubleCause::NotServed { .. });
    if facts.troubles.iter().any(is_not_served) {
        return String::new();
    }
    // A share of a few requests is no trouble, and would contradict "Nothing is wrong".
    if facts.troubles.is_empty() && now >= MANY_NOT_SERVED {
        return String::new();
    }
    match usual {
        Some(usual) if now > usual + 1.0 && !facts.troubles.is_empty() => {
            yard::NOTICED.fill(language, &[("now", &percent(now)), ("usual", &percent(usual))])
        }
        _ => yard::NOT_NOTICED.fill(language, &[("now", &percent(now))]),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::pages::yard::TroublePlace;
    use crate::text::Language;

    #[test]
    fn further_troubles_are_behind_a_link() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(60_000));
        let trouble = |number: u64| Trouble {
            cause: TroubleCause::Suspect { host: format!("h{number}:1") },
            since: None,
        };
        let shown = |shows_all| {
            let troubles = (0..7).map(trouble).collect();
            let facts = VerdictFacts { troubles, shows_all, hosts: 7, ..VerdictFacts::default() };
            yard_verdict(&viewer, &facts).into_string()
        };
        let first = shown(false);
        assert_eq!(first.matches("class=\"trouble\"").count(), 5, "{first}");
        assert!(first.contains("href=\"/console?troubles=all\">2 more"), "{first}");
        let all = shown(true);
        assert_eq!(all.matches("class=\"trouble\"").count(), 7, "{all}");
        assert!(!all.contains("troubles=all"), "{all}");
    }

    #[test]
    fn one_trouble_has_no_oldest_and_unserved_requests_are_amber() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(60_000));
        let trouble = |cause| Trouble { cause, since: Some(Moment(0)) };
        let reasons = vec!["the disk is full".to_owned(), "the journal has stopped".to_owned()];
        let not_ready = TroubleCause::NotReady { reasons, remedy: TroublePlace::Manual };
        let unserved = TroubleCause::NotServed { now: 100.0, usual: None };
        let shown = |troubles: Vec<Trouble>| {
            let not_served = Some((100.0, None));
            let facts = VerdictFacts { troubles, not_served, hosts: 1, ..VerdictFacts::default() };
            yard_verdict(&viewer, &facts).into_string()
        };
        let one = shown(vec![trouble(unserved.clone())]);
        assert!(
            one.contains("1 thing is wrong, since 00:00") && one.contains("verdict warn"),
            "{one}"
        );
        assert_eq!(one.matches("100% of the requests of the last hour").count(), 1, "{one}");
        let fine = shown(Vec::new());
        assert!(fine.contains("Nothing is wrong") && !fine.contains("by no copy"), "{fine}");
        let two = shown(vec![trouble(unserved), trouble(not_ready)]);
        assert!(two.contains("2 things are wrong, the oldest since 00:00"), "{two}");
        assert!(two.contains("The disk is full. The journal has stopped."), "{two}");
    }
}
