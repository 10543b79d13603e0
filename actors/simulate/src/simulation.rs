//! The course of a simulation: executes events and runs the managers.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileId;
use reelyard_protocol::worker::Blame;
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::catalog::load_balancer::rising::{HitWindow, RisingHits};
use reelyard_yard::catalog::popularity::demand_memory::DemandMemory;
use reelyard_yard::catalog::popularity::half_lives::HalfLives;
use reelyard_yard::catalog::ranking::Ranking;
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::remover::RemovalMode;
use reelyard_yard::settings::popularity::PopularityMode;
use reelyard_yard::task_manager::PlannerWaits;
use reelyard_yard::task_manager::PlanningRound;

use super::managers::ManagersModel;
use super::queue::{EventSchedule, ScheduledEvent};
use super::rules::Rules;
use super::yard::{YardModel, mark};
use crate::demand::catalogue::Catalogue;
use crate::demand::file_request::FileRequest;
use crate::demand::popularity::Popularity;
use crate::demand::stream::DemandModel;
use crate::demand::synthetic::{DAY, HOUR};
use crate::results::measures::{DiskFill, Measures};
use crate::results::references::{KNOWN_DAYS, ReferencePlacements};

/// Directory of all masters.
const SOURCE_DIR: &str = "/masters";

/// Delay after a change until its host is looked at. A look counts only if it is later than the
/// change.
const SEEN_AFTER: Duration = Duration::from_millis(1);

/// Pause of a planning round that needs more time.
const MORE_TIME: Duration = Duration::from_secs(1);

/// The complete state of a simulation.
pub struct Simulation {
    pub(super) rules: Rules,
    pub(super) catalogue: Catalogue,
    pub(super) demand: DemandModel,
    pub(super) popularity: Popularity,
    pub(super) yard: YardModel,
    pub(super) managers: ManagersModel,
    pub(super) measures: Measures,
    /// Other placements of the same files, to compare with.
    pub(super) references: ReferencePlacements,
    masters: Arc<Masters>,
    /// grade.info and hitcount.history of the day.
    grades: Arc<Ranking>,
    /// The remembered demand; none with mode "off".
    memory: Option<DemandMemory>,
    pub(super) queue: EventSchedule,
    pub(super) rng: fastrand::Rng,
    /// Recent requests that no destination could serve.
    window: HitWindow,
    /// The hot files that the managers know.
    rising: RisingHits,
    is_missed: bool,
    /// Whether a change needs a planning round.
    must_plan: bool,
    /// Time of the next tick.
    tick: Option<Millis>,
    pub(super) source_rate: BitsPerSecond,
    pub(super) failures: f64,
    gather: Duration,
    pub(super) now: Millis,
}

/// The initial state of a simulation.
pub struct Beginning {
    /// Rules to simulate.
    pub rules: Rules,
    /// Names and sizes of the files.
    pub catalogue: Catalogue,
    /// Source of the requests.
    pub demand: DemandModel,
    /// Initial ranking of the files.
    pub popularity: Popularity,
    /// Hosts with their initial copies.
    pub yard: YardModel,
    /// Total rate of one source.
    pub source_rate: BitsPerSecond,
    /// Part of the copies that fail, from 0 to 1.
    pub failures: f64,
    /// How long changes are collected before a round.
    pub gather: Duration,
    /// Random numbers for everything but the demand.
    pub rng: fastrand::Rng,
    /// Simulated time of the start.
    pub start: Millis,
}

impl Simulation {
    /// A simulation whose managers have read all inputs once.
    pub fn new(beginning: Beginning) -> Self {
        let Beginning { rules, catalogue, popularity, yard, start, .. } = beginning;
        let files = popularity.order().iter().map(|file| file.0).collect();
        let limit = rules.tasks.storage_limit_percent;
        let references =
            ReferencePlacements::new(yard.capacity(limit), catalogue.len(), yard.held());
        let managers = ManagersModel::new(&rules, &yard.settings(), &catalogue.names, start);
        let mut simulation = Simulation {
            masters: Arc::new(Masters { files, ..Masters::default() }),
            window: HitWindow::new(rules.window, rules.hit_base),
            grades: Arc::default(),
            memory: (rules.popularity != PopularityMode::Off)
                .then(|| DemandMemory::new(HalfLives::of(rules.half_life))),
            demand: beginning.demand,
            measures: Measures::default(),
            references,
            queue: EventSchedule::default(),
            rng: beginning.rng,
            rising: RisingHits::default(),
            is_missed: false,
            must_plan: false,
            tick: None,
            source_rate: beginning.source_rate,
            failures: beginning.failures,
            gather: beginning.gather,
            now: start,
            rules,
            catalogue,
            popularity,
            yard,
            managers,
        };
        simulation.send_inputs();
        simulation.look_at_all();
        simulation.measures.fill_at_start = simulation.fill();
        simulation.queue.push(start.after(DAY), ScheduledEvent::Day(1));
        simulation.queue.push(start.after(HOUR), ScheduledEvent::Hour);
        if simulation.rules.remover.mode != RemovalMode::Off {
            let first = start.after(simulation.rules.remover.interval);
            simulation.queue.push(first, ScheduledEvent::RemovalRound);
        }
        simulation.request_tick();
        simulation
    }

    /// Executes all events before `end`. Calls `each_hour` at the end of each simulated hour.
    pub fn run_until(&mut self, end: Millis, each_hour: &mut dyn FnMut(Millis)) {
        loop {
            let next = self.queue.next_at().unwrap_or(end).min(end);
            while let Some(request) = self.demand.next_before(next) {
                self.now = request.at;
                self.serve(request);
                if self.tick.is_some_and(|tick| tick < next) {
                    break;
                }
            }
            match self.queue.next_at().filter(|at| *at < end) {
                None => break,
                Some(_) => {
                    let Some((at, what)) = self.queue.pop() else { break };
                    self.now = at;
                    if what == ScheduledEvent::Hour {
                        each_hour(at);
                    }
                    self.happen(what);
                }
            }
        }
        self.now = end;
        // Includes an hour or a day that ends with the simulation.
        while let Some((at, what)) = self.queue.pop().filter(|(at, _)| *at <= end) {
            match what {
                ScheduledEvent::Hour => self.measures.end_hour(at, self.fill()),
                ScheduledEvent::Day(_) => self.measures.end_day(),
                _ => {}
            }
        }
        self.measures.finish_periods(end, self.fill());
        self.look_ahead();
        for file in 0..self.catalogue.len() as u32 {
            if self.yard.copies_of(FileId(file)) > 0 {
                self.measures.has_copy.insert(file);
            }
        }
    }

    fn happen(&mut self, what: ScheduledEvent) {
        match what {
            ScheduledEvent::Day(day) => {
                self.begin_day();
                self.queue.push(self.now.after(DAY), ScheduledEvent::Day(day + 1));
            }
            ScheduledEvent::Hour => {
                self.measures.end_hour(self.now, self.fill());
                self.demand.drift();
                self.order_by_demand();
                self.queue.push(self.now.after(HOUR), ScheduledEvent::Hour);
            }
            ScheduledEvent::CopyArrives(task) => self.end_copy(task, None),
            ScheduledEvent::CopyFails(task) => {
                let blame = self.rng.choice([Blame::Source, Blame::Destination, Blame::Pair]);
                self.end_copy(task, blame);
            }
            ScheduledEvent::ProgressReport(task) => self.report_progress(task),
            ScheduledEvent::Tick => self.tick(),
            ScheduledEvent::RemovalRound => self.remove(),
            ScheduledEvent::RoomRound => {
                self.removal_round();
            }
        }
    }

    /// Schedules a tick soon; changes until then are part of it.
    pub(super) fn request_tick(&mut self) {
        self.must_plan = true;
        self.tick_at(self.now);
    }

    /// Schedules the tick after changes were collected from `at` on.
    fn tick_at(&mut self, at: Millis) {
        let gather = (self.gather.as_millis() as i64).max(1);
        let due = Millis((at.0.div_euclid(gather) + 1) * gather);
        if self.tick.is_none_or(|tick| due < tick) {
            self.tick = Some(due);
            self.queue.push(due, ScheduledEvent::Tick);
        }
    }

    /// A viewer requests a file: a destination or the centre serves it.
    fn serve(&mut self, request: FileRequest) {
        self.popularity.asked_for(request.file);
        self.references.request(request.file);
        if let Some(memory) = &mut self.memory {
            memory.request(request.file, request.at);
        }
        self.measures.all.requests += 1;
        if self.yard.copies_of(request.file) > 0 {
            self.measures.all.hits += 1;
        } else {
            self.window.hit(request.file, request.at, request.at);
            self.is_missed = true;
            self.tick_at(request.at);
        }
    }

    fn begin_day(&mut self) {
        self.measures.end_day();
        let released = self.demand.begin_day(self.now);
        self.references.end_day(&released, &self.catalogue);
        self.popularity.end_day(&released);
        if !released.is_empty() {
            let masters = Arc::make_mut(&mut self.masters);
            masters.files.extend(released.iter().map(|file| file.0));
        }
        self.send_inputs();
        self.request_tick();
    }

    fn send_inputs(&mut self) {
        self.grades = self.popularity.ranking(&self.catalogue);
        self.managers.set_ranking(&self.grades);
        self.managers.set_masters(&self.masters);
        self.order_by_demand();
    }

    /// Orders the files by the demand until now, as the Catalog does every hour.
    fn order_by_demand(&mut self) {
        let Some(order) =
            self.memory.as_mut().and_then(|memory| memory.order(&self.grades, |_| None))
        else {
            return;
        };
        let in_force = self.rules.popularity == PopularityMode::On;
        let ranking = self.grades.with_demand(&Arc::new(order), in_force);
        self.managers.set_ranking(&Arc::new(ranking));
        self.request_tick();
    }

    /// Counts the requests of the next days for the placements that know them.
    fn look_ahead(&mut self) {
        let mut day = self.now;
        for _ in 0..KNOWN_DAYS {
            let released = self.demand.begin_next_day(day);
            self.references.end_day(&released, &self.catalogue);
            let references = &mut self.references;
            self.demand.pass_day(day, &mut |request| references.request(request.file));
            day = day.after(DAY);
        }
    }

    fn look_at_all(&mut self) {
        let hosts: Vec<HostAddr> = self.yard.settings().iter().map(|host| host.addr).collect();
        for host in hosts {
            self.look_at(host);
        }
        for host in self.yard.destinations() {
            self.measures.had_copy |= &host.files;
        }
        self.managers.record_due(self.now);
    }

    pub(super) fn look_at(&mut self, host: HostAddr) {
        if let Some(seen) = self.yard.look_at(host, self.now.after(SEEN_AFTER)) {
            self.managers.observe(&seen);
        }
    }

    fn tick(&mut self) {
        if self.tick.is_none_or(|tick| tick != self.now) {
            // An earlier tick replaced it.
            return;
        }
        self.tick = None;
        if self.is_missed || self.window.next_change().is_some_and(|at| at <= self.now) {
            self.is_missed = false;
            self.see_rising();
        }
        if std::mem::take(&mut self.must_plan) {
            self.plan();
        }
        if let Some(change) = self.window.next_change() {
            self.tick_at(change.max(self.now));
        }
    }

    fn see_rising(&mut self) {
        self.window.expire(self.now);
        let rising = self.window.rising(&self.catalogue.names);
        if rising == self.rising {
            return;
        }
        self.managers.set_rising(&rising);
        let (yard, tasks) = (&self.yard, self.managers.tasks());
        let hot = rising.hot().iter().map(|(file, _)| *file);
        let bare = hot.filter(|file| yard.copies_of(*file) == 0);
        self.measures.hot.are(bare, |file| tasks.open_for(file).is_some(), self.now);
        self.rising = rising;
        self.must_plan = true;
    }

    /// Plans until no more copies are possible. Requests for masters are answered at once.
    fn plan(&mut self) {
        self.managers.record_due(self.now);
        loop {
            let round = self.managers.plan(self.now);
            self.measures.planning.add(&round);
            for task in &round.tasks {
                self.begin_copy(task);
            }
            self.seek_room(&round);
            let wants_more = matches!(round.waiting, Some(PlannerWaits::Looks(_)));
            if round.to_look_up.is_empty() {
                if wants_more {
                    self.must_plan = true;
                    self.tick_at(self.now.after(MORE_TIME));
                }
                return;
            }
            let look = |file: &FileId| {
                let (dir, size) = (SOURCE_DIR.into(), self.catalogue.size(*file));
                (*file, MasterLook::Found { dir, size, modified: Millis(0) })
            };
            let seen = round.to_look_up.iter().map(look).collect();
            self.managers.looked(round.to_look_up, seen, self.now);
            if !wants_more {
                return;
            }
        }
    }

    /// Runs the Remover at once if hot files have no room.
    fn seek_room(&mut self, round: &PlanningRound) {
        if self.managers.want_room(round) && self.rules.remover.mode != RemovalMode::Off {
            self.queue.push(self.now, ScheduledEvent::RoomRound);
        }
    }

    /// Fill levels of the disks.
    fn fill(&self) -> DiskFill {
        let limit = self.rules.tasks.storage_limit_percent;
        let mut fill = DiskFill { least: f64::INFINITY, ..DiskFill::default() };
        let (mut used, mut all) = (0.0, 0.0);
        for host in self.yard.destinations() {
            let percent = host.used as f64 / host.disk.max(1) as f64 * 100.0;
            fill.least = fill.least.min(percent);
            fill.most = fill.most.max(percent);
            fill.over_limit += u64::from(host.used > mark(host.disk, limit));
            used += host.used as f64;
            all += host.disk as f64;
        }
        fill.mean = used / f64::max(all, 1.0) * 100.0;
        fill
    }
}
