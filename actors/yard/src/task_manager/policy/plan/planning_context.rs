//! The state that a round reads in addition to the files, and the running copies.

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileId;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::InFlight;

use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
use crate::task_manager::policy::hosts_in_memory::rates::CopyRateContext;
use crate::task_manager::settings::TaskSettings;
use crate::task_manager::state::event::{NewTask, TaskEvent};
use crate::task_manager::state::task_book::TaskBook;

/// The state outside the planner that a round reads.
#[derive(Clone, Copy)]
pub struct PlanningContext<'a> {
    /// The piece as applied.
    pub book: &'a TaskBook,
    /// Events that are decided but not yet applied: they occupy their hosts and their file already.
    pub in_flight: &'a InFlight<TaskEvent>,
    /// The hosts as last seen.
    pub hosts: &'a HostTable,
    /// The task settings in force.
    pub settings: &'a TaskSettings,
    /// Since when this node leads.
    pub leading_since: Millis,
    /// The time of the round.
    pub now: Millis,
}

/// An open copy. It occupies two hosts and a file.
pub(super) struct OccupyingCopy {
    pub(super) source: HostAddr,
    pub(super) destination: HostAddr,
    pub(super) size: u64,
    /// When its task was created. None if the task is not applied.
    pub(super) created: Option<Millis>,
}

impl PlanningContext<'_> {
    /// Tasks that are decided but not applied.
    pub(super) fn created_in_flight(&self) -> impl Iterator<Item = &NewTask> {
        self.in_flight.events().filter_map(|event| match event {
            TaskEvent::Created(task) if self.book.task(task.id).is_none() => Some(task),
            _ => None,
        })
    }

    /// Every running copy, applied or not.
    pub(super) fn under_way(&self) -> impl Iterator<Item = OccupyingCopy> {
        let open = self.book.open().values().map(|task| OccupyingCopy {
            source: task.source,
            destination: task.destination,
            size: task.size,
            created: Some(task.created),
        });
        open.chain(self.created_in_flight().map(|task| OccupyingCopy {
            source: task.source,
            destination: task.destination,
            size: task.size,
            created: None,
        }))
    }

    /// The rate of a new copy, if this round plans `planned` others with the same hosts.
    pub(super) fn rate_for(
        &self,
        planned: &[NewTask],
        pair: (HostAddr, HostAddr),
    ) -> Option<BitsPerSecond> {
        let rate_context =
            CopyRateContext { hosts: self.hosts, in_force: self.settings.bandwidth.at(self.now) };
        let goes_there = |destination: &HostAddr| *destination == pair.1;
        let others = self.under_way().map(|copy| copy.destination).filter(goes_there).count()
            + planned.iter().map(|task| task.destination).filter(|to| goes_there(to)).count();
        rate_context.rate_of_new(pair, self.settings.copies_per_source, others)
    }

    /// The task that copies `file`, applied or not.
    pub(super) fn copied_by(&self, file: FileId) -> Option<TaskId> {
        let in_flight = || {
            let of_file = |task: &&NewTask| self.book.file(&task.name) == file;
            self.created_in_flight().find(of_file).map(|task| task.id)
        };
        self.book.open_for(file).or_else(in_flight)
    }

    /// The destination that was planned to last, applied or not.
    pub(super) fn last_planned_to(&self) -> Option<HostAddr> {
        let in_flight = self.created_in_flight().max_by_key(|task| task.id);
        in_flight.map(|task| task.destination).or(self.book.last_planned_to())
    }

    /// The number for a new task: the time in nanoseconds, but higher than all earlier numbers.
    pub(super) fn first_id(&self) -> i64 {
        let by_time = self.now.0.saturating_mul(1_000_000);
        let open = self.book.open().last_key_value().map(|(id, _)| *id);
        let ended = self.book.ended().last_key_value().map(|(id, _)| *id);
        let in_flight = self.created_in_flight().map(|task| task.id).max();
        [open, ended, in_flight]
            .into_iter()
            .flatten()
            .map(|id| id.0.saturating_add(1))
            .fold(by_time, i64::max)
    }
}
