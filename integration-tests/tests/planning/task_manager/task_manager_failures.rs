//! The TaskManager and its failures: failed tasks, silence, hosts that go down, false reports.

use std::time::Duration;

use reelyard_core::event::RequestId;
use reelyard_core::host::{BitsPerSecond, HostKind};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::worker::{Blame, ContentHash, Report, ReportedState, TaskId};
use reelyard_yard::bandwidth::Bandwidth;
use reelyard_yard::cfw_worker::{CircuitState, HostCallStatus};
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::Unusable;
use reelyard_yard::task_manager::{
    Blamed, CancelTask, ResetHost, TakeReports, Task, TaskManagerView, TaskSettings, TaskState,
};

use crate::task_manager::task_manager_yard::{
    SIZE, TaskManagerYard, YardPlan, destination, ours, source,
};

const START: i64 = 1_800_000_000_000;

const MINUTE: Duration = Duration::from_secs(60);

/// The first backoff.
fn back_off() -> Duration {
    TaskSettings::default().back_off.base
}

/// How long a task may wait for its destination.
fn pickup() -> Duration {
    TaskSettings::default().pickup_timeout
}

/// How long a working task may give no sign of life.
fn timeout() -> Duration {
    TaskSettings::default().timeout
}

fn plot(sources: u8, destinations: u8) -> YardPlan {
    let settings = TaskSettings {
        bandwidth: Bandwidth::of_each_copy(BitsPerSecond(1_000_000_000)),
        ..TaskSettings::default()
    };
    YardPlan { settings, ..YardPlan::of(sources, destinations) }
}

fn old_plot(sources: u8, destinations: u8) -> YardPlan {
    YardPlan { old: true, ..plot(sources, destinations) }
}

fn holds(view: &TaskManagerView, blamed: &Blamed) -> bool {
    view.left_alone().any(|(held, _)| held == blamed)
}

fn file(task: &Task) -> Blamed {
    Blamed::File(task.name.clone())
}

#[test]
fn a_bad_file_backs_off_longer_each_time_and_starves_no_other() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["bad.mpg", "a.mpg", "b.mpg", "c.mpg"]).await;
        for (next, times) in [("a.mpg", 1), ("b.mpg", 2), ("c.mpg", 4)] {
            let back_off = times * back_off();
            let bad = yard.open_task("bad.mpg").await;
            yard.fail(&bad, Blame::File).await;
            let ended = yard.ended(&bad, TaskState::Failed).await;
            assert_eq!(ended.blame, Some(Blame::File));
            let good = yard.open_task(next).await;
            let view = yard.views.load();
            assert_eq!(view.open.len(), 1);
            let held = &view.back_offs[&file(&bad)];
            assert_eq!(held.until.since(yard.clock.now()), back_off);
            yard.pass(back_off).await;
            yard.finish(&good).await;
        }
        let bad = yard.open_task("bad.mpg").await;
        yard.finish(&bad).await;
        yard.until("success clears it", |view| view.back_offs.is_empty().then_some(())).await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_bad_file_starves_no_other_file() {
    for blame in [Blame::Source, Blame::Pair] {
        let dir = tempfile::tempdir().unwrap();
        on_a_system(async {
            let yard = plot(1, 1).open_up(dir.path(), START).await;
            yard.grade(&["bad.mpg", "good.mpg"]).await;
            let bad = yard.open_task("bad.mpg").await;
            yard.fail(&bad, blame).await;
            assert_eq!(yard.ended(&bad, TaskState::Failed).await.blame, Some(blame));
            yard.pass(back_off()).await;
            let again = yard.open_task("bad.mpg").await;
            yard.fail(&again, blame).await;
            assert_eq!(yard.ended(&again, TaskState::Failed).await.blame, Some(Blame::File));
            let good = yard.open_task("good.mpg").await;
            yard.finish(&good).await;
            yard.journal.stop().await;
        });
    }
}

#[test]
fn a_destination_that_failed_is_tried_with_another_file_first() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["bad.mpg", "good.mpg"]).await;
        let bad = yard.open_task("bad.mpg").await;
        yard.fail(&bad, Blame::Destination).await;
        let blame = yard.ended(&bad, TaskState::Failed).await.blame;
        assert_eq!(blame, Some(Blame::Destination));
        yard.pass(back_off()).await;
        let good = yard.open_task("good.mpg").await;
        yard.finish(&good).await;
        let again = yard.open_task("bad.mpg").await;
        yard.fail(&again, Blame::Destination).await;
        let blame = yard.ended(&again, TaskState::Failed).await.blame;
        assert_eq!(blame, Some(Blame::File), "another file succeeded there");
        yard.journal.stop().await;
    });
}

#[test]
fn a_file_is_to_blame_once_it_failed_at_a_second_destination() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 3).open_up(dir.path(), START).await;
        yard.grade(&["bad.mpg", "good.mpg"]).await;
        for blame in [Blame::Destination, Blame::File] {
            let bad = yard.open_task("bad.mpg").await;
            yard.fail(&bad, Blame::Destination).await;
            assert_eq!(yard.ended(&bad, TaskState::Failed).await.blame, Some(blame));
        }
        let held = yard.views.load().left_alone().count();
        assert_eq!(held, 2, "the first destination and the file");
        yard.open_task("good.mpg").await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_bad_source_backs_off_and_the_other_continues() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(2, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.fail(&task, Blame::Source).await;
        yard.ended(&task, TaskState::Failed).await;
        let again = yard.open_task("a.mpg").await;
        assert_ne!(again.source, task.source);
        assert!(holds(&yard.views.load(), &Blamed::Source(task.source)));
        yard.journal.stop().await;
    });
}

#[test]
fn a_bad_pair_leaves_both_to_others() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.fail(&task, Blame::Pair).await;
        yard.ended(&task, TaskState::Failed).await;
        let again = yard.open_task("a.mpg").await;
        assert_ne!(again.destination, task.destination);
        yard.journal.stop().await;
    });
}

#[test]
fn a_reelyard_copy_is_abandoned_only_without_signs_of_life() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.report(&task, ReportedState::Working).await;
        for bytes in 1..4 {
            yard.pass(timeout() - MINUTE).await;
            let taken = yard.report(&task, ReportedState::Progress { bytes }).await;
            assert!(taken.cancelled.is_empty());
        }
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(task.id).unwrap().state, TaskState::Working);
        yard.pass(timeout()).await;
        yard.ended(&task, TaskState::Timeout).await;
        let again = yard.open_task("a.mpg").await;
        assert_ne!(again.destination, task.destination, "the silent one backs off");
        let taken = yard.report(&task, ReportedState::Progress { bytes: 5 }).await;
        assert_eq!(taken.cancelled, [task.id], "it must abandon the copy");
        yard.journal.stop().await;
    });
}

#[test]
fn a_task_that_no_host_begins_ends_and_goes_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.pass(pickup()).await;
        let ended = yard.ended(&task, TaskState::Timeout).await;
        assert_eq!(ended.blame, Some(Blame::Destination));
        assert_ne!(yard.open_task("a.mpg").await.destination, task.destination);
        yard.journal.stop().await;
    });
}

#[test]
fn a_busy_reelyard_destination_is_not_blamed_for_waiting_tasks() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(2, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let (first, second) = (yard.open_task("a.mpg").await, yard.open_task("b.mpg").await);
        yard.report(&first, ReportedState::Working).await;
        yard.pass(4 * pickup()).await;
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(second.id).unwrap().state, TaskState::Ready);
        yard.finish(&first).await;
        yard.pass(pickup() / 2).await;
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(second.id).unwrap().state, TaskState::Ready);
        yard.pass(pickup() / 2).await;
        let ended = yard.ended(&second, TaskState::Timeout).await;
        assert_eq!(ended.blame, Some(Blame::Destination), "its turn had come");
        yard.journal.stop().await;
    });
}

#[test]
fn an_old_cfw_gets_twice_the_time_its_size_needs() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let mut plot = old_plot(1, 2);
        // 1 GiB at 2 Mbit/s takes 71 minutes.
        plot.settings.bandwidth = Bandwidth::of_each_copy(BitsPerSecond(2_000_000));
        let needed = BitsPerSecond(2_000_000).time_for(SIZE);
        let yard = plot.open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.patch(&task, OldState::Working).await.unwrap();
        yard.pass(2 * needed - MINUTE).await;
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(task.id).unwrap().state, TaskState::Working);
        yard.pass(2 * MINUTE).await;
        yard.ended(&task, TaskState::Timeout).await;
        yard.journal.stop().await;
    });
}

#[test]
fn an_old_done_counts_once_the_host_lists_the_file() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = old_plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg"]).await;
        let good = yard.open_task("a.mpg").await;
        yard.patch(&good, OldState::Working).await.unwrap();
        yard.pass(MINUTE).await;
        yard.land(&good);
        yard.patch(&good, OldState::Done).await.unwrap();
        yard.ended(&good, TaskState::Done).await;

        // This host reports done but has no copy.
        let bad = yard.open_task("b.mpg").await;
        yard.patch(&bad, OldState::Working).await.unwrap();
        yard.pass(MINUTE).await;
        yard.patch(&bad, OldState::Done).await.unwrap();
        let ended = yard.ended(&bad, TaskState::Failed).await;
        assert_eq!(ended.blame, Some(Blame::Destination));
        let result = yard.views.load().back_offs[&Blamed::Destination(destination(1))].clone();
        assert!(
            result.reason.ends_with("reported done but does not list b.mpg"),
            "{}",
            result.reason
        );
        yard.pass(back_off()).await;
        yard.open_task("c.mpg").await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_claim_that_cannot_be_checked_waits_and_is_shown_as_done() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = old_plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.patch(&task, OldState::Working).await.unwrap();
        yard.pass(MINUTE).await;
        yard.alter(destination(1), |host| host.silent = true);
        let before = yard.world.lock().unwrap().hosts[&destination(1)].refreshes;
        yard.patch(&task, OldState::Done).await.unwrap();
        let refreshes = || yard.world.lock().unwrap().hosts[&destination(1)].refreshes;
        yard.until("it was asked", |_| (refreshes() > before).then_some(())).await;
        let claimed = yard.views.load().open[&task.id].clone();
        assert_eq!(claimed.old_state(), Some(OldState::Done));
        assert!(claimed.state.is_open());
        yard.land(&task);
        yard.alter(destination(1), |host| host.silent = false);
        yard.pass(MINUTE).await;
        yard.ended(&task, TaskState::Done).await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_done_that_was_lost_is_learnt_from_the_inventory() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = old_plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.patch(&task, OldState::Working).await.unwrap();
        yard.pass(MINUTE).await;
        yard.land(&task);
        yard.look(destination(1)).await;
        yard.ended(&task, TaskState::Done).await;
        yard.journal.stop().await;
    });
}

#[test]
fn copies_fail_when_their_host_is_down_and_not_while_suspect() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.health(task.destination, Health::Suspect).await;
        yard.pass(MINUTE).await;
        yard.wait_until_applied().await;
        assert!(yard.views.load().open.contains_key(&task.id));
        yard.health(task.destination, Health::Down).await;
        let ended = yard.ended(&task, TaskState::Failed).await;
        assert_eq!(ended.blame, Some(Blame::Destination));
        assert_ne!(yard.open_task("a.mpg").await.destination, task.destination);
        yard.health(source(1), Health::Down).await;
        yard.until("nothing is open", |view| view.open.is_empty().then_some(())).await;
        assert!(holds(&yard.views.load(), &Blamed::Source(source(1))));
        yard.journal.stop().await;
    });
}

#[test]
fn a_cancelled_task_ends_at_once_and_repeating_the_request_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        let request = RequestId::random();
        let cancel = || CancelTask { id: task.id, asked_by: "operator".to_owned(), request };
        yard.manager.send(cancel()).await.unwrap().unwrap();
        let ended = yard.ended(&task, TaskState::Cancelled).await;
        assert_eq!(ended.reason.as_deref(), Some("cancelled by operator"));
        yard.manager.send(cancel()).await.unwrap().unwrap();
        assert!(yard.views.load().ended.contains_key(&task.id), "a repetition drops nothing");
        yard.open_task("b.mpg").await;
        yard.journal.stop().await;
    });
}

#[test]
fn unknown_hosts_are_refused_and_copies_of_forgotten_tasks_recorded() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2).open_up(dir.path(), START).await;
        let state = ReportedState::Done { size: 5, hash: ContentHash([1; 32]) };
        let (task, at) = (TaskId(42), yard.clock.now());
        let report = Report { task, name: TaskManagerYard::name("a.mpg"), at, state };
        let reports = |host| TakeReports { host, reports: vec![report.clone()] };
        assert!(yard.manager.send(reports(source(1))).await.unwrap().is_err());
        assert!(yard.manager.send(reports(destination(9))).await.unwrap().is_err());
        yard.manager.send(reports(destination(2))).await.unwrap().unwrap();
        yard.grade(&["a.mpg", "b.mpg"]).await;
        yard.open_task("b.mpg").await;
        assert_eq!(yard.views.load().open.len(), 1, "a.mpg has a copy already");
        yard.journal.stop().await;
    });
}

#[test]
fn on_probation_a_host_gets_one_copy_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(3, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg", "d.mpg", "e.mpg", "f.mpg", "g.mpg"]).await;
        let host = Blamed::Destination(destination(1));
        let three = |view: &TaskManagerView| (view.open.len() == 3).then(|| view.open.clone());
        let first = yard.until("each source has a copy to serve", three).await;
        for task in first.values() {
            // They fail together, which counts once.
            yard.fail(task, Blame::Destination).await;
        }
        yard.until("it is in backoff", |view| holds(view, &host).then_some(())).await;
        let failures = |view: &TaskManagerView| view.back_offs.get(&host).map(|held| held.failures);
        assert_eq!((yard.views.load().open.len(), failures(&yard.views.load())), (0, Some(1)));
        yard.pass(back_off()).await;
        let mut one = yard.until("it is tried", |view| view.open.values().next().cloned()).await;
        // No host begins the task: that is a failure of the destination, whatever the file did before.
        yard.pass(pickup()).await;
        yard.ended(&one, TaskState::Timeout).await;
        yard.until("it counts on", |view| (failures(view) == Some(2)).then_some(())).await;
        yard.pass(2 * back_off()).await;
        for left in [Some(1), None] {
            one = yard.until("it is tried", |view| view.open.values().next().cloned()).await;
            yard.wait_until_applied().await;
            assert_eq!(yard.views.load().open.len(), 1, "one at a time");
            // The test of a host keeps its state while a long copy runs.
            yard.report(&one, ReportedState::Working).await;
            yard.pass(timeout() / 3).await;
            yard.finish(&one).await;
            let step = |view: &TaskManagerView| (failures(view) == left).then_some(());
            yard.until("one step", step).await;
        }
        yard.until("all go again", three).await;
        yard.journal.stop().await;
    });
}

#[test]
fn an_operator_has_a_host_trusted_again() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        for blame in [Blame::Source, Blame::Destination, Blame::Pair] {
            let task = yard.until("a task", |view| view.open.values().next().cloned()).await;
            yard.fail(&task, blame).await;
            let ended = yard.ended(&task, TaskState::Failed).await;
            let reset = |host| ResetHost {
                host,
                asked_by: "operator".to_owned(),
                request: RequestId::random(),
            };
            let of_host = ended.blame != Some(Blame::File);
            let host = if blame == Blame::Source { source(1) } else { destination(1) };
            let done = yard.manager.send(reset(host)).await.unwrap();
            assert_eq!(done, Ok(usize::from(of_host)), "{blame:?}");
            assert_eq!(yard.manager.send(reset(host)).await.unwrap(), Ok(0));
        }
        yard.journal.stop().await;
    });
}

#[test]
fn a_host_with_failed_calls_gets_no_copies_until_its_probation() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(2, 2).open_up(dir.path(), START).await;
        let call_status = async |host, calls| {
            let at = yard.clock.now();
            let (epoch, managers) = (None, Vec::new());
            let call_status = HostCallStatus { host, calls, epoch, managers, at };
            yard.manager.send(call_status).await.unwrap();
        };
        call_status(destination(1), CircuitState::Open).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg"]).await;
        let two = |view: &TaskManagerView| (view.open.len() == 2).then(|| view.open.clone());
        let tasks = yard.until("the other one takes both", two).await;
        assert!(tasks.values().all(|task| task.destination == destination(2)));
        let view = yard.views.load();
        let reported = view.hosts.iter().find(|host| host.host == destination(1)).unwrap();
        assert_eq!(reported.no_destination, Some(Unusable::CallsFail));
        call_status(destination(1), CircuitState::Probation).await;
        call_status(destination(2), CircuitState::Open).await;
        for task in tasks.values() {
            yard.finish(task).await;
        }
        assert_eq!(yard.open_task("c.mpg").await.destination, destination(1));
        yard.journal.stop().await;
    });
}

#[test]
fn a_copy_is_planned_again_once_another_program_replaces_its_destination() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.report(&task, ReportedState::Working).await;
        yard.pass(MINUTE).await;
        // An old cfw never continues a copy that another program began.
        yard.alter(destination(1), |host| host.kind = HostKind::Cfw);
        yard.look(destination(1)).await;
        yard.pass(pickup() / 2).await;
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(task.id).unwrap().state, TaskState::Working);
        yard.pass(pickup() / 2).await;
        let ended = yard.ended(&task, TaskState::Timeout).await;
        let reason = ended.reason.clone().unwrap();
        assert!(reason.contains("another program"), "{reason}");
        assert_eq!(ended.blame, None);
        assert_ne!(yard.open_task("a.mpg").await.id, task.id);
        yard.journal.stop().await;
    });
}

#[test]
fn a_program_that_takes_the_copy_up_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = old_plot(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.patch(&task, OldState::Working).await.unwrap();
        yard.pass(MINUTE).await;
        yard.alter(destination(1), |host| host.kind = ours(destination(1)));
        yard.look(destination(1)).await;
        yard.pass(pickup() / 2).await;
        yard.report(&task, ReportedState::Progress { bytes: 1 }).await;
        yard.pass(4 * pickup()).await;
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(task.id).unwrap().state, TaskState::Working);
        yard.finish(&task).await;
        yard.ended(&task, TaskState::Done).await;
        yard.journal.stop().await;
    });
}

#[test]
fn an_unstarted_copy_is_withdrawn_once_the_file_is_elsewhere() {
    for old in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        on_a_system(async {
            let yard = YardPlan { old, ..plot(1, 2) }.open_up(dir.path(), START).await;
            yard.grade(&["a.mpg", "b.mpg"]).await;
            let task = yard.open_task("a.mpg").await;
            let other = [1, 2].map(destination).into_iter().find(|host| *host != task.destination);
            let other = other.unwrap();
            let file = yard.file("a.mpg");
            yard.alter(other, |host| host.files.extend([file.0]));
            yard.look(other).await;
            let ended = yard.ended(&task, TaskState::Cancelled).await;
            let reason = ended.reason.clone().unwrap();
            assert_eq!(reason, format!("{other} already holds the file"));
            yard.open_task("b.mpg").await;
            yard.journal.stop().await;
        });
    }
}

#[test]
fn a_running_copy_continues_when_the_file_appears_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = old_plot(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.patch(&task, OldState::Working).await.unwrap();
        let other = [1, 2].map(destination).into_iter().find(|host| *host != task.destination);
        let file = yard.file("a.mpg");
        yard.alter(other.unwrap(), |host| host.files.extend([file.0]));
        yard.look(other.unwrap()).await;
        yard.pass(MINUTE).await;
        yard.wait_until_applied().await;
        assert_eq!(yard.views.load().task(task.id).unwrap().state, TaskState::Working);
        yard.journal.stop().await;
    });
}
