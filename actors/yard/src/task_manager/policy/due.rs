//! Tasks that end without a report: their host was removed, they were silent for too long, or their
//! claim can be checked. Also records that are old enough to be dropped. Pure.

use std::collections::{BTreeSet, HashSet};

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Blame, TaskId};

use super::decision_context::TaskDecisionContext;
use super::time_out::{self, TaskDestination};
use crate::heartbeat::Health;
use crate::task_manager::state::backoff::{Blamed, remembered};
use crate::task_manager::state::event::{GivenUp, TaskEnding, TaskEvent};
use crate::task_manager::state::hosts::host_record::HostRecord;
use crate::task_manager::state::task::{Task, TaskState};

impl TaskDecisionContext<'_> {
    /// Everything that is due now.
    pub fn due(&self) -> Vec<TaskEvent> {
        let mut events = self.due_of_hosts();
        let ending = self.ending();
        let at_work = self.at_work();
        for task in self.book.open().values().filter(|task| !ending.contains(&task.id)) {
            events.extend(self.due_end(task, &at_work));
        }
        for task in self.book.ended().values().filter(|task| !ending.contains(&task.id)) {
            events.extend(self.late_claim(task));
        }
        events.extend(self.forgettable());
        let trims = |event: &TaskEvent| matches!(event, TaskEvent::HistoryForgotten { .. });
        if !self.in_flight_has(trims) {
            events.extend(self.book.history_to_forget(self.settings.keep_history));
        }
        events
    }

    /// When something becomes due next, if only time decides.
    pub fn next_deadline(&self) -> Option<Millis> {
        let (at_work, ending) = (self.at_work(), self.ending());
        // A task whose end is being committed has passed its deadline. Its commit is awaited.
        let tasks = self.book.open().values().filter(|task| !ending.contains(&task.id));
        let tasks = tasks.filter_map(|task| self.deadline(task, &at_work));
        let back_offs = self.book.back_offs().values().map(|back_off| back_off.until);
        let back_offs = back_offs.filter(|until| *until > self.now);
        tasks.chain(back_offs).chain(self.losses_to_come()).min()
    }

    /// The hosts whose claims wait for a read of their files.
    pub fn claims_to_check(&self) -> BTreeSet<HostAddr> {
        let claims = self.book.open().values().chain(self.book.ended().values());
        claims
            .filter(|task| task.claimed_done)
            .filter(|task| !self.was_read_since(task.destination, task.changed))
            .filter(|task| self.book.host(task.destination).is_none_or(HostRecord::is_asked))
            .map(|task| task.destination)
            .collect()
    }

    pub(in crate::task_manager) fn in_flight_has(&self, what: impl Fn(&TaskEvent) -> bool) -> bool {
        self.in_flight.events().any(what)
    }

    fn was_read_since(&self, host: HostAddr, at: Millis) -> bool {
        self.hosts.get(host).is_some_and(|host| host.was_read_since(at))
    }

    /// The destinations that are working on a task.
    fn at_work(&self) -> HashSet<HostAddr> {
        let working = self.book.open().values().filter(|task| task.state == TaskState::Working);
        working.map(|task| task.destination).collect()
    }

    fn deadline(&self, task: &Task, at_work: &HashSet<HostAddr>) -> Option<Millis> {
        time_out::deadline(task, self.recipient(task, at_work), self.liveness, self.settings)
    }

    fn recipient(&self, task: &Task, at_work: &HashSet<HostAddr>) -> TaskDestination {
        let host = self.hosts.get(task.destination);
        TaskDestination {
            ours: host.is_some_and(|host| host.is_ours()),
            at_work: at_work.contains(&task.destination),
            program_since: host.and_then(|host| host.program_since),
        }
    }

    fn due_end(&self, task: &Task, at_work: &HashSet<HostAddr>) -> Option<TaskEvent> {
        for (addr, blame) in [(task.destination, Blame::Destination), (task.source, Blame::Source)]
        {
            if let Some(reason) = self.taken_back_by(addr, task) {
                return Some(self.withdraw(task, reason));
            }
            match self.hosts.get(addr) {
                None => return Some(self.withdraw(task, format!("{addr} left the yard"))),
                Some(host) if host.health == Health::Down => {
                    let reason = format!("{addr} is down");
                    return Some(self.give_up(task, GivenUp::Failed, blame, reason));
                }
                Some(_) => {}
            }
        }
        let destination = self.hosts.get(task.destination)?;
        // A file that a host holds is never planned. So if an old cfw lists the file now, it has
        // finished the copy, even if its `done` did not arrive. Reelyard workers report themselves:
        // claims about their tasks over cfm's protocol prove nothing.
        let is_old = !destination.is_ours();
        if is_old && destination.lists(self.book.file(&task.name)) {
            return Some(TaskEvent::Completed { id: task.id, size: None, hash: None });
        }
        if is_old && task.claimed_done && destination.was_read_since(task.changed) {
            // An old cfw says `done` even if its downloader failed.
            let reason =
                format!("{} reported done but does not list {}", task.destination, task.name);
            let blame = self.attribute_failure(task, Blame::Destination);
            return Some(self.give_up(task, GivenUp::Failed, blame, reason));
        }
        let overdue = self.deadline(task, at_work).is_some_and(|deadline| deadline <= self.now);
        overdue.then(|| self.time_out(task, self.recipient(task, at_work)))
    }

    fn time_out(&self, task: &Task, recipient: TaskDestination) -> TaskEvent {
        let host = task.destination;
        if let Some(since) = time_out::replaced_since(task, recipient, self.liveness) {
            let reason = format!(
                "another program answers at {host} since {since}, and it did not resume the copy"
            );
            // No side failed, so there is no backoff: the file may be copied there again.
            let ending = TaskEnding { how: GivenUp::Timeout, reason, blame: None };
            return TaskEvent::Ended { id: task.id, ending, back_off: None };
        }
        let reason = match task.state {
            TaskState::Ready if self.liveness.of(task.id).is_none() => {
                format!("{host} never started the copy")
            }
            _ if task.claimed_done => {
                format!("{host} reported done, but its file list could not be read")
            }
            _ => format!("{host} showed no activity within the time limit"),
        };
        let blame = match task.state {
            TaskState::Ready => Blame::Destination,
            _ => self.attribute_failure(task, Blame::Destination),
        };
        self.give_up(task, GivenUp::Timeout, blame, reason)
    }

    /// A `done` that arrived after its task had ended, once it can be checked.
    fn late_claim(&self, task: &Task) -> Option<TaskEvent> {
        if !task.claimed_done {
            return None;
        }
        let destination = self.hosts.get(task.destination)?;
        if destination.lists(self.book.file(&task.name)) {
            return Some(TaskEvent::Completed { id: task.id, size: None, hash: None });
        }
        destination.was_read_since(task.changed).then(|| {
            let reason =
                format!("{} reported done too late and does not list the file", task.destination);
            let ending = TaskEnding { how: GivenUp::Timeout, reason, blame: task.blame };
            TaskEvent::Ended { id: task.id, ending, back_off: None }
        })
    }

    /// Ended tasks that are too old or too many, and backoffs that ended long ago.
    fn forgettable(&self) -> Option<TaskEvent> {
        if self.in_flight_has(|event| matches!(event, TaskEvent::Forgot { .. })) {
            return None;
        }
        let tasks = self.forgettable_tasks();
        let cool_down = self.settings.back_off;
        // The result of a trial counts from here on, however long the trial takes.
        let on_trial = |blamed: &Blamed| {
            self.book.open().values().any(|task| Blamed::all_of(task).contains(blamed))
        };
        let held = self.book.back_offs().iter();
        let stale = held.filter(|(blamed, held)| {
            held.is_stale(remembered(cool_down, blamed), self.now) && !on_trial(blamed)
        });
        let back_offs: Vec<_> = stale.map(|(blamed, _)| blamed.clone()).take(AT_ONCE).collect();
        (!tasks.is_empty() || !back_offs.is_empty())
            .then_some(TaskEvent::Forgot { tasks, back_offs })
    }

    fn forgettable_tasks(&self) -> Vec<TaskId> {
        let ended = self.book.ended();
        let keep = self.settings.keep_ended_count;
        // Up to a tenth more than the limit is kept, so that not every new end deletes one old
        // record.
        if ended.len() > keep + keep / 10 {
            let mut by_age: Vec<(Millis, TaskId)> =
                ended.values().map(|task| (task.changed, task.id)).collect();
            by_age.sort_unstable();
            by_age.truncate(ended.len() - keep);
            return by_age.into_iter().map(|(_, id)| id).take(AT_ONCE).collect();
        }
        let old =
            |task: &&std::sync::Arc<Task>| self.now.since(task.changed) >= self.settings.keep_ended;
        ended.values().filter(old).map(|task| task.id).take(AT_ONCE).collect()
    }
}

/// How many records one event forgets, so that it fits into an entry.
const AT_ONCE: usize = 100;

/// Forgets these backoffs, in events that each fit into an entry.
pub fn forgetting(back_offs: Vec<Blamed>) -> Vec<TaskEvent> {
    let parts = back_offs.chunks(AT_ONCE);
    parts.map(|part| TaskEvent::Forgot { tasks: Vec::new(), back_offs: part.to_vec() }).collect()
}

#[cfg(test)]
mod tests {
    use reelyard_core::event::RequestId;
    use reelyard_core::host::HostRole;
    use reelyard_replication::InFlight;

    use super::*;
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::policy::hosts_in_memory::liveness::TaskLiveness;
    use crate::task_manager::samples::{host, task};
    use crate::task_manager::settings::{HostSetting, TaskSettings};
    use crate::task_manager::state::task_book::TaskBook;

    #[test]
    fn a_task_whose_end_is_under_way_has_no_deadline() {
        let mut book = TaskBook::default();
        book.insert_open(task(1, "a.mpg"));
        let hosts = [
            HostSetting { addr: host(1), role: HostRole::Source },
            HostSetting { addr: host(21), role: HostRole::Destination },
        ];
        let settings = TaskSettings::default();
        let mut decision_context = TaskDecisionContext {
            book: &book,
            in_flight: &InFlight::default(),
            hosts: &HostTable::new(&hosts),
            liveness: &TaskLiveness::default(),
            settings: &settings,
            now: Millis(0).after(settings.pickup_timeout * 2),
        };
        assert!(
            decision_context
                .next_deadline()
                .is_some_and(|deadline| deadline <= decision_context.now)
        );
        let events = decision_context.due();
        assert!(events.iter().any(|event| matches!(event, TaskEvent::Ended { .. })));
        let mut in_flight = InFlight::default();
        in_flight.begin(RequestId(1), events);
        decision_context.in_flight = &in_flight;
        assert_eq!(decision_context.next_deadline(), None);
    }
}
