//! Rows as demand: each request once, whatever happens to log and clock.

use super::*;

#[test]
fn requests_of_every_server_and_of_earlier_days_are_demand() {
    let mut yard = ranked(&["A", "B"]);
    append(&yard.path(1), &row("A", Millis(MIDNIGHT.0 - 40 * 3_600_000)).repeat(3));
    let elsewhere = row("B", MIDNIGHT).replace(WATCHED, "10.0.0.99");
    append(&yard.path(3), &elsewhere.repeat(5));
    append(&yard.path(3), &row("unknown", MIDNIGHT));
    let look = yard.log.look(MIDNIGHT);
    assert_eq!((look.view.requests_counted, look.view.hits_in_window), (8, 1));
    let order = look.order.unwrap();
    let names: Vec<String> =
        order.files().iter().map(|file| yard.log.names.name(*file).to_string()).collect();
    assert_eq!(names, ["B", "A"]);
}

#[test]
fn a_request_is_counted_once_whatever_happens_to_log_and_clock() {
    let mut yard = ranked(&["A"]);
    append(&yard.path(2), &row("A", Millis(MIDNIGHT.0 - 1000)));
    append(&yard.path(3), &row("A", MIDNIGHT));
    assert_eq!(requests(&mut yard, MIDNIGHT), 2);
    // The day before leaves the window, and a clock that is set back brings it back.
    assert_eq!(requests(&mut yard, Millis(MIDNIGHT.0 + 660_000)), 2);
    assert_eq!(requests(&mut yard, Millis(MIDNIGHT.0 - 500)), 2);
    append(&yard.path(2), &row("A", Millis(MIDNIGHT.0 - 400)));
    assert_eq!(requests(&mut yard, MIDNIGHT), 3);
    // A mirrored copy of the file is the same log, and a rotated one is another.
    let path = yard.path(3);
    let copy = yard.dir.path().join("copy");
    fs::write(&copy, fs::read_to_string(&path).unwrap() + &row("A", MIDNIGHT)).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(requests(&mut yard, MIDNIGHT), 4);
    fs::rename(&path, yard.dir.path().join("old")).unwrap();
    append(&path, &row("A", Millis(MIDNIGHT.0 + 1000)).repeat(2));
    assert_eq!(requests(&mut yard, MIDNIGHT), 6);
    fs::write(&path, row("A", Millis(MIDNIGHT.0 + 2000))).unwrap();
    assert_eq!(requests(&mut yard, Millis(MIDNIGHT.0 + 2000)), 7, "a log that was cut");
}

#[test]
fn rows_before_the_first_ranking_are_counted_with_it() {
    let mut yard = EventLogFixture::new();
    let slot = RankingSlot::default();
    yard.log = EventLog::new(yard.log.settings.clone(), yard.log.names.clone(), slot.clone(), None);
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(2));
    assert_eq!(requests(&mut yard, MIDNIGHT), 0);
    let file = yard.log.names.intern(&FileName::new("A").unwrap());
    slot.set(Arc::new(Ranking::from_files_wanting([(file, 1)])));
    let look = yard.log.look(MIDNIGHT);
    assert_eq!((look.view.requests_counted, look.view.hits_in_window), (2, 2));
    assert!(look.order.is_some());
}

#[test]
fn one_old_row_does_not_make_the_log_look_longer() {
    let mut yard = ranked(&["A"]);
    append(&yard.path(3), &row("A", Millis(MIDNIGHT.0 - 38 * 3_600_000)));
    append(&yard.path(3), &row("A", SOON));
    let look = yard.log.look(SOON);
    assert_eq!(look.view.requests_counted, 2);
    assert_eq!(look.order.unwrap().observed(), std::time::Duration::from_secs(60));
}

#[test]
fn a_row_ahead_of_the_clock_counts_as_one_of_now() {
    let mut yard = ranked(&["A"]);
    append(&yard.path(3), &row("A", MIDNIGHT));
    append(&yard.path(3), &row("A", Millis(SOON.0 + 20 * 3_600_000)));
    let look = yard.log.look(SOON);
    assert_eq!(look.view.requests_counted, 2);
    assert_eq!(look.order.unwrap().observed(), std::time::Duration::from_secs(60));
}

#[test]
fn a_row_of_next_month_is_no_demand() {
    let mut yard = ranked(&["A"]);
    append(&yard.path(3), &row("A", MIDNIGHT.after(std::time::Duration::from_secs(30 * 86_400))));
    assert_eq!(requests(&mut yard, MIDNIGHT), 0);
}

#[test]
fn rows_with_times_of_other_days_are_no_demand() {
    let yard = EventLogFixture::new();
    let days = |days: i64| Millis(MIDNIGHT.0 + days * 86_400_000);
    let mut text = String::new();
    for day in [-17_000, -400, -31, -3, 4, 31, 400] {
        text += &row("A", days(day));
    }
    append(
        &yard.path(3),
        &(text + &row("B", MIDNIGHT) + &row("B", Millis(MIDNIGHT.0 + 3_600_000))),
    );
    let mut process = DemandProcess::start(&yard, &["A", "B"]);
    let later = Millis(MIDNIGHT.0 + 3_600_000);
    assert_eq!(process.save(later), 2);
    process.assert_remembers(later, &[("A", 0.0), ("B", 1.998)]);
    let memory = process.log.demand.as_mut().unwrap().memory_mut();
    let (oldest, newest) = memory.summary().observed.unwrap();
    assert_eq!(newest - oldest, 3600, "the span of the demand is that of the log");
}

#[test]
fn a_log_whose_rows_go_back_in_time_counts_each_once() {
    let yard = EventLogFixture::new();
    let mut text = String::new();
    for minute in 0..200_i64 {
        text += &row("A", Millis(MIDNIGHT.0 + minute * 60_000));
        text += &row("A", Millis(MIDNIGHT.0 + (199 - minute) * 60_000));
    }
    append(&yard.path(3), &text);
    let mut process = DemandProcess::start(&yard, &["A"]);
    let end = Millis(MIDNIGHT.0 + 200 * 60_000);
    assert_eq!(process.look(end), 400);
    assert_eq!(process.look(end), 400);
    process.assert_remembers(end, &[("A", 398.621)]);
}

#[test]
fn a_log_that_is_written_again_counts_only_new_rows() {
    let yard = EventLogFixture::new();
    let rows: Vec<String> =
        (0..6).map(|second| row("A", Millis(MIDNIGHT.0 + second * 1000))).collect();
    append(&yard.path(3), &rows[..4].concat());
    let mut process = DemandProcess::start(&yard, &["A"]);
    assert_eq!(process.look(SOON), 4);
    for written in ["", &rows[0][..30], &rows[..2].concat(), &rows[..4].concat()] {
        fs::write(yard.path(3), written).unwrap();
        assert_eq!(process.look(SOON), 4, "{}", written.len());
    }
    fs::write(yard.path(3), rows.concat()).unwrap();
    assert_eq!(process.look(SOON), 6);
}

#[test]
fn a_mirrored_log_that_is_shorter_for_a_time_counts_once() {
    let mut yard = ranked(&["A"]);
    let rows: Vec<String> =
        (0..8).map(|second| row("A", Millis(MIDNIGHT.0 + second * 1000))).collect();
    let copy = yard.dir.path().join("copy");
    let copies = [(6, 6), (4, 6), (2, 6), (4, 6), (8, 8), (0, 8), (3, 8), (8, 8)];
    for (number, (copied, expected)) in copies.into_iter().enumerate() {
        fs::write(&copy, rows[..copied].concat()).unwrap();
        fs::rename(&copy, yard.path(3)).unwrap();
        assert_eq!(requests(&mut yard, SOON), expected, "{number}");
        assert_eq!(yard.log.hits.count() as u64, expected, "{number}");
    }
    append(&yard.path(3), &row("A", SOON));
    assert_eq!((requests(&mut yard, SOON), yard.log.hits.count()), (9, 9));
}

#[test]
fn a_log_that_comes_back_after_another_one_counts_once() {
    let mut yard = ranked(&["A", "B"]);
    let (path, away) = (yard.path(3), yard.dir.path().join("away"));
    append(&path, &row("A", MIDNIGHT).repeat(3));
    assert_eq!(requests(&mut yard, SOON), 3);
    fs::rename(&path, &away).unwrap();
    append(&path, &row("B", MIDNIGHT).repeat(2));
    assert_eq!(requests(&mut yard, SOON), 5);
    for _ in 0..2 {
        fs::rename(&away, &path).unwrap();
        assert_eq!((requests(&mut yard, SOON), yard.log.hits.count()), (5, 5));
        fs::copy(&path, &away).unwrap();
    }
    append(&path, &row("A", SOON));
    assert_eq!((requests(&mut yard, SOON), yard.log.hits.count()), (6, 6));
}

#[test]
fn rows_that_are_late_or_came_during_a_pause_count() {
    let mut yard = ranked(&["A"]);
    let before = Millis(MIDNIGHT.0 - 1000);
    append(&yard.path(2), &row("A", before));
    assert_eq!(requests(&mut yard, MIDNIGHT), 1);
    append(&yard.path(2), &row("A", before));
    let minutes = |minutes: i64| Millis(MIDNIGHT.0 + minutes * 60_000);
    assert_eq!(requests(&mut yard, minutes(20)), 2);
    append(&yard.path(2), &row("A", before));
    let look = yard.log.look(minutes(23 * 60));
    assert_eq!((look.view.requests_counted, look.view.hits_in_window), (3, 0));
    assert_eq!(look.view.files.len(), 1, "only today has hits");
    // The node is paused for days.
    append(&yard.path(3), &row("A", minutes(60)));
    append(&yard.path(4), &row("A", minutes(30 * 60)));
    append(&yard.path(7), &row("A", minutes(100 * 60)));
    assert_eq!(requests(&mut yard, minutes(100 * 60)), 6);
    append(&yard.path(6), &row("A", minutes(80 * 60)));
    assert_eq!(requests(&mut yard, minutes(101 * 60)), 7, "a log that appears a day late");
}

#[test]
fn a_month_without_rows_keeps_half_lives_exact() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(64));
    let mut process = DemandProcess::start(&yard, &["A", "B"]);
    process.look(SOON);
    let month = MIDNIGHT.after(std::time::Duration::from_secs(28 * 86_400));
    let day = log_days(month, month, &yard.log.settings.time_zone)[0];
    append(&yard.dir.path().join(log_file_name(day)), &row("B", month));
    assert_eq!(process.save(month), 65);
    // The longest half-life of admission is 14 days.
    process.assert_remembers(month, &[("A", 16.0), ("B", 1.0)]);
}

#[test]
fn a_clock_that_steps_an_hour_loses_no_request() {
    let yard = EventLogFixture::new();
    let hour = std::time::Duration::from_secs(3600);
    let later = MIDNIGHT.after(hour);
    append(&yard.path(3), &row("A", later).repeat(3));
    let mut process = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(process.save(later), 3);
    append(&yard.path(3), &row("B", later.after(hour / 60)));
    assert_eq!(process.look(MIDNIGHT), 4, "the clock of the load balancer is right");
    assert_eq!(process.look(later.after(hour)), 4);
    process.assert_remembers(later, &[("A", 3.0), ("B", 1.0)]);
    let mut other = DemandProcess::start(&yard, &["B", "A"]);
    assert_eq!(other.look(MIDNIGHT), 0);
    other.assert_remembers(later, &[("A", 3.0), ("B", 1.0)]);
}

#[test]
fn a_clock_that_runs_ahead_by_years_and_back_loses_no_request() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(3));
    let mut process = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(process.look(SOON), 3);
    let future = MIDNIGHT.after(std::time::Duration::from_secs(3650 * 86_400));
    let day = log_days(future, future, &yard.log.settings.time_zone)[0];
    // The load balancer has the same wrong clock.
    append(&yard.dir.path().join(log_file_name(day)), &row("B", future).repeat(9));
    process.look(future);
    process.look(SOON);
    append(&yard.path(3), &row("B", SOON));
    process.look(SOON);
    process.assert_remembers(SOON, &[("A", 3.0), ("B", 1.0)]);
    assert!(process.log.expire(SOON).order.is_none(), "its last look has ordered the files");
}

#[test]
fn a_flood_of_names_takes_no_memory_of_demand() {
    let yard = EventLogFixture::new();
    let mut text = row("A", MIDNIGHT);
    for number in 0..50_000 {
        text += &row(&format!("invented-{number}"), MIDNIGHT);
    }
    append(&yard.path(3), &text);
    let mut process = DemandProcess::start(&yard, &["A"]);
    assert_eq!(process.save(SOON), 1);
    assert_eq!(process.log.demand.as_ref().unwrap().memory().files().count(), 1);
    let size = fs::metadata(yard.dir.path().join("demand-checkpoint")).unwrap().len();
    assert!(size < 4096, "{size}");
}
