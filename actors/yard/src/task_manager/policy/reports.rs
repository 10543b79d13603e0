//! The effects of the reports of our workers. Pure.

use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Report, ReportedState, TaskId};

use super::decision_context::TaskDecisionContext;
use crate::task_manager::state::event::{GivenUp, TaskEvent};
use crate::task_manager::state::task::{Task, TaskState};

/// How much of a worker's reason is kept, in characters.
const LONGEST_REASON: usize = 500;

/// The effects of a list of reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportsEffect {
    /// The events to commit.
    pub events: Vec<TaskEvent>,
    /// Tasks that gave a sign of life, with the bytes on disk if reported.
    pub progress: Vec<(TaskId, Option<u64>)>,
    /// Tasks that no longer belong to the host.
    pub cancelled: Vec<TaskId>,
}

impl TaskDecisionContext<'_> {
    /// Listens to the reports of `host`, in order.
    pub fn process_reports(&self, host: HostAddr, reports: &[Report]) -> ReportsEffect {
        let mut effect = ReportsEffect::default();
        for report in reports {
            let task = self.book.open().get(&report.task);
            let task = task.filter(|task| task.destination == host && task.name == report.name);
            match (task, &report.state) {
                (Some(task), state) => self.process_report(task, state, &mut effect),
                (None, ReportedState::Done { .. } | ReportedState::DoneUnverified { .. }) => {
                    effect.events.extend(self.stray_copy(host, report))
                }
                (None, ReportedState::Failed { .. }) => {}
                (None, ReportedState::Working | ReportedState::Progress { .. }) => {
                    if !effect.cancelled.contains(&report.task) {
                        effect.cancelled.push(report.task);
                    }
                }
            }
        }
        effect
    }

    fn process_report(&self, task: &Task, state: &ReportedState, effect: &mut ReportsEffect) {
        let id = task.id;
        match state {
            ReportedState::Working | ReportedState::Progress { .. } => {
                let began = TaskEvent::Began { id };
                let ready = task.state == TaskState::Ready;
                let under_way = || self.in_flight.events().any(|event| *event == began);
                if ready && !effect.events.contains(&began) && !under_way() {
                    effect.events.push(began);
                }
                let bytes =
                    if let ReportedState::Progress { bytes } = state { Some(*bytes) } else { None };
                effect.progress.push((id, bytes));
            }
            ReportedState::Done { size, hash } => {
                let (size, hash) = (Some(*size), Some(*hash));
                effect.events.extend(self.found_at_its_end(task));
                effect.events.push(TaskEvent::Completed { id, size, hash });
            }
            ReportedState::DoneUnverified { size, hash } => {
                let (size, hash) = (*size, *hash);
                effect.events.extend(self.found_at_its_end(task));
                effect.events.push(TaskEvent::CompletedUnverified { id, size, hash });
            }
            ReportedState::Failed { blame, reason } => {
                let reason = reason.chars().take(LONGEST_REASON).collect();
                effect.events.push(self.give_up(
                    task,
                    GivenUp::Failed,
                    self.attribute_failure(task, *blame),
                    reason,
                ));
            }
        }
    }

    /// The copy of a task whose end is being committed. If the other end is committed first, the task
    /// can no longer be completed, but the copy exists.
    fn found_at_its_end(&self, task: &Task) -> Option<TaskEvent> {
        let ends =
            |event: &TaskEvent| matches!(event, TaskEvent::Ended { id, .. } if *id == task.id);
        let (host, name) = (task.destination, task.name.clone());
        self.in_flight.events().any(ends).then_some(TaskEvent::Placed { host, name })
    }

    /// A copy of a task that is no longer open, or not known. The copy exists nevertheless.
    fn stray_copy(&self, host: HostAddr, report: &Report) -> Option<TaskEvent> {
        let file = self.book.file(&report.name);
        let known = self.book.placement(host).is_some_and(|held| held.files.contains(file.0));
        (!known).then(|| TaskEvent::Placed { host, name: report.name.clone() })
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::event::RequestId;
    use reelyard_core::host::HostRole;
    use reelyard_protocol::worker::{Blame, ContentHash};
    use reelyard_replication::{InFlight, Piece};

    use super::*;
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::policy::hosts_in_memory::liveness::TaskLiveness;
    use crate::task_manager::samples::{host, name, task};
    use crate::task_manager::settings::TaskSettings;
    use crate::task_manager::state::backoff::Blamed;
    use crate::task_manager::state::task_book::TaskBook;

    fn process(
        book: &TaskBook,
        from: HostAddr,
        id: i64,
        file: &str,
        state: ReportedState,
    ) -> ReportsEffect {
        let decision_context = TaskDecisionContext {
            book,
            in_flight: &InFlight::default(),
            hosts: &HostTable::default(),
            liveness: &TaskLiveness::default(),
            settings: &TaskSettings::default(),
            now: Millis(5000),
        };
        let report = Report { task: TaskId(id), name: name(file), at: Millis(4000), state };
        decision_context.process_reports(from, &[report])
    }

    fn book() -> TaskBook {
        let mut book = TaskBook::default();
        let hosts = vec![(host(1), HostRole::Source), (host(21), HostRole::Destination)];
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
        book.insert_open(task(1, "a.mpg"));
        book
    }

    #[test]
    fn progress_of_a_ready_task_begins_it() {
        let effect = process(&book(), host(21), 1, "a.mpg", ReportedState::Progress { bytes: 7 });
        assert_eq!(effect.events, [TaskEvent::Began { id: TaskId(1) }]);
        assert_eq!(effect.progress, [(TaskId(1), Some(7))]);
    }

    #[test]
    fn a_task_of_another_host_is_not_this_ones_to_do() {
        for (from, file) in [(host(22), "a.mpg"), (host(21), "b.mpg")] {
            let effect = process(&book(), from, 1, file, ReportedState::Working);
            assert_eq!((effect.events.len(), effect.cancelled), (0, vec![TaskId(1)]));
        }
    }

    #[test]
    fn a_copy_of_an_unknown_task_is_recorded_once() {
        let mut book = book();
        let done = ReportedState::Done { size: 5, hash: ContentHash([1; 32]) };
        let effect = process(&book, host(21), 99, "z.mpg", done.clone());
        assert_eq!(effect.events, [TaskEvent::Placed { host: host(21), name: name("z.mpg") }]);
        book.apply(Millis(1), &effect.events[0]).unwrap();
        assert_eq!(process(&book, host(21), 99, "z.mpg", done), ReportsEffect::default());
    }

    #[test]
    fn a_done_report_is_recorded_before_or_after_a_cancellation() {
        let decide = |in_flight: &InFlight<TaskEvent>, book: &TaskBook| {
            let (hosts, liveness) = (HostTable::default(), TaskLiveness::default());
            let settings = TaskSettings::default();
            let now = Millis(5000);
            let decision_context = TaskDecisionContext {
                book,
                in_flight,
                hosts: &hosts,
                liveness: &liveness,
                settings: &settings,
                now,
            };
            let state = ReportedState::Done { size: 5, hash: ContentHash([1; 32]) };
            let report = Report { task: TaskId(1), name: name("a.mpg"), at: now, state };
            (
                decision_context.cancel(TaskId(1), "somebody").unwrap(),
                decision_context.process_reports(host(21), &[report]),
            )
        };
        for cancelled_first in [true, false] {
            let mut book = book();
            let (cancel, _) = decide(&InFlight::default(), &book);
            let mut in_flight = InFlight::default();
            in_flight.begin(RequestId(1), cancel.clone());
            let (_, effect) = decide(&in_flight, &book);
            let both = match cancelled_first {
                true => [cancel, effect.events],
                false => [effect.events, cancel],
            };
            for event in both.concat() {
                let _ = book.apply(Millis(5000), &event);
            }
            let file = book.file(&name("a.mpg"));
            assert!(book.placement(host(21)).unwrap().files.contains(file.0));
        }
    }

    #[test]
    fn a_failure_names_the_side_that_backs_off() {
        let mut book = book();
        let state = ReportedState::Failed { blame: Blame::Pair, reason: "hash differs".to_owned() };
        for event in process(&book, host(21), 1, "a.mpg", state).events {
            book.apply(Millis(5000), &event).unwrap();
        }
        let pair = Blamed::Pair(host(1), host(21));
        assert_eq!(book.held_back(&pair, Millis(5000)).unwrap().reason, "hash differs");
        assert!(book.open().is_empty());
    }
}
