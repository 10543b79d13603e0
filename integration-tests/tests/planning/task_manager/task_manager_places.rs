//! The TaskManager places a catalogue: sources, destinations, order, restart.

use std::time::{Duration, Instant};

use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::worker::ReportedState;
use reelyard_replication::CommitError;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::{ExplainFile, PlanNow, TaskManagerView, TaskState};
use reelyard_yard::task_manager::{HostUsability, PlanVerdict, PlannerWaits, Skip};

use crate::task_manager::task_manager_yard::{
    SIZE, TaskManagerYard, YardPlan, destination, is_of, source,
};

const START: i64 = 1_800_000_000_000;

#[test]
fn a_catalogue_is_placed_best_first_each_file_once() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(2, 3).open_up(dir.path(), START).await;
        let names: Vec<String> = (0..12).map(|i| format!("f{i:02}.mpg")).collect();
        let files: Vec<&str> = names.iter().map(String::as_str).collect();
        yard.grade(&files).await;
        for (grade, file) in (1..).zip(&files) {
            let task = yard.open_task(file).await;
            assert_eq!((task.grade, task.size, task.dir.as_str()), (grade, SIZE, "/data"));
            assert!(yard.views.load().open.len() <= 2, "one copy per source at a time");
            yard.finish(&task).await;
            yard.ended(&task, TaskState::Done).await;
        }
        let view = yard
            .until("nothing is left to do", |view| {
                let last = view.plan.last.as_ref()?;
                (view.open.is_empty() && last.waiting == Some(PlannerWaits::Nothing))
                    .then(|| view.clone())
            })
            .await;
        assert_eq!((view.ended.len(), view.plan.wanted, view.counters.created), (12, 0, 12));
        let on = |host| view.ended.values().filter(|task| task.destination == host).count();
        assert_eq!([1, 2, 3].map(|last| on(destination(last))), [4, 4, 4], "spread by room");
        let (arrived, asked) = {
            let world = yard.world.lock().unwrap();
            let asked: u64 = world.hosts.values().map(|host| host.refreshes).sum();
            (world.arrived.len(), asked)
        };
        assert_eq!(arrived, 12, "each CfwWorker got a message");
        assert_eq!(asked, 0, "a CfwWorker looks by itself at a host that comes up");
        yard.journal.stop().await;
    });
}

#[test]
fn a_freed_source_is_used_again_within_100_ms() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 2).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg", "d.mpg"]).await;
        let mut fastest = Duration::MAX;
        for (file, next) in [("a.mpg", "b.mpg"), ("b.mpg", "c.mpg"), ("c.mpg", "d.mpg")] {
            let task = yard.open_task(file).await;
            yard.finish(&task).await;
            let freed = Instant::now();
            yard.open_task(next).await;
            fastest = fastest.min(freed.elapsed());
        }
        assert!(fastest < Duration::from_millis(100), "{fastest:?}");
        yard.journal.stop().await;
    });
}

#[test]
fn hot_files_overtake_and_the_hottest_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg", "d.mpg"]).await;
        let first = yard.open_task("a.mpg").await;
        yard.heat(&[("c.mpg", 4), ("d.mpg", 9)]).await;
        let mut last = first;
        for (file, hits) in [("d.mpg", 9), ("c.mpg", 4), ("b.mpg", 0)] {
            yard.finish(&last).await;
            last = yard.open_task(file).await;
            assert_eq!(last.hits, hits);
        }
        yard.journal.stop().await;
    });
}

#[test]
fn tasks_and_placements_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let plot = YardPlan::of(1, 2);
        let yard = plot.open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let done = yard.open_task("a.mpg").await;
        yard.finish(&done).await;
        let under_way = yard.open_task("b.mpg").await;
        yard.journal.stop().await;

        // After a restart the state of hosts is unknown, and the holder of `a.mpg` stays down. The file must
        // not get a second copy.
        let yard = plot.open(dir.path(), START + 60_000).await;
        assert_eq!(*yard.open_task("b.mpg").await, *under_way);
        assert_eq!(yard.views.load().ended[&done.id].state, TaskState::Done);
        let other = if done.destination == destination(1) { 2 } else { 1 };
        yard.health(done.destination, Health::Down).await;
        yard.health(source(1), Health::Up).await;
        yard.health(destination(other), Health::Up).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        yard.manager.send(PlanNow).await.unwrap().unwrap();
        let name = TaskManagerYard::name("a.mpg");
        let answer = yard.manager.send(ExplainFile { name }).await.unwrap();
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::Placed));
        assert_eq!(answer.held_on[0].host, done.destination);
        yard.journal.stop().await;
    });
}

#[test]
fn a_host_that_was_never_listed_gets_nothing_and_delays_others() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 2).open(dir.path(), START).await;
        yard.alter(destination(2), |host| host.silent = true);
        for host in [source(1), destination(1), destination(2)] {
            yard.health(host, Health::Up).await;
        }
        let kind = crate::task_manager::task_manager_yard::ours(source(1));
        let seen = reelyard_yard::cfw_worker::HostObserved {
            host: source(1),
            kind,
            inventory: None,
            disk: None,
            traffic: None,
            at: yard.clock.now(),
        };
        yard.manager.send(seen).await.unwrap();
        yard.look(destination(1)).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        yard.until("the round waits for the silent one", |view| {
            let waiting = view.plan.last.as_ref()?.waiting.as_ref()?;
            (*waiting == PlannerWaits::FirstLook(vec![destination(2)])).then_some(())
        })
        .await;
        assert!(yard.views.load().open.is_empty());
        yard.pass(Duration::from_secs(5)).await;
        assert_eq!(yard.open_task("a.mpg").await.destination, destination(1));
        yard.journal.stop().await;
    });
}

#[test]
fn an_unlisted_host_gets_nothing_and_its_placements_count() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let plot = YardPlan::of(1, 2);
        let yard = plot.open_up(dir.path(), START).await;
        yard.grade(&["a.mpg"]).await;
        let done = yard.open_task("a.mpg").await;
        yard.finish(&done).await;
        let holder = done.destination;
        let other = if holder == destination(1) { destination(2) } else { destination(1) };
        yard.journal.stop().await;

        // The holder answers probes and reports its disk, but its list fails from now on. It has more space
        // than the other host.
        let yard = plot.open(dir.path(), START + 60_000).await;
        yard.alter(other, |host| host.used = host.capacity / 2);
        for host in [source(1), destination(1), destination(2)] {
            yard.health(host, Health::Up).await;
        }
        let (host, kind, at) =
            (source(1), crate::task_manager::task_manager_yard::ours(source(1)), yard.clock.now());
        let seen = HostObserved { host, kind, inventory: None, disk: None, traffic: None, at };
        yard.manager.send(seen).await.unwrap();
        yard.look(other).await;
        yard.look_without_list(holder).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let task = yard.open_task("b.mpg").await;
        assert_eq!(task.destination, other, "nothing goes to a host before it was listed");
        let name = TaskManagerYard::name("a.mpg");
        let answer = yard.manager.send(ExplainFile { name }).await.unwrap();
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::Placed));
        let usability =
            answer.destinations.iter().find(|state| state.host == holder).unwrap().usability;
        assert_eq!(usability, HostUsability::Holds);
        let name = TaskManagerYard::name("b.mpg");
        let answer = yard.manager.send(ExplainFile { name }).await.unwrap();
        let usability =
            answer.destinations.iter().find(|state| state.host == holder).unwrap().usability;
        assert_eq!(usability, HostUsability::InventoryUnknown);
        yard.journal.stop().await;
    });
}

#[test]
fn a_file_in_the_list_of_a_host_is_not_copied_again() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 2).open_up(dir.path(), START).await;
        let file = yard.file("a.mpg");
        yard.alter(destination(2), |host| {
            host.files.insert(file.0);
        });
        yard.look(destination(2)).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let task = yard.open_task("b.mpg").await;
        assert!(yard.views.load().open.values().all(|task| !is_of(task, "a.mpg")));
        yard.finish(&task).await;
        yard.until("the placement is durable", |view| {
            let host = view.hosts.iter().find(|host| host.host == destination(2))?;
            (host.files? >= 1).then_some(())
        })
        .await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_node_that_does_not_lead_decides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        yard.journal.stop().await;
        yard.until("it no longer leads", |view| view.epoch.is_none().then_some(())).await;
        yard.grade(&["a.mpg"]).await;
        let refused = yard.manager.send(PlanNow).await.unwrap();
        assert_eq!(refused, Err(CommitError::Stopped));
        let view = yard.views.load();
        assert!(view.open.is_empty() && view.orders_for(destination(1)).is_none());
    });
}

#[test]
fn a_task_and_its_end_wake_a_long_poll_but_not_progress() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        let mut changes = yard.views.news();
        changes.mark_unchanged();
        assert!(yard.views.load().orders_for(destination(1)).unwrap().tasks.is_empty());
        yard.grade(&["a.mpg"]).await;
        changes.changed().await.unwrap();
        let orders = yard.views.load().orders_for(destination(1)).unwrap();
        let [order] = &orders.tasks[..] else { panic!("{orders:?}") };
        assert_eq!(order.source_data, Some("10.0.1.1:8889".parse().unwrap()));
        let task = yard.open_task("a.mpg").await;
        yard.report(&task, ReportedState::Working).await;
        changes.mark_unchanged();
        yard.report(&task, ReportedState::Progress { bytes: 77 }).await;
        let sign = |view: &TaskManagerView| view.progress.get(&task.id).map(|sign| sign.bytes);
        yard.until("progress is shown", |view| (sign(view) == Some(77)).then_some(())).await;
        assert!(!changes.has_changed().unwrap());
        yard.finish(&task).await;
        assert!(changes.has_changed().unwrap());
        assert!(yard.views.load().orders_for(destination(1)).unwrap().tasks.is_empty());
        assert!(yard.views.load().orders_for(destination(2)).unwrap().tasks.is_empty());
        let view = serde_json::to_value(&*yard.views.load()).unwrap();
        assert_eq!(view["ended"][0]["name"]["name"], "a.mpg");
        yard.journal.stop().await;
    });
}
