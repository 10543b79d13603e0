//! The TaskManager and the Remover with their durable and volatile state, by the same rules as in a
//! node. Instead of a journal, events are applied at once.

use std::collections::HashSet;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, NameTable};
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_protocol::worker::Report;
use reelyard_replication::{AppliedEvent, InFlight, Piece};
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::ranking::Ranking;
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::remover::{
    Confirmation, CopyKey, Intent, LookedSize, RecentArrivals, Removal, RemovalBook, RemovalEvent,
    RemovalProposal, RemoverPieceContext, RemoverPolicy, RemoverView, RoomWanted, Spared,
};
use reelyard_yard::task_manager::PlanningRound;
use reelyard_yard::task_manager::{
    Arrival, HostSetting, TaskBook, TaskEvent, TaskPieceContext, TaskPolicy, done_copies,
};

use super::rules::Rules;

/// Both managers with their recorded state.
#[derive(Debug)]
pub struct ManagersModel {
    tasks: TaskBook,
    task_policy: TaskPolicy,
    no_tasks: InFlight<TaskEvent>,
    removals: RemovalBook,
    remover_policy: RemoverPolicy,
    no_removals: InFlight<RemovalEvent>,
}

impl ManagersModel {
    /// Managers that lead from `now` on, in a yard whose hosts all answer.
    pub fn new(rules: &Rules, hosts: &[HostSetting], names: &NameTable, now: Millis) -> Self {
        let mut managers = ManagersModel {
            tasks: TaskBook::new(names.clone()),
            task_policy: TaskPolicy::new(rules.tasks.clone(), hosts),
            no_tasks: InFlight::default(),
            removals: RemovalBook::new(names.clone()),
            remover_policy: RemoverPolicy::new(rules.remover.clone()),
            no_removals: InFlight::default(),
        };
        managers.task_policy.become_leader(now);
        managers.remover_policy.become_leader(now);
        managers.record_due(now);
        for host in hosts {
            let (from, to) = (Health::Unknown, Health::Up);
            let up = HealthChanged { host: host.addr, from, to, at: now };
            managers.task_policy.health_changed(&up);
            managers.remover_policy.health_changed(&up);
        }
        managers
    }

    /// The recorded tasks.
    pub fn tasks(&self) -> &TaskBook {
        &self.tasks
    }

    /// Applies a new ranking.
    pub fn set_ranking(&mut self, ranking: &Arc<Ranking>) {
        self.task_policy.set_ranking(Arc::clone(ranking));
        self.remover_policy.set_ranking(Arc::clone(ranking));
    }

    /// Applies new contents of the source directories.
    pub fn set_masters(&mut self, masters: &Arc<Masters>) {
        self.task_policy.set_masters(Arc::clone(masters));
        self.remover_policy.set_masters(Arc::clone(masters));
    }

    /// Applies new hot files.
    pub fn set_rising(&mut self, rising: &RisingHits) {
        self.task_policy.set_rising(rising);
        self.remover_policy.set_rising(rising);
    }

    /// Applies the list of files of a host.
    pub fn observe(&mut self, seen: &HostObserved) {
        self.task_policy.observe(seen, &self.tasks);
        self.remover_policy.observe(seen);
    }

    /// Records due changes: ends of tasks, and differences between hosts and their record.
    pub fn record_due(&mut self, now: Millis) {
        loop {
            let context = TaskPieceContext { book: &self.tasks, in_flight: &self.no_tasks, now };
            let events = self.task_policy.due(context);
            if events.is_empty() {
                return;
            }
            for event in events {
                self.record(event, now);
            }
        }
    }

    /// Plans one round, and records its copies.
    pub fn plan(&mut self, now: Millis) -> PlanningRound {
        let context = TaskPieceContext { book: &self.tasks, in_flight: &self.no_tasks, now };
        let made = self.removals.rooms_made(self.remover_policy.settings(), now);
        let view = RemoverView { rooms_made: made, ..RemoverView::default() };
        self.task_policy.set_removals(Arc::new(view));
        let round = self.task_policy.round(context);
        for task in &round.tasks {
            self.record(TaskEvent::Created(task.clone()), now);
        }
        round
    }

    /// Gives the Remover the files that a round had no room for. Returns whether it must check them
    /// now.
    pub fn want_room(&mut self, round: &PlanningRound) -> bool {
        let takers = round.parts.iter().filter(|(_, part)| part.no_destination.is_none());
        let rooms = takers.filter_map(|(host, part)| Some((*host, part.most_room?)));
        let files = round.wants_room.clone();
        self.remover_policy.set_room_wanted(RoomWanted { files, rooms: rooms.collect() })
    }

    /// Gives the Remover the requested sizes of masters.
    pub fn learn_sizes(&mut self, sizes: Vec<(FileId, LookedSize)>) {
        self.remover_policy.learn_sizes(sizes);
    }

    /// Answers a round's request for masters.
    pub fn looked(&mut self, files: Vec<FileId>, seen: Vec<(FileId, MasterLook)>, now: Millis) {
        if self.task_policy.begin_looking(&files) {
            self.task_policy.looked(files, seen, now);
        }
    }

    /// Applies a report of a worker. Returns the copies that are now in place.
    pub fn apply_report(&mut self, host: HostAddr, report: Report, now: Millis) -> Vec<Arrival> {
        let context = TaskPieceContext { book: &self.tasks, in_flight: &self.no_tasks, now };
        let effect = self.task_policy.receive_reports(host, &[report], context);
        effect.events.into_iter().filter_map(|event| self.record(event, now)).collect()
    }

    fn record(&mut self, event: TaskEvent, at: Millis) -> Option<Arrival> {
        let result = self.tasks.apply(at, &event);
        let applied = AppliedEvent { request: RequestId(0), at, event, result };
        self.task_policy.on_applied(&applied, &self.tasks, None).arrived
    }

    /// The removals that the Remover proposes now.
    pub fn propose(&mut self, now: Millis) -> RemovalProposal {
        let hosts = self.tasks.hosts().iter().filter(|(_, record)| record.role.is_destination());
        let yard: Vec<_> = hosts
            .map(|(addr, record)| {
                (*addr, reelyard_yard::remover::CopyHolderStatus::of(record.mode, record.lost))
            })
            .collect();
        let arrivals = RecentArrivals::of(
            done_copies(self.tasks.history()),
            self.remover_policy.settings(),
            now,
        );
        self.remover_policy.set_hosts(yard, arrivals);
        let point = RemoverPieceContext { book: &self.removals, in_flight: &self.no_removals, now };
        self.remover_policy.propose(point)
    }

    /// The removals that are confirmed after hosts and masters were checked again.
    pub fn confirm(
        &mut self,
        removals: Vec<Removal>,
        now: Millis,
    ) -> (Vec<Intent>, Vec<(Removal, Spared)>) {
        let masters = removals.iter().map(|removal| removal.file).collect();
        let seen = Confirmation { asked_at: now, masters, absent: HashSet::new() };
        let point = RemoverPieceContext { book: &self.removals, in_flight: &self.no_removals, now };
        let (events, spared) = self.remover_policy.confirm(removals, &seen, point);
        let intents = events.into_iter().filter_map(|event| match event {
            RemovalEvent::Intended(intent) => Some(intent),
            _ => None,
        });
        (intents.collect(), spared)
    }

    /// Records a planned removal. Returns whether it is allowed.
    pub fn intend(&mut self, intent: &Intent, now: Millis) -> bool {
        self.record_removal(RemovalEvent::Intended(intent.clone()), now)
    }

    /// Applies that a host has removed a copy.
    pub fn removed(&mut self, copy: CopyKey, intent: &Intent, now: Millis) {
        self.remover_policy.asking(copy);
        let event = self.remover_policy.answered(copy, &intent.name, &Ok(Deleted::Removed), now);
        if let Some(event) = event {
            self.record_removal(event, now);
        }
        let point = RemoverPieceContext { book: &self.removals, in_flight: &self.no_removals, now };
        if let Some(event) = self.remover_policy.forgets(point) {
            self.record_removal(event, now);
        }
    }

    fn record_removal(&mut self, event: RemovalEvent, at: Millis) -> bool {
        let result = self.removals.apply(at, &event);
        let is_done = result.is_ok();
        let applied = AppliedEvent { request: RequestId(0), at, event, result };
        self.remover_policy.on_applied(&applied, &self.removals, true, applied.at);
        is_done
    }
}
