//! Shares, boxes, plan and map.

use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::boxes::{
    self, AllPools, BoxListPages, BoxesPageModel, BoxesPageQuery, LeaseLine, PoolPanel,
    QuarantineLine, QueueLine,
};
use reelyard_console::pages::find::{self, FindHit, FindKind, FindPageModel, FindPageQuery};
use reelyard_console::pages::map::{self, MapPageModel, MapPageQuery};
use reelyard_console::pages::plan::{
    self, BackOffLine, CopyProgress, DestinationReason, ExchangeLine, GoingCopy, PassedLine,
    PlanLine, PlanPageModel, PlanPageQuery, RemovalLine, RemoverMode, SparedLine,
};
use reelyard_console::pages::shares::{
    self, DownloadLine, FoundPath, NewLink, OneSharePageModel, ShareCondition, ShareLine,
    ShareTotals, SharesPageModel, SharesPageQuery,
};
use reelyard_console::pages::why::PassedReason;
use reelyard_console::parts::act::CommandLines;
use reelyard_console::parts::boxes::{BoxCondition, GridBox};
use reelyard_console::parts::heat::{HeatCell, HeatHost, HeatMap, HeatRow};
use reelyard_console::parts::table::RowPage;
use reelyard_console::parts::timeline::{END_COLUMNS, EndColumn};
use reelyard_console::{Moment, Viewer};

use super::{NAMES, NOW, ago};

fn later(minutes: i64) -> Moment {
    Moment(NOW.0 + minutes * 60_000)
}

pub fn links(viewer: &Viewer) -> PageParts {
    let line = |index: usize| ShareLine {
        id: format!("s{index}"),
        path: format!("movies/new/{}", NAMES[index]),
        is_directory: index == 2,
        condition: if index == 6 { ShareCondition::Revoked } else { ShareCondition::Works },
        ends: Some(later(6 + 94 * index as i64 * index as i64)),
        downloads: 3 * index as u64,
        most: (index.is_multiple_of(2)).then_some(25),
        owner: if index == 3 { String::new() } else { "press".into() },
        has_password: index.is_multiple_of(3),
        address: Some(format!("https://share.example.net/s/k7Qm{index}4xTz")),
    };
    let column = |index: usize| EndColumn {
        links: [
            0, 0, 1, 0, 1, 0, 1, 0, 2, 3, 3, 2, 3, 1, 2, 2, 1, 2, 2, 5, 6, 7, 8, 6, 6, 6, 6, 6, 3,
            3, 2, 5, 6, 10, 412, 7, 7, 5, 3, 4, 4, 5, 4, 3, 3,
        ][index],
        address: SharesPageQuery { due: Some(index as u64), ..SharesPageQuery::default() }
            .address(),
    };
    let model = SharesPageModel {
        failing_hooks: vec![("billing".into(), "the receiver answers 500".into())],
        has_no_root: false,
        due_span: None,
        totals: ShareTotals { working: 4212, due: 38, ended: 1904, hooks: 2, failing_hooks: 0 },
        next_due: Some(later(6)),
        columns: (0..END_COLUMNS).map(column).collect(),
        peak: Some((later(10_060), 412)),
        rows: (0..8).map(line).collect(),
        page: RowPage {
            first: 1,
            shown: 8,
            total: Some(4212),
            previous: None,
            next: Some("/console/shares?after=1".into()),
        },
        new: Some(NewLink {
            path: "movies/new/opening night (final-cut).mpg".into(),
            ttl: "7d".into(),
            default_seconds: 14 * 86_400,
            most: "5".into(),
            owner: "press".into(),
            found: FoundPath::File(9_556_302_233),
            commands: CommandLines::of_words(&[
                "share",
                "create",
                "movies/new/opening night (final-cut).mpg",
                "--ttl",
                "7d",
            ]),
            ..NewLink::default()
        }),
        ask: None,
    };
    let query = SharesPageQuery { new: true, ..SharesPageQuery::default() };
    let title = NavPage::Shares.title().of(viewer.language);
    PageParts::new(NavPage::Shares, title, shares::render(&query, &model, viewer))
}

fn pool(name: &str, first: u32, seed: u32) -> PoolPanel {
    let state = |index: u32| match (index * seed + index / 3) % 11 {
        0..5 => BoxCondition::Leased,
        5..8 => BoxCondition::Free,
        8 => BoxCondition::Preparing,
        9 => BoxCondition::Cleaning,
        _ => BoxCondition::Quarantined,
    };
    let boxes: Vec<GridBox> =
        (0..32).map(|index| GridBox { number: first + index, condition: state(index) }).collect();
    let count = |condition| boxes.iter().filter(|item| item.condition == condition).count() as u64;
    PoolPanel {
        name: name.into(),
        host: Some("10.4.3.7".into()),
        ttl: 60,
        counts: BoxCondition::ALL.map(|condition| (condition, count(condition))).to_vec(),
        boxes,
        queue: 3,
        queue_most: 100,
    }
}

pub fn pools(viewer: &Viewer) -> PageParts {
    let lease = |index: u64| LeaseLine {
        id: format!("881{index}"),
        number: index * 3,
        holder: format!("job-44{index}"),
        token: 88_117 + index,
        ends: Moment(NOW.0 + 4000 + 20_000 * index as i64),
        granted: ago(660),
    };
    let waiting = |place: u64| QueueLine {
        place,
        holder: format!("job-447{place}"),
        priority: 20,
        count: 1,
        since: ago(48 - 5 * place as i64),
    };
    let evidence = "cleanup  /bin/rm -rf /srv/boxes/box-9    exit 1 after 2.1 s\nfound    pid 21377  uid 60009\tstate D  ./judge --case 118\u{1b}[31m";
    let totals =
        AllPools { pools: 64, boxes: 8064, waiting: 6, longest_wait: Some(48), quarantined: 2 };
    let later = |shown: usize, total: usize| {
        RowPage::at(0, shown, total, shown, &|at| format!("/console/boxes?at={at}"))
    };
    let model = BoxesPageModel {
        totals,
        pages: BoxListPages {
            pools: later(2, 64),
            leases: later(5, 12),
            ..BoxListPages::default()
        },
        pools: vec![pool("judges", 0, 7), pool("scratch", 100, 5)],
        chosen: "judges".into(),
        queue: (1..4).map(waiting).collect(),
        leases: (0..5).map(lease).collect(),
        quarantine: vec![
            QuarantineLine {
                pool: "judges".into(),
                number: 9,
                since: ago(1680),
                output: evidence.into(),
                by: None,
                failures: Some(3),
            },
            QuarantineLine {
                pool: "judges".into(),
                number: 30,
                since: ago(57_600),
                by: Some("ops-1".into()),
                failures: None,
                output: "its disk is slow".into(),
            },
        ],
        one: None,
        ask: None,
    };
    let title = NavPage::Boxes.title().of(viewer.language);
    PageParts::new(NavPage::Boxes, title, boxes::render(&BoxesPageQuery::default(), &model, viewer))
}

pub fn round(viewer: &Viewer) -> PageParts {
    let copy = |index: usize| PlanLine {
        name: NAMES[index].into(),
        rank: Some(100 + index as u64),
        hits: if index < 3 { 38 - 10 * index as u64 } else { 0 },
        source: "10.4.1.11:8888".into(),
        destination: format!("10.4.2.{}:8888", 22 + index),
        size: 9 << 30,
        why_there: match index {
            0 => DestinationReason::RoomMade,
            1 => DestinationReason::Asked("ops-1".into()),
            2 => DestinationReason::OnTrial,
            _ => DestinationReason::MostRoom(2 << 40),
        },
        planned: ago(4),
        progress: match index {
            0 => CopyProgress::Working { copied: 4 << 30, left: Some(130) },
            1 => CopyProgress::Working { copied: 0, left: None },
            _ => CopyProgress::Ready,
        },
    };
    let removal = |index: usize| RemovalLine {
        name: NAMES[index].into(),
        host: "10.4.2.27:8888".into(),
        size: Some(9 << 30),
        reason: "the disk is over its limit, and the file is the least wanted there".into(),
        keeper: (index == 1).then(|| "10.4.2.22:8888".to_owned()),
        asked_by: (index == 2).then(|| "ops-1".to_owned()),
    };
    let spared = |reason: &str, copies| SparedLine { reason: reason.into(), copies };
    let passed = [
        (PassedReason::Placed, 18_218),
        (PassedReason::NoPair, 168),
        (PassedReason::BacksOff, 31),
        (PassedReason::Ignored, 22),
        (PassedReason::NoRoom, 9),
    ];
    let model = PlanPageModel {
        at: Some(ago(6)),
        took: 812,
        waiting: 212,
        copies: (0..6).map(copy).collect(),
        copies_total: 12,
        remover_mode: RemoverMode::DryRun,
        removals: (0..4).map(removal).collect(),
        removals_total: 23,
        removal_bytes: 212 << 30,
        removal_hosts: 1,
        spared: vec![
            spared("it is one of the copies that there should be", 412),
            spared("it is pinned", 38),
        ],
        exchanges_total: 1,
        exchanges: vec![ExchangeLine {
            name: NAMES[0].into(),
            size: 15 << 30,
            hits: 38,
            host: Some("10.4.2.23:8888".into()),
            goes: (1..3)
                .map(|index| GoingCopy {
                    name: NAMES[index].into(),
                    rank: (index == 1).then_some(4102),
                    size: Some(8 << 30),
                })
                .collect(),
            more_go: 0,
            verdict: "room is made on 10.4.2.23: 2 colder copies go".into(),
        }],
        passed: passed
            .map(|(reason, files)| PassedLine { reason, files, first: Some(NAMES[8].into()) })
            .to_vec(),
        back_offs_total: 2,
        back_offs: vec![
            BackOffLine {
                destination: Some("10.4.2.31:8888".into()),
                until: later(21),
                failures: 31,
                reason: "the host is down".into(),
                ..BackOffLine::default()
            },
            BackOffLine {
                file: Some(NAMES[4].into()),
                until: later(2),
                failures: 2,
                reason: "hash differs".into(),
                ..BackOffLine::default()
            },
        ],
        ..PlanPageModel::default()
    };
    let title = NavPage::Plan.title().of(viewer.language);
    PageParts::new(NavPage::Plan, title, plan::render(&PlanPageQuery::default(), &model, viewer))
}

fn heat() -> HeatMap {
    let row = |index: usize| HeatRow {
        name: NAMES[index % NAMES.len()].into(),
        key: "x".into(),
        address: "/console/files?why=x".into(),
        cells: vec![
            HeatCell {
                host: (index * 7) % 20,
                requests: 4100 - 170 * index as u64,
                is_coming: false,
            },
            HeatCell {
                host: if index.is_multiple_of(3) { 9 } else { (index * 3 + 4) % 20 },
                requests: 2100 - 80 * index as u64,
                is_coming: index == 5,
            },
        ],
    };
    HeatMap {
        hosts: (21..41)
            .map(|last| HeatHost { host: format!("10.4.2.{last}:8888"), is_down: last == 31 })
            .collect(),
        rows: (0..24).map(row).collect(),
    }
}

fn map_page(viewer: &Viewer, query: &MapPageQuery) -> PageParts {
    let title = NavPage::Map.title().of(viewer.language);
    PageParts::new(
        NavPage::Map,
        title,
        map::render(query, &MapPageModel { map: heat(), is_counted: true, ask: None }, viewer),
    )
}

pub fn requests(viewer: &Viewer) -> PageParts {
    map_page(viewer, &MapPageQuery::default())
}

pub fn requests_table(viewer: &Viewer) -> PageParts {
    let view = Some(map::MapView::Table);
    map_page(viewer, &MapPageQuery { view, ..MapPageQuery::default() })
}

pub fn one_link(viewer: &Viewer) -> PageParts {
    let download = |index: usize| DownloadLine {
        at: ago(60 * index as i64),
        address: "203.0.113.7".into(),
        name: if index == 1 { String::new() } else { NAMES[index].into() },
        bytes: Some(8 << 30),
    };
    let model = OneSharePageModel {
        line: ShareLine {
            id: "s1".into(),
            path: format!("movies/{}", NAMES[4]),
            ends: Some(later(6)),
            owner: "press".into(),
            address: Some("https://share.example.net/s/q8Zt3mVx1RkE0bNa".into()),
            ..ShareLine::default()
        },
        note: "for the première".into(),
        unlogged: String::new(),
        downloads: (0..6).map(download).collect(),
        page: RowPage { first: 1, shown: 6, total: Some(6), previous: None, next: None },
        ask: None,
    };
    PageParts::new(NavPage::Shares, "press", shares::render_one(&model, viewer))
}

pub fn found(viewer: &Viewer) -> PageParts {
    let hit = |kind, words: &str, remark: &str| FindHit {
        kind,
        words: words.into(),
        remark: remark.into(),
        address: "/console/hosts/10.4.2.31:8888".into(),
    };
    let hits = vec![
        hit(FindKind::Host, "10.4.2.31:8888", "Down"),
        hit(FindKind::File, NAMES[8], "Placed"),
        hit(FindKind::Action, "Trust 10.4.2.31 again", ""),
    ];
    let query = FindPageQuery { q: "2.31".into(), ..FindPageQuery::default() };
    PageParts::new(NavPage::Yard, "2.31", find::render(&query, &FindPageModel { hits }, viewer))
}
