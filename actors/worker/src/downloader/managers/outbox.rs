//! Reports that are not delivered yet, in the order of their events.

use reelyard_protocol::worker::{Report, ReportedState, TaskId};

/// Reports that no node has taken yet. Bounded by the number of tasks: each task has at most one
/// `Working`, one `Progress` (the latest) and one end.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    reports: Vec<Report>,
}

impl Outbox {
    /// Adds an event. New progress replaces older progress, and an end replaces all progress.
    pub fn push(&mut self, report: Report) {
        if !matches!(report.state, ReportedState::Working) {
            self.reports.retain(|old| {
                old.task != report.task || !matches!(old.state, ReportedState::Progress { .. })
            });
        }
        self.reports.push(report);
    }

    /// Removes delivered reports, and answers the tasks whose end was among them. Progress that was
    /// added after the delivery is kept.
    pub fn taken(&mut self, sent: &[Report]) -> Vec<TaskId> {
        self.reports.retain(|report| !sent.contains(report));
        sent.iter().filter(|report| report.is_end()).map(|report| report.task).collect()
    }

    /// Drops the reports of a task that no node needs any more, except its end.
    pub fn forget(&mut self, task: TaskId) {
        self.reports.retain(|report| report.task != task || report.is_end());
    }

    /// Tasks that have ended without the node knowing.
    pub fn ended(&self) -> impl Iterator<Item = TaskId> {
        self.reports.iter().filter(|report| report.is_end()).map(|report| report.task)
    }

    /// Everything, in order.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::names::FileName;
    use reelyard_protocol::worker::Blame;

    use super::*;

    fn report(task: i64, state: ReportedState) -> Report {
        Report { task: TaskId(task), name: FileName::new("x").unwrap(), at: Millis(1), state }
    }

    #[test]
    fn only_the_latest_progress_is_kept_and_none_behind_an_end() {
        let mut outbox = Outbox::default();
        let progress = |bytes| report(1, ReportedState::Progress { bytes });
        outbox.push(report(1, ReportedState::Working));
        outbox.push(progress(1));
        let sent = outbox.reports().to_vec();
        outbox.push(report(2, ReportedState::Progress { bytes: 9 }));
        outbox.push(progress(2));
        assert_eq!(outbox.taken(&sent), vec![]);
        assert_eq!(
            outbox.reports(),
            [report(2, ReportedState::Progress { bytes: 9 }), progress(2)]
        );

        let failed =
            report(1, ReportedState::Failed { blame: Blame::Source, reason: String::new() });
        outbox.push(failed.clone());
        outbox.forget(TaskId(2));
        outbox.forget(TaskId(1));
        assert_eq!(outbox.reports(), std::slice::from_ref(&failed));
        assert_eq!(outbox.ended().collect::<Vec<_>>(), [TaskId(1)]);
        assert_eq!(outbox.taken(&[failed]), [TaskId(1)]);
        assert_eq!(outbox.reports(), []);
    }
}
