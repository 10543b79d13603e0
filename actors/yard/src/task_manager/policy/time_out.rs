//! When an open task has been silent for too long. Pure.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::OLD_COPY_SPEED;

use super::hosts_in_memory::liveness::TaskLiveness;
use crate::task_manager::settings::TaskSettings;
use crate::task_manager::state::task::{Task, TaskState};

/// The properties of a destination that the deadline of its tasks depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskDestination {
    /// Whether it is a Reelyard worker, which reports its progress.
    pub ours: bool,
    /// Whether it is working on a task.
    pub at_work: bool,
    /// When another program began to answer there than the one before.
    pub program_since: Option<Millis>,
}

/// The time at which `task` ends if there is no sign of life before. None while it waits for its turn at a
/// busy destination. An old cfw makes one copy after the other, and our worker up to its limit of
/// concurrent copies. A turn becomes free at the latest when a running copy ends, and the wait counts from
/// then.
pub fn deadline(
    task: &Task,
    destination: TaskDestination,
    liveness: &TaskLiveness,
    settings: &TaskSettings,
) -> Option<Millis> {
    match task.state {
        TaskState::Ready if destination.at_work => None,
        TaskState::Ready => {
            let picked_up = liveness.could_begin(task).after(settings.pickup_timeout);
            // A task of ours with a sign of life has begun, whether or not that could be committed yet.
            let last_progress = liveness.of(task.id).filter(|_| destination.ours);
            let silent =
                last_progress.map_or(picked_up, |progress| progress.at.after(settings.timeout));
            Some(picked_up.max(silent))
        }
        TaskState::Working => {
            let allowed = match destination.ours || task.claimed_done {
                true => settings.timeout,
                false => old_allowance(task, settings),
            };
            let silent = liveness.last(task).after(allowed);
            let replaced = replaced_since(task, destination, liveness);
            let not_taken_up = replaced.map(|since| since.after(settings.pickup_timeout));
            Some(not_taken_up.map_or(silent, |deadline| deadline.min(silent)))
        }
        _ => None,
    }
}

/// The time at which another program replaced the one that began `task`, if there was no sign of the task
/// since. An old cfw never continues a task of another program.
pub fn replaced_since(
    task: &Task,
    destination: TaskDestination,
    liveness: &TaskLiveness,
) -> Option<Millis> {
    let since = destination.program_since?;
    let is_begun = task.state == TaskState::Working && !task.claimed_done;
    (is_begun && liveness.last(task) < since).then_some(since)
}

/// The longest time without a sign of life of a copy of an old cfw. It is the time-out, and at least twice
/// the time that its size needs at its rate.
fn old_allowance(task: &Task, settings: &TaskSettings) -> Duration {
    let rate = task.copy_speed.unwrap_or(OLD_COPY_SPEED);
    rate.time_for(task.size).saturating_mul(2).max(settings.timeout)
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::BitsPerSecond;

    use super::*;
    use crate::task_manager::samples;

    const OURS: TaskDestination =
        TaskDestination { ours: true, at_work: false, program_since: None };
    const OLD: TaskDestination = TaskDestination { ours: false, ..OURS };

    fn settings() -> TaskSettings {
        TaskSettings {
            timeout: Duration::from_secs(100),
            pickup_timeout: Duration::from_secs(10),
            ..TaskSettings::default()
        }
    }

    #[test]
    fn our_workers_are_counted_from_their_last_sign() {
        let mut task = samples::task(1, "a.mpg");
        task.state = TaskState::Working;
        task.changed = Millis(1000);
        let mut liveness = TaskLiveness::starting(Millis(0));
        assert_eq!(deadline(&task, OURS, &liveness, &settings()), Some(Millis(101_000)));
        liveness.record(task.id, Millis(50_000), Some(7));
        assert_eq!(deadline(&task, OURS, &liveness, &settings()), Some(Millis(150_000)));
    }

    #[test]
    fn an_old_cfw_gets_twice_the_time_its_size_needs() {
        let mut task = samples::task(1, "a.mpg");
        task.state = TaskState::Working;
        task.changed = Millis(0);
        task.copy_speed = Some(BitsPerSecond(8_000));
        task.size = 1_000_000;
        let liveness = TaskLiveness::starting(Millis(0));
        assert_eq!(deadline(&task, OLD, &liveness, &settings()), Some(Millis(2_000_000)));
        task.size = 1_000;
        assert_eq!(deadline(&task, OLD, &liveness, &settings()), Some(Millis(100_000)));
    }

    #[test]
    fn a_task_of_a_replaced_program_counts_from_its_replacement() {
        let mut task = samples::task(1, "a.mpg");
        task.state = TaskState::Working;
        task.changed = Millis(1000);
        let mut liveness = TaskLiveness::starting(Millis(0));
        for host in [OURS, OLD] {
            let host = TaskDestination { program_since: Some(Millis(20_000)), ..host };
            assert_eq!(deadline(&task, host, &liveness, &settings()), Some(Millis(30_000)));
        }
        // The new one took it up.
        liveness.record(task.id, Millis(25_000), Some(7));
        let host = TaskDestination { program_since: Some(Millis(20_000)), ..OURS };
        assert_eq!(deadline(&task, host, &liveness, &settings()), Some(Millis(125_000)));
    }

    #[test]
    fn the_time_of_a_ready_task_counts_from_its_turn() {
        let task = samples::task(2, "b.mpg");
        for idle in [OLD, OURS] {
            let mut liveness = TaskLiveness::starting(Millis(0));
            let busy = TaskDestination { at_work: true, ..idle };
            assert_eq!(deadline(&task, busy, &liveness, &settings()), None);
            liveness.ended(&samples::task(1, "a.mpg"), Millis(70_000));
            assert_eq!(deadline(&task, idle, &liveness, &settings()), Some(Millis(80_000)));
        }
    }

    #[test]
    fn a_ready_task_with_a_sign_of_life_has_begun() {
        let task = samples::task(1, "a.mpg");
        let mut liveness = TaskLiveness::starting(Millis(0));
        liveness.record(task.id, Millis(9_000), None);
        assert_eq!(deadline(&task, OURS, &liveness, &settings()), Some(Millis(109_000)));
    }

    #[test]
    fn a_new_leader_counts_from_its_own_beginning() {
        let task = samples::task(1, "a.mpg");
        let liveness = TaskLiveness::starting(Millis(500_000));
        assert_eq!(deadline(&task, OURS, &liveness, &settings()), Some(Millis(510_000)));
    }
}
