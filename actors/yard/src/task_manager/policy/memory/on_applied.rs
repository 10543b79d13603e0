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
    /// same entry. An event that a node applies before it leads is old: it is not counted. `followed_at` is
    /// the moment when this node applied an event of another leader; none if this node leads.
    pub fn on_applied(
        &mut self,
        applied: &AppliedEvent<TaskBook>,
        book: &TaskBook,
        followed_at: Option<Millis>,
    ) -> AppliedEffects {
        match &applied.result {
            Ok(TaskOutcome::Applied) => {}
            Ok(TaskOutcome::AlreadySo) => return AppliedEffects::default(),
            Err(_) => {
                self.counters.refused += 1;
                return AppliedEffects::default();
            }
        }
        if followed_at.is_none() {
            self.counters.count(&applied.event, book);
        }
        let at = applied.at;
        // The lists of hosts have times of the own clock. The clock of another leader cannot be compared with them.
        let seen = followed_at.unwrap_or(at);
        match &applied.event {
            TaskEvent::Completed { id, .. } | TaskEvent::CompletedUnverified { id, .. } => {
                let arrived = book.task(*id).map(|task| {
                    self.liveness.ended(task, at);
                    let (host, file) = (task.destination, book.file(&task.name));
                    let arrival = Arrival { host, file, size: Some(task.size) };
                    self.land(arrival, seen, Some(task.created), book)
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
                let arrived = Some(self.land(arrival, seen, None, book));
                AppliedEffects { freed: false, arrived }
            }
            TaskEvent::InventoryDiffered { host, added, removed, .. } => {
                let ids = |names: &[FileName]| -> Vec<FileId> {
                    names.iter().map(|name| book.file(name)).collect()
                };
                self.planner.came(*host, ids(added), book, &self.hosts);
                self.planner.left(ids(removed), book, &self.hosts);
                self.hosts.set_differs(*host, true);
                if let Some(seen) = followed_at {
                    self.hosts.recorded(*host, seen);
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
            | TaskEvent::Forgot { .. }
            | TaskEvent::InputsRecorded(_) => AppliedEffects::default(),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use reelyard_core::event::RequestId;
    use reelyard_core::host::{HostKind, HostRole};
    use reelyard_protocol::worker::TaskId;
    use reelyard_replication::Piece;

    use super::*;
    use crate::cfw_worker::{HostObserved, Inventory};
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::policy::hosts_in_memory::inventory::next_difference;
    use crate::task_manager::samples::{host, name, new_task};
    use crate::task_manager::settings::HostSetting;

    /// The own clock is two seconds ahead of the leader, whose copy arrived after the last list was read.
    #[test]
    fn a_list_older_than_a_copy_by_a_slower_clock() {
        let hosts = [(host(1), HostRole::Source), (host(21), HostRole::Destination)];
        let settings = hosts.map(|(addr, role)| HostSetting { addr, role });
        let mut policy = TaskPolicy { hosts: HostTable::new(&settings), ..TaskPolicy::default() };
        let mut book = TaskBook::default();
        let copied = TaskEvent::Completed { id: TaskId(1), size: None, hash: None };
        let (added, removed) = (vec![name("a.mpg")], vec![]);
        let listed =
            TaskEvent::InventoryDiffered { host: host(21), added, removed, complete: true };
        let begun = TaskEvent::Created(new_task(1, "b.mpg"));
        let configured = TaskEvent::HostsConfigured { hosts: hosts.to_vec() };
        let list = |book: &TaskBook, names: &[&str], at: i64| HostObserved {
            host: host(21),
            kind: HostKind::Cfw,
            inventory: Some(Arc::new(Inventory {
                files: names.iter().map(|text| book.names().intern(&name(text)).0).collect(),
                unreadable_names: 0,
                at: Millis(at),
            })),
            disk: None,
            traffic: None,
            at: Millis(at),
        };
        let follow = |policy: &mut TaskPolicy, book: &mut TaskBook, event: &TaskEvent, at: i64| {
            let result = book.apply(Millis(at), event);
            assert!(result.is_ok(), "{event:?}: {result:?}");
            let (request, at, event) = (RequestId(0), Millis(at), event.clone());
            let applied = AppliedEvent { request, at, event, result };
            policy.on_applied(&applied, book, Some(at.after(Duration::from_secs(2))));
        };
        follow(&mut policy, &mut book, &configured, 1000);
        follow(&mut policy, &mut book, &listed, 1100);
        follow(&mut policy, &mut book, &begun, 1200);
        policy.hosts.observe(&list(&book, &["a.mpg"], 3300));
        follow(&mut policy, &mut book, &copied, 1400);
        let difference = |policy: &TaskPolicy, book: &TaskBook| {
            next_difference(book, host(21), policy.hosts.get(host(21)).unwrap())
        };
        assert_eq!(difference(&policy, &book), None, "the copy arrived after the list");
        policy.hosts.observe(&list(&book, &["a.mpg"], 3500));
        assert!(difference(&policy, &book).is_some(), "a later list counts");
    }
}
