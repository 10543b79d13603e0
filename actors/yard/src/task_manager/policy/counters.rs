//! Counters of the TaskManager, for the metrics.

use reelyard_core::durations::Durations;
use reelyard_protocol::worker::Blame;
use serde::Serialize;

use crate::task_manager::state::event::{GivenUp, TaskEvent};
use crate::task_manager::state::task::Task;
use crate::task_manager::state::task_book::TaskBook;

/// Counts of this node's work as leader, since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounters {
    /// Rounds of planning.
    pub rounds: u64,
    /// Durations of these rounds.
    pub round_time: Durations,
    /// Tasks created by the planner or by a request.
    pub created: u64,
    /// Tasks that ended with a copy in place.
    pub completed: u64,
    /// Copies among these that could not be compared with their source.
    pub unverified: u64,
    /// Bytes of all completed copies, by the reason of the copy.
    pub copied_bytes: CopiedBytes,
    /// Tasks that ended in state `Failed`.
    pub failed: u64,
    /// Tasks that ended in state `Timeout`.
    pub timed_out: u64,
    /// Tasks that ended in state `Cancelled`.
    pub cancelled: u64,
    /// The parts blamed for failed and timed-out tasks.
    pub blamed: BlameCounts,
    /// Reports accepted from Reelyard workers.
    pub reports: u64,
    /// Events whose precondition no longer held when they were applied.
    pub refused: u64,
    /// Commits that returned without an outcome.
    pub uncommitted: u64,
}

impl TaskCounters {
    /// Counts an event that this node applied as leader.
    pub fn count(&mut self, event: &TaskEvent, book: &TaskBook) {
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

/// Bytes of completed copies, by the reason of the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopiedBytes {
    /// The file was next in the ranking.
    pub ranked: u64,
    /// The file was hot.
    pub hot: u64,
    /// An operator or a program requested the copy.
    pub requested: u64,
}

impl CopiedBytes {
    /// Counts a completed copy.
    pub fn count(&mut self, task: &Task) {
        let bytes = match task {
            Task { asked_by: Some(_), .. } => &mut self.requested,
            Task { hits: 1.., .. } => &mut self.hot,
            _ => &mut self.ranked,
        };
        *bytes += task.size;
    }
}

/// How often each part was blamed for a copy that failed or timed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlameCounts {
    /// Failures attributed to the source.
    pub source: u64,
    /// Failures attributed to the destination.
    pub destination: u64,
    /// Failures attributed to the file.
    pub file: u64,
    /// Failures attributed to source and destination together.
    pub pair: u64,
    /// Failures attributed to no part.
    pub nobody: u64,
}

impl BlameCounts {
    /// Counts one more copy that failed or timed out.
    pub fn count(&mut self, blame: Option<Blame>) {
        let count = match blame {
            Some(Blame::Source) => &mut self.source,
            Some(Blame::Destination) => &mut self.destination,
            Some(Blame::File) => &mut self.file,
            Some(Blame::Pair) => &mut self.pair,
            None => &mut self.nobody,
        };
        *count += 1;
    }
}
