//! The growing event log. It follows the log files of the relevant days and counts their hits in a
//! window. It also remembers the demand for the files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use reelyard_core::clock::Millis;
use reelyard_core::names::NameTable;
use tracing::{info, warn};

use super::followed_day::{FollowedDay, RowCounters};
use super::log_days::{LOG_NAME_PREFIX, log_days, log_file_name};
use super::rising::RisingHits;
use crate::catalog::checkpoint::checkpoint_file::{CheckpointFault, CheckpointFile};
use crate::catalog::checkpoint::counted_demand::CountedLogs;
use crate::catalog::checkpoint::log_position::LogPosition;
use crate::catalog::load_balancer::hit_counter::HitCounter;
use crate::catalog::popularity::demand_memory::DemandMemory;
use crate::catalog::popularity::demand_ranker::{DemandRanker, LARGEST_DEMAND_LEAD, RankingSlot};
use crate::catalog::popularity::half_lives::HalfLives;
use crate::catalog::popularity::popularity_order::PopularityOrder;
use crate::catalog::settings::EventLogSettings;
use crate::catalog::single_flight::{InputReader, LookProgress};
use crate::catalog::views::EventLogView;
use crate::catalog::watch::{ChangeNotifier, InputWatch, WatchTarget};
use crate::settings::popularity::PopularityMode;

/// Logs of earlier days are read back to this many times the longest half-life, but at most 32 days. Requests before
/// twice the half-life have less than a quarter of the weight.
const HORIZON_HALF_LIVES: f64 = 2.0;

/// Rows of a day count as demand for this time after its end. A mirrored log may be late, and so may a paused node.
const LATE_ROWS: Duration = Duration::from_secs(24 * 60 * 60);

/// How many days are remembered whose lines were counted as demand.
const MOST_COUNTED_DAYS: usize = 400;

/// How often a checkpoint is written while there are new requests. After a crash the rows since then are
/// read again.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(60 * 60);

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
    /// The first day with hits in the window; none before the first look. Days before it only have late rows.
    first_of_window: Option<Date>,
    /// The rows that were counted as demand, in logs that are not followed.
    counted: CountedLogs,
    /// None if demand is not saved.
    checkpoint: Option<CheckpointFile>,
    /// When the checkpoint was written last or read, and the requests that were counted by then.
    saved: Option<(Millis, u64)>,
    looked_at: Option<Millis>,
    /// The hot files as last published.
    rising: Arc<RisingHits>,
    watch: InputWatch,
    progress: LookProgress,
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
    /// The demand continues from the checkpoint.
    pub fn new(
        settings: EventLogSettings,
        names: NameTable,
        ranking: RankingSlot,
        checkpoint: Option<CheckpointFile>,
    ) -> Self {
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
            first_of_window: None,
            counted: CountedLogs::new(),
            checkpoint,
            saved: None,
            looked_at: None,
            rising: Arc::default(),
            watch: InputWatch::default(),
            progress: LookProgress::default(),
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
        let names = &self.names;
        let order = self.demand.as_mut().and_then(|demand| demand.order(now, names));
        EventLogLook { changed, order, view: self.view(now), overflows: self.watch.overflows() }
    }

    fn view(&self, now: Millis) -> EventLogView {
        let demand = self.demand.as_ref();
        let of_window = self.days.iter().filter(|day| self.first_of_window <= Some(day.day()));
        EventLogView {
            files: of_window.map(|day| day.view().clone()).collect(),
            hits_in_window: self.hits.count(),
            hot: self.rising.hot().len(),
            curves: Arc::new(self.hits.window.curves(now)),
            requests_counted: demand.map_or(0, |demand| demand.memory().counted()),
            served: demand.map(|demand| demand.served().shares(now)).unwrap_or_default(),
            served_by_hour: demand.map(|demand| demand.served().by_hour(now)).unwrap_or_default(),
        }
    }

    /// Begins again if the clock was behind and is not any more, as after a start without a network. Rows or the
    /// checkpoint were then too far ahead.
    fn begin_again_after_a_jump(&mut self, now: Millis) {
        let Some(demand) = &mut self.demand else { return };
        let has_jumped =
            self.looked_at.is_some_and(|before| now > before.after(LARGEST_DEMAND_LEAD));
        if !has_jumped || !demand.was_behind() {
            return;
        }
        warn!("the clock was set forward by more than a day: demand continues from its checkpoint");
        demand.forget();
        self.counts_demand = false;
    }

    /// Begins to count demand once the ranking is known: from the checkpoint on. Without one it counts the
    /// earlier days, and the followed days from their beginning.
    fn begin_demand(&mut self, now: Millis) {
        let is_ranked = self.demand.as_ref().is_some_and(DemandRanker::is_ranked);
        if self.counts_demand || !is_ranked {
            return;
        }
        self.counts_demand = true;
        self.days.clear();
        self.hits = HitCounter::new(&self.settings);
        self.counted.clear();
        self.load_checkpoint(now);
        self.demand.iter_mut().for_each(DemandRanker::judge_by_grades);
        self.read_past_days(now);
    }

    fn load_checkpoint(&mut self, now: Millis) {
        let (Some(checkpoint), Some(demand)) = (&self.checkpoint, &mut self.demand) else { return };
        let path = checkpoint.path().display();
        match checkpoint.load(&self.names, demand.memory().half_lives()) {
            Ok(saved) => {
                info!(%path, "the demand continues from its checkpoint");
                demand.restore(saved.memory, saved.served);
                self.counted = saved.logs;
                self.saved = Some((now, 0));
                if demand.forget_future(now) {
                    warn!(%path, "the checkpoint of demand is later than now: the logs are read again");
                    self.counted.clear();
                }
            }
            // A yard starts without one.
            Err(CheckpointFault::Missing) => {
                info!(%path, "no checkpoint of demand: the demand is counted from the logs");
            }
            Err(fault) => warn!(
                %path, %fault,
                "no checkpoint of demand: the demand is counted from the logs that still exist"
            ),
        }
    }

    fn read_past_days(&mut self, now: Millis) {
        let Some(demand) = &self.demand else { return };
        let horizon = demand.memory().half_lives().longest().mul_f64(HORIZON_HALF_LIVES);
        let of_window = self.days_since(self.hits.window.start(now), now);
        for day in self.days_since(now.before(horizon), now) {
            if of_window.contains(&day) || self.is_followed(day) {
                continue;
            }
            let mut reading = self.follow(day);
            if !reading.has_new_rows() {
                continue;
            }
            let (hits, demand, progress) = (&mut self.hits, self.demand.as_mut(), &self.progress);
            let mut counters = RowCounters { hits, demand, progress };
            reading.look(now, &self.names, &self.settings, &mut counters);
            self.counted.insert(day, reading.counted());
        }
    }

    fn days_since(&self, start: Millis, now: Millis) -> Vec<Date> {
        log_days(start, now, &self.settings.time_zone)
    }

    fn is_followed(&self, day: Date) -> bool {
        self.days.iter().any(|followed| followed.day() == day)
    }

    fn follow(&self, day: Date) -> FollowedDay {
        FollowedDay::new(day, self.path_of(day), self.counted_of(day))
    }

    fn path_of(&self, day: Date) -> PathBuf {
        self.settings.dir.join(log_file_name(day))
    }

    fn counted_of(&self, day: Date) -> Vec<LogPosition> {
        self.counted.get(&day).cloned().unwrap_or_default()
    }

    /// Writes the checkpoint if that was requested, or if there are new requests for an hour.
    fn save_if_due(&mut self, now: Millis) {
        let (Some(checkpoint), Some(demand)) = (&self.checkpoint, &mut self.demand) else { return };
        if !self.counts_demand {
            return;
        }
        // The clock may be behind, so that the checkpoint looked wrong. An empty memory never replaces it.
        if demand.memory().newest().is_none() {
            return;
        }
        let requests = demand.memory().counted();
        let is_old = match self.saved {
            // The clock may have been set back.
            Some((at, before)) => {
                requests != before && (now < at || now.since(at) >= CHECKPOINT_INTERVAL)
            }
            None => requests > 0,
        };
        if !checkpoint.take_request() && !is_old {
            return;
        }
        let mut logs = self.counted.clone();
        logs.extend(self.days.iter().map(|day| (day.day(), day.counted())));
        let served = demand.served().clone();
        if let Err(error) = checkpoint.save(demand.memory_mut(), &served, &logs, &self.names) {
            let path = checkpoint.path().display();
            warn!(%path, %error, "the checkpoint of demand cannot be written: the next try is in an hour");
        }
        self.saved = Some((now, requests));
    }

    /// Follows exactly the days that are relevant at `now`: those with hits in the window, and with demand those that
    /// ended a short time ago.
    fn choose_days(&mut self, now: Millis) {
        if self.looked_at.is_some_and(|before| now < before) {
            // The clock was set back. Dropped days may be relevant again, and a second read of them
            // would count their hits twice. So everything is read again from the beginning.
            self.drop_days(&[]);
            self.hits = HitCounter::new(&self.settings);
        }
        let mut days = self.days_since(self.hits.window.start(now), now);
        self.first_of_window = days.first().copied();
        if self.counts_demand {
            let mut late = self.days_since(now.before(LATE_ROWS), now);
            late.retain(|day| !days.contains(day) && self.may_have_late_rows(*day));
            days.splice(..0, late);
        }
        self.drop_days(&days);
        for day in days {
            if !self.is_followed(day) {
                self.days.push(self.follow(day));
            }
        }
        self.days.sort_by_key(FollowedDay::day);
    }

    /// Whether a day before the window must be followed.
    fn may_have_late_rows(&self, day: Date) -> bool {
        match self.is_followed(day) {
            true => self.path_of(day).is_file(),
            false => self.follow(day).has_new_rows(),
        }
    }

    /// Stops following all days but these. Their counted rows are remembered.
    fn drop_days(&mut self, kept: &[Date]) {
        for day in self.days.extract_if(.., |followed| !kept.contains(&followed.day())) {
            self.counted.insert(day.day(), day.counted());
        }
        while self.counted.len() > MOST_COUNTED_DAYS {
            self.counted.pop_first();
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
        if self.demand.as_mut().is_some_and(|demand| demand.forget_future(now)) {
            warn!("requests were counted far ahead of the present time: the logs are read again");
            self.counts_demand = false;
        }
        self.begin_again_after_a_jump(now);
        self.begin_demand(now);
        self.choose_days(now);
        if self.counts_demand && self.looked_at.is_some_and(|before| now.since(before) > LATE_ROWS)
        {
            // The node was paused: days began and ended in between.
            self.read_past_days(now);
        }
        self.update_watches();
        for day in &mut self.days {
            let demand = self.demand.as_mut().filter(|_| self.counts_demand);
            let (hits, progress) = (&mut self.hits, &self.progress);
            let mut counters = RowCounters { hits, demand, progress };
            day.look(now, &self.names, &self.settings, &mut counters);
        }
        self.looked_at = Some(now);
        let look = self.expire(now);
        self.save_if_due(now);
        look
    }

    fn progress(&self) -> LookProgress {
        self.progress.clone()
    }
}

#[cfg(test)]
mod tests;
