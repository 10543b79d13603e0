//! The growing event log. It follows the log files of the relevant days and counts their hits in a
//! window. It also remembers the demand for the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use reelyard_core::clock::Millis;
use reelyard_core::names::NameTable;

use super::followed_day::{FollowedDay, RowCounters};
use super::log_days::{LOG_NAME_PREFIX, log_days, log_file_name};
use super::rising::{LARGEST_LEAD, RisingHits};
use crate::catalog::load_balancer::hit_counter::HitCounter;
use crate::catalog::popularity::demand_memory::DemandMemory;
use crate::catalog::popularity::demand_ranker::{DemandRanker, RankingSlot};
use crate::catalog::popularity::half_lives::HalfLives;
use crate::catalog::popularity::popularity_order::PopularityOrder;
use crate::catalog::settings::EventLogSettings;
use crate::catalog::single_flight::InputReader;
use crate::catalog::views::EventLogView;
use crate::catalog::watch::{ChangeNotifier, InputWatch, WatchTarget};
use crate::settings::popularity::PopularityMode;

/// Logs of earlier days are read back to this many times the longest half-life. Older requests have less
/// than a quarter of the weight.
const HORIZON_HALF_LIVES: f64 = 2.0;

/// How many days are remembered whose lines were counted as demand.
const MOST_COUNTED_DAYS: usize = 400;

/// The event log and the hits in it.
#[derive(Debug)]
pub struct EventLog {
    settings: EventLogSettings,
    names: NameTable,
    hits: HitCounter,
    /// The demand; none if it is not measured.
    demand: Option<DemandRanker>,
    /// Whether rows count as demand. Before the first ranking the names of the files are unknown.
    counts_demand: bool,
    days: Vec<FollowedDay>,
    /// The lines of days that are no longer followed, which were counted as demand.
    counted_lines: BTreeMap<Date, u64>,
    looked_at: Option<Millis>,
    /// The hot files as last published.
    rising: Arc<RisingHits>,
    watch: InputWatch,
}

/// The result of a read of the log.
#[derive(Debug)]
pub struct EventLogLook {
    /// The hot files, if they or their hits changed.
    pub changed: Option<Arc<RisingHits>>,
    /// The files by demand, if that changed.
    pub order: Option<Arc<PopularityOrder>>,
    /// The state of the log.
    pub view: EventLogView,
    /// How often the kernel dropped change notifications because its queue was full.
    pub overflows: u64,
}

impl EventLog {
    /// The log of `settings`; nothing is read yet. The files of the ranking in the slot are ordered by demand.
    pub fn new(settings: EventLogSettings, names: NameTable, ranking: RankingSlot) -> Self {
        let half_lives = HalfLives::of(settings.half_life);
        let demand = (settings.popularity != PopularityMode::Off)
            .then(|| DemandRanker::new(DemandMemory::new(half_lives), ranking));
        EventLog {
            hits: HitCounter::new(&settings),
            demand,
            counts_demand: false,
            settings,
            names,
            days: Vec::new(),
            counted_lines: BTreeMap::new(),
            looked_at: None,
            rising: Arc::default(),
            watch: InputWatch::default(),
        }
    }

    /// The next instant at which the hot files may change without a new row.
    pub fn next_change(&self) -> Option<Millis> {
        self.hits.window.next_change()
    }

    /// Drops the hits that have left the window. Reads nothing.
    pub fn expire(&mut self, now: Millis) -> EventLogLook {
        self.hits.expire(&self.names, now);
        let rising = self.hits.window.rising(&self.names);
        let changed = (*self.rising != rising).then(|| Arc::new(rising));
        if let Some(rising) = &changed {
            self.rising = Arc::clone(rising);
        }
        let order = self.demand.as_mut().and_then(|demand| demand.order(now));
        EventLogLook { changed, order, view: self.view(), overflows: self.watch.overflows() }
    }

    fn view(&self) -> EventLogView {
        EventLogView {
            files: self.days.iter().map(|day| day.view().clone()).collect(),
            hits_in_window: self.hits.count(),
            hot: self.rising.hot().len(),
            requests_counted: self.demand.as_ref().map_or(0, |demand| demand.memory().counted()),
        }
    }

    /// Begins to count demand once the ranking is known: with the earlier days, and with the followed days from
    /// their beginning.
    fn begin_demand(&mut self, now: Millis) {
        let is_ranked = self.demand.as_ref().is_some_and(DemandRanker::is_ranked);
        if self.counts_demand || !is_ranked {
            return;
        }
        self.counts_demand = true;
        self.days.clear();
        self.hits = HitCounter::new(&self.settings);
        self.counted_lines.clear();
        self.read_past_days(now);
    }

    fn read_past_days(&mut self, now: Millis) {
        let Some(demand) = &mut self.demand else { return };
        let horizon = demand.memory().half_lives().longest().mul_f64(HORIZON_HALF_LIVES);
        let zone = &self.settings.time_zone;
        let followed = log_days(self.hits.window.start(now), now, zone);
        let past = log_days(now.before(horizon), now, zone);
        for day in past.into_iter().filter(|day| !followed.contains(day)) {
            if self.counted_lines.contains_key(&day) {
                continue;
            }
            let path = self.settings.dir.join(log_file_name(day));
            if !path.is_file() {
                continue;
            }
            let mut reading = FollowedDay::new(day, path, 0);
            let demand = Some(demand.memory_mut());
            let mut counters = RowCounters { hits: &mut self.hits, demand };
            reading.look(now, &self.names, &self.settings, &mut counters);
            self.counted_lines.insert(day, reading.counted_lines());
        }
    }

    /// Follows exactly the days that are relevant at `now`. An old day is followed while a row of it
    /// could still count.
    fn choose_days(&mut self, now: Millis) {
        if self.looked_at.is_some_and(|before| now < before) {
            // The clock was set back. Dropped days may be relevant again, and a second read of them
            // would count their hits twice. So everything is read again from the beginning.
            self.drop_days(&[]);
            self.hits = HitCounter::new(&self.settings);
        }
        let days = log_days(self.hits.window.start(now), now, &self.settings.time_zone);
        self.drop_days(&days);
        for day in days {
            if !self.days.iter().any(|followed| followed.day() == day) {
                let path = self.settings.dir.join(log_file_name(day));
                let counted = self.counted_lines.get(&day).copied().unwrap_or(0);
                self.days.push(FollowedDay::new(day, path, counted));
            }
        }
    }

    /// Stops following all days but these. Their counted lines are remembered.
    fn drop_days(&mut self, kept: &[Date]) {
        for day in self.days.extract_if(.., |followed| !kept.contains(&followed.day())) {
            self.counted_lines.insert(day.day(), day.counted_lines());
        }
        while self.counted_lines.len() > MOST_COUNTED_DAYS {
            self.counted_lines.pop_first();
        }
    }
}

impl EventLog {
    /// Searches for new rows in the followed days, wherever their names lead, and in every new log.
    fn update_watches(&mut self) {
        let days = self.days.iter().map(|day| WatchTarget::File(day.path()));
        let logs = WatchTarget::Prefixed(&self.settings.dir, LOG_NAME_PREFIX);
        let sought: Vec<WatchTarget<'_>> = days.chain([logs]).collect();
        let noticed_by = self.watch.set_targets(&sought).noticed_by;
        for (day, by) in self.days.iter_mut().zip(noticed_by) {
            day.is_noticed_by(by);
        }
    }
}

impl InputReader for EventLog {
    type Found = EventLogLook;

    fn watch(&mut self, notifier: ChangeNotifier) {
        self.watch = InputWatch::with_notifier(notifier);
    }

    fn look(&mut self, now: Millis) -> EventLogLook {
        if let Some(demand) = &mut self.demand {
            demand.memory_mut().forget_future(now.after(LARGEST_LEAD));
        }
        self.begin_demand(now);
        self.choose_days(now);
        self.update_watches();
        for day in &mut self.days {
            let demand = self.demand.as_mut().filter(|_| self.counts_demand);
            let demand = demand.map(DemandRanker::memory_mut);
            let mut counters = RowCounters { hits: &mut self.hits, demand };
            day.look(now, &self.names, &self.settings, &mut counters);
        }
        self.looked_at = Some(now);
        self.expire(now)
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::load_balancer::hit_counter::MOST_UNKNOWN_HOT;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use reelyard_core::names::FileName;

    use super::*;
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
            let log = EventLog::new(settings, NameTable::new(), RankingSlot::default());
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
        let files =
            names.iter().map(|name| (yard.log.names.intern(&FileName::new(*name).unwrap()), 1));
        let slot = RankingSlot::default();
        slot.set(Arc::new(Ranking::from_files_wanting(files)));
        yard.log = EventLog::new(yard.log.settings.clone(), yard.log.names.clone(), slot);
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
        yard.log = EventLog::new(yard.log.settings.clone(), yard.log.names.clone(), slot.clone());
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
        append(
            &yard.path(3),
            &row("A", MIDNIGHT.after(std::time::Duration::from_secs(30 * 86_400))),
        );
        append(&yard.path(3), &row("A", Millis(MIDNIGHT.0 - 30 * 86_400_000)));
        assert_eq!(requests(&mut yard, MIDNIGHT), 1);
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
}
