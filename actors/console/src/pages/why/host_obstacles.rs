//! The obstacles that keep copies away from a host, each with its end.

use maud::{Markup, html};

use super::reasons::HostObstacle;
use crate::format::{age, clock, counted, day_and_time, node_text};
use crate::parts::act::reelyard_command;
use crate::parts::icon::shape;
use crate::text::{Text, common, why, yard};
use crate::viewer::{Moment, Viewer};

/// The silence of a host that does not answer its probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSilence {
    /// Probes in a row that failed.
    pub misses: u64,
    /// When it last answered, if it ever did.
    pub last_answer: Option<Moment>,
    /// Seconds between two probes.
    pub interval: u64,
    /// The instant from which it is presumed lost.
    pub lost_at: Option<Moment>,
}

/// An obstacle with its details.
#[derive(Clone, Debug)]
pub struct ObstacleFact {
    /// Its kind, with the words for people.
    pub obstacle: HostObstacle,
    /// Further words of the node; empty for none.
    pub detail: String,
    /// The silence, for a host that does not answer.
    pub silence: Option<HostSilence>,
}

/// A row of the list of obstacles: the obstacle, its details, and what ends it.
pub fn obstacle_row(viewer: &Viewer, fact: &ObstacleFact) -> Markup {
    let language = viewer.language;
    let mark = fact.obstacle.mark();
    let next = next(fact.obstacle).map(|words| words.of(language));
    html! {
        li {
            (shape(mark.glyph, &format!("i {}", mark.tone.class())))
            div {
                b { (mark.word.of(language)) }
                @if !fact.detail.is_empty() { small { (node_text(language, &fact.detail)) } }
                @if let Some(silence) = &fact.silence { small { (silence_words(viewer, silence)) } }
                @if let Some(next) = next { small { (next) } }
            }
        }
    }
}

/// The command that looks at the first obstacle again, or ends it.
pub fn obstacle_command(viewer: &Viewer, host: &str, facts: &[ObstacleFact]) -> Markup {
    let verb = facts.first().and_then(|fact| verb(fact.obstacle));
    html! {
        @if let Some(verb) = verb.filter(|_| viewer.rights.storage) {
            div.mt { (reelyard_command(viewer, &["hosts", verb, host])) }
        }
    }
}

const fn verb(obstacle: HostObstacle) -> Option<&'static str> {
    match obstacle {
        HostObstacle::Draining | HostObstacle::Maintenance => Some("activate"),
        HostObstacle::Lost
        | HostObstacle::NotUp
        | HostObstacle::KindUnknown
        | HostObstacle::InventoryUnknown
        | HostObstacle::DiskUnknown => Some("probe"),
        HostObstacle::BacksOff | HostObstacle::CallsFail | HostObstacle::OnTrial => Some("reset"),
        _ => None,
    }
}

/// The end of an obstacle, in words.
const fn next(obstacle: HostObstacle) -> Option<Text> {
    match obstacle {
        HostObstacle::Draining | HostObstacle::Maintenance => Some(why::ENDS_BY_MODE),
        HostObstacle::Lost => Some(why::ENDS_BY_RETURN),
        HostObstacle::KindUnknown | HostObstacle::InventoryUnknown | HostObstacle::DiskUnknown => {
            Some(why::ENDS_BY_LIST)
        }
        HostObstacle::BacksOff | HostObstacle::CallsFail | HostObstacle::OnTrial => {
            Some(why::ENDS_BY_TRUST)
        }
        HostObstacle::BusyLink => Some(why::ENDS_BY_LINK),
        _ => None,
    }
}

fn silence_words(viewer: &Viewer, silence: &HostSilence) -> String {
    let language = viewer.language;
    let mut sentences = vec![format!("{}.", counted(language, common::PROBES, silence.misses))];
    if let Some(at) = silence.last_answer {
        sentences.push(why::LAST_ANSWER.fill(language, &[("at", &clock(viewer, at))]));
    }
    let interval = age(language, silence.interval);
    sentences.push(why::ASKED_AGAIN.fill(language, &[("interval", &interval)]));
    if let Some(at) = silence.lost_at {
        sentences.push(yard::DOWN_LOST.fill(language, &[("at", &day_and_time(viewer, at))]));
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;

    #[test]
    fn a_silent_host_says_how_often_it_was_asked_and_what_comes() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(60_000));
        let silence = HostSilence {
            misses: 3,
            last_answer: Some(Moment(0)),
            interval: 4,
            lost_at: Some(Moment(3_600_000)),
        };
        let words = silence_words(&viewer, &silence);
        for part in ["3 probes in a row failed.", "00:00:00", "every 4 s", "it is presumed lost"] {
            assert!(words.contains(part), "{words}");
        }
    }
}
