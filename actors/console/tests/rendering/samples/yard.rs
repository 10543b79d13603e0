//! The first screen: with troubles, without, and of a node without anything.

use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::FileCondition;
use reelyard_console::pages::hosts::{HostCondition, HostModeWord, HostTotals};
use reelyard_console::pages::why::PassedReason;
use reelyard_console::pages::yard::{
    CopyLine, DiskSummary, DueLink, HotLine, PoolSummary, RecentLine, RecentStep, Trouble,
    TroubleCause, TroublePlace, VerdictFacts, WaitLine, YardFigures, YardPageModel, render,
};
use reelyard_console::parts::boxes::BoxCondition;
use reelyard_console::parts::chart::{ChartFigure, ChartLine, ChartMark};
use reelyard_console::parts::disks::DiskOfHost;
use reelyard_console::{Moment, Viewer};

use super::hosts::lines;
use super::{NAMES, NOW, ago};

fn parts(viewer: &Viewer, model: &YardPageModel) -> PageParts {
    let title = NavPage::Yard.title().of(viewer.language);
    PageParts::new(NavPage::Yard, title, render(model, viewer))
}

fn troubles() -> Vec<Trouble> {
    let stale = TroubleCause::InputUnreadable {
        input: "hitcount.history".into(),
        reason: "Permission denied".into(),
    };
    let down = TroubleCause::HostDown {
        host: "10.4.2.31:8888".into(),
        files: Some(912),
        only_here: Some(37),
        failed_copies: 31,
        lost_at: Some(Moment(NOW.0 + 258_000_000)),
        is_lost: false,
        is_last: false,
        is_only_source: false,
    };
    let over = TroubleCause::OverLimit {
        host: "10.4.2.27:8888".into(),
        used: 91.3,
        limit: 90.0,
        low_water: 85.0,
        removing: 23,
        removing_bytes: 212 << 30,
    };
    vec![
        Trouble { cause: stale, since: Some(ago(2760)) },
        Trouble { cause: over, since: Some(ago(540)) },
        Trouble { cause: down, since: Some(ago(1069)) },
    ]
}

pub fn copy(index: usize) -> CopyLine {
    let size = (6 + index as u64) << 30;
    CopyLine {
        name: NAMES[index % NAMES.len()].into(),
        is_hot: index == 1,
        source: format!("10.4.1.{}:8888", 11 + index % 3),
        destination: format!("10.4.2.{}:8888", 22 + index),
        size,
        copied: (index != 4).then_some(size / 10 * (index as u64 + 1)),
        rate: Some((412 - 31 * index as u64) << 20),
        stalled: (index == 5).then_some(40),
    }
}

fn disks() -> DiskSummary {
    let mut disks = Vec::new();
    for line in lines() {
        if let Some(level) = line.disk {
            let mode = line.mode.mark();
            let is_usual = line.condition == HostCondition::Up && line.mode == HostModeWord::Active;
            let mark = mode.unwrap_or(line.condition.mark());
            disks.push(DiskOfHost { host: line.host, level, mark, is_usual });
        }
    }
    disks.sort_by(|a, b| a.host.cmp(&b.host));
    let destinations = disks.len() as u64;
    DiskSummary { destinations, disks, size: 164 << 40, used: 81.0, limit: 90.0, low_water: 85.0 }
}

pub fn traffic() -> ChartFigure {
    let wave =
        |base: f64, step: f64| (0..60).map(|i| base + (f64::from(i) * step).sin() * 3.0).collect();
    ChartFigure {
        label: "Link traffic of all hosts in the last hour".into(),
        from: ago(3600),
        to: NOW,
        most: 80.0,
        axis: ["80 Gbit/s", "60", "40", "20", "0"].map(String::from).to_vec(),
        lines: vec![
            ChartLine { name: "Sent".into(), values: wave(44.0, 0.2) },
            ChartLine { name: "Received".into(), values: wave(31.0, 0.3) },
        ],
        marks: vec![ChartMark { at: ago(1069), word: "10.4.2.31 down".into() }],
    }
}

fn figures() -> YardFigures {
    YardFigures {
        running: 12,
        may_run: Some(12),
        copy_rate: Some(14_900_000_000),
        waiting: 212,
        oldest_wait: Some(ago(2460)),
        placed: 18_181,
        wanted: 18_430,
        out_of_reach: Some(37),
        served: Some(97.4),
        served_usual: Some(99.6),
        served_curve: vec![99.6, 99.6, 99.5, 99.6, 99.6, 99.5, 99.1, 98.0, 97.4],
        hot: 9,
        hot_unplaced: 2,
        hot_out_of_reach: 0,
        due: 38,
        next_due: Some(Moment(NOW.0 + 360_000)),
    }
}

fn hot() -> Vec<HotLine> {
    let states = [FileCondition::Waiting, FileCondition::Copying, FileCondition::Placed];
    let mut lines = Vec::new();
    for (index, name) in NAMES.iter().take(5).enumerate() {
        let condition = states[index % 3];
        let hosts = if condition == FileCondition::Waiting {
            Vec::new()
        } else {
            vec!["10.4.2.34:8888".to_owned(), "10.4.2.29:8888".to_owned()]
        };
        lines.push(HotLine {
            name: (*name).into(),
            hits: 38 - 4 * index as u64,
            curve: vec![0.0, 1.0, 1.0, 2.0, 4.0, 9.0, 20.0, 38.0],
            condition,
            hosts,
        });
    }
    lines
}

fn recent() -> Vec<RecentLine> {
    let steps = [RecentStep::Copied, RecentStep::Removed, RecentStep::Failed];
    let mut lines = Vec::new();
    for (index, name) in NAMES.iter().skip(2).take(5).enumerate() {
        lines.push(RecentLine {
            step: steps[index % 3],
            name: (*name).into(),
            host: format!("10.4.2.{}:8888", 23 + index),
            at: ago(2 + 3 * index as i64),
        });
    }
    lines
}

fn due() -> Vec<DueLink> {
    let link = |path: &str, downloads, most, minutes: i64| DueLink {
        path: path.into(),
        downloads,
        most,
        ends: Moment(NOW.0 + minutes * 60_000),
    };
    vec![
        link("movies/new/M012A7SGL1500001_K202611190012.mpg", 3, Some(5), 6),
        link("movies/press/개봉-전-시사회.mp4", 12, None, 100),
        link("trailers/2026-winter/", 0, None, 219),
    ]
}

fn pools() -> Vec<PoolSummary> {
    let judges = vec![
        (BoxCondition::Leased, 17),
        (BoxCondition::Free, 10),
        (BoxCondition::Preparing, 1),
        (BoxCondition::Cleaning, 2),
        (BoxCondition::Quarantined, 2),
    ];
    let scratch =
        vec![(BoxCondition::Leased, 3), (BoxCondition::Free, 28), (BoxCondition::Cleaning, 1)];
    vec![
        PoolSummary { name: "judges".into(), counts: judges, queue: 6 },
        PoolSummary { name: "scratch".into(), counts: scratch, queue: 0 },
    ]
}

pub fn trouble(viewer: &Viewer) -> PageParts {
    let reasons = [
        (PassedReason::NoPair, 168),
        (PassedReason::BacksOff, 31),
        (PassedReason::NoRoom, 9),
        (PassedReason::MasterUnknown, 4),
    ];
    let model = YardPageModel {
        verdict: VerdictFacts {
            troubles: troubles(),
            not_served: Some((2.6, Some(0.4))),
            cleared: Some(2),
            maintenance: vec!["10.4.1.13".into()],
            hosts: 24,
            inputs: 3,
            ..VerdictFacts::default()
        },
        figures: figures(),
        copies: (0..8).map(copy).collect(),
        waits: reasons.map(|(reason, files)| WaitLine { reason, files }).to_vec(),
        hot: hot(),
        hosts: HostTotals::default(),
        disks: disks(),
        traffic: Some(traffic()),
        traffic_as_table: false,
        recent: recent(),
        due: due(),
        links: 4212,
        has_no_root: false,
        pools: pools(),
    };
    parts(viewer, &model)
}

pub fn healthy(viewer: &Viewer) -> PageParts {
    let model = YardPageModel {
        verdict: VerdictFacts {
            fine_since: Some(ago(126_000)),
            not_served: Some((0.4, Some(0.4))),
            cleared: Some(0),
            hosts: 24,
            inputs: 3,
            ..VerdictFacts::default()
        },
        figures: YardFigures {
            placed: 18_430,
            wanted: 18_430,
            out_of_reach: Some(0),
            served: Some(99.6),
            ..YardFigures::default()
        },
        disks: disks(),
        traffic: Some(traffic()),
        recent: recent(),
        due: due(),
        links: 4212,
        pools: pools(),
        ..YardPageModel::default()
    };
    parts(viewer, &model)
}

pub fn empty(viewer: &Viewer) -> PageParts {
    let reasons =
        vec!["the inputs were not read yet: wait, or set catalog.grade_info_file".to_owned()];
    let troubles = vec![
        Trouble {
            cause: TroubleCause::NotReady { reasons, remedy: TroublePlace::Settings },
            since: None,
        },
        Trouble {
            cause: TroubleCause::InputUnset { input: "catalog.grade_info_file".into() },
            since: None,
        },
        Trouble { cause: TroubleCause::NoLeader, since: Some(ago(12)) },
    ];
    let model = YardPageModel {
        verdict: VerdictFacts { troubles, ..VerdictFacts::default() },
        ..YardPageModel::default()
    };
    parts(viewer, &model)
}
