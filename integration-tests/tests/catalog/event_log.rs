//! The Catalog and the event log: files that become hot or cold, and when.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::actor_parts::ChangeSettings;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::catalog::catalog_input::{
    MIDNIGHT_IN_SEOUL, append, event_log, event_log_name, grade_info, not_found, replace, selection,
};
use reelyard_integration_tests::rigs::catalog::catalog_yard::{CatalogYard, WATCHED};
use reelyard_yard::catalog::EventLogSettings;
use reelyard_yard::catalog::views::CatalogInputState;
use reelyard_yard::settings::popularity::PopularityMode;

fn yard() -> CatalogYard {
    CatalogYard::start(|dir, settings| {
        settings.hitcount_history_file = None;
        fs::write(dir.join("grade.info"), grade_info(["A"])).unwrap();
        fs::create_dir(dir.join("logs")).unwrap();
    })
}

fn watched() -> IpAddr {
    WATCHED.parse().unwrap()
}

/// The log of a day in June 2018.
fn log_of(yard: &CatalogYard, day: u8) -> PathBuf {
    yard.path("logs").join(event_log_name(2018, 6, day))
}

fn hit(name: &str, seconds: i64) -> Vec<u8> {
    selection(name, MIDNIGHT_IN_SEOUL + seconds, watched())
}

fn hot(name: &str, hits: u32) -> (String, u32) {
    (name.to_owned(), hits)
}

#[actix::test]
async fn a_name_is_hot_from_three_hits_and_changes_are_reported() {
    let yard = yard();
    let log = log_of(&yard, 3);
    append(&log, &[hit("a-b (1).mpg", 0), hit("a-b (1).mpg", 0)].concat()).unwrap();
    assert!(yard.look().await.unwrap().rising.is_empty());
    append(&log, &[hit("a-b (1).mpg", 1), hit("가.mpg", 1)].concat()).unwrap();
    let answer = yard.look().await.unwrap();
    assert_eq!(answer.rising.len(), 1);
    assert_eq!(yard.hot(), [hot("a-b (1).mpg", 3)]);
    assert!(yard.look().await.unwrap().is_nothing());
    append(&log, &hit("a-b (1).mpg", 1)).unwrap();
    assert_eq!(yard.look().await.unwrap().rising.len(), 1);
    assert_eq!(yard.hot(), [hot("a-b (1).mpg", 4)]);
}

#[actix::test]
async fn hits_leave_the_window_to_the_second_without_the_log() {
    let yard = yard();
    let log = log_of(&yard, 3);
    append(&log, &[hit("A", 0), hit("A", 0), hit("A", 0)].concat()).unwrap();
    yard.look().await.unwrap();
    fs::remove_file(&log).unwrap();
    yard.clock.advance(Duration::from_millis(600_999));
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
    yard.clock.advance(Duration::from_millis(1));
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), []);
}

#[actix::test]
async fn hits_leave_the_window_without_any_look() {
    let yard = yard();
    append(&log_of(&yard, 3), &[hit("A", 0), hit("A", 0), hit("A", 0)].concat()).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
    yard.clock.advance(Duration::from_secs(601));
    // The Catalog notices it by itself, at the latest after its longest sleep.
    let cooled = async {
        while !yard.hot().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), cooled).await.unwrap();
}

#[actix::test]
async fn both_days_count_around_midnight_in_the_time_zone_of_the_log() {
    let yard = yard();
    append(&log_of(&yard, 2), &[hit("A", -600), hit("A", -1), hit("A", -601)].concat()).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), []);
    append(&log_of(&yard, 3), &hit("A", 0)).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
    // A late row of the previous day still counts.
    append(&log_of(&yard, 2), &hit("A", -2)).unwrap();
    yard.clock.advance(Duration::from_secs(1));
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
    yard.clock.advance(Duration::from_secs(600));
    yard.look().await.unwrap();
    let view = yard.view.load();
    let log = view.event_log.as_ref().unwrap();
    assert_eq!((log.files.len(), log.hits_in_window, log.hot), (1, 0, 0));
}

#[actix::test]
async fn a_rotated_log_is_read_to_its_end() {
    let yard = yard();
    let log = log_of(&yard, 3);
    append(&log, &hit("A", 0)).unwrap();
    yard.look().await.unwrap();
    append(&log, &hit("A", 0)).unwrap();
    let rotated = yard.path("logs").join("rotated");
    fs::rename(&log, &rotated).unwrap();
    append(&log, &hit("B", 0)).unwrap();
    yard.look().await.unwrap();
    append(&rotated, &hit("A", 0)).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
    // The log is replaced, deleted, and created again.
    replace(&log, &[hit("B", 1), hit("C", 1)].concat()).unwrap();
    yard.look().await.unwrap();
    fs::remove_file(&log).unwrap();
    yard.look().await.unwrap();
    append(&log, &[hit("B", 2), hit("C", 2)].concat()).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3), hot("B", 3)]);
}

#[actix::test]
async fn a_mirrored_log_counts_each_row_once() {
    let yard = yard();
    let mut rows = hit("A", 0);
    for _ in 0..2 {
        replace(&log_of(&yard, 3), &rows).unwrap();
        yard.look().await.unwrap();
        rows.extend(hit("A", 0));
    }
    assert_eq!(yard.hot(), []);
    replace(&log_of(&yard, 3), &rows).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
}

#[actix::test]
async fn torn_long_and_garbled_rows_are_survived_and_counted() {
    let yard = yard();
    let log = log_of(&yard, 3);
    let crlf = String::from_utf8(hit("A", 0)).unwrap().replace('\n', "\r\n");
    let rows = [
        b"0x40ffff,1\n,,,,,,\n\xff\xfe\xfd\n".to_vec(),
        vec![b'x'; 1 << 20],
        b"\n".to_vec(),
        crlf.into_bytes(),
        hit("A", 100 * 365 * 24 * 3600),
        not_found("A", MIDNIGHT_IN_SEOUL),
        selection("A", MIDNIGHT_IN_SEOUL, "125.159.40.35".parse().unwrap()),
        hit("../x", 0),
        hit("A", 0),
        hit("A", 0),
    ]
    .concat();
    let (begun, rest) = rows.split_at(rows.len() - 20);
    append(&log, begun).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), []);
    append(&log, rest).unwrap();
    yard.look().await.unwrap();
    assert_eq!(yard.hot(), [hot("A", 3)]);
    let view = yard.view.load();
    let log = &view.event_log.as_ref().unwrap().files[1];
    assert_eq!(log.input.state, CatalogInputState::Ok);
    // Bad rows: truncated, only commas, far in the future, and a name that leaves its directory.
    assert_eq!((log.input.tally.rows, log.input.tally.bad()), (11, 4));
    assert_eq!((log.hits, log.not_found, log.selections_elsewhere, log.other), (3, 1, 1, 2));
}

#[actix::test]
async fn a_cold_start_within_a_day_counts_only_the_window() {
    let yard = yard();
    append(&log_of(&yard, 3), &event_log(3, MIDNIGHT_IN_SEOUL, 1200, watched())).unwrap();
    yard.clock.advance(Duration::from_secs(1199));
    yard.look().await.unwrap();
    let hits: Vec<u32> = yard.hot().iter().map(|(_, hits)| *hits).collect();
    assert_eq!(hits, [601, 601, 601]);
}

#[actix::test]
async fn a_missing_log_is_reported_and_does_no_harm() {
    let yard = yard();
    yard.look().await.unwrap();
    let view = yard.view.load();
    assert!(view.ready, "nothing but hot files is missing: {:?}", view.problems);
    assert!(
        view.warnings.iter().any(|what| what.contains("EventLog[20180603].log does not exist"))
    );
    assert_eq!(view.ranking.as_ref().unwrap().len(), 1);
    append(&log_of(&yard, 3), &hit("A", 0)).unwrap();
    yard.look().await.unwrap();
    let view = yard.view.load();
    assert!(view.ready && view.warnings.is_empty(), "{:?} {:?}", view.problems, view.warnings);
}

#[actix::test]
async fn the_log_is_read_once_the_ranking_is_known() {
    let quiet = Duration::from_secs(300);
    let yard = CatalogYard::start(|dir, settings| {
        settings.settle = quiet;
        settings.hitcount_history_file = None;
        fs::write(dir.join("grade.info"), grade_info(["A"])).unwrap();
        fs::create_dir(dir.join("logs")).unwrap();
        append(&dir.join("logs").join(event_log_name(2018, 6, 3)), &hit("A", 0).repeat(3)).unwrap();
    });
    eventually("grade.info is being written", || {
        let view = yard.view.load();
        view.grade_info.as_ref().is_some_and(|file| file.state == CatalogInputState::Changing)
    })
    .await;
    // Each look-up is a job behind those of the start.
    for _ in 0..100 {
        yard.look_up("A").await.unwrap();
        let view = yard.view.load();
        assert!(view.event_log.as_ref().unwrap().files.is_empty(), "its rows would be read twice");
    }
    yard.clock.advance(quiet);
    let answer = yard.look().await.unwrap();
    let view = yard.view.load();
    assert_eq!((answer.rankings.is_empty(), yard.hot()), (false, vec![hot("A", 3)]));
    assert_eq!(view.event_log.as_ref().unwrap().requests_counted, 3);
}

#[actix::test]
async fn without_a_ranking_the_log_is_read_at_once() {
    let yard = CatalogYard::start(|dir, settings| {
        settings.hitcount_history_file = None;
        fs::create_dir(dir.join("logs")).unwrap();
        append(&dir.join("logs").join(event_log_name(2018, 6, 3)), &hit("A", 0).repeat(3)).unwrap();
    });
    eventually("a file is hot", || yard.hot() == [hot("A", 3)]).await;
    assert!(yard.view.load().ranking.is_none());
}

#[actix::test]
async fn demand_stays_in_use_while_the_log_is_read_again() {
    let yard = yard();
    append(&log_of(&yard, 3), &hit("A", 0)).unwrap();
    yard.look().await.unwrap();
    let before = yard.view.load().demand.clone().expect("one request was counted");
    // The new read finds nothing.
    fs::rename(yard.path("logs"), yard.path("moved")).unwrap();
    let change = |change: fn(&mut EventLogSettings)| {
        let mut settings = yard.settings.clone();
        settings.event_log.iter_mut().for_each(change);
        yard.catalog().send(ChangeSettings(settings))
    };
    change(|log| log.hit_base += 1).await.unwrap();
    let view = yard.view.load();
    assert!(Arc::ptr_eq(view.demand.as_ref().unwrap(), &before));
    assert!(view.ranking.as_ref().unwrap().demand().is_some());
    change(|log| log.popularity = PopularityMode::Off).await.unwrap();
    assert!(yard.view.load().demand.is_none(), "demand is not measured any more");
}
