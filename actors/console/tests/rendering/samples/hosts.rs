//! The table of hosts, its dialog and panel, and one host.

use reelyard_console::address::SortBy;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::FileCondition;
use reelyard_console::pages::host::{
    self, Breaker, BreakerRole, HostPageModel, HostTraffic, OnlyHereFile,
};
use reelyard_console::pages::hosts::{
    HostCondition, HostLine, HostModeWord, HostRoleWord, HostTotals, HostsPageModel,
    HostsPageQuery, LinkShare, render,
};
use reelyard_console::pages::why::{HostObstacle, HostSilence, ObstacleFact};
use reelyard_console::pages::yard::{EndedTrouble, RecentLine, RecentStep, TroubleCause};
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::bars::DiskLevel;
use reelyard_console::parts::dialog::{AskDialog, NamedThings};
use reelyard_console::parts::spark::HealthSpan;
use reelyard_console::parts::table::RowPage;
use reelyard_console::{Moment, Viewer};

use super::{NAMES, NOW, ago};

fn level(used: f64) -> DiskLevel {
    DiskLevel {
        used,
        others: Some(used * 0.12),
        coming: 0.0,
        limit: 90.0,
        low_water: 85.0,
        is_old: false,
    }
}

fn destination(number: usize) -> HostLine {
    let used = [
        84.1, 78.6, 83.9, 71.2, 84.8, 80.4, 91.3, 62.0, 84.6, 83.2, 76.5, 84.9, 79.8, 85.6, 58.3,
        84.4, 81.7, 33.5, 84.7, 82.1,
    ][number];
    let mut line = HostLine {
        host: format!("10.4.2.{}:8888", 21 + number),
        condition: HostCondition::Up,
        since: Some(ago(126_000)),
        disk: Some(level(used)),
        room: Some(((90.0 - used).max(0.0) * 88e9) as u64),
        files: Some(900 + number as u64 * 7),
        link: Some(LinkShare {
            out: 20.0 + number as f64 * 3.0,
            inward: 14.0,
            speed: 25_000_000_000,
        }),
        copies_in: u64::from(number.is_multiple_of(4)),
        ..HostLine::default()
    };
    match number {
        6 => line.obstacle = Some(HostObstacle::OverLimit),
        10 => {
            line.condition = HostCondition::Down;
            line.since = Some(ago(1069));
            line.disk = Some(DiskLevel { is_old: true, ..level(used) });
            line.link = None;
            line.obstacle = Some(HostObstacle::NotUp);
        }
        14 => {
            line.condition = HostCondition::Probation;
            line.obstacle = Some(HostObstacle::OnTrial);
        }
        17 => {
            line.mode = HostModeWord::Draining;
            line.obstacle = Some(HostObstacle::Draining);
        }
        _ => {}
    }
    line
}

pub fn lines() -> Vec<HostLine> {
    let mut lines: Vec<HostLine> = [10, 6, 14, 17].into_iter().map(destination).collect();
    let source = |last: u8| HostLine {
        host: format!("10.4.1.{last}:8888"),
        condition: HostCondition::Up,
        since: Some(ago(126_000)),
        role: HostRoleWord::Source,
        copies_out: 4,
        link: Some(LinkShare { out: 67.0, inward: 2.0, speed: 25_000_000_000 }),
        ..HostLine::default()
    };
    lines.push(HostLine {
        condition: HostCondition::NotAsked,
        mode: HostModeWord::Maintenance,
        obstacle: Some(HostObstacle::Maintenance),
        link: None,
        since: None,
        copies_out: 0,
        ..source(13)
    });
    lines.extend([11, 12, 14].map(source));
    lines.extend((0..20).filter(|number| ![10, 6, 14, 17].contains(number)).map(destination));
    lines
}

fn model() -> HostsPageModel {
    HostsPageModel {
        totals: HostTotals {
            sources: 4,
            destinations: 20,
            up: 21,
            suspect: 0,
            down: 1,
            unknown: 1,
            over_limit: 1,
            probation: 1,
            draining: 1,
            maintenance: 1,
        },
        matching: 24,
        rows: lines(),
        page: RowPage { first: 1, shown: 24, total: Some(24), previous: None, next: None },
        ask: None,
        why: None,
    }
}

fn parts(viewer: &Viewer, query: &HostsPageQuery, model: &HostsPageModel) -> PageParts {
    let title = NavPage::Hosts.title().of(viewer.language);
    PageParts::new(NavPage::Hosts, title, render(query, model, viewer))
}

pub fn table(viewer: &Viewer) -> PageParts {
    let pick = vec!["10.4.2.31:8888".to_owned(), "10.4.2.35:8888".to_owned()];
    let query =
        HostsPageQuery { pick, sort: SortBy::descending("health"), ..HostsPageQuery::default() };
    parts(viewer, &query, &model())
}

pub fn ask(viewer: &Viewer) -> PageParts {
    let names = [
        "10.4.2.33:8888",
        "10.4.2.36:8888",
        "10.4.2.37:8888",
        "10.4.2.38:8888",
        "10.4.2.39:8888",
        "10.4.2.40:8888",
    ];
    let ask = AskDialog {
        question: "Drain 27 hosts?".into(),
        consequence: "They get no new copies. 2,041 files are on them; 19 are nowhere else and are copied first.".into(),
        names: names.map(|name| (name.to_owned(), "915 files, 8 only here".to_owned())).to_vec(),
        things: 27,
        only_there: Some(NamedThings {
            sentence: "19 files are nowhere else. They are copied first, then removed there.".into(),
            names: vec![(NAMES[9].into(), "1.1 GiB".into()), (NAMES[6].into(), "no master".into())],
            things: 19,
        }),
        left_out: vec!["Left out: 10.4.2.31 (does not answer).".into()],
        warning: Some("14.2 TiB are to move, other destinations have 9.1 TiB of room. 5.1 TiB would stay.".into()),
        refused: None,
        is_final: true,
        verb: "Drain 27 hosts".into(),
        action: "/console/hosts/drain".into(),
        values: names.map(|name| ("pick".to_owned(), name.to_owned())).to_vec(),
        fields: Vec::new(),
        follow: None,
        reason_label: Some("Reason (kept in the audit)".into()),
        back: "/console/hosts".into(),
        commands: CommandLines {
            things: 27,
            in_reelyard: 2,
            in_curl: 1,
            ..CommandLines::new(
                &["hosts", "drain", "10.4.2.33:8888", "10.4.2.36:8888"],
                ("PUT", "/hosts/10.4.2.33:8888/mode", "{\"mode\":\"draining\"}"),
            )
        },
    };
    parts(viewer, &HostsPageQuery::default(), &HostsPageModel { ask: Some(ask), ..model() })
}

pub fn why(viewer: &Viewer) -> PageParts {
    let line = destination(10);
    let query = HostsPageQuery { why: line.host.clone(), ..HostsPageQuery::default() };
    let silence = HostSilence {
        misses: 216,
        last_answer: Some(ago(1069)),
        interval: 4,
        lost_at: Some(Moment(NOW.0 + 258_000_000)),
    };
    let reasons = vec![
        obstacle(HostObstacle::NotUp, "connection refused", Some(silence)),
        obstacle(HostObstacle::BacksOff, "31 failures, until 14:41", None),
    ];
    parts(viewer, &query, &HostsPageModel { why: Some((line, reasons)), ..model() })
}

fn obstacle(obstacle: HostObstacle, detail: &str, silence: Option<HostSilence>) -> ObstacleFact {
    ObstacleFact { obstacle, detail: detail.to_owned(), silence }
}

pub fn one(viewer: &Viewer) -> PageParts {
    host_page(viewer, false)
}

pub fn one_with_table(viewer: &Viewer) -> PageParts {
    host_page(viewer, true)
}

fn host_page(viewer: &Viewer, traffic_as_table: bool) -> PageParts {
    let spans = (0..96).map(|index| match index {
        33 | 94 | 95 => HealthSpan::Down,
        41 => HealthSpan::Suspect,
        0..4 => HealthSpan::NotAsked,
        _ => HealthSpan::Up,
    });
    let only = |index: usize| OnlyHereFile {
        name: NAMES[index].into(),
        rank: Some(118 + index as u64),
        hits: 2211 - 300 * index as u64,
        size: Some(9 << 30),
        condition: if index == 0 { FileCondition::Copying } else { FileCondition::Waiting },
    };
    let recent = |index: usize| RecentLine {
        step: if index == 0 { RecentStep::Failed } else { RecentStep::Copied },
        name: NAMES[index].into(),
        host: "10.4.2.31:8888".into(),
        at: ago(1069 + 40 * index as i64),
    };
    let model = HostPageModel {
        line: destination(10),
        program: "reelyard 0.1.0".into(),
        is_configured: true,
        failure: Some("connection refused: HEAD /hb, 216 probes in a row".into()),
        listed: Some(ago(2340)),
        only_here: Some(37),
        failed_copies: 31,
        lost_at: Some(Moment(NOW.0 + 258_000_000)),
        health: spans.collect(),
        obstacles: vec![obstacle(
            HostObstacle::NotUp,
            "connection refused",
            Some(HostSilence { misses: 216, interval: 4, ..HostSilence::default() }),
        )],
        ended: vec![EndedTrouble {
            cause: TroubleCause::Suspect { host: "10.4.2.31:8888".into() },
            from: ago(9000),
            to: ago(8700),
        }],
        ended_since: Some(ago(90_000)),
        breakers: vec![Breaker {
            of: BreakerRole::Destination,
            is_probation: false,
            until: Moment(NOW.0 + 1_260_000),
            failures: 31,
            reason: "the host is down".into(),
        }],
        only_files: (0..5).map(only).collect(),
        disk_size: Some(8 << 40),
        disk_used: Some(6 << 40),
        traffic: Some(HostTraffic {
            interface: "bond0".into(),
            speed: Some(25_000_000_000),
            out: 9_000_000_000,
            inward: 4_100_000_000,
            copies_out: None,
            copies_in: Some(3_900_000_000),
            at: Some(ago(1100)),
        }),
        traffic_hour: Some(super::yard::traffic()),
        traffic_as_table,
        receives_below: Some(10_000_000_000),
        recent: (0..5).map(recent).collect(),
        ..HostPageModel::default()
    };
    PageParts::new(NavPage::Hosts, "10.4.2.31:8888", host::render(&model, viewer))
}
