//! Samples of the events of removals.

use reelyard_yard::remover::{Ending, Intent, Reason, RemovalEvent};
use reelyard_yard::settings::remover::KeptBy;

use super::{after, file, host};

fn intended(name: &str, reason: Reason) -> RemovalEvent {
    RemovalEvent::Intended(Intent {
        host: host(21),
        name: file(name),
        size: Some(5_000_000_000),
        reason,
        keeper: Some(host(22)),
        asked_by: "remover".to_owned(),
    })
}

fn ended(name: &str, ending: Ending) -> RemovalEvent {
    RemovalEvent::Ended { host: host(21), name: file(name), ending }
}

/// Samples in the order in which they apply. Append new ones: the stored rows depend on the order.
pub fn removal_samples() -> Vec<(&'static str, RemovalEvent)> {
    let room = Reason::Duplicate { copies: 3, wanted: 1, kept_by: KeptBy::Room };
    let cfm = Reason::Duplicate { copies: 2, wanted: 1, kept_by: KeptBy::Cfm };
    let full = Reason::OverLimit { used: 950, limit: 900, low_water: 850, grade: Some(70) };
    let better = Reason::MakesRoom {
        better: file("better.mpg"),
        better_size: 77,
        better_grade: Some(1),
        better_hits: 300,
        grade: None,
    };
    let exchanged = Reason::Exchanged {
        better: file("wanted.mpg"),
        better_size: 88,
        better_demand: 12_500,
        demand: 700,
    };
    let bare = Intent {
        host: host(23),
        name: file("e.mpg"),
        size: None,
        reason: full.clone(),
        keeper: None,
        asked_by: "operator".to_owned(),
    };
    let why = || "no permission".to_owned();
    vec![
        ("intended-duplicate", intended("a.mpg", room)),
        ("intended-duplicate-as-cfm", intended("b.mpg", cfm)),
        ("intended-draining", intended("c.mpg", Reason::Draining { elsewhere: 2 })),
        ("intended-over-limit", intended("d.mpg", full)),
        ("intended-making-room", intended("f.mpg", better)),
        ("intended-without-keeper", RemovalEvent::Intended(bare)),
        ("removed", ended("a.mpg", Ending::Removed)),
        ("absent", ended("b.mpg", Ending::Absent)),
        ("not-asked", ended("c.mpg", Ending::NotAsked { why: why() })),
        ("refused", ended("d.mpg", Ending::Refused { why: why() })),
        ("still-there", ended("f.mpg", Ending::StillThere { doubted_until: after(90_000) })),
        ("pinned", RemovalEvent::Pinned { name: file("p.mpg"), asked_by: "operator".to_owned() }),
        (
            "pinned-again",
            RemovalEvent::Pinned { name: file("q.mpg"), asked_by: "script".to_owned() },
        ),
        ("unpinned", RemovalEvent::Unpinned { name: file("p.mpg") }),
        ("forgot", RemovalEvent::Forgot { history_before: 1, doubts_until: after(-1) }),
        ("intended-while-pinned", intended("q.mpg", Reason::Draining { elsewhere: 1 })),
        ("intended-exchange", intended("g.mpg", exchanged)),
    ]
}
