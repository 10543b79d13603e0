//! The TaskManager explains why it plans or does not plan a file.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::FileName;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::worker::Blame;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::{MasterLook, RankingChanged};
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::{ExplainFile, PlacementPolicy, TaskState};
use reelyard_yard::task_manager::{Explanation, HostUsability, MasterState, PlanVerdict, Skip};

use crate::task_manager::task_manager_yard::{
    GIB, SIZE, TaskManagerYard, YardPlan, destination, source,
};

const START: i64 = 1_800_000_000_000;

async fn explain(yard: &TaskManagerYard, file: &[u8]) -> Explanation {
    let name = FileName::new(file).unwrap();
    yard.manager.send(ExplainFile { name }).await.unwrap()
}

/// The statements about the destinations, by address.
fn destinations(entry: &Explanation) -> Vec<HostUsability> {
    entry.destinations.iter().map(|destination| destination.usability).collect()
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
        let answer = explain(&yard, task.name.as_bytes()).await;
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::UnderWay));
        assert_eq!(answer.task, Some(task.id));

        // The only source is busy: the others wait, the hot file first.
        let answer = explain(&yard, b"b.mpg").await;
        assert_eq!(
            (answer.verdict, answer.rank, answer.hits),
            (PlanVerdict::WaitsForTurn, Some(2), 0)
        );
        assert_eq!(answer.master, MasterState::Found { dir: "/data".to_owned(), size: SIZE });
        assert_eq!(answer.sources[0].usability, HostUsability::Busy);
        assert_eq!((answer.sources[0].serving, answer.sources[0].free), (1, 0));
        assert_eq!(destinations(&answer), [HostUsability::NoSource, HostUsability::NoSource]);
        let coming: u64 = answer.destinations.iter().map(|to| to.on_its_way).sum();
        assert_eq!(coming, SIZE);
        assert!(answer.ahead.unwrap() > 0);

        yard.finish(&task).await;
        let answer = explain(&yard, task.name.as_bytes()).await;
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::Placed));
        assert_eq!(answer.held_on[0].host, task.destination);
        assert!(destinations(&answer).contains(&HostUsability::Holds));

        let failed = yard.until("a task", |view| view.open.values().next().cloned()).await;
        yard.fail(&failed, Blame::File).await;
        let answer = explain(&yard, failed.name.as_bytes()).await;
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::BacksOff));
        let back_off = answer.back_off.unwrap();
        assert_eq!((back_off.failures, back_off.reason.as_str()), (1, "as the test wants it"));
        yard.journal.stop().await;
    });
}

#[test]
fn holders_after_the_end_of_the_list_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let mut plot = YardPlan::of(1, 0);
        let host = |number: usize| format!("10.1.{}.{}:8888", number / 250, number % 250);
        plot.destinations = (0..1200).map(|number| host(number).parse().unwrap()).collect();
        let yard = plot.open(dir.path(), START).await;
        let file = yard.file("everywhere.mpg");
        let listed_on = plot.destinations.iter().map(HostAddr::ip).collect();
        let ranking = Ranking::from_files([RankedFile { file, size: None, listed_on }]);
        yard.manager.send(RankingChanged(Arc::new(ranking))).await.unwrap();
        for &host in &plot.destinations {
            yard.alter(host, |host| host.files.extend([file.0]));
            yard.look(host).await;
        }
        yard.health(plot.destinations[0], Health::Down).await;
        let answer = explain(&yard, b"everywhere.mpg").await;
        assert_eq!((answer.held_on.len(), answer.held_on_left_out), (500, 700));
        assert_eq!((answer.listed_on.len(), answer.listed_on_left_out), (500, 700));
        assert_eq!(answer.held_on[0].host, plot.destinations[1], "one that is down comes last");
        yard.journal.stop().await;
    });
}

#[test]
fn pairs_that_back_off_are_counted_after_the_tenth() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 12).open_up(dir.path(), START).await;
        let names: Vec<String> = (0..13).map(|number| format!("{number}.mpg")).collect();
        yard.grade(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // A second failure of a file blames the file.
        for _ in 0..23 {
            let task = yard.until("a task", |view| view.open.values().next().cloned()).await;
            yard.fail(&task, Blame::Pair).await;
            yard.ended(&task, TaskState::Failed).await;
        }
        let answer = explain(&yard, b"0.mpg").await;
        let source = &answer.sources[0];
        assert_eq!((source.not_with.len(), source.not_with_left_out), (10, 2), "{source:?}");
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
        let answer = explain(&yard, b"\xff nobody").await;
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::Ungraded));
        assert_eq!(
            (answer.rank, answer.master, answer.ahead),
            (None, MasterState::NotListed, None)
        );
        assert_eq!(yard.names.find(b"\xff nobody"), None, "a question adds no name");
        let answer = explain(&yard, b"gone.mpg").await;
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::MasterAbsent));
        assert_eq!(answer.master, MasterState::Absent);
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
        let answer = explain(&yard, carried_by_ours.as_bytes()).await;
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::NoPair));
        assert_eq!(answer.sources[0].usability, HostUsability::BacksOff);
        assert!(answer.sources[0].back_off.is_some());
        let expected = [
            HostUsability::NotUp,
            HostUsability::TooBig,
            HostUsability::NameNotCarried,
            HostUsability::NoSource,
            HostUsability::BacksOff,
        ];
        assert_eq!(destinations(&answer), expected);
        let turns: Vec<_> = answer.destinations.iter().map(|to| to.turns.unwrap()).collect();
        assert_eq!(turns, [2, 1, 0, 4, 3]);
        let largest = answer.destinations[3].room.unwrap();
        let file = yard.file("large.mpg");
        let (size, modified) = (largest + 1, Millis(0));
        let found = MasterLook::Found { dir: "/data".into(), size, modified };
        yard.world.lock().unwrap().masters.insert(file, found);
        yard.grade(&["large.mpg"]).await;
        yard.health(source(1), Health::Up).await;
        yard.pass(Duration::from_secs(20)).await;
        let answer = explain(&yard, b"large.mpg").await;
        assert!(largest > GIB);
        assert_eq!(answer.verdict, PlanVerdict::Skipped(Skip::TooBig), "{answer:?}");
        yard.journal.stop().await;
    });
}
