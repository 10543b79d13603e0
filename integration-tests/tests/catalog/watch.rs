//! The Catalog sees changes of its inputs at once. Its polls are a day apart and only the test moves its
//! clock: it sees changes only by kernel notifications.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::catalog::catalog_input::{
    MIDNIGHT_IN_SEOUL, append, event_log_name, grade_info, replace, selection,
};
use reelyard_integration_tests::rigs::catalog::catalog_yard::{CatalogYard, WATCHED};
use reelyard_yard::catalog::views::{CatalogInputState, NoticedBy};
use reelyard_yard::catalog::{CatalogSettings, WatchMode};

/// The time without changes that a file needs, by the manual clock.
const SETTLE: Duration = Duration::from_secs(3600);

/// A yard with file notifications, whose only ranking input is `input/grade.info`.
fn watching(prepare: impl FnOnce(&Path, &mut CatalogSettings)) -> CatalogYard {
    CatalogYard::start(|dir, settings| {
        settings.watch = WatchMode::Auto;
        settings.settle = SETTLE;
        settings.settle_limit = 10 * SETTLE;
        settings.grade_info_file = Some(dir.join("input/grade.info"));
        settings.hitcount_history_file = None;
        settings.event_log = None;
        prepare(dir, settings);
    })
}

/// A yard with file notifications whose ranking has been read.
async fn ranked(names: &[&str]) -> CatalogYard {
    let yard = watching(|dir, _| {
        fs::create_dir(dir.join("input")).unwrap();
        fs::write(dir.join("input/grade.info"), grade_info(names)).unwrap();
    });
    yard.look().await.unwrap();
    yard.clock.advance(SETTLE);
    yard.look().await.unwrap();
    assert_eq!(best_first(&yard), names);
    yard
}

fn best_first(yard: &CatalogYard) -> Vec<String> {
    let view = yard.view.load();
    let files = view.ranking.iter().flat_map(|ranking| ranking.files().iter().copied());
    yard.names_of(files)
}

async fn is_ranked(yard: &CatalogYard, names: &[&str]) {
    eventually(&format!("the ranking is {names:?}"), || best_first(yard) == names).await;
}

async fn is_in_state(yard: &CatalogYard, state: CatalogInputState) {
    eventually(&format!("grade.info is {state:?}"), || {
        yard.view.load().grade_info.as_ref().is_some_and(|input| input.state == state)
    })
    .await;
}

#[actix::test]
async fn a_file_that_is_replaced_is_read_at_once() {
    let yard = ranked(&["A", "B"]).await;
    for names in [["B", "A"], ["A", "C"], ["C", "A"]] {
        replace(&yard.path("input/grade.info"), &grade_info(names)).unwrap();
        is_ranked(&yard, &names).await;
    }
    let view = yard.view.load();
    assert_eq!(view.grade_info.as_ref().unwrap().noticed_by, Some(NoticedBy::Events));
    assert!(view.source_dirs.dirs.iter().all(|dir| dir.noticed_by == Some(NoticedBy::Events)));
}

#[actix::test]
async fn a_storm_of_writes_is_seen_at_once_and_read_once() {
    let yard = ranked(&["A"]).await;
    yard.take_notifications().await.unwrap();
    let path = yard.path("input/grade.info");
    let whole = grade_info((0..51).map(|index| format!("F{index}")));
    fs::write(&path, "").unwrap();
    is_in_state(&yard, CatalogInputState::Changing).await;
    for flush in whole.chunks(whole.len().div_ceil(51)) {
        append(&path, flush).unwrap();
        tokio::task::yield_now().await;
    }
    yard.look().await.unwrap();
    assert_eq!(best_first(&yard), ["A"], "a partial file is not used");
    assert!(yard.view.load().ready, "the last good ranking is in use");
    yard.clock.advance(SETTLE);
    let answer = yard.look().await.unwrap();
    assert_eq!(answer.rankings.len(), 1);
    assert_eq!(answer.rankings[0].len(), 51);
}

#[actix::test]
async fn a_file_that_is_always_written_is_read_after_the_limit() {
    let yard = ranked(&["A"]).await;
    let path = yard.path("input/grade.info");
    for half in 0..20 {
        assert_eq!(best_first(&yard), ["A"], "{half}");
        append(&path, format!("X{half}\t1\n").as_bytes()).unwrap();
        yard.look().await.unwrap();
        yard.clock.advance(SETTLE / 2);
    }
    append(&path, b"last\t1\n").unwrap();
    yard.look().await.unwrap();
    assert_eq!(best_first(&yard).len(), 22);
}

#[actix::test]
async fn a_new_file_in_a_new_directory_is_seen() {
    let yard = watching(|_, _| {});
    is_in_state(&yard, CatalogInputState::Missing).await;
    assert!(!yard.view.load().ready);
    fs::create_dir(yard.path("new")).unwrap();
    fs::write(yard.path("new/grade.info"), grade_info(["A"])).unwrap();
    fs::rename(yard.path("new"), yard.path("input")).unwrap();
    is_ranked(&yard, &["A"]).await;
    eventually("all is well", || yard.view.load().ready).await;
}

#[actix::test]
async fn a_file_deleted_and_made_again_keeps_the_last_good_ranking() {
    let yard = ranked(&["A"]).await;
    let path = yard.path("input/grade.info");
    for name in ["B", "C"] {
        let before = best_first(&yard);
        fs::remove_file(&path).unwrap();
        is_in_state(&yard, CatalogInputState::Missing).await;
        let view = yard.view.load();
        assert!(view.problems[0].contains("grade.info does not exist"), "{:?}", view.problems);
        assert!(!view.ready);
        assert_eq!(best_first(&yard), before);
        replace(&path, &grade_info([name])).unwrap();
        is_ranked(&yard, &[name]).await;
        eventually("all is well", || yard.view.load().ready).await;
    }
}

#[actix::test]
async fn a_directory_that_is_replaced_or_comes_back_is_watched_on() {
    let yard = ranked(&["A"]).await;
    fs::create_dir(yard.path("other")).unwrap();
    fs::write(yard.path("other/grade.info"), grade_info(["B"])).unwrap();
    fs::rename(yard.path("input"), yard.path("old")).unwrap();
    fs::rename(yard.path("other"), yard.path("input")).unwrap();
    is_ranked(&yard, &["B"]).await;
    replace(&yard.path("input/grade.info"), &grade_info(["C"])).unwrap();
    is_ranked(&yard, &["C"]).await;

    fs::rename(yard.path("input"), yard.path("other")).unwrap();
    fs::rename(yard.path("old"), yard.path("input")).unwrap();
    is_ranked(&yard, &["A"]).await;
    replace(&yard.path("input/grade.info"), &grade_info(["D"])).unwrap();
    is_ranked(&yard, &["D"]).await;

    // The directory is moved away and back, possibly before the Catalog reads it.
    fs::rename(yard.path("input"), yard.path("old")).unwrap();
    fs::rename(yard.path("old"), yard.path("input")).unwrap();
    replace(&yard.path("input/grade.info"), &grade_info(["E"])).unwrap();
    is_ranked(&yard, &["E"]).await;
}

#[actix::test]
async fn links_are_followed_after_their_target_changes() {
    let yard = watching(|dir, settings| {
        for (version, name) in [("v1", "A"), ("v2", "B")] {
            fs::create_dir(dir.join(version)).unwrap();
            fs::write(dir.join(version).join("real"), grade_info([name])).unwrap();
            symlink("real", dir.join(version).join("grade.info")).unwrap();
        }
        symlink("v1", dir.join("current")).unwrap();
        settings.grade_info_file = Some(dir.join("current/grade.info"));
    });
    yard.look().await.unwrap();
    yard.clock.advance(SETTLE);
    yard.look().await.unwrap();
    assert_eq!(best_first(&yard), ["A"]);

    symlink("v2", yard.path("next")).unwrap();
    fs::rename(yard.path("next"), yard.path("current")).unwrap();
    is_ranked(&yard, &["B"]).await;
    replace(&yard.path("v2/real"), &grade_info(["C"])).unwrap();
    is_ranked(&yard, &["C"]).await;
    fs::write(yard.path("v2/other"), grade_info(["D"])).unwrap();
    symlink("other", yard.path("v2/next")).unwrap();
    fs::rename(yard.path("v2/next"), yard.path("v2/grade.info")).unwrap();
    is_ranked(&yard, &["D"]).await;
}

#[actix::test]
async fn new_log_rows_and_new_masters_are_seen_at_once() {
    let yard = CatalogYard::start(|_, settings| settings.watch = WatchMode::Auto);
    let watched = WATCHED.parse().unwrap();
    let row = |name: &str| selection(name, MIDNIGHT_IN_SEOUL, watched);
    // The directory of the log does not exist yet.
    yard.look().await.unwrap();
    fs::create_dir(yard.path("logs")).unwrap();
    let log = yard.path("logs").join(event_log_name(2018, 6, 3));
    append(&log, &row("A").repeat(3)).unwrap();
    eventually("A is hot", || yard.hot() == [("A".to_owned(), 3)]).await;
    append(&log, &row("B").repeat(4)).unwrap();
    eventually("B is hotter", || yard.hot().len() == 2 && yard.hot()[0].0 == "B").await;

    fs::write(yard.path("one/M"), "").unwrap();
    let masters = || yard.view.load().masters.as_ref().map(|masters| masters.files.len());
    eventually("there is a master", || masters() == Some(1)).await;
    fs::remove_file(yard.path("one/M")).unwrap();
    eventually("there is none", || masters() == Some(0)).await;
}

#[actix::test]
async fn without_a_watch_the_view_says_why() {
    let yard = watching(|_, settings| settings.watch = WatchMode::Poll);
    yard.look().await.unwrap();
    let view = serde_json::to_value(&*yard.view.load()).unwrap();
    assert_eq!(view["grade_info"]["noticed_by"]["by"], "polling");
    assert_eq!(view["grade_info"]["noticed_by"]["why"], "catalog.watch is \"poll\"");
}
