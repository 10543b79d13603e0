//! Demand across restarts, with its checkpoint or without.

use super::*;
use crate::catalog::popularity::served_requests::ServedShares;

#[test]
fn the_share_of_requests_that_a_copy_served_is_known_across_restarts() {
    let yard = EventLogFixture::new();
    let elsewhere = row("A", MIDNIGHT).replace(WATCHED, "10.0.0.99");
    append(&yard.path(3), &elsewhere.repeat(3));
    append(&yard.path(3), &row("unknown", MIDNIGHT));
    append(&yard.path(2), &row("A", Millis(MIDNIGHT.0 - 2 * 3_600_000)).repeat(4));
    for _ in 0..2 {
        let mut process = DemandProcess::start(&yard, &["A"]);
        process.save(SOON);
        let served = process.log.look(SOON).view.served;
        assert_eq!((served.last_hour, served.last_day), (Some(0.75), Some(0.375)));
        let late = MIDNIGHT.after(std::time::Duration::from_secs(2 * 86_400));
        assert_eq!(process.log.expire(late).view.served, ServedShares::default());
    }
    let mut unwatched = ranked(&["A"]);
    unwatched.log.settings.watch_address = None;
    append(&unwatched.path(3), &row("A", MIDNIGHT));
    assert_eq!(unwatched.log.look(MIDNIGHT).view.served, ServedShares::default());
}

#[test]
fn rows_before_during_and_after_a_restart_count_once() {
    let yard = EventLogFixture::new();
    append(&yard.path(2), &row("A", MIDNIGHT).repeat(2));
    append(&yard.path(3), &row("A", MIDNIGHT));
    append(&yard.path(3), &row("B", MIDNIGHT)[..30]);
    let mut first = DemandProcess::start(&yard, &["A", "B", "C"]);
    assert_eq!(first.save(SOON), 3);
    append(&yard.path(3), &row("B", MIDNIGHT)[30..]);
    assert_eq!(first.look(SOON), 4, "it ends without another checkpoint");
    append(&yard.path(2), &row("C", MIDNIGHT));
    let mut second = DemandProcess::start(&yard, &["C", "B", "A"]);
    assert_eq!(second.look(SOON), 2);
    append(&yard.path(3), &row("B", MIDNIGHT));
    assert_eq!(second.save(SOON), 3);
    second.assert_remembers(SOON, &[("A", 3.0), ("B", 2.0), ("C", 1.0)]);
    let served = second.log.demand.as_ref().unwrap().served().slots().map(|slot| slot.requests);
    assert_eq!(served.sum::<u32>(), 6);
    let mut third = DemandProcess::start(&yard, &["A", "C", "B"]);
    assert_eq!(third.look(SOON), 0);
    third.assert_remembers(SOON, &[("A", 3.0), ("B", 2.0), ("C", 1.0)]);
    assert!(third.log.look(SOON).order.is_none(), "the first look has ordered the files");
    assert_eq!(third.log.hits.count(), 6, "hits of the window are read from the log");
}

#[test]
fn the_order_of_files_is_known_at_once_after_a_restart() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("B", MIDNIGHT).repeat(5));
    DemandProcess::start(&yard, &["A", "B"]).save(SOON);
    let mut second = DemandProcess::start(&yard, &["A", "B"]);
    let order = second.log.look(SOON).order.unwrap();
    assert_eq!(second.log.names.name(order.files()[0]).to_string(), "B");
}

#[test]
fn a_log_that_is_rotated_while_the_process_is_away_counts_once() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(3));
    let mut first = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(first.save(SOON), 3);
    append(&yard.path(3), &row("A", MIDNIGHT));
    fs::rename(yard.path(3), yard.dir.path().join("rotated")).unwrap();
    append(&yard.path(3), &row("B", SOON).repeat(4));
    let mut second = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(second.save(SOON), 5);
    append(&yard.dir.path().join("rotated"), &row("A", MIDNIGHT));
    assert_eq!(second.save(SOON), 6, "its writer still has it open");
    let mut third = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(third.look(SOON), 0);
    third.assert_remembers(SOON, &[("A", 5.0), ("B", 4.0)]);
}

#[test]
fn a_log_that_is_cut_during_a_restart_is_another_log() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(9));
    DemandProcess::start(&yard, &["A", "B"]).save(SOON);
    fs::write(yard.path(3), "").unwrap();
    let mut second = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(second.save(SOON), 0);
    append(&yard.path(3), &row("B", SOON)[..20]);
    assert_eq!(second.save(SOON), 0);
    append(&yard.path(3), &row("B", SOON)[20..]);
    append(&yard.path(3), &row("B", SOON).repeat(11));
    let mut third = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!((second.look(SOON), third.look(SOON)), (12, 12));
    third.assert_remembers(SOON, &[("A", 9.0), ("B", 12.0)]);
}

#[test]
fn a_checkpoint_newer_than_the_log_counts_only_rows_after_it() {
    let yard = EventLogFixture::new();
    let rows: Vec<String> =
        (0..9).map(|second| row("A", Millis(MIDNIGHT.0 + second * 1000))).collect();
    append(&yard.path(3), &rows[..8].concat());
    DemandProcess::start(&yard, &["A"]).save(SOON);
    fs::write(yard.path(3), rows[..5].concat()).unwrap();
    let mut second = DemandProcess::start(&yard, &["A"]);
    assert_eq!(second.save(SOON), 0);
    fs::write(yard.path(3), rows[..7].concat()).unwrap();
    let mut third = DemandProcess::start(&yard, &["A"]);
    assert_eq!(third.look(SOON), 0);
    append(&yard.path(3), &rows[7..].concat());
    assert_eq!(third.look(SOON), 1);
    third.assert_remembers(SOON, &[("A", 9.0)]);
}

#[test]
fn a_log_that_was_missing_at_the_start_is_known_later() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(4));
    DemandProcess::start(&yard, &["A"]).save(SOON);
    let away = yard.dir.path().join("away");
    fs::rename(yard.path(3), &away).unwrap();
    let mut second = DemandProcess::start(&yard, &["A"]);
    assert_eq!(second.save(SOON), 0);
    fs::rename(&away, yard.path(3)).unwrap();
    append(&yard.path(3), &row("A", MIDNIGHT));
    let mut third = DemandProcess::start(&yard, &["A"]);
    assert_eq!((second.look(SOON), third.look(SOON)), (1, 1));
}

#[test]
fn without_a_usable_checkpoint_the_logs_are_read_again() {
    let yard = EventLogFixture::new();
    append(&yard.path(2), &row("A", MIDNIGHT).repeat(2));
    append(&yard.path(3), &row("B", MIDNIGHT));
    let path = yard.dir.path().join("demand-checkpoint");
    DemandProcess::start(&yard, &["A", "B"]).save(SOON);
    let whole = fs::read(&path).unwrap();
    let mut unknown_version = whole.clone();
    unknown_version[16] = 7;
    let cut = whole[..whole.len() / 2].to_vec();
    for bad in [Vec::new(), b"x".repeat(999), cut, unknown_version] {
        fs::write(&path, bad).unwrap();
        let mut again = DemandProcess::start(&yard, &["B", "A"]);
        assert_eq!(again.look(SOON), 3);
        again.assert_remembers(SOON, &[("A", 2.0), ("B", 1.0)]);
        assert_eq!(DemandProcess::start(&yard, &["B", "A"]).look(SOON), 0, "it was replaced");
    }
    fs::remove_file(&path).unwrap();
    let mut other = DemandProcess::start(&yard, &["A", "B"]);
    assert_eq!(other.save(SOON), 3);
}

#[test]
fn another_half_life_keeps_the_demand_without_the_logs() {
    let mut yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(3));
    append(&yard.path(3), &row("B", MIDNIGHT));
    assert_eq!(DemandProcess::start(&yard, &["A", "B"]).save(SOON), 4);
    fs::remove_file(yard.path(3)).unwrap();
    for days in [2, 30] {
        let half_life = std::time::Duration::from_secs(days * 86_400);
        yard.log.settings.half_life = crate::settings::popularity::HalfLife::Fixed(half_life);
        let mut process = DemandProcess::start(&yard, &["B", "A"]);
        assert_eq!(process.save(SOON), 0);
        process.assert_remembers(SOON, &[("A", 3.0), ("B", 1.0)]);
    }
}

#[test]
fn files_that_no_input_names_at_a_restart_keep_their_demand() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(3));
    append(&yard.path(3), &row("B", MIDNIGHT));
    assert_eq!(DemandProcess::start(&yard, &["A", "B"]).save(SOON), 4);
    // grade.info is short for a time, and the masters are not listed yet.
    assert_eq!(DemandProcess::start(&yard, &["B"]).save(SOON), 0);
    let mut third = DemandProcess::start(&yard, &["B", "A"]);
    assert_eq!(third.look(SOON), 0);
    third.assert_remembers(SOON, &[("A", 3.0), ("B", 1.0)]);
}

#[test]
fn a_restart_while_a_mirrored_log_is_shorter_counts_once() {
    let yard = EventLogFixture::new();
    let rows: Vec<String> =
        (0..8).map(|second| row("A", Millis(MIDNIGHT.0 + second * 1000))).collect();
    let mirror = |rows: &[String]| {
        let copy = yard.dir.path().join("copy");
        fs::write(&copy, rows.concat()).unwrap();
        fs::rename(&copy, yard.path(3)).unwrap();
    };
    mirror(&rows[..6]);
    let mut first = DemandProcess::start(&yard, &["A"]);
    assert_eq!(first.look(SOON), 6);
    mirror(&rows[..4]);
    assert_eq!(first.save(SOON), 6);
    mirror(&rows);
    let mut second = DemandProcess::start(&yard, &["A"]);
    assert_eq!((second.look(SOON), second.log.hits.count()), (2, 8));
    second.assert_remembers(SOON, &[("A", 8.0)]);
}

#[test]
fn a_checkpoint_is_written_every_hour_while_there_are_requests() {
    let yard = EventLogFixture::new();
    let path = yard.dir.path().join("demand-checkpoint");
    let mut process = DemandProcess::start(&yard, &["A"]);
    process.look(MIDNIGHT);
    assert!(!path.exists(), "nothing was counted");
    append(&yard.path(3), &row("A", MIDNIGHT));
    process.look(MIDNIGHT);
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
    let first = inode();
    // A file keeps its inode while something has it open.
    let _open = fs::File::open(&path).unwrap();
    append(&yard.path(3), &row("A", MIDNIGHT));
    process.look(MIDNIGHT.after(CHECKPOINT_INTERVAL / 2));
    assert_eq!(inode(), first);
    process.look(MIDNIGHT.after(CHECKPOINT_INTERVAL));
    let second = inode();
    assert_ne!(second, first);
    let _also_open = fs::File::open(&path).unwrap();
    process.look(MIDNIGHT.after(CHECKPOINT_INTERVAL * 3));
    assert_eq!(inode(), second, "no new request");
}

#[test]
fn a_start_with_an_old_clock_keeps_the_checkpoint() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(2));
    assert_eq!(DemandProcess::start(&yard, &["A"]).save(SOON), 2);
    fs::remove_file(yard.path(3)).unwrap();
    let mut process = DemandProcess::start(&yard, &["A"]);
    let boot = Millis::from_unix_seconds(3600);
    assert_eq!(process.look(boot), 0);
    // Another node ends before the network sets its clock.
    DemandProcess::start(&yard, &["A"]).save(boot);
    // The network sets the clock.
    process.look(SOON);
    process.assert_remembers(SOON, &[("A", 2.0)]);
    process.save(SOON);
    let mut next = DemandProcess::start(&yard, &["A"]);
    next.look(SOON);
    next.assert_remembers(SOON, &[("A", 2.0)]);
}

#[test]
fn a_checkpoint_of_a_wrong_clock_is_forgotten() {
    let yard = EventLogFixture::new();
    append(&yard.path(3), &row("A", MIDNIGHT).repeat(2));
    let years = std::time::Duration::from_secs(3650 * 86_400);
    let future = MIDNIGHT.after(years);
    let name = log_file_name(log_days(future, future, &yard.log.settings.time_zone)[0]);
    append(&yard.dir.path().join(name), &row("A", future).repeat(5));
    let mut first = DemandProcess::start(&yard, &["A"]);
    assert_eq!(first.save(future), 5);
    let mut second = DemandProcess::start(&yard, &["A"]);
    assert_eq!(second.look(SOON), 2);
    second.assert_remembers(SOON, &[("A", 2.0)]);
}
