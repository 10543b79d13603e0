//! Reads of hosts that report a finished task, and the reports of workers.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::Report;

use super::{TaskPieceContext, TaskPolicy};
use crate::task_manager::policy::reports::ReportsEffect;

impl TaskPolicy {
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
}
