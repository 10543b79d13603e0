//! The Catalog and the two files of the ranking: notifications, kept state and published state.

use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use actix::Actor;
use reelyard_integration_tests::probes::catalog_probe::{CatalogProbe, TakeNotifications};
use reelyard_integration_tests::rigs::catalog::catalog_input::{
    HitcountHistoryRow, grade_info, hitcount_history, media_name, overwrite, replace,
};
use reelyard_integration_tests::rigs::catalog::catalog_yard::CatalogYard;
use reelyard_yard::catalog::SubscribeToCatalog;
use reelyard_yard::catalog::ranking::Ranking;
use reelyard_yard::catalog::views::CatalogInputState;

const GRADES: &str = "grade.info";
const HISTORY: &str = "hitcount.history";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A yard whose grade.info lists `names`. hitcount.history lists each with its position as size, on 10.0.0.21
/// and on a server that is not a destination.
fn yard_of(names: &[&str]) -> CatalogYard {
    CatalogYard::start(|dir, settings| {
        settings.event_log = None;
        fs::write(dir.join(GRADES), grade_info(names)).unwrap();
        fs::write(dir.join(HISTORY), hitcount_history(rows_of(names))).unwrap();
    })
}

fn rows_of<'a>(names: &'a [&str]) -> impl Iterator<Item = HitcountHistoryRow<&'a str>> {
    let holders = vec![ip("10.0.0.21"), ip("10.0.0.99"), ip("10.0.0.21")];
    let sized = names.iter().zip(1..);
    sized.map(move |(name, size)| HitcountHistoryRow {
        name: *name,
        size,
        holders: holders.clone(),
    })
}

fn best_first(yard: &CatalogYard, ranking: &Ranking) -> Vec<String> {
    yard.names_of(ranking.files().iter().copied())
}

#[actix::test]
async fn both_files_make_one_ranking_that_is_published_once() {
    let yard = yard_of(&["B.mpg", "A.mpg", "a-b (1).mpg"]);
    let answer = yard.look().await.unwrap();
    assert_eq!(answer.rankings.len(), 1);
    let ranking = &answer.rankings[0];
    assert_eq!(best_first(&yard, ranking), ["B.mpg", "A.mpg", "a-b (1).mpg"]);
    for (&file, place) in ranking.files().iter().zip(1..) {
        assert_eq!(ranking.rank(file), Some(place));
        assert_eq!(ranking.size(file), Some(u64::from(place)));
        assert_eq!(ranking.listed_on(file), [ip("10.0.0.21")]);
    }
    assert!(yard.look().await.unwrap().is_nothing());
    assert!(yard.view.load().ready, "{:?}", yard.view.load().problems);
}

#[actix::test]
async fn a_late_subscriber_gets_the_current_state() {
    let yard = yard_of(&["A"]);
    yard.look().await.unwrap();
    let late = CatalogProbe::default().start();
    yard.catalog().send(SubscribeToCatalog(CatalogProbe::subscribers(&late))).await.unwrap();
    let answer = late.send(TakeNotifications).await.unwrap();
    assert_eq!((answer.rankings.len(), answer.masters.len(), answer.rising.len()), (1, 1, 1));
}

#[actix::test]
async fn a_replaced_or_overwritten_file_is_read_again() {
    let yard = yard_of(&["A", "B"]);
    yard.look().await.unwrap();
    replace(&yard.path(GRADES), &grade_info(["B", "A"])).unwrap();
    let answer = yard.look().await.unwrap();
    assert_eq!(best_first(&yard, &answer.rankings[0]), ["B", "A"]);
    // The history belongs to the file, not to the position.
    let b = answer.rankings[0].files()[0];
    assert_eq!(answer.rankings[0].size(b), Some(2));

    overwrite(&yard.path(HISTORY), &hitcount_history(rows_of(&["B"]))).unwrap();
    let answer = yard.look().await.unwrap();
    assert_eq!(answer.rankings[0].size(b), Some(1));
    assert_eq!(answer.rankings[0].size(answer.rankings[0].files()[1]), None);

    // A new file with the same content changes nothing.
    replace(&yard.path(GRADES), &grade_info(["B", "A"])).unwrap();
    assert!(yard.look().await.unwrap().is_nothing());
}

#[actix::test]
async fn a_file_that_is_being_written_waits_until_it_keeps_still() {
    let yard = CatalogYard::start(|dir, settings| {
        settings.settle = Duration::from_secs(3600);
        settings.hitcount_history_file = None;
        fs::write(dir.join(GRADES), grade_info(["A", "B"])).unwrap();
    });
    // The file was written just now: it may be incomplete.
    assert!(yard.look().await.unwrap().rankings.is_empty());
    yard.clock.advance(Duration::from_secs(3600));
    assert_eq!(yard.look().await.unwrap().rankings.len(), 1);
    overwrite(&yard.path(GRADES), b"filename\nA\n").unwrap();
    assert!(yard.look().await.unwrap().rankings.is_empty());
    let view = yard.view.load();
    assert_eq!(view.grade_info.as_ref().unwrap().state, CatalogInputState::Changing);
    assert_eq!(view.graded, 2);
    yard.clock.advance(Duration::from_secs(3600));
    let answer = yard.look().await.unwrap();
    assert_eq!(answer.rankings[0].len(), 1);
}

#[actix::test]
async fn a_missing_file_leaves_the_last_ranking_and_is_shown() {
    let yard = yard_of(&["A", "B"]);
    yard.look().await.unwrap();
    fs::remove_file(yard.path(GRADES)).unwrap();
    fs::remove_file(yard.path(HISTORY)).unwrap();
    assert!(yard.look().await.unwrap().is_nothing());
    let view = yard.view.load();
    assert!(!view.ready);
    for (input, name) in [(&view.grade_info, GRADES), (&view.hitcount_history, HISTORY)] {
        assert_eq!(input.as_ref().unwrap().state, CatalogInputState::Missing);
        let message = format!("{} does not exist", yard.path(name).display());
        assert!(view.problems.contains(&message), "{:?}", view.problems);
    }
    assert_eq!(view.ranking.as_ref().unwrap().len(), 2);

    // grade.info returns with other files. The history of files in both versions is still valid.
    fs::write(yard.path(GRADES), grade_info(["C", "B"])).unwrap();
    let message = yard.look().await.unwrap();
    let ranking = &message.rankings[0];
    assert_eq!(best_first(&yard, ranking), ["C", "B"]);
    let sizes: Vec<_> = ranking.files().iter().map(|&file| ranking.size(file)).collect();
    assert_eq!(sizes, [None, Some(2)]);
}

#[actix::test]
async fn there_is_no_ranking_before_every_configured_file_was_read() {
    let yard = CatalogYard::start(|dir, _| {
        fs::write(dir.join(GRADES), grade_info(["A"])).unwrap();
    });
    assert!(yard.look().await.unwrap().rankings.is_empty());
    assert!(!yard.view.load().ready);
    fs::write(yard.path(HISTORY), hitcount_history(rows_of(&["A"]))).unwrap();
    assert_eq!(yard.look().await.unwrap().rankings.len(), 1);
}

#[actix::test]
async fn without_files_the_ranking_is_empty_and_healthy() {
    let yard = CatalogYard::start(|_, settings| {
        settings.grade_info_file = None;
        settings.event_log = None;
    });
    assert!(yard.look().await.unwrap().rankings[0].is_empty());
    assert!(yard.view.load().ready, "{:?}", yard.view.load().problems);
}

#[actix::test]
async fn bad_rows_are_counted_and_shown_and_never_fatal() {
    let long = "x".repeat(1 << 20);
    let yard = CatalogYard::start(|dir, _| {
        let grades = [
            b"header\r\n../x.mpg\t1\r\nA\t2\r\n".as_slice(),
            long.as_bytes(),
            b"\n\xb0\xa1 b.mpg\t3\r\n\t\t\t\t\nB",
        ];
        fs::write(dir.join(GRADES), grades.concat()).unwrap();
        let history = format!("h\nA,1,2,77,10.0.0.22,{long}\r\nA,1\n,,,,,,\nB,1,2,x,here,2\n");
        fs::write(dir.join(HISTORY), history).unwrap();
    });
    let answer = yard.look().await.unwrap();
    let ranking = &answer.rankings[0];
    assert_eq!(best_first(&yard, ranking), ["A", "%B0%A1%20b.mpg", "B"]);
    assert_eq!(ranking.rank(ranking.files()[2]), Some(6));
    assert_eq!(ranking.size(ranking.files()[0]), Some(77));
    assert_eq!(ranking.listed_on(ranking.files()[0]), [ip("10.0.0.22")]);

    let view = serde_json::to_value(&*yard.view.load()).unwrap();
    let grades = &view["grade_info"];
    assert_eq!((&grades["rows"], &grades["torn"]), (&6.into(), &true.into()));
    assert_eq!(grades["first_bad"][0]["line"], 2);
    assert_eq!(grades["first_bad"][0]["text"], r"../x.mpg\t1");
    assert_eq!(
        faults(grades),
        [
            "the name contains a \"/\": it would leave its directory",
            "the name is longer than 255 bytes",
            "the name is empty",
        ]
    );
    assert_eq!(
        faults(&view["hitcount_history"]),
        [
            "the row has too few fields",
            "the name is empty",
            "the size is not a number of bytes",
            "an address is not an IP address",
        ]
    );
}

fn faults(input: &serde_json::Value) -> Vec<&str> {
    let faults = input["faults"].as_array().unwrap();
    faults.iter().map(|count| count["fault"].as_str().unwrap()).collect()
}

#[actix::test]
async fn ten_thousand_files_join() {
    let names: Vec<String> = (0..10_000).map(media_name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let yard = yard_of(&names);
    let answer = yard.look().await.unwrap();
    let ranking = &answer.rankings[0];
    assert_eq!((ranking.len(), ranking.set().len()), (10_000, 10_000));
    assert_eq!(ranking.size(ranking.files()[9_999]), Some(10_000));
}
