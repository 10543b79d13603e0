use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use reelyard_api::{
    DiskTotals, EndingLink, HostFigures, LinkFigures, NodeRole, OverviewView, PlacementFigures,
    PoolFigures, Rfc3339, TroubleSeverity, TroubleView,
};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;

use super::super::fetching::{Fetched, missing_right};
use super::super::keys::{KeyEffect, press};
use super::*;
use crate::cli::output::cell::{self, state, text};
use crate::cli::output::{ListColumn, ListTable, OutputForm, viewer};
use crate::cli::support::failure::CommandFailure;
use crate::cluster_client::NoNodeAnswered;

/// 2026-11-23 14:02:11 in Seoul.
const NOW: Millis = Millis(1_795_410_131_482);

fn style_at(now: Millis) -> PrintStyle {
    PrintStyle {
        form: OutputForm::Table,
        width: Some(80),
        has_colors: true,
        has_shapes: true,
        viewer: viewer(TimeZone::get("Asia/Seoul").unwrap(), now),
    }
}

fn trouble(severity: TroubleSeverity, title: &str) -> TroubleView {
    TroubleView {
        severity,
        kind: "host_down".to_owned(),
        state: "Down".to_owned(),
        subject: Some("10.4.2.31:8888".to_owned()),
        since: Some(Millis(NOW.0 - 18 * 60_000)),
        title: title.to_owned(),
        detail: "It holds 212 files. 9 copies to it failed.".to_owned(),
        lost_at: Some(Millis(NOW.0 + 86_400_000)),
    }
}

fn overview(troubles: Vec<TroubleView>) -> OverviewView {
    OverviewView {
        at: NOW,
        version: "0.1.0".to_owned(),
        node_id: 1,
        role: NodeRole::Leader,
        leader: Some(1),
        epoch: Epoch(3),
        troubles_total: troubles.len() as u64,
        troubles,
        fine_since: None,
        cleared: None,
        inputs: 4,
        hosts: HostFigures { total: 24, up: 23, down: 1, ..HostFigures::default() },
        copies: PlacementFigures {
            running: 12,
            waiting: 40,
            placed: 18_412,
            wanted: 18_452,
            served_percent: Some(91.3),
            ..PlacementFigures::default()
        },
        disks: DiskTotals { size: 1 << 44, used_percent: 71.0, limit_percent: 90.0 },
        links: Some(LinkFigures {
            working: 312,
            due: 12,
            next: vec![EndingLink {
                path: "films/a.mpg".to_owned(),
                expires_at: Rfc3339(Millis(NOW.0 + 60_000)),
                downloads: 1,
                max_downloads: Some(3),
            }],
        }),
        pools: Some(vec![PoolFigures {
            name: "judges".to_owned(),
            size: 8,
            free: 3,
            leased: 5,
            cleaning: 0,
            quarantined: 0,
            waiting: 2,
        }]),
    }
}

/// Names that try to control the terminal, and as long as names can be.
const HOSTILE: [&str; 4] =
    ["a\u{1b}[2J\n.mpg", "gpm.\u{202e}exe", "فيلم.mpg", "\u{9b}31m\u{7}bell.mpg"];

fn table(rows: usize) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("TASK"),
        ListColumn::left("STATE"),
        ListColumn::name("FILE"),
        ListColumn::reason("WHY"),
    ]);
    for row in 0..rows {
        let name = HOSTILE[row % HOSTILE.len()].to_owned() + &"한".repeat(60);
        table.row([text(row), state("working"), text(name), cell::maybe(None::<&str>, text)]);
    }
    table
}

fn model(troubles: Vec<TroubleView>, rows: usize) -> TopModel {
    let fetched = Fetched {
        node: "http://10.4.2.1:8080/".to_owned(),
        panel: TopPanel::Overview,
        overview: overview(troubles),
        table: table(rows),
        missing: None,
    };
    TopModel::new(fetched, &style_at(NOW))
}

fn screen(model: &TopModel, width: u16, height: u16, now: Millis) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, &style_at(now))).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect());
    let rows: Vec<String> = rows.collect();
    assert!(!rows.concat().chars().any(char::is_control), "{rows:?}");
    rows
}

#[test]
fn the_screen_begins_with_the_verdict_at_every_size() {
    let troubles = vec![
        trouble(TroubleSeverity::Bad, "10.4.2.31 does not answer"),
        trouble(TroubleSeverity::Warn, "10.4.2.32 is 93% full\u{1b}[31m, over its limit of 90%"),
    ];
    for (width, height) in [(80, 24), (40, 15), (200, 50)] {
        let rows = screen(&model(troubles.clone(), 9), width, height, NOW);
        assert!(rows[0].starts_with("● live 14:02:11  http://"), "{rows:#?}");
        assert!(rows[1].starts_with("■ 2 things are wrong, the oldest"), "{rows:#?}");
        assert!(rows[2].contains("■ down  10.4.2.31 does not answer"), "{rows:#?}");
        assert!(rows.iter().any(|row| row.starts_with("Overview Copies Hosts")), "{rows:#?}");
        let last = rows.last().unwrap();
        assert!(last.starts_with("q quit   Tab panel   j k row"), "{rows:#?}");
    }
}

#[test]
fn a_wide_screen_has_figures_and_copies() {
    let rows = screen(&model(Vec::new(), 9), 200, 50, NOW);
    let text = rows.join("\n");
    for shown in [
        "✓ Nothing is wrong",
        "node 1 leads, epoch 3, version 0.1.0",
        "24 in all: 23 up, 1 down",
        "18,412 of 18,452 files placed, 12 running, 40 waiting",
        "91.3% of the requests",
        "312 in use, 12 end within 24 h, the next in 1 min",
        "judges: 3 of 8 free, 2 waiting",
        "◐ working",
        "a␛[2J␊.mpg",
    ] {
        assert!(text.contains(shown), "{shown} is missing in:\n{text}");
    }
}

#[test]
fn a_silent_node_is_stale_until_it_answers() {
    let mut model = model(Vec::new(), 1);
    let later = Millis(NOW.0 + 38_000);
    let node = "http://10.4.2.1:8080/".parse().unwrap();
    let silent = NoNodeAnswered::asked(&node, "Connection refused");
    model.receive(Err(silent.into()), &style_at(later)).unwrap();
    let rows = screen(&model, 80, 24, later);
    assert!(rows[0].starts_with("▲ Stale, 38 s  http://10.4.2.1:8080/ the node"), "{rows:#?}");
    assert!(rows.iter().any(|row| row.contains("24 in all")), "the last answer stays: {rows:#?}");
    let again = Fetched {
        node: "http://10.4.2.2:8080/".to_owned(),
        panel: TopPanel::Overview,
        overview: overview(Vec::new()),
        table: table(1),
        missing: None,
    };
    model.receive(Ok(again), &style_at(later)).unwrap();
    let head = screen(&model, 80, 24, later)[0].clone();
    assert!(head.starts_with("● live 14:02:49") && head.contains("10.4.2.2:8080"), "{head}");
    let refused = CommandFailure::NotThere("no such session".to_owned());
    assert!(model.receive(Err(refused), &style_at(later)).is_err());
}

#[test]
fn a_list_without_a_right_names_the_right() {
    let mut model = model(Vec::new(), 3);
    model.show(TopPanel::Boxes);
    let overview = OverviewView { pools: None, ..overview(Vec::new()) };
    let missing = missing_right(TopPanel::Boxes, &overview);
    assert_eq!(missing_right(TopPanel::Links, &overview), None, "the links are there");
    let table = ListTable::new([ListColumn::left("POOL")]);
    let fetched =
        Fetched { node: model.address.clone(), panel: TopPanel::Boxes, overview, table, missing };
    model.receive(Ok(fetched), &style_at(NOW)).unwrap();
    let rows = screen(&model, 80, 24, NOW);
    assert!(rows.iter().any(|row| row.contains("need the right boxes:read")), "{rows:#?}");
    model.show(TopPanel::Hosts);
    assert_eq!(model.missing, None);
}

#[test]
fn the_chosen_row_is_always_on_the_screen() {
    let mut model = model(Vec::new(), 150);
    let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
    assert_eq!(press(&mut model, key(KeyCode::Char('2'))), KeyEffect::Panel);
    model.table = table(150);
    assert_eq!(press(&mut model, key(KeyCode::Char('G'))), KeyEffect::Nothing);
    assert_eq!(model.row, 149);
    for (width, height) in [(80, 24), (40, 15)] {
        let text = screen(&model, width, height, NOW).join("\n");
        assert!(text.contains("149 "), "{text}");
    }
    press(&mut model, key(KeyCode::Char('k')));
    assert_eq!(model.row, 148);
    press(&mut model, key(KeyCode::Home));
    assert_eq!(model.row, 0);
}

#[test]
fn keys_lead_through_the_panels_and_out() {
    let mut model = model(Vec::new(), 3);
    let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
    for panel in TopPanel::ALL.into_iter().cycle().skip(1).take(6) {
        assert_eq!(press(&mut model, key(KeyCode::Tab)), KeyEffect::Panel);
        assert_eq!(model.panel, panel);
        assert!(screen(&model, 80, 24, NOW).iter().any(|row| row.starts_with('…')));
    }
    assert_eq!(press(&mut model, key(KeyCode::BackTab)), KeyEffect::Panel);
    assert_eq!(model.panel, TopPanel::Boxes);
    press(&mut model, key(KeyCode::Char('?')));
    let rows = screen(&model, 40, 15, NOW);
    assert!(rows.iter().any(|row| row.contains("next panel")), "{rows:#?}");
    assert_eq!(press(&mut model, key(KeyCode::Esc)), KeyEffect::Nothing);
    assert!(!model.has_help);
    assert_eq!(press(&mut model, key(KeyCode::Char('q'))), KeyEffect::Quit);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(press(&mut model, interrupt), KeyEffect::Quit);
}

#[test]
fn the_smallest_screens_are_drawn_without_a_panic() {
    let model = TopModel { has_help: true, ..model(Vec::new(), 9) };
    for (width, height) in [(1, 1), (3, 2), (10, 4), (40, 1)] {
        screen(&model, width, height, NOW);
    }
}
