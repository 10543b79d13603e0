//! The TaskManager's memory about the hosts, the plan and the signs of life, and its reaction to reports.
//! Pure: the actor around it has the mailbox, the timers and the journal.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::worker::{Report, TaskId};
use reelyard_replication::{AppliedEvent, InFlight};

use super::decision_context::TaskDecisionContext;
use super::foreign_managers::{ForeignManager, ForeignManagers, OwnLeadership};
use super::hosts_in_memory::hosts::{HostTable, Landed};
use super::hosts_in_memory::inventory::next_difference;
use super::hosts_in_memory::liveness::TaskLiveness;
use super::reports::ReportsEffect;
use crate::catalog::MasterLook;
use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::cfw_worker::{HostCallStatus, HostObserved};
use crate::heartbeat::HealthChanged;
use crate::remover::RemoverView;
use crate::task_manager::messages::ByHandRefused;
use crate::task_manager::messages::CopyFile;
use crate::task_manager::plan::{
    ByHand, Explanation, Planner, PlannerWaits, PlanningContext, PlanningRound,
};
use crate::task_manager::policy::counters::TaskCounters;
use crate::task_manager::policy::last_round::LastRound;
use crate::task_manager::settings::{HostSetting, TaskSettings};
use crate::task_manager::state::event::{GivenUp, NewTask, TaskEvent, TaskOutcome};
use crate::task_manager::state::task::TaskState;
use crate::task_manager::state::task_book::TaskBook;

/// The longest sleep: jumps of the clock and suspends are noticed after it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest sleep before a deadline, so that the actor does not loop while the event of a passed
/// deadline is in flight.
const SHORTEST_SLEEP: Duration = Duration::from_millis(20);

/// The state of the piece that a decision reads.
#[derive(Clone, Copy)]
pub struct TaskPieceContext<'a> {
    /// The piece as applied.
    pub book: &'a TaskBook,
    /// Events that are decided but not yet applied.
    pub in_flight: &'a InFlight<TaskEvent>,
    /// The time of the decision.
    pub now: Millis,
}

impl TaskPieceContext<'_> {
    /// Whether the cluster has no id, and gets none by a commit under way.
    pub fn is_cluster_unnamed(&self) -> bool {
        let named = |event: &TaskEvent| matches!(event, TaskEvent::ClusterNamed { .. });
        self.book.cluster().is_none() && !self.in_flight.events().any(named)
    }
}

/// The effects of an applied event outside this actor's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedEffects {
    /// Whether a host became free and must get its next copy at once.
    pub freed: bool,
    /// A copy is on a host.
    pub arrived: Option<Arrival>,
}

/// A copy on a host, from an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The destination of the copy.
    pub host: HostAddr,
    /// The file that was copied.
    pub file: FileId,
    /// Its size in bytes, when known.
    pub size: Option<u64>,
}

/// Everything that the TaskManager keeps in memory only.
#[derive(Debug, Default)]
pub struct TaskPolicy {
    pub(in crate::task_manager) settings: TaskSettings,
    pub(in crate::task_manager) planner: Planner,
    pub(in crate::task_manager) hosts: HostTable,
    /// Also says since when this node leads.
    pub(in crate::task_manager) liveness: TaskLiveness,
    pub(in crate::task_manager) last_round: Option<LastRound>,
    pub(in crate::task_manager) counters: TaskCounters,
    pub(in crate::task_manager) foreign_managers: ForeignManagers,
    /// The removals in the last view of the Remover.
    removals: Arc<RemoverView>,
    /// Whether masters are being checked.
    looking: bool,
    /// Hosts whose files are being read.
    refreshing: BTreeSet<HostAddr>,
    /// Hosts that could not be asked, and when asking again makes sense.
    ask_again: BTreeMap<HostAddr, Millis>,
}

impl TaskPolicy {
    /// With these hosts. Nothing is known of any host.
    pub fn new(settings: TaskSettings, hosts: &[HostSetting]) -> Self {
        TaskPolicy { settings, hosts: HostTable::new(hosts), ..TaskPolicy::default() }
    }

    /// The hosts as last seen.
    pub fn hosts(&self) -> &HostTable {
        &self.hosts
    }

    /// The last signs of life of tasks, and the time since which this node listens.
    pub fn liveness(&self) -> &TaskLiveness {
        &self.liveness
    }

    /// The settings in force.
    pub fn settings(&self) -> &TaskSettings {
        &self.settings
    }

    /// Uses these settings from now on, and records these hosts.
    pub fn change_settings(&mut self, settings: TaskSettings, hosts: &[HostSetting]) {
        self.hosts.configure(hosts);
        if settings != self.settings {
            self.settings = settings;
            self.planner.forget_looks();
        }
    }

    /// The state that a decision reads.
    pub fn decision_context<'a>(
        &'a self,
        context: TaskPieceContext<'a>,
    ) -> TaskDecisionContext<'a> {
        TaskDecisionContext {
            book: context.book,
            in_flight: context.in_flight,
            hosts: &self.hosts,
            liveness: &self.liveness,
            settings: &self.settings,
            now: context.now,
        }
    }

    /// This node leads from `now` on, and has no signs of life yet. Answers the hosts that must be read
    /// again, because the previous leader had later reports of them than this node.
    pub fn become_leader(&mut self, now: Millis) -> Vec<HostAddr> {
        self.liveness = TaskLiveness::starting(now);
        let outdated = self.hosts.iter().filter(|(_, host)| host.is_outdated());
        outdated.map(|(addr, _)| addr).collect()
    }

    /// This node no longer leads.
    pub fn step_down(&mut self) {
        self.last_round = None;
    }

    /// The whole piece was replaced by `book`.
    pub fn installed(&mut self, book: &TaskBook) {
        self.hosts.adopt_recorded(book);
        self.planner.set_stale();
        self.hosts.all_differ();
    }

    /// Takes the published view of the Remover.
    pub fn set_removals(&mut self, removals: Arc<RemoverView>) {
        self.hosts.set_rooms_made(removals.rooms_made.clone());
        self.removals = removals;
    }

    /// Takes a new ranking.
    pub fn set_ranking(&mut self, ranking: Arc<Ranking>) {
        self.planner.set_ranking(ranking);
    }

    /// Takes new hot files.
    pub fn set_rising(&mut self, rising: &RisingHits) {
        self.planner.set_rising(rising);
    }

    /// Takes a new listing of the masters.
    pub fn set_masters(&mut self, masters: Arc<Masters>) {
        self.planner.set_masters(masters);
    }

    /// Takes a change of a host's health; false for a host that is not in the yard. If a host is up
    /// again, its CfwWorker reads it without a request.
    pub fn health_changed(&mut self, changed: &HealthChanged) -> bool {
        self.hosts.health_changed(changed)
    }

    /// Takes the observation of a host.
    pub fn observe(&mut self, seen: &HostObserved, book: &TaskBook) {
        let (came, left) = self.hosts.observe(seen);
        self.planner.came(seen.host, came.iter().map(FileId), book, &self.hosts);
        self.planner.left(left.iter().map(FileId), book, &self.hosts);
    }

    /// Takes the calls status of a host, and the managers that call it. `us` is this cluster and its
    /// epoch while this node leads. Answers whether this affects planning.
    pub fn record_call_status(
        &mut self,
        call_status: &HostCallStatus,
        us: Option<OwnLeadership>,
    ) -> bool {
        if let Some(us) = us {
            self.foreign_managers.record_worker_managers(call_status, us);
        }
        self.hosts.set_calls(call_status)
    }

    /// The signs of another manager of this yard that must be logged now.
    pub fn foreign_managers_to_log(&mut self, now: Millis) -> Vec<ForeignManager> {
        self.foreign_managers.due_for_log(now)
    }

    /// The hosts whose lists became unsteady, each with a file that was lost and came back.
    pub fn unsteady_lists_to_log(&mut self) -> Vec<(HostAddr, FileName)> {
        self.foreign_managers.unsteady_lists_to_log()
    }

    /// Records a change over cfm's protocol, if this cluster never made the task.
    pub fn record_cfm_change(&mut self, id: TaskId, context: TaskPieceContext<'_>) {
        if context.book.never_made(id) {
            self.foreign_managers.record_unknown_change(id, context.now);
        }
    }

    /// All due work: ends of tasks, records to drop, and the next part of every inventory that differs
    /// from the placements.
    pub fn due(&mut self, context: TaskPieceContext<'_>) -> Vec<TaskEvent> {
        let mut events = self.decision_context(context).due();
        events.extend(self.arrived_elsewhere(context));
        events.extend(self.differences(context));
        events
    }

    /// Cancels tasks that have not started, if another destination has the file meanwhile. An old cfw may
    /// have carried out an earlier order, or a person may have copied the file there.
    fn arrived_elsewhere(&self, context: TaskPieceContext<'_>) -> Vec<TaskEvent> {
        let TaskPieceContext { book, .. } = context;
        let decision_context = self.decision_context(context);
        let ending = decision_context.ending();
        let mut events = Vec::new();
        for task in book.open().values() {
            let has_begun = task.state != TaskState::Ready || self.liveness.of(task.id).is_some();
            if has_begun || task.asked_by.is_some() || ending.contains(&task.id) {
                continue;
            }
            let file = book.file(&task.name);
            if !self.planner.is_placed(file, book, &self.hosts) {
                continue;
            }
            let mut holders = self.planner.holders(file, book, &self.hosts).into_iter();
            if let Some(holder) = holders.find(|holder| *holder != task.destination) {
                events.push(
                    decision_context.withdraw(task, format!("{holder} already holds the file")),
                );
            }
        }
        events
    }

    fn differences(&mut self, context: TaskPieceContext<'_>) -> Vec<TaskEvent> {
        let book = context.book;
        let differing: Vec<HostAddr> = self
            .hosts
            .iter()
            .filter(|(addr, host)| {
                host.differs && book.host(*addr).is_some_and(|record| record.role.is_destination())
            })
            .map(|(addr, _)| addr)
            .collect();
        let mut events = Vec::new();
        let under_way: HashSet<HostAddr> = match differing.is_empty() {
            true => HashSet::new(),
            false => context.in_flight.events().filter_map(differs).collect(),
        };
        for addr in differing {
            let Some(host) = self.hosts.get(addr).filter(|_| !under_way.contains(&addr)) else {
                continue;
            };
            match next_difference(book, addr, host) {
                Some(event) => {
                    let removed = self.removals.removed_from(addr);
                    self.foreign_managers.record_difference(book, &event, &removed, context.now);
                    events.push(event);
                }
                None => self.hosts.set_differs(addr, false),
            }
        }
        events
    }

    /// Plans one round.
    pub fn round(&mut self, context: TaskPieceContext<'_>) -> PlanningRound {
        self.counters.rounds += 1;
        let unrecorded = self.decision_context(context).destinations_not_on_record();
        if !unrecorded.is_empty() {
            let waiting = Some(PlannerWaits::FirstLook(unrecorded));
            return PlanningRound { waiting, ..PlanningRound::default() };
        }
        let TaskPolicy { planner, hosts, settings, liveness, .. } = self;
        planner.round(&yard(context, hosts, settings, liveness))
    }

    /// The file of that name, if its master must be checked before it is explained.
    pub fn wants_look(&self, name: &FileName, context: TaskPieceContext<'_>) -> Option<FileId> {
        let file = context.book.names().find(name.as_bytes())?;
        self.planner.wants_look(file, context.now).then_some(file)
    }

    /// Takes the result of a check of one file's master.
    pub fn learn(
        &mut self,
        file: FileId,
        seen: impl IntoIterator<Item = (FileId, MasterLook)>,
        now: Millis,
    ) {
        self.planner.learn([(file, MasterLook::Unknown)], &self.settings, now);
        self.planner.learn(seen, &self.settings, now);
    }

    /// Plans a copy that a user requested.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn by_hand(
        &mut self,
        asked: &CopyFile,
        context: TaskPieceContext<'_>,
    ) -> Result<NewTask, ByHandRefused> {
        let file = context.book.names().find(asked.name.as_bytes());
        let is_pinned = file.is_some_and(|file| self.removals.pins.contains_key(&file));
        let CopyFile { name, destination, source, asked_by, .. } = asked;
        let (destination, source) = (*destination, *source);
        let asked = ByHand { name, destination, source, asked_by, is_pinned };
        let TaskPolicy { planner, hosts, settings, liveness, .. } = self;
        planner.by_hand(&asked, &yard(context, hosts, settings, liveness))
    }

    /// Explains why a file is or is not planned. A name without a file number is explained too.
    pub fn explain(&mut self, name: &FileName, context: TaskPieceContext<'_>) -> Explanation {
        let TaskPolicy { planner, hosts, settings, liveness, .. } = self;
        planner.explain(name, &yard(context, hosts, settings, liveness))
    }

    /// Whether to check these masters now: one list at a time.
    pub fn begin_looking(&mut self, files: &[FileId]) -> bool {
        !files.is_empty() && !std::mem::replace(&mut self.looking, true)
    }

    /// Takes the result of the check of `files`. A file without an answer is skipped for some time, so
    /// that it starves no other.
    pub fn looked(
        &mut self,
        files: Vec<FileId>,
        seen: impl IntoIterator<Item = (FileId, MasterLook)>,
        now: Millis,
    ) {
        self.looking = false;
        let unknown = files.into_iter().map(|file| (file, MasterLook::Unknown));
        self.planner.learn(unknown, &self.settings, now);
        self.planner.learn(seen, &self.settings, now);
    }

    /// The hosts to read now, because they report a finished task.
    pub fn claims_to_check(&self, context: TaskPieceContext<'_>) -> Vec<HostAddr> {
        let mut hosts = self.decision_context(context).claims_to_check();
        hosts.retain(|host| self.ask_again.get(host).is_none_or(|at| *at <= context.now));
        hosts.into_iter().collect()
    }

    /// Whether to read a host now: one read at a time.
    pub fn begin_refresh(&mut self, host: HostAddr) -> bool {
        self.refreshing.insert(host)
    }

    /// A read of a host has ended; `seen` says whether it succeeded.
    pub fn refreshed(&mut self, host: HostAddr, seen: bool, now: Millis) {
        self.refreshing.remove(&host);
        if seen {
            self.ask_again.remove(&host);
        } else {
            self.ask_again.insert(host, now.after(self.settings.ask_again_after));
        }
    }

    /// Takes the reports of a Reelyard worker as signs of life. Answers the events to commit, and the
    /// tasks that no longer belong to that host.
    pub fn receive_reports(
        &mut self,
        host: HostAddr,
        reports: &[Report],
        context: TaskPieceContext<'_>,
    ) -> ReportsEffect {
        let effect = self.decision_context(context).process_reports(host, reports);
        for report in reports.iter().filter(|report| context.book.never_made(report.task)) {
            self.foreign_managers.record_unknown_task(host, report, context.now);
        }
        self.counters.reports += reports.len() as u64;
        for &(task, bytes) in &effect.progress {
            self.liveness.record(task, context.now, bytes);
        }
        effect
    }

    /// How long to sleep until something becomes due.
    pub fn sleep(&self, context: TaskPieceContext<'_>) -> Duration {
        let deadline = self.decision_context(context).next_deadline();
        let until = deadline.map_or(LONGEST_SLEEP, |deadline| deadline.since(context.now));
        until.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)
    }

    /// Updates the memory after an applied event. `book` has applied it, and perhaps other events of the
    /// same entry. An event that a node applies before it leads is old: it is not counted.
    pub fn on_applied(
        &mut self,
        applied: &AppliedEvent<TaskBook>,
        book: &TaskBook,
        leads: bool,
    ) -> AppliedEffects {
        match &applied.result {
            Ok(TaskOutcome::Applied) => {}
            Ok(TaskOutcome::AlreadySo) => return AppliedEffects::default(),
            Err(_) => {
                self.counters.refused += 1;
                return AppliedEffects::default();
            }
        }
        if leads {
            self.counters.count(&applied.event, book);
        }
        let at = applied.at;
        match &applied.event {
            TaskEvent::Completed { id, .. } | TaskEvent::CompletedUnverified { id, .. } => {
                let arrived = book.task(*id).map(|task| {
                    self.liveness.ended(task, at);
                    let (host, file) = (task.destination, book.file(&task.name));
                    self.land(Arrival { host, file, size: Some(task.size) }, at, book)
                });
                AppliedEffects { freed: true, arrived }
            }
            TaskEvent::Ended { id, .. } => {
                if let Some(task) = book.task(*id) {
                    self.liveness.ended(task, at);
                }
                AppliedEffects { freed: true, arrived: None }
            }
            TaskEvent::Placed { host, name } => {
                let arrival = Arrival { host: *host, file: book.file(name), size: None };
                let arrived = Some(self.land(arrival, at, book));
                AppliedEffects { freed: false, arrived }
            }
            TaskEvent::InventoryDiffered { host, added, removed, .. } => {
                let ids = |names: &[FileName]| -> Vec<FileId> {
                    names.iter().map(|name| book.file(name)).collect()
                };
                self.planner.came(*host, ids(added), book, &self.hosts);
                self.planner.left(ids(removed), book, &self.hosts);
                self.hosts.set_differs(*host, true);
                if !leads {
                    self.hosts.recorded(*host, at);
                }
                AppliedEffects::default()
            }
            TaskEvent::HostsConfigured { .. }
            | TaskEvent::HostsNamed { .. }
            | TaskEvent::HostAdded { .. }
            | TaskEvent::HostRemoved { .. } => {
                self.installed(book);
                AppliedEffects::default()
            }
            // The copies of the host count differently from now on.
            TaskEvent::HostModeSet { .. }
            | TaskEvent::HostLost { .. }
            | TaskEvent::HostRecovered { .. } => {
                self.planner.set_stale();
                AppliedEffects::default()
            }
            TaskEvent::Created(_)
            | TaskEvent::Began { .. }
            | TaskEvent::Claimed { .. }
            | TaskEvent::ClusterNamed { .. }
            | TaskEvent::HostSilent { .. }
            | TaskEvent::HistoryForgotten { .. }
            | TaskEvent::Forgot { .. } => AppliedEffects::default(),
        }
    }

    /// A copy arrived on a host: it uses room until the disk is read again.
    fn land(&mut self, arrival: Arrival, at: Millis, book: &TaskBook) -> Arrival {
        let Arrival { host, file, size } = arrival;
        self.hosts.landed(host, Landed { file, size: size.unwrap_or(0), at });
        self.planner.came(host, [file], book, &self.hosts);
        arrival
    }
}

impl TaskCounters {
    fn count(&mut self, event: &TaskEvent, book: &TaskBook) {
        match event {
            TaskEvent::Created(_) => self.created += 1,
            TaskEvent::Completed { id, .. } | TaskEvent::CompletedUnverified { id, .. } => {
                self.completed += 1;
                if let Some(task) = book.task(*id) {
                    self.copied_bytes.count(task);
                }
                let unverified = matches!(event, TaskEvent::CompletedUnverified { .. });
                self.unverified += u64::from(unverified);
            }
            TaskEvent::Ended { ending, .. } => {
                match ending.how {
                    GivenUp::Failed => self.failed += 1,
                    GivenUp::Timeout => self.timed_out += 1,
                    GivenUp::Cancelled => return self.cancelled += 1,
                }
                self.blamed.count(ending.blame);
            }
            _ => {}
        }
    }
}

/// The host whose inventory an event is about.
fn differs(event: &TaskEvent) -> Option<HostAddr> {
    match event {
        TaskEvent::InventoryDiffered { host, .. } => Some(*host),
        _ => None,
    }
}

fn yard<'a>(
    context: TaskPieceContext<'a>,
    hosts: &'a HostTable,
    settings: &'a TaskSettings,
    liveness: &TaskLiveness,
) -> PlanningContext<'a> {
    PlanningContext {
        book: context.book,
        in_flight: context.in_flight,
        hosts,
        settings,
        leading_since: liveness.since(),
        now: context.now,
    }
}
