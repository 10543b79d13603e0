//! Applied events in memory, and their effects outside it.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use reelyard_replication::AppliedEvent;

use super::TaskPolicy;
use crate::task_manager::policy::hosts_in_memory::hosts::Landed;
use crate::task_manager::state::event::{TaskEvent, TaskOutcome};
use crate::task_manager::state::task_book::TaskBook;

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

impl TaskPolicy {
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
                    let arrival = Arrival { host, file, size: Some(task.size) };
                    self.land(arrival, at, Some(task.created), book)
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
                let arrived = Some(self.land(arrival, at, None, book));
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
    fn land(
        &mut self,
        arrival: Arrival,
        at: Millis,
        created: Option<Millis>,
        book: &TaskBook,
    ) -> Arrival {
        let Arrival { host, file, size } = arrival;
        self.hosts.landed(host, Landed { file, size: size.unwrap_or(0), at, created });
        self.planner.came(host, [file], book, &self.hosts);
        arrival
    }
}
