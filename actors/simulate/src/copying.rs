//! Running copies of a simulation. They take the time that their bytes need, and their workers
//! report.

use std::time::Duration;

use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::worker::{Blame, ContentHash, Report, ReportedState, TaskId};
use reelyard_yard::task_manager::{NewTask, TaskState};

use super::queue::ScheduledEvent;
use super::simulation::Simulation;

/// The hash of every simulated copy, whose bytes do not exist.
const HASH: ContentHash = ContentHash([0; 32]);

impl Simulation {
    /// Starts a planned copy; its destination begins at once.
    pub(super) fn begin_copy(&mut self, task: &NewTask) {
        self.measures.planned += 1;
        self.report(task.id, task.destination, &task.name, ReportedState::Working);
        let takes = self.rate(task.copy_speed).time_for(task.size);
        let end = if self.failures > 0.0 && self.rng.f64() < self.failures {
            let breaks_off = self.now.after(takes.mul_f64(self.rng.f64()));
            (breaks_off, ScheduledEvent::CopyFails(task.id))
        } else {
            (self.now.after(takes), ScheduledEvent::CopyArrives(task.id))
        };
        self.queue.push(end.0, end.1);
        let report_at = self.now.after(self.silence_allowed());
        if report_at < end.0 {
            self.queue.push(report_at, ScheduledEvent::ProgressReport(task.id));
        }
    }

    /// The rate of a copy: the rate of its source, divided by the copies that it serves.
    fn rate(&self, ordered: Option<BitsPerSecond>) -> BitsPerSecond {
        let turns = self.rules.tasks.copies_per_source.max(1) as u64;
        let share = BitsPerSecond((self.source_rate.0 / turns).max(1));
        ordered.map_or(share, |ordered| ordered.min(share))
    }

    fn silence_allowed(&self) -> Duration {
        (self.rules.tasks.timeout / 3).max(Duration::from_secs(1))
    }

    /// Reports progress of a long copy.
    pub(super) fn report_progress(&mut self, id: TaskId) {
        let Some(task) = self.managers.tasks().open().get(&id).cloned() else { return };
        self.report(id, task.destination, &task.name, ReportedState::Progress { bytes: 0 });
        self.queue.push(self.now.after(self.silence_allowed()), ScheduledEvent::ProgressReport(id));
    }

    /// Ends a copy. With a `blame` it failed.
    pub(super) fn end_copy(&mut self, id: TaskId, blame: Option<Blame>) {
        let Some(task) = self.managers.tasks().open().get(&id).cloned() else { return };
        self.measures.served_ms += self.now.since(task.created).as_millis();
        let state = match blame {
            None => ReportedState::Done { size: task.size, hash: HASH },
            Some(blame) => {
                ReportedState::Failed { blame, reason: "the simulated connection broke".to_owned() }
            }
        };
        self.report(id, task.destination, &task.name, state);
        let ended = self.managers.tasks().task(id).map(|task| task.state);
        if ended == Some(TaskState::Done) {
            let file = self.managers.tasks().names().intern(&task.name);
            self.came(file, task.destination, task.size, task.hits > 0);
        } else {
            self.measures.failed += 1;
        }
        self.request_tick();
    }

    fn came(&mut self, file: FileId, host: HostAddr, size: u64, was_hot: bool) {
        self.yard.came(host, file, size);
        self.look_at(host);
        self.measures.all.copied.add(size);
        if was_hot {
            self.measures.copied_hot.add(size);
        }
        self.measures.had_copy.insert(file.0);
        self.measures.gone_for_room.remove(file.0);
        self.measures.churn.came(file, size, self.now);
        self.measures.hot.arrived(file, self.now);
    }

    fn report(&mut self, task: TaskId, host: HostAddr, name: &FileName, state: ReportedState) {
        let report = Report { task, name: name.clone(), at: self.now, state };
        self.managers.apply_report(host, report, self.now);
    }
}
