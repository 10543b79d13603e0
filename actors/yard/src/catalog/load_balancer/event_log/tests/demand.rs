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
    assert_eq!(process.save(SOON), 2);
    process.assert_remembers(SOON, &[("A", 0.0), ("B", 2.0)]);
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
