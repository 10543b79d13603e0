//! The change feed's records of applied events.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::AppliedEvent;

use crate::changes::{HostEvent, PlacementChange, TaskStep, YardChange};
use crate::task_manager::state::backoff::Blamed;
use crate::task_manager::state::event::{TaskEvent, TaskOutcome};
use crate::task_manager::state::task::{Task, TaskState};
use crate::task_manager::state::task_book::TaskBook;

/// The changes of the events of one entry, and of the backoffs since `published`.
pub(in crate::task_manager) fn changes_of(
    entry: &[AppliedEvent<TaskBook>],
    book: &TaskBook,
    published: &mut Arc<BTreeMap<Blamed, BackOff>>,
) -> Vec<(Millis, YardChange)> {
    let back_offs = book.back_offs();
    let before = std::mem::replace(published, Arc::clone(back_offs));
    let applied = entry.iter().filter(|event| event.result == Ok(TaskOutcome::Applied));
    let changes = applied.flat_map(|applied| {
        let changes = changes_of_event(applied.at, &applied.event, book);
        changes.into_iter().map(|change| (applied.at, change))
    });
    let at = entry.last().map_or(Millis(0), |last| last.at);
    let others = differing(&before, back_offs).into_iter().map(|change| (at, change));
    changes.chain(others).collect()
}

/// The differences between two sets of backoffs, for any event.
fn differing(
    before: &Arc<BTreeMap<Blamed, BackOff>>,
    now: &Arc<BTreeMap<Blamed, BackOff>>,
) -> Vec<YardChange> {
    if Arc::ptr_eq(before, now) {
        return Vec::new();
    }
    let change = |blamed: &Blamed, held: Option<&BackOff>| YardChange::BackOff {
        blamed: blamed.clone(),
        held: held.cloned(),
    };
    let gone = before.keys().filter(|blamed| !now.contains_key(*blamed));
    let gone = gone.map(|blamed| change(blamed, None));
    let held = now.iter().filter(|(blamed, held)| before.get(*blamed) != Some(*held));
    held.map(|(blamed, held)| change(blamed, Some(held))).chain(gone).collect()
}

/// The changes of `event`, applied at `at`. `book` has applied it, and perhaps other events of the same
/// entry.
fn changes_of_event(at: Millis, event: &TaskEvent, book: &TaskBook) -> Vec<YardChange> {
    let host_event = |event| vec![YardChange::Host(event)];
    match event {
        TaskEvent::Created(task) => vec![step(TaskStep::Created, &task.clone().into_task(at))],
        TaskEvent::Began { id } => began(*id, at, book),
        TaskEvent::Completed { id, .. } | TaskEvent::CompletedUnverified { id, .. } => {
            let Some(task) = book.task(*id) else { return Vec::new() };
            let placed = placed(task.destination, std::slice::from_ref(&task.name), &[]);
            vec![step(TaskStep::Ended, task), placed]
        }
        TaskEvent::Ended { id, .. } => {
            book.task(*id).map(|task| step(TaskStep::Ended, task)).into_iter().collect()
        }
        TaskEvent::Placed { host, name } => vec![placed(*host, std::slice::from_ref(name), &[])],
        TaskEvent::InventoryDiffered { host, added, removed, .. } => {
            let differs = !added.is_empty() || !removed.is_empty();
            differs.then(|| placed(*host, added, removed)).into_iter().collect()
        }
        TaskEvent::HostsConfigured { .. } | TaskEvent::HostsNamed { .. } => {
            let configured = book.hosts().values().filter(|record| record.configured);
            host_event(HostEvent::Configured { hosts: configured.count() as u64 })
        }
        TaskEvent::HostModeSet { host, mode, asked_by } => {
            host_event(HostEvent::Mode { host: *host, mode: *mode, asked_by: asked_by.clone() })
        }
        TaskEvent::HostAdded { host, role, asked_by } => {
            host_event(HostEvent::Added { host: *host, role: *role, asked_by: asked_by.clone() })
        }
        TaskEvent::HostRemoved { host, asked_by } => {
            host_event(HostEvent::Removed { host: *host, asked_by: asked_by.clone() })
        }
        TaskEvent::HostLost { host } => host_event(HostEvent::Lost { host: *host }),
        TaskEvent::HostRecovered { host } => host_event(HostEvent::Recovered { host: *host }),
        // Silence changes the health of a host; the other events change nothing visible.
        TaskEvent::HostSilent { .. }
        | TaskEvent::Claimed { .. }
        | TaskEvent::ClusterNamed { .. }
        | TaskEvent::Forgot { .. }
        | TaskEvent::HistoryForgotten { .. }
        | TaskEvent::InputsRecorded(_) => Vec::new(),
    }
}

/// A task that has begun, in its state at that time. It may have ended since.
fn began(id: TaskId, at: Millis, book: &TaskBook) -> Vec<YardChange> {
    let Some(task) = book.task(id) else { return Vec::new() };
    let then = Task {
        state: TaskState::Working,
        changed: at,
        reason: None,
        blame: None,
        hash: None,
        ..Task::clone(task)
    };
    vec![step(TaskStep::Began, &then)]
}

fn step(step: TaskStep, task: &Task) -> YardChange {
    YardChange::Task { step, task: Box::new(task.clone()) }
}

fn placed(
    host: HostAddr,
    came: &[reelyard_core::names::FileName],
    gone: &[reelyard_core::names::FileName],
) -> YardChange {
    YardChange::Placement(PlacementChange::new(host, came, gone))
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::HostRole;
    use reelyard_protocol::worker::{Blame, ContentHash};
    use reelyard_replication::Piece;

    use super::*;
    use crate::task_manager::samples::{host, name, new_task};
    use crate::task_manager::state::event::{GivenUp, TaskEnding};

    fn book() -> TaskBook {
        let mut book = TaskBook::default();
        let hosts = vec![(host(1), HostRole::Source), (host(21), HostRole::Destination)];
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
        book
    }

    /// The changes of these events, applied together, each in a few words.
    fn published(events: &[TaskEvent]) -> Vec<String> {
        let mut book = book();
        for event in events {
            book.apply(Millis(7), event).unwrap();
        }
        let changes = events.iter().flat_map(|event| changes_of_event(Millis(7), event, &book));
        let words = changes.map(|change| match change {
            YardChange::Task { step, task } => {
                assert_eq!(task.changed, Millis(7));
                format!("{step:?} {:?} {:?} {:?}", task.state, task.blame, task.reason)
            }
            YardChange::Placement(change) => {
                format!("{} +{} -{}", change.host, change.gained, change.lost)
            }
            YardChange::Host(event) => format!("{event:?}"),
            other => panic!("{other:?}"),
        });
        words.collect()
    }

    #[test]
    fn a_copy_is_published_step_by_step_even_in_one_batch() {
        let id = TaskId(1);
        let done = TaskEvent::Completed { id, size: Some(5), hash: Some(ContentHash([1; 32])) };
        let steps = [TaskEvent::Created(new_task(1, "a.mpg")), TaskEvent::Began { id }, done];
        let expected = [
            "Created Ready None None".to_owned(),
            "Began Working None None".to_owned(),
            "Ended Done None None".to_owned(),
            format!("{} +1 -0", host(21)),
        ];
        assert_eq!(published(&steps), expected);
    }

    #[test]
    fn a_failure_is_published_with_its_reason() {
        let ending =
            TaskEnding { how: GivenUp::Failed, reason: "broke".into(), blame: Some(Blame::Source) };
        let failed = TaskEvent::Ended { id: TaskId(1), ending, back_off: None };
        let published = published(&[TaskEvent::Created(new_task(1, "a.mpg")), failed]);
        assert_eq!(published[1], "Ended Failed Some(Source) Some(\"broke\")");
    }

    #[test]
    fn a_back_off_is_published_when_it_begins_grows_and_ends() {
        let held = |failures| BackOff {
            failures,
            since: Millis(1),
            until: Millis(9),
            reason: "broke".to_owned(),
        };
        let blamed = Blamed::Source(host(1));
        let of = |held: Option<BackOff>| {
            Arc::new(held.map(|one| (blamed.clone(), one)).into_iter().collect())
        };
        let published = |before, now| -> Vec<Option<u32>> {
            let changes = differing(&of(before), &of(now)).into_iter();
            let failures = changes.map(|change| match change {
                YardChange::BackOff { blamed, held } => {
                    assert_eq!(blamed, Blamed::Source(host(1)));
                    held.map(|held| held.failures)
                }
                other => panic!("{other:?}"),
            });
            failures.collect()
        };
        assert_eq!(published(None, Some(held(1))), [Some(1)]);
        assert_eq!(published(Some(held(1)), Some(held(2))), [Some(2)]);
        assert_eq!(published(Some(held(2)), None), [None]);
        assert_eq!(published(Some(held(2)), Some(held(2))), []);
    }

    #[test]
    fn a_list_that_only_confirms_is_no_change() {
        let differed = |added: Vec<_>| TaskEvent::InventoryDiffered {
            host: host(21),
            added,
            removed: Vec::new(),
            complete: true,
        };
        assert_eq!(published(&[differed(Vec::new())]), [""; 0]);
        let expected = format!("{} +1 -0", host(21));
        assert_eq!(published(&[differed(vec![name("a.mpg")])]), [expected]);
    }
}
