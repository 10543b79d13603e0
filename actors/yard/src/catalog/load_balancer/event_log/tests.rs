use crate::catalog::load_balancer::hit_counter::MOST_UNKNOWN_HOT;
use std::fs;
use std::io::Write;
use std::path::Path;

use jiff::tz::TimeZone;
use proptest::prelude::*;

use reelyard_core::names::FileName;

use super::*;
use crate::catalog::popularity::served_requests::ServedShares;
use crate::catalog::ranking::Ranking;
use crate::catalog::views::{CatalogInputState, EventLogFileView};

/// 2018-06-03, midnight in Seoul.
const MIDNIGHT: Millis = Millis(1_527_951_600_000);
const WATCHED: &str = "10.0.0.3";

struct EventLogFixture {
    dir: tempfile::TempDir,
    log: EventLog,
}

impl EventLogFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = EventLogSettings {
            watch_address: WATCHED.parse().ok(),
            hit_base: 2,
            time_zone: TimeZone::get("Asia/Seoul").unwrap(),
            ..EventLogSettings::new(dir.path())
        };
        let log = EventLog::new(settings, NameTable::new(), RankingSlot::default(), None);
        EventLogFixture { log, dir }
    }

    fn path(&self, day: u32) -> std::path::PathBuf {
        self.dir.path().join(format!("EventLog[201806{day:02}].log"))
    }

    /// The files that a read finds hot.
    fn hot(&mut self, now: Millis) -> Vec<(String, u32)> {
        self.log.look(now);
        let names = self.log.names.clone();
        let hot = self.log.rising.hot().iter();
        hot.map(|&(file, hits)| (names.name(file).to_string(), hits)).collect()
    }

    /// The last day's view, without the path.
    fn view(&self) -> EventLogFileView {
        let mut view = self.log.days[1].view().clone();
        view.input.path.clear();
        view
    }

    fn hits(&mut self, now: Millis) -> usize {
        self.log.look(now);
        self.log.hits.count()
    }
}

fn row(name: &str, at: Millis) -> String {
    let seconds = at.unix_seconds();
    format!("0x40ffff,1,{seconds},Server {WATCHED} Selected for x's file({name}) Request\n")
}

fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn hot(name: &str, hits: u32) -> Vec<(String, u32)> {
    vec![(name.to_owned(), hits)]
}

#[test]
fn a_torn_row_waits_for_its_rest() {
    let mut yard = EventLogFixture::new();
    let (row, now) = (row("a-b.mpg", MIDNIGHT), MIDNIGHT);
    append(&yard.path(3), &row);
    append(&yard.path(3), &row[..40]);
    assert_eq!(yard.hits(now), 1);
    assert!(yard.log.days[1].view().input.tally.torn);
    append(&yard.path(3), &row[40..]);
    assert_eq!(yard.hot(now), hot("a-b.mpg", 2));
    let view = yard.log.days[1].view();
    assert_eq!((view.input.tally.bad(), view.hits), (0, 2));
    assert!(!view.input.tally.torn);
}

#[test]
fn only_the_watched_address_counts_and_it_is_an_address() {
    let mut yard = EventLogFixture::new();
    for other in ["10.0.0.35", "10a0b0c3", "10.0.0.33"] {
        append(&yard.path(3), &row("A", MIDNIGHT).replace(WATCHED, other));
    }
    append(&yard.path(3), ",,,,\n0x40ffff,1\n");
    assert_eq!(yard.hits(MIDNIGHT), 0);
    let view = yard.log.days[1].view();
    assert_eq!((view.selections_elsewhere, view.input.tally.bad()), (2, 3));
    yard.log.settings.watch_address = None;
    append(&yard.path(3), &row("A", MIDNIGHT).replace(WATCHED, "::1"));
    assert_eq!(yard.hits(MIDNIGHT), 1);
}

#[test]
fn both_days_are_followed_around_midnight() {
    let mut yard = EventLogFixture::new();
    let before = Millis(MIDNIGHT.0 - 1000);
    append(&yard.path(2), &row("A", before));
    assert_eq!(yard.hits(before), 1);
    append(&yard.path(3), &row("A", MIDNIGHT));
    append(&yard.path(2), &row("A", before));
    let soon = Millis(MIDNIGHT.0 + 5000);
    assert_eq!(yard.hot(soon), hot("A", 3));
    let late = Millis(MIDNIGHT.0 + 600_000);
    assert_eq!(yard.hot(late), []);
    assert_eq!(yard.log.days.len(), 1);
}

#[test]
fn a_rotated_log_is_read_to_its_end_before_the_new_one() {
    let mut yard = EventLogFixture::new();
    let path = yard.path(3);
    append(&path, &row("A", MIDNIGHT));
    assert_eq!(yard.hits(MIDNIGHT), 1);
    append(&path, &row("A", MIDNIGHT));
    let old = yard.dir.path().join("old");
    fs::rename(&path, &old).unwrap();
    append(&path, &row("B", MIDNIGHT));
    assert_eq!(yard.hits(MIDNIGHT), 3);
    append(&old, &row("A", MIDNIGHT));
    assert_eq!(yard.hot(MIDNIGHT), hot("A", 3));
    fs::remove_file(&path).unwrap();
    assert_eq!(yard.hits(MIDNIGHT), 4);
    assert_eq!(yard.log.days[1].view().input.state, CatalogInputState::Missing);
    append(&path, &row("B", MIDNIGHT.after(std::time::Duration::from_secs(1))));
    assert_eq!(yard.hits(MIDNIGHT), 5);
}

#[test]
fn a_log_that_is_cut_or_mirrored_counts_each_row_once() {
    let mut yard = EventLogFixture::new();
    let path = yard.path(3);
    append(&path, &row("A", MIDNIGHT).repeat(3));
    assert_eq!(yard.hits(MIDNIGHT), 3);
    let mirrored = fs::read_to_string(&path).unwrap() + &row("B", MIDNIGHT);
    let copy = yard.dir.path().join("copy");
    fs::write(&copy, mirrored).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(yard.hits(MIDNIGHT), 4);
    fs::write(&path, row("C", MIDNIGHT)).unwrap();
    assert_eq!(yard.hits(MIDNIGHT), 5);
}

#[test]
fn names_that_viewers_invent_do_not_fill_the_table_of_names() {
    use crate::catalog::load_balancer::unknown_hits::MOST_NAMES;
    let mut yard = EventLogFixture::new();
    yard.log.names.intern_all([&b"known"[..]]);
    let mut text = row("known", MIDNIGHT);
    text += &row("wanted", MIDNIGHT).repeat(3);
    (0..MOST_NAMES).for_each(|number| text += &row(&format!("x{number}"), MIDNIGHT));
    // More names that become hot than may.
    (0..2000).for_each(|number| text += &row(&format!("y{number}"), MIDNIGHT).repeat(2));
    append(&yard.path(3), &text);
    let hot = yard.hot(MIDNIGHT);
    assert_eq!((hot.len(), hot[0].clone()), (MOST_UNKNOWN_HOT, ("wanted".to_owned(), 3)));
    assert_eq!(yard.log.names.len(), 1 + MOST_UNKNOWN_HOT);
    assert!(yard.log.hits.unknown.names() <= MOST_NAMES);
    // Hits of a name that gets its file number later count together with its earlier hits.
    append(&yard.path(3), &row("later2", MIDNIGHT));
    yard.log.look(MIDNIGHT);
    yard.log.names.intern_all([&b"later2"[..]]);
    append(&yard.path(3), &row("later2", MIDNIGHT));
    assert!(yard.hot(MIDNIGHT).contains(&("later2".to_owned(), 2)));
    yard.log.look(Millis(MIDNIGHT.0 + 660_000));
    assert_eq!((yard.log.hits.count(), yard.log.hits.became_hot.len()), (0, 0));
}

#[test]
fn a_clock_set_back_counts_no_hit_twice() {
    let mut yard = EventLogFixture::new();
    append(&yard.path(2), &row("A", Millis(MIDNIGHT.0 - 1000)));
    assert_eq!(yard.hits(MIDNIGHT), 1);
    assert_eq!(yard.hits(Millis(MIDNIGHT.0 + 660_000)), 0);
    assert_eq!(yard.hits(Millis(MIDNIGHT.0 - 500)), 1);
}

/// A log whose ranking has these files.
fn ranked(names: &[&str]) -> EventLogFixture {
    let mut yard = EventLogFixture::new();
    let files = names.iter().map(|name| (yard.log.names.intern(&FileName::new(*name).unwrap()), 1));
    let slot = RankingSlot::default();
    slot.set(Arc::new(Ranking::from_files_wanting(files)));
    yard.log = EventLog::new(yard.log.settings.clone(), yard.log.names.clone(), slot, None);
    yard
}

fn requests(yard: &mut EventLogFixture, now: Millis) -> u64 {
    yard.log.look(now).view.requests_counted
}

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
fn a_row_of_next_month_is_no_demand() {
    let mut yard = ranked(&["A"]);
    append(&yard.path(3), &row("A", MIDNIGHT.after(std::time::Duration::from_secs(30 * 86_400))));
    assert_eq!(requests(&mut yard, MIDNIGHT), 0);
}

/// A process that follows the logs of a directory. Each process numbers its files in another order.
struct DemandProcess {
    log: EventLog,
}

impl DemandProcess {
    fn start(yard: &EventLogFixture, files: &[&str]) -> Self {
        let names = NameTable::new();
        let ids: Vec<_> =
            files.iter().map(|name| (names.intern(&FileName::new(*name).unwrap()), 1)).collect();
        let slot = RankingSlot::default();
        slot.set(Arc::new(Ranking::from_files_wanting(ids)));
        let checkpoint = CheckpointFile::new(&yard.dir.path().join("demand-checkpoint"));
        let settings = yard.log.settings.clone();
        DemandProcess { log: EventLog::new(settings, names, slot, Some(checkpoint)) }
    }

    /// Reads the log. Answers how many requests this process has counted.
    fn look(&mut self, now: Millis) -> u64 {
        self.log.look(now).view.requests_counted
    }

    /// Reads the log and saves the demand, as at an orderly end.
    fn save(&mut self, now: Millis) -> u64 {
        self.log.checkpoint.as_ref().unwrap().request();
        self.look(now)
    }

    /// The requests for a file that are remembered, with the weight of `now`.
    fn remembered(&mut self, name: &str, now: Millis) -> f64 {
        let file = self.log.names.find(name.as_bytes()).unwrap();
        let memory = self.log.demand.as_mut().unwrap().memory_mut();
        let reference = Millis::from_unix_seconds(memory.summary().reference);
        let days = now.since(reference).as_secs_f64() / 86_400.0;
        let left = memory.half_lives().left_after(days);
        f64::from(memory.of_file(file).sums[3]) * left[3]
    }

    fn assert_remembers(&mut self, now: Millis, expected: &[(&str, f64)]) {
        for (name, requests) in expected {
            let remembered = self.remembered(name, now);
            assert!((remembered - requests).abs() < 0.01, "{name}: {remembered}");
        }
    }
}

const SOON: Millis = Millis(MIDNIGHT.0 + 60_000);

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
    let two_days = std::time::Duration::from_secs(2 * 86_400);
    let mut fixed = DemandProcess::start(&yard, &["A", "B"]);
    let half_life = crate::settings::popularity::HalfLife::Fixed(two_days);
    let settings = EventLogSettings { half_life, ..yard.log.settings.clone() };
    let EventLog { names, demand, checkpoint, .. } = fixed.log;
    drop(demand);
    let slot = RankingSlot::default();
    slot.set(Arc::new(Ranking::from_files_wanting([(names.find(b"A").unwrap(), 1)])));
    fixed.log = EventLog::new(settings, names, slot, checkpoint);
    assert_eq!(fixed.look(SOON), 3, "other half-lives");
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
        &(text + &row("B", MIDNIGHT) + &row("B", Millis(MIDNIGHT.0 - 3_600_000))),
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
    for minute in (0..200_i64).rev() {
        text += &row("A", Millis(MIDNIGHT.0 - minute * 60_000));
        text += &row("A", Millis(MIDNIGHT.0 - (200 - minute) * 60_000));
    }
    append(&yard.path(3), &text);
    let mut process = DemandProcess::start(&yard, &["A"]);
    assert_eq!(process.look(SOON), 400);
    assert_eq!(process.look(SOON), 400);
    process.assert_remembers(SOON, &[("A", 398.614)]);
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
    // The longest half-life is 14 days.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn looking_between_any_two_bytes_equals_looking_once(
        parts in proptest::collection::vec((0_u32..3, -700_i64..400, 0_u8..6), 1..20),
        ends in proptest::collection::vec(0_usize..2000, 0..12),
    ) {
        let mut text = Vec::new();
        for (file, offset, kind) in parts {
            let row = row(&format!("f {file}"), Millis(MIDNIGHT.0 + offset * 1000));
            match kind {
                0 => text.extend_from_slice(b"\xff\xfe,,\r\n"),
                1 => text.extend_from_slice(&row.as_bytes()[..row.len() / 2]),
                2 => text.extend_from_slice(row.replace('\n', "\r\n").as_bytes()),
                _ => text.extend_from_slice(row.as_bytes()),
            }
        }
        let (mut cut, mut whole) = (EventLogFixture::new(), EventLogFixture::new());
        let mut ends: Vec<usize> = ends.into_iter().map(|at| at % text.len()).collect();
        ends.sort_unstable();
        for end in ends.into_iter().chain([text.len()]) {
            fs::write(cut.path(3), &text[..end]).unwrap();
            cut.log.look(MIDNIGHT);
        }
        fs::write(whole.path(3), &text).unwrap();
        prop_assert_eq!(cut.hot(MIDNIGHT), whole.hot(MIDNIGHT));
        prop_assert_eq!(cut.hits(MIDNIGHT), whole.hits(MIDNIGHT));
        prop_assert_eq!(cut.view(), whole.view());
    }
}
