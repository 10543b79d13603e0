//! When troubles began and ended. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use reelyard_console::Moment;
use reelyard_console::pages::yard::{EndedTrouble, Trouble, TroubleCause};
use reelyard_core::clock::Millis;

use crate::http::overview::HOUR_MILLIS;

/// Ends of troubles are remembered for this long, in milliseconds.
const KEPT_MILLIS: i64 = 24 * HOUR_MILLIS;
/// At most this many ends are remembered.
const MOST_ENDS: usize = 10_000;
/// At most this many ended troubles are kept with their facts.
const MOST_ENDED: usize = 200;

/// The identity of a trouble over time: its kind, and the host, input or text that it is about.
type TroubleKey = (&'static str, String);

/// The troubles of this moment with their begins, and the ends of earlier ones.
#[derive(Debug, Default)]
pub struct TroubleLog {
    open: BTreeMap<TroubleKey, OpenTrouble>,
    /// Ends, oldest first.
    ends: VecDeque<Millis>,
    /// The last troubles that ended, oldest first.
    ended: VecDeque<EndedTrouble>,
    /// The first look.
    begun: Option<Millis>,
    /// Since when no trouble is open.
    fine_since: Option<Millis>,
}

/// A trouble that has not ended.
#[derive(Debug)]
struct OpenTrouble {
    /// When it was first seen.
    seen: Millis,
    /// Its facts, when it was worst, with its begin.
    worst: Trouble,
}

impl OpenTrouble {
    fn new(now: Millis, trouble: &Trouble) -> Self {
        let since = trouble.since.or(Some(Moment(now.0)));
        OpenTrouble { seen: now, worst: Trouble { cause: trouble.cause.clone(), since } }
    }

    /// Takes its facts of another moment.
    fn follow(&mut self, trouble: &Trouble) {
        if trouble.severity() <= self.worst.severity() {
            self.worst.cause = trouble.cause.clone();
        }
        // A host is suspect before it is down.
        self.worst.since = [self.worst.since, trouble.since].into_iter().flatten().min();
    }
}

/// The facts of the log besides the begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TroubleHistory {
    /// Since when nothing is wrong. None while something is.
    pub fine_since: Option<Millis>,
    /// Troubles that ended in the last 24 hours.
    pub cleared: u64,
}

impl TroubleLog {
    /// Takes the troubles of this moment. Looks come in the order of time.
    pub fn observe(&mut self, now: Millis, troubles: &[Trouble]) {
        self.begun.get_or_insert(now);
        let mut ended = std::mem::take(&mut self.open);
        for trouble in troubles {
            let key = key(&trouble.cause);
            let known = ended.remove(&key);
            let begun = || known.unwrap_or_else(|| OpenTrouble::new(now, trouble));
            self.open.entry(key).or_insert_with(begun).follow(trouble);
        }
        for trouble in ended.into_values() {
            self.ends.push_back(now);
            let (cause, from) = (trouble.worst.cause, trouble.worst.since);
            let from = from.unwrap_or(Moment(trouble.seen.0));
            self.ended.push_back(EndedTrouble { cause, from, to: Moment(now.0) });
        }
        while self.ended.len() > MOST_ENDED {
            self.ended.pop_front();
        }
        while self.ends.len() > MOST_ENDS
            || self.ends.front().is_some_and(|end| now.0 - end.0 >= KEPT_MILLIS)
        {
            self.ends.pop_front();
        }
        if self.open.is_empty() {
            self.fine_since.get_or_insert(now);
        } else {
            self.fine_since = None;
        }
    }

    /// Gives each trouble without a known begin the time when it was first seen. One that was never seen begins now.
    pub fn date(&self, now: Millis, troubles: &mut [Trouble]) -> TroubleHistory {
        for trouble in troubles {
            let seen = self.open.get(&key(&trouble.cause)).map_or(now, |open| open.seen);
            trouble.since = trouble.since.or(Some(Moment(seen.0)));
        }
        TroubleHistory { fine_since: self.fine_since, cleared: self.ends.len() as u64 }
    }

    /// The time of the first look, and the last troubles that ended since then, newest first.
    pub fn ended(&self) -> (Option<Millis>, Vec<EndedTrouble>) {
        (self.begun, self.ended.iter().rev().cloned().collect())
    }
}

fn key(cause: &TroubleCause) -> TroubleKey {
    match cause {
        // A suspect host that goes down has the same trouble.
        TroubleCause::HostDown { host, .. } | TroubleCause::Suspect { host } => {
            ("health", host.clone())
        }
        TroubleCause::ManyDown { .. } => ("hosts", String::new()),
        TroubleCause::OverLimit { host, .. } => ("disk", host.clone()),
        TroubleCause::InputUnreadable { input, .. } => ("input", input.clone()),
        TroubleCause::InputUnset { input } => ("unset", input.clone()),
        TroubleCause::BadRows { input, .. } => ("rows", input.clone()),
        TroubleCause::NoLeader => ("leader", String::new()),
        TroubleCause::NotReady { .. } => ("ready", String::new()),
        TroubleCause::Blocked { .. } => ("plan", String::new()),
        TroubleCause::OtherManager { host } => ("manager", host.clone()),
        TroubleCause::HookFails { hook, .. } => ("hook", hook.clone()),
        TroubleCause::NotServed { .. } => ("served", String::new()),
        TroubleCause::NoMasters { .. } => ("masters", String::new()),
        TroubleCause::Warning { text, .. } => ("warning", without_numbers(text)),
    }
}

/// A warning may contain a count or a time, and another number is no new trouble. Another host is.
fn without_numbers(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches([':', ',', '.', ';']);
        let is_host = bare.parse::<SocketAddr>().is_ok() || bare.parse::<IpAddr>().is_ok();
        let kept = word.chars().filter(|letter| is_host || !letter.is_ascii_digit());
        words.push(kept.collect::<String>());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use reelyard_console::pages::yard::TroublePlace;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn warning(text: &str) -> Trouble {
        Trouble {
            cause: TroubleCause::Warning { text: text.into(), remedy: TroublePlace::Settings },
            since: None,
        }
    }

    fn observe(log: &mut TroubleLog, at: i64, texts: &[&str]) -> (Vec<i64>, TroubleHistory) {
        let mut troubles: Vec<Trouble> = texts.iter().map(|text| warning(text)).collect();
        log.observe(Millis(at), &troubles);
        let history = log.date(Millis(at), &mut troubles);
        (troubles.iter().filter_map(|trouble| Some(trouble.since?.0)).collect(), history)
    }

    #[test]
    fn a_trouble_begins_when_it_is_first_seen() {
        let mut log = TroubleLog::default();
        assert_eq!(observe(&mut log, 0, &[]).1.fine_since, Some(Millis(0)));
        let (begins, history) = observe(&mut log, MINUTE, &["a since 5"]);
        assert_eq!((begins, history.fine_since), (vec![MINUTE], None));
        let (begins, _) = observe(&mut log, 2 * MINUTE, &["b", "a since 17"]);
        assert_eq!(begins, [2 * MINUTE, MINUTE]);
        let (begins, history) = observe(&mut log, 3 * MINUTE, &["b"]);
        assert_eq!((begins, history.cleared), (vec![2 * MINUTE], 1));
        let (_, history) = observe(&mut log, 4 * MINUTE, &[]);
        assert_eq!((history.fine_since, history.cleared), (Some(Millis(4 * MINUTE)), 2));
        assert_eq!(observe(&mut log, 5 * MINUTE, &[]).1, history);
        let of_hosts = ["10.0.0.1:80: in vain 3 times", "10.0.0.2:80: in vain 4 times"];
        assert_ne!(without_numbers(of_hosts[0]), without_numbers(of_hosts[1]));
        let day = observe(&mut log, 3 * MINUTE + KEPT_MILLIS, &[]).1;
        assert_eq!(day.cleared, 1);
    }

    #[test]
    fn a_known_begin_stays_and_a_worse_state_ends_nothing() {
        let mut log = TroubleLog::default();
        let host = "10.0.0.1:80".to_owned();
        let mut suspect = [Trouble {
            cause: TroubleCause::Suspect { host: host.clone() },
            since: Some(Moment(7)),
        }];
        log.observe(Millis(MINUTE), &suspect);
        log.date(Millis(MINUTE), &mut suspect);
        assert_eq!(suspect[0].since, Some(Moment(7)));
        let down = TroubleCause::HostDown {
            host,
            files: None,
            only_here: None,
            failed_copies: 0,
            lost_at: None,
            is_lost: false,
            is_last: false,
            is_only_source: false,
        };
        let mut down = [Trouble { cause: down, since: None }];
        log.observe(Millis(2 * MINUTE), &down);
        let history = log.date(Millis(2 * MINUTE), &mut down);
        assert_eq!((history.cleared, down[0].since), (0, Some(Moment(MINUTE))));
        assert_eq!(log.ended(), (Some(Millis(MINUTE)), Vec::new()));
        // The end keeps the worst state, and the begin of the first.
        log.observe(Millis(3 * MINUTE), &suspect);
        log.observe(Millis(4 * MINUTE), &[]);
        let [down] = down;
        let ended = EndedTrouble { cause: down.cause, from: Moment(7), to: Moment(4 * MINUTE) };
        assert_eq!(log.ended().1, [ended]);
        for number in 0..=MOST_ENDED as i64 {
            log.observe(Millis(number), &[warning(&"x".repeat(number as usize + 1))]);
        }
        assert_eq!(log.ended().1.len(), MOST_ENDED);
        assert_eq!(log.ended().1[0].cause, warning(&"x".repeat(MOST_ENDED)).cause);
    }
}
