//! The table of files, its panel "Why?", and a filter that finds nothing.

use reelyard_console::address::encoded;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::files::{
    FileCondition, FileLine, FileTotals, FilesPageModel, FilesPageQuery, render,
};
use reelyard_console::pages::why::{
    DestinationAnswer, HeldCopy, HostObstacle, PassedReason, SourceAnswer, WhyAnswer, WhyFile,
};
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::table::RowPage;
use reelyard_console::{Moment, Viewer};

use super::{NAMES, NOW, ago};

fn line(index: usize) -> FileLine {
    let conditions = [
        FileCondition::Waiting,
        FileCondition::Copying,
        FileCondition::Placed,
        FileCondition::Placed,
        FileCondition::OutOfReach,
        FileCondition::NoRoom,
    ];
    let condition = conditions[index % 6];
    let hosts = match condition {
        FileCondition::Waiting | FileCondition::NoRoom => Vec::new(),
        FileCondition::OutOfReach => vec![("10.4.2.31:8888".to_owned(), true)],
        _ => vec![("10.4.2.21:8888".to_owned(), false), ("10.4.2.29:8888".to_owned(), index == 3)],
    };
    FileLine {
        hosts_total: hosts.len() as u64 + if index == 2 { 7 } else { 0 },
        name: NAMES[index % NAMES.len()].into(),
        key: encoded(NAMES[index % NAMES.len()]),
        rank: (index != 5).then_some(1 + index as u64),
        condition,
        is_hot: index < 2,
        is_pinned: index == 3,
        hosts,
        hits: 412 - 20 * index as u64,
        curve: if index < 8 { vec![3.0, 2.0, 5.0, 9.0, 4.0, 12.0, 14.0, 20.0] } else { Vec::new() },
        requests_a_day: Some(4120.5 / (index as f64 + 1.0)),
        score: (index != 4).then_some(512_400.5 / (index as f64 + 1.0)),
        size: (index != 4).then_some((14 - index as u64) << 30),
    }
}

fn model() -> FilesPageModel {
    FilesPageModel {
        totals: FileTotals {
            all: 18_452,
            placed: 18_181,
            waiting: 212,
            copying: 12,
            hot: 9,
            out_of_reach: Some(37),
            problem: Some(9),
            ignored: Some(22),
        },
        matching: Some(18_452),
        rows: (0..12).map(line).collect(),
        page: RowPage {
            first: 1,
            shown: 12,
            total: Some(18_452),
            previous: None,
            next: Some("/console/files?after=x".into()),
        },
        hosts: (21..41).map(|last| format!("10.4.2.{last}:8888")).collect(),
        is_set_up: true,
        ask: None,
        why: None,
    }
}

fn parts(viewer: &Viewer, query: &FilesPageQuery, model: &FilesPageModel) -> PageParts {
    let title = NavPage::Files.title().of(viewer.language);
    PageParts::new(NavPage::Files, title, render(query, model, viewer))
}

pub fn table(viewer: &Viewer) -> PageParts {
    parts(viewer, &FilesPageQuery::default(), &model())
}

pub fn nothing(viewer: &Viewer) -> PageParts {
    let query = FilesPageQuery {
        q: "zzz<b>".into(),
        reason: "no_pair".into(),
        ..FilesPageQuery::default()
    };
    parts(viewer, &query, &FilesPageModel { rows: Vec::new(), matching: Some(0), ..model() })
}

pub fn explained() -> WhyFile {
    let source =
        |last: u8, says| SourceAnswer { host: format!("10.4.1.{last}:8888"), says, serving: 4 };
    let destination = |last: u8, says, room| DestinationAnswer {
        host: format!("10.4.2.{last}:8888"),
        says,
        room,
        is_down: false,
    };
    WhyFile {
        name: NAMES[0].into(),
        key: encoded(NAMES[0]),
        answer: Some(WhyAnswer::WaitsForTurn),
        place: Some((1, 212)),
        rank: Some(141),
        ranked: Some(18_430),
        hits: 38,
        hot_from: Some(3),
        requests_a_day: Some(210.4),
        score: Some(22_400.5),
        size: Some(10_307_921_510),
        master_dir: Some("/data/masters-2".into()),
        copies: vec![HeldCopy {
            host: "10.4.2.29:8888".into(),
            decision: String::new(),
            is_down: false,
            since: None,
        }],
        sources: vec![
            source(11, HostObstacle::Busy),
            source(12, HostObstacle::Busy),
            source(13, HostObstacle::Maintenance),
        ],
        destinations: vec![
            destination(35, HostObstacle::OnTrial, Some(2 << 40)),
            destination(24, HostObstacle::BusyLink, Some(1 << 40)),
            destination(27, HostObstacle::OverLimit, Some(0)),
            destination(38, HostObstacle::Draining, Some(4 << 40)),
            destination(31, HostObstacle::NotUp, None),
            destination(21, HostObstacle::Usable, Some(1 << 40)),
        ],
        commands: CommandLines::new(
            &["files", "copy", NAMES[0], "--to", "10.4.2.28:8888"],
            (
                "POST",
                "/tasks",
                &format!("{{\"name\":\"{}\",\"destination\":\"10.4.2.28:8888\"}}", NAMES[0]),
            ),
        ),
        ..WhyFile::default()
    }
}

pub fn why(viewer: &Viewer) -> PageParts {
    let query = FilesPageQuery { why: NAMES[0].into(), ..FilesPageQuery::default() };
    parts(viewer, &query, &FilesPageModel { why: Some(explained()), ..model() })
}

/// The same for a file whose only host does not answer.
pub fn out_of_reach(viewer: &Viewer) -> PageParts {
    let held = |last: u8| HeldCopy {
        host: format!("10.4.2.{last}:8888"),
        decision: String::new(),
        is_down: true,
        since: Some(ago(1069)),
    };
    let why = WhyFile {
        answer: None,
        passed: Some(PassedReason::Placed),
        place: None,
        copies: vec![held(31)],
        destinations: vec![DestinationAnswer {
            host: held(31).host,
            says: HostObstacle::Holds,
            room: None,
            is_down: true,
        }],
        lost_at: Some(Moment(NOW.0 + 258_000_000)),
        ..explained()
    };
    let query = FilesPageQuery { why: NAMES[0].into(), ..FilesPageQuery::default() };
    parts(viewer, &query, &FilesPageModel { why: Some(why), ..model() })
}
