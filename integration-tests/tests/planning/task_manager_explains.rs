//! The TaskManager explains why it plans or does not plan a file.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostKind;
use reelyard_core::names::FileName;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::worker::Blame;
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::plan::{Explanation, MasterState, PlanVerdict, Says, Skip};
use reelyard_yard::task_manager::{ExplainFile, PlacementPolicy};

use crate::task_manager_yard::{GIB, SIZE, TaskManagerYard, YardPlan, destination, source};

const START: i64 = 1_800_000_000_000;

async fn explain(yard: &TaskManagerYard, file: &[u8]) -> Explanation {
    let name = FileName::new(file).unwrap();
    yard.manager.send(ExplainFile { name }).await.unwrap()
}

/// The statements about the destinations, by address.
fn destinations(told: &Explanation) -> Vec<Says> {
    told.destinations.iter().map(|destination| destination.says).collect()
}

#[test]
fn every_stage_of_a_file_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 2).open_up(dir.path(), START).await;
        assert_eq!(explain(&yard, b"a.mpg").await.verdict, PlanVerdict::RankingUnread);
        yard.grade(&["a.mpg", "b.mpg", "c.mpg"]).await;
        yard.heat(&[("c.mpg", 4)]).await;
        let task = yard.until("a task", |view| view.open.values().next().cloned()).await;
        let told = explain(&yard, task.name.as_bytes()).await;
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::UnderWay));
        assert_eq!(told.task, Some(task.id));

        // The only source is busy: the others wait, the hot file first.
        let told = explain(&yard, b"b.mpg").await;
        assert_eq!((told.verdict, told.rank, told.hits), (PlanVerdict::WaitsForTurn, Some(2), 0));
        assert_eq!(told.master, MasterState::Found { dir: "/data".to_owned(), size: SIZE });
        assert_eq!(told.sources[0].says, Says::Busy);
        assert_eq!((told.sources[0].serving, told.sources[0].free), (1, 0));
        assert_eq!(destinations(&told), [Says::NoSource, Says::NoSource]);
        let coming: u64 = told.destinations.iter().map(|to| to.on_its_way).sum();
        assert_eq!(coming, SIZE);
        assert!(told.ahead.unwrap() > 0);

        yard.finish(&task).await;
        let told = explain(&yard, task.name.as_bytes()).await;
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::Placed));
        assert_eq!(told.held_on[0].host, task.destination);
        assert!(destinations(&told).contains(&Says::Holds));

        let failed = yard.until("a task", |view| view.open.values().next().cloned()).await;
        yard.fail(&failed, Blame::File).await;
        let told = explain(&yard, failed.name.as_bytes()).await;
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::BacksOff));
        let back_off = told.back_off.unwrap();
        assert_eq!((back_off.failures, back_off.reason.as_str()), (1, "as the test wants it"));
        yard.journal.stop().await;
    });
}

#[test]
fn unknown_and_missing_files_are_explained_too() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 1).open_up(dir.path(), START).await;
        let file = yard.file("gone.mpg");
        yard.world.lock().unwrap().masters.insert(file, MasterLook::Absent);
        yard.grade(&["a.mpg", "gone.mpg"]).await;
        yard.open_task("a.mpg").await;
        let told = explain(&yard, b"\xff nobody").await;
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::Ungraded));
        assert_eq!((told.rank, told.master, told.ahead), (None, MasterState::NotListed, None));
        assert_eq!(yard.names.find(b"\xff nobody"), None, "a question adds no name");
        let told = explain(&yard, b"gone.mpg").await;
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::MasterAbsent));
        assert_eq!(told.master, MasterState::Absent);
        yard.journal.stop().await;
    });
}

#[test]
fn each_destination_says_why_it_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let mut plot = YardPlan::of(1, 5);
        plot.settings.placement = PlacementPolicy::Ring;
        let yard = plot.open(dir.path(), START).await;
        yard.alter(destination(2), |host| host.used = host.capacity * 9 / 10);
        yard.alter(destination(3), |host| host.kind = HostKind::Cfw);
        plot.up(&yard).await;
        yard.health(destination(1), Health::Suspect).await;
        let carried_by_ours = "line\nfeed.mpg";
        yard.grade(&[carried_by_ours]).await;
        let task = yard.open_task(carried_by_ours).await;
        assert_eq!(task.destination, destination(5), "the ring begins with the last text");
        yard.fail(&task, Blame::Destination).await;
        let again = yard.open_task(carried_by_ours).await;
        assert_eq!(again.destination, destination(4));
        yard.fail(&again, Blame::Source).await;
        yard.until("nothing is open", |view| view.open.is_empty().then_some(())).await;
        let told = explain(&yard, carried_by_ours.as_bytes()).await;
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::NoPair));
        assert_eq!(told.sources[0].says, Says::BacksOff);
        assert!(told.sources[0].back_off.is_some());
        let expected =
            [Says::NotUp, Says::TooBig, Says::NameNotCarried, Says::NoSource, Says::BacksOff];
        assert_eq!(destinations(&told), expected);
        let turns: Vec<_> = told.destinations.iter().map(|to| to.turns.unwrap()).collect();
        assert_eq!(turns, [2, 1, 0, 4, 3]);
        let largest = told.destinations[3].room.unwrap();
        let file = yard.file("large.mpg");
        let (size, modified) = (largest + 1, Millis(0));
        let found = MasterLook::Found { dir: "/data".into(), size, modified };
        yard.world.lock().unwrap().masters.insert(file, found);
        yard.grade(&["large.mpg"]).await;
        yard.health(source(1), Health::Up).await;
        yard.pass(Duration::from_secs(20)).await;
        let told = explain(&yard, b"large.mpg").await;
        assert!(largest > GIB);
        assert_eq!(told.verdict, PlanVerdict::Skipped(Skip::TooBig), "{told:?}");
        yard.journal.stop().await;
    });
}
