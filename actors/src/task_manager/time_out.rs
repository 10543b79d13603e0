//! When an open task has been silent for too long. Pure.

use std::time::Duration;

use super::messages::{Task, TaskState};
use super::settings::TaskSettings;
use super::signs::Signs;
use crate::clock::Millis;
use crate::host::OLD_COPY_SPEED;

/// What matters of a destination for the deadline of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// Whether it is a Reelyard worker, which reports as it goes.
    pub ours: bool,
    /// Whether it is working on a task.
    pub at_work: bool,
}

/// When `task` is given up unless something is heard of it before; none while it waits for its
/// turn at a destination that is at work: an old cfw does one after the other (spec 4.9), a worker
/// of ours as many at once as it is set to. A turn becomes free at the latest when what it works
/// on is given up, and the wait counts from then.
pub fn deadline(
    task: &Task,
    destination: Recipient,
    signs: &Signs,
    settings: &TaskSettings,
) -> Option<Millis> {
    match task.state {
        TaskState::Ready if destination.at_work => None,
        TaskState::Ready => {
            let picked_up = signs.could_begin(task).after(settings.pickup_timeout);
            // One of ours that was heard of has begun, whether or not that could be committed yet.
            let heard = signs.of(task.id).filter(|_| destination.ours);
            let silent = heard.map_or(picked_up, |sign| sign.at.after(settings.timeout));
            Some(picked_up.max(silent))
        }
        TaskState::Working if destination.ours || task.claimed_done => {
            Some(signs.last(task).after(settings.timeout))
        }
        TaskState::Working => Some(signs.last(task).after(old_allowance(task, settings))),
        _ => None,
    }
}

/// How long an old cfw may be at a copy without a word: the time-out, and at least twice the time
/// that its size needs at its rate.
fn old_allowance(task: &Task, settings: &TaskSettings) -> Duration {
    let rate = task.copy_speed.unwrap_or(OLD_COPY_SPEED);
    rate.time_for(task.size).saturating_mul(2).max(settings.timeout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::BitsPerSecond;
    use crate::task_manager::samples;

    const OURS: Recipient = Recipient { ours: true, at_work: false };
    const OLD: Recipient = Recipient { ours: false, at_work: false };

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
        let mut signs = Signs::starting(Millis(0));
        assert_eq!(deadline(&task, OURS, &signs, &settings()), Some(Millis(101_000)));
        signs.heard(task.id, Millis(50_000), Some(7));
        assert_eq!(deadline(&task, OURS, &signs, &settings()), Some(Millis(150_000)));
    }

    #[test]
    fn an_old_cfw_gets_twice_the_time_its_size_needs() {
        let mut task = samples::task(1, "a.mpg");
        task.state = TaskState::Working;
        task.changed = Millis(0);
        task.copy_speed = Some(BitsPerSecond(8_000));
        task.size = 1_000_000;
        let signs = Signs::starting(Millis(0));
        assert_eq!(deadline(&task, OLD, &signs, &settings()), Some(Millis(2_000_000)));
        task.size = 1_000;
        assert_eq!(deadline(&task, OLD, &signs, &settings()), Some(Millis(100_000)));
    }

    #[test]
    fn a_ready_task_waits_its_turn_at_a_busy_destination_and_is_counted_from_then() {
        let task = samples::task(2, "b.mpg");
        for idle in [OLD, OURS] {
            let mut signs = Signs::starting(Millis(0));
            let busy = Recipient { at_work: true, ..idle };
            assert_eq!(deadline(&task, busy, &signs, &settings()), None);
            signs.ended(&samples::task(1, "a.mpg"), Millis(70_000));
            assert_eq!(deadline(&task, idle, &signs, &settings()), Some(Millis(80_000)));
        }
    }

    #[test]
    fn a_ready_task_that_was_heard_of_has_begun() {
        let task = samples::task(1, "a.mpg");
        let mut signs = Signs::starting(Millis(0));
        signs.heard(task.id, Millis(9_000), None);
        assert_eq!(deadline(&task, OURS, &signs, &settings()), Some(Millis(109_000)));
    }

    #[test]
    fn a_new_leader_counts_from_its_own_beginning() {
        let task = samples::task(1, "a.mpg");
        let signs = Signs::starting(Millis(500_000));
        assert_eq!(deadline(&task, OURS, &signs, &settings()), Some(Millis(510_000)));
    }
}
