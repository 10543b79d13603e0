//! The TaskManager detects another manager of its yard, and ignores events that are no sign of one.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::manager::{ManagerId, ManagerIdentity, YardId};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::worker::{ManagerAction, ManagerSeen, Report, ReportedState, TaskId};
use reelyard_yard::cfw_worker::{CircuitState, HostCallStatus};
use reelyard_yard::task_manager::{
    CancelTask, ChangeTask, ForeignManagerSign, TakeReports, TaskManagerView, TaskState,
};

use crate::task_manager::task_manager_yard::{TaskManagerYard, YardPlan, destination};

const START: i64 = 1_800_000_000_000;

/// The reported signs, and whether each is certain.
fn foreign_managers(view: &TaskManagerView) -> Vec<(Option<HostAddr>, ForeignManagerSign, bool)> {
    view.foreign_managers.iter().map(|one| (one.host, one.sign, one.sure)).collect()
}

async fn until(
    yard: &TaskManagerYard,
    host: Option<HostAddr>,
    sign: ForeignManagerSign,
    sure: bool,
) {
    let what = format!("{sign:?} is reported");
    let shown =
        |view: &TaskManagerView| foreign_managers(view).contains(&(host, sign, sure)).then_some(());
    yard.until(&what, shown).await;
}

fn report(id: i64, file: &str, state: ReportedState) -> Report {
    Report { task: TaskId(id), name: TaskManagerYard::name(file), at: Millis(START), state }
}

#[test]
fn a_cluster_has_one_permanent_id() {
    let dir = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        on_a_system(async {
            let mut plot = YardPlan::of(1, 1);
            let identity = ManagerIdentity::of_node(1);
            plot.identity = Some(identity.clone());
            let yard = plot.open(dir.path(), START).await;
            let id = yard.until("the cluster has an id", |view| view.manager).await;
            assert_eq!(identity.id(), Some(id));
            assert_eq!(yard.views.load().orders_for(destination(1)).unwrap().manager, Some(id));
            ids.push(id);
            yard.journal.stop().await;
        });
    }
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn work_on_an_unknown_task_is_proof_unless_it_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        yard.finish(&task).await;
        yard.ended(&task, TaskState::Done).await;
        // The operator deletes it from the list, and its worker reports once more.
        let (asked_by, request) = ("operator".to_owned(), RequestId::random());
        let cancel = CancelTask { id: task.id, asked_by, request };
        yard.manager.send(cancel).await.unwrap().unwrap();
        yard.until("it is forgotten", |view| view.ended.is_empty().then_some(())).await;
        yard.report(&task, ReportedState::Progress { bytes: 1 }).await;
        yard.pass(Duration::from_secs(1)).await;
        assert_eq!(foreign_managers(&yard.views.load()), []);

        let reports = vec![report(task.id.0 + 1, "z.mpg", ReportedState::Working)];
        let host = destination(2);
        yard.manager.send(TakeReports { host, reports }).await.unwrap().unwrap();
        until(&yard, Some(host), ForeignManagerSign::UnknownTask, true).await;
        let view = yard.views.load();
        assert!(
            view.foreign_managers[0].what.contains("z.mpg"),
            "{}",
            view.foreign_managers[0].what
        );
        let (id, to) = (TaskId(task.id.0 + 2), Some(OldState::Done));
        let change = ChangeTask { id, to, request: RequestId::random() };
        assert!(yard.manager.send(change).await.unwrap().is_err());
        yard.pass(Duration::from_secs(1)).await;
        until(&yard, None, ForeignManagerSign::UnknownChange, false).await;
        yard.pass(Duration::from_secs(60 * 60)).await;
        yard.until("it is over", |view| view.foreign_managers.is_empty().then_some(())).await;
        yard.journal.stop().await;
    });
}

#[test]
fn copies_of_other_programs_are_hints_but_own_late_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let mut plot = YardPlan::of(1, 1);
        plot.old = true;
        let yard = plot.open(dir.path(), START).await;
        let host = destination(1);
        // Files of the first observation are older than this manager.
        let old = yard.file("before.mpg");
        yard.alter(host, |probed| {
            probed.files.insert(old.0);
        });
        plot.up(&yard).await;
        let files = |wanted: u64| {
            move |view: &TaskManagerView| (view.hosts[1].files == Some(wanted)).then_some(())
        };
        yard.until("it is placed", files(1)).await;
        assert_eq!(foreign_managers(&yard.views.load()), []);

        // A copy of an abandoned task arrives late.
        yard.grade(&["late.mpg"]).await;
        let task = yard.open_task("late.mpg").await;
        yard.pass(Duration::from_secs(10 * 60)).await;
        yard.ended(&task, TaskState::Timeout).await;
        yard.land(&task);
        yard.look(host).await;
        yard.until("it is placed", files(2)).await;
        assert_eq!(foreign_managers(&yard.views.load()), []);

        let strange = yard.file("strange.mpg");
        yard.alter(host, |probed| {
            probed.files.remove(&old.0);
            probed.files.insert(strange.0);
        });
        yard.pass(Duration::from_secs(1)).await;
        yard.look(host).await;
        until(&yard, Some(host), ForeignManagerSign::UnplannedCopy, false).await;
        until(&yard, Some(host), ForeignManagerSign::VanishedCopy, false).await;
        let what: Vec<String> =
            yard.views.load().foreign_managers.iter().map(|one| one.what.clone()).collect();
        assert!(what[0].contains("strange.mpg") && what[1].contains("before.mpg"), "{what:?}");
        yard.journal.stop().await;
    });
}

#[test]
fn a_list_that_loses_and_regains_files_shows_no_manager() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let plot = YardPlan { old: true, ..YardPlan::of(1, 1) };
        let yard = plot.open(dir.path(), START).await;
        let host = destination(1);
        let files = ["a.mpg", "b.mpg"].map(|name| yard.file(name).0);
        yard.alter(host, |probed| probed.files.extend(files));
        plot.up(&yard).await;
        let holds = |wanted: u64| {
            move |view: &TaskManagerView| (view.hosts[1].files == Some(wanted)).then_some(())
        };
        yard.until("the first list is recorded", holds(2)).await;
        for lists_files in [false, true, false, true] {
            yard.alter(host, |probed| match lists_files {
                true => probed.files.extend(files),
                false => probed.files.clear(),
            });
            yard.pass(Duration::from_secs(1)).await;
            yard.look(host).await;
            yard.until("the list is recorded", holds(if lists_files { 2 } else { 0 })).await;
        }
        yard.until("no manager is reported", |view| view.foreign_managers.is_empty().then_some(()))
            .await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_workers_report_of_managers_is_compared_with_this_node() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let mut plot = YardPlan::of(1, 2);
        plot.identity = Some(ManagerIdentity::of_node(1));
        let yard = plot.open_up(dir.path(), START).await;
        let us = yard.until("the cluster has an id", |view| view.manager).await;
        let other = ManagerId { cluster: YardId(us.cluster.0 ^ 1), node: 7 };
        let seen = |manager, does| ManagerSeen {
            manager: Some(manager),
            from: "10.0.0.9".to_owned(),
            does,
            first: Millis(START),
            last: Millis(START),
            times: 1,
        };
        let trace = async |host, managers| {
            let (calls, epoch, at) = (CircuitState::Closed, Some(Epoch(0)), yard.clock.now());
            let call_status = HostCallStatus { host, calls, epoch, managers, at };
            yard.manager.send(call_status).await.unwrap();
            yard.pass(Duration::from_secs(1)).await;
        };
        let ours = vec![
            seen(us, ManagerAction::Orders),
            seen(us, ManagerAction::Lists),
            seen(us, ManagerAction::Deletes),
        ];
        trace(destination(1), ours).await;
        assert_eq!(foreign_managers(&yard.views.load()), []);
        trace(
            destination(1),
            vec![seen(us, ManagerAction::Orders), seen(other, ManagerAction::Deletes)],
        )
        .await;
        until(&yard, Some(destination(1)), ForeignManagerSign::OtherCluster, true).await;
        trace(destination(2), vec![seen(other, ManagerAction::Orders)]).await;
        until(&yard, Some(destination(2)), ForeignManagerSign::OrdersElsewhere, true).await;
        yard.journal.stop().await;
    });
}
