//! The change notifications of the TaskManager: each change once, also over restarts of the actor.

use reelyard_api::{Change, ChangeEvent, HostEvent};
use reelyard_core::change_feed::{ChangeId, Feed, FeedListener, ListenFrom};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::RequestId;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::worker::{Blame, ReportedState};
use reelyard_yard::task_manager::{ResetHost, TaskState};

use crate::task_manager::task_manager_yard::{YardPlan, destination};

const START: i64 = 1_000_000;

/// The notifications about copies and holdings up to the change with the number `last`.
async fn received_until(listener: &mut FeedListener<ChangeEvent>, last: u64) -> Vec<String> {
    let mut reported = Vec::new();
    while listener.received_up_to().number < last {
        for item in listener.next(1).await {
            match &item.event.change().unwrap().change {
                Change::Task(change) => {
                    let (step, state) = (change.step, change.task.state);
                    reported.push(format!("{step:?} {state:?} {}", change.task.name.name));
                }
                Change::Placement(change) => reported.push(format!("+{}", change.came[0].name)),
                _ => {}
            }
        }
    }
    reported
}

#[test]
fn each_step_of_a_copy_is_reported_once_and_in_order() {
    on_a_system(async {
        let dir = tempfile::tempdir().unwrap();
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        let mut listener = yard.changes.listen(ListenFrom::Now).unwrap();
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.report(&task, ReportedState::Working).await;
        yard.finish(&task).await;
        yard.ended(&task, TaskState::Done).await;
        yard.wait_until_applied().await;
        let answer = received_until(&mut listener, yard.changes.published()).await;
        let expected = ["Created Ready a.mpg", "Began Working a.mpg", "Ended Done a.mpg", "+a.mpg"];
        assert_eq!(answer[..4], expected, "{answer:?}");
    });
}

#[test]
fn events_that_are_applied_again_are_not_reported_again() {
    on_a_system(async {
        let dir = tempfile::tempdir().unwrap();
        let plot = YardPlan::of(1, 1);
        let yard = plot.open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.fail(&task, Blame::File).await;
        yard.ended(&task, TaskState::Failed).await;
        // A restarted actor applies the complete log again.
        let again = plot.open_with_feed(yard.journal.clone(), START, yard.changes.clone());
        again.until("the new one has the task", |view| view.ended.get(&task.id).cloned()).await;
        again.until("and leads", |view| view.epoch).await;
        plot.up(&again).await;
        again.wait_until_applied().await;
        let begin = ListenFrom::After(ChangeId { start: START, number: 0 });
        let mut listener = yard.changes.listen(begin).unwrap();
        let answer = received_until(&mut listener, yard.changes.published()).await;
        let of_copy: Vec<&String> = answer.iter().filter(|one| one.ends_with(" a.mpg")).collect();
        assert_eq!(of_copy, ["Created Ready a.mpg", "Ended Failed a.mpg"], "{answer:?}");

        // Another process does not report earlier changes.
        let later = Feed::new(&Clock::manual(Millis(START + 1)));
        let other = plot.open_with_feed(again.journal.clone(), START + 1, later.clone());
        other.until("it has the task too", |view| view.ended.get(&task.id).cloned()).await;
        other.until("and leads", |view| view.epoch).await;
        assert_eq!(later.published(), 0);
    });
}

#[test]
fn the_reset_of_a_host_is_reported_with_its_caller() {
    on_a_system(async {
        let dir = tempfile::tempdir().unwrap();
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        let mut listener = yard.changes.listen(ListenFrom::Now).unwrap();
        for back_offs in [0, 1] {
            if back_offs == 1 {
                yard.grade(&["a.mpg"]).await;
                let task = yard.open_task("a.mpg").await;
                yard.fail(&task, Blame::Destination).await;
                yard.ended(&task, TaskState::Failed).await;
            }
            let (asked_by, request) = ("somebody".to_owned(), RequestId::random());
            let reset = ResetHost { host: destination(1), asked_by: asked_by.clone(), request };
            assert_eq!(yard.manager.send(reset).await.unwrap(), Ok(back_offs as usize));
            let expected = HostEvent::Reset { host: destination(1), asked_by, back_offs };
            let mut reported = Vec::new();
            while reported.last() != Some(&Change::Host(expected.clone())) {
                let items = listener.next(1).await;
                reported.extend(items.iter().map(|one| one.event.change().unwrap().change.clone()));
            }
        }
    });
}

#[test]
fn a_backoff_is_reported_with_its_host_and_again_at_its_end() {
    on_a_system(async {
        let dir = tempfile::tempdir().unwrap();
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        let mut listener = yard.changes.listen(ListenFrom::Now).unwrap();
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.fail(&task, Blame::Source).await;
        yard.ended(&task, TaskState::Failed).await;
        let (host, asked_by, request) = (task.source, "op".to_owned(), RequestId::random());
        yard.manager.send(ResetHost { host, asked_by, request }).await.unwrap().unwrap();
        yard.wait_until_applied().await;
        let (mut reported, last) = (Vec::new(), yard.changes.published());
        while listener.received_up_to().number < last {
            for item in listener.next(1).await {
                if let Change::BackOff(change) = &item.event.change().unwrap().change {
                    assert_eq!((change.source, change.destination), (Some(host), None));
                    reported.push(change.back_off.as_ref().map(|held| held.failures));
                }
            }
        }
        assert_eq!(reported, [Some(1), None]);
    });
}
