//! The TaskManager and the load of network links: weights, limits, and unknown loads.

use std::time::Duration;

use reelyard_core::event::RequestId;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::task_manager::{
    ByHandRefused, CopyFile, CopyRefused, ExplainFile, LinkRules, Weights,
};
use reelyard_yard::task_manager::{HostUsability, LinkLoad, PlannerWaits, Unusable};

use crate::task_manager::task_manager_yard::{
    GIB, TaskManagerYard, YardPlan, destination, ours, source, traffic,
};

const START: i64 = 1_800_000_000_000;

fn plot(sources: u8, destinations: u8, links: LinkRules) -> YardPlan {
    let mut plot = YardPlan::of(sources, destinations);
    plot.settings.links = links;
    plot
}

fn marks(source: Option<u32>, destination: Option<u32>) -> LinkRules {
    LinkRules {
        source_mark_percent: source,
        destination_mark_percent: destination,
        ..LinkRules::default()
    }
}

/// Makes a source report the load of its link.
async fn source_reports(yard: &TaskManagerYard, percent: u64) {
    let (host, at) = (source(1), yard.clock.now());
    let traffic = Some((traffic(percent), at));
    let (inventory, disk) = (None, None);
    let seen = HostObserved { host, kind: ours(host), inventory, disk, traffic, at };
    yard.manager.send(seen).await.unwrap();
}

async fn destination_reports(yard: &TaskManagerYard, last: u8, percent: Option<u64>) {
    yard.alter(destination(last), |host| host.link_percent = percent);
    yard.look(destination(last)).await;
}

#[test]
fn a_destination_above_its_mark_gets_nothing_new_until_it_is_below() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2, marks(None, Some(80))).open_up(dir.path(), START).await;
        // The first host has more space: without weights it would get every copy.
        yard.alter(destination(2), |host| host.used = 500 * GIB);
        destination_reports(&yard, 1, Some(81)).await;
        destination_reports(&yard, 2, Some(80)).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        assert_eq!(task.destination, destination(2));
        let answer =
            yard.manager.send(ExplainFile { name: TaskManagerYard::name("b.mpg") }).await.unwrap();
        let usability: Vec<_> =
            answer.destinations.iter().map(|answer| (answer.usability, answer.link)).collect();
        let link = |used_percent| Some(LinkLoad { used_percent, mark_percent: Some(80) });
        assert_eq!(usability[0], (HostUsability::BusyLink, link(81)));
        assert_eq!(
            usability[1],
            (HostUsability::NoSource, link(80)),
            "at the mark is not above it"
        );
        let view = yard.views.load();
        assert_eq!(view.hosts[1].no_destination, Some(Unusable::BusyLink), "{:?}", view.hosts);
        // A request by hand is refused with an explanation.
        let (name, asked_by) = (TaskManagerYard::name("c.mpg"), "op".to_owned());
        let (source, request) = (None, RequestId::random());
        let to = Some(destination(1));
        let asked = CopyFile { name, destination: to, source, asked_by, request };
        let refused = yard.manager.send(asked).await.unwrap();
        let (host, usability) = (destination(1), HostUsability::BusyLink);
        assert_eq!(
            refused,
            Err(CopyRefused::Rules(ByHandRefused::Destination { host, usability }))
        );
        destination_reports(&yard, 1, Some(79)).await;
        yard.finish(&task).await;
        assert_eq!(yard.open_task("b.mpg").await.destination, destination(1));
        yard.journal.stop().await;
    });
}

#[test]
fn a_source_above_its_mark_serves_nothing_new() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = plot(1, 2, marks(Some(50), None)).open_up(dir.path(), START).await;
        source_reports(&yard, 51).await;
        yard.grade(&["a.mpg", "b.mpg"]).await;
        let waits = |view: &reelyard_yard::task_manager::TaskManagerView| {
            (view.plan.last.as_ref()?.waiting == Some(PlannerWaits::Source)).then_some(())
        };
        yard.until("the round waits for a source", waits).await;
        assert!(yard.views.load().open.is_empty());
        let answer =
            yard.manager.send(ExplainFile { name: TaskManagerYard::name("a.mpg") }).await.unwrap();
        assert_eq!(answer.sources[0].usability, HostUsability::BusyLink);
        source_reports(&yard, 50).await;
        let task = yard.open_task("a.mpg").await;
        source_reports(&yard, 99).await;
        yard.finish(&task).await;
        yard.wait_until_applied().await;
        assert!(yard.views.load().open.is_empty());
        // A load without an update expires after a while.
        yard.pass(Duration::from_secs(41)).await;
        for last in [1, 2] {
            yard.look(destination(last)).await;
        }
        yard.open_task("b.mpg").await;
        yard.journal.stop().await;
    });
}

#[test]
fn copies_go_where_room_and_link_together_are_best() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let links = LinkRules { weights: Weights { room: 1, traffic: 1 }, ..LinkRules::default() };
        let yard = plot(1, 3, links).open_up(dir.path(), START).await;
        // Space 900, 800 and 700 GiB, and links 60, 5 and 0 % in use.
        for (last, used, percent) in [(1, 0, 60), (2, 100, 5), (3, 200, 0)] {
            yard.alter(destination(last), |host| host.used = used * GIB);
            destination_reports(&yard, last, Some(percent)).await;
        }
        yard.grade(&["a.mpg", "b.mpg", "c.mpg", "d.mpg"]).await;
        let task = yard.open_task("a.mpg").await;
        assert_eq!(task.destination, destination(2));
        // A host with an unknown load counts like the average of the others: it comes after an idle one.
        destination_reports(&yard, 2, None).await;
        yard.finish(&task).await;
        let task = yard.open_task("b.mpg").await;
        assert_eq!(task.destination, destination(3));
        destination_reports(&yard, 3, Some(90)).await;
        yard.finish(&task).await;
        let task = yard.open_task("c.mpg").await;
        assert_eq!(task.destination, destination(1), "it has more free than the average");
        // When all loads are unknown, the host with the most space is first.
        yard.alter(destination(1), |host| host.used = 500 * GIB);
        for last in 1..=3 {
            destination_reports(&yard, last, None).await;
        }
        yard.finish(&task).await;
        assert_eq!(yard.open_task("d.mpg").await.destination, destination(2));
        yard.journal.stop().await;
    });
}

#[test]
fn without_weights_and_marks_traffic_decides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(1, 2).open_up(dir.path(), START).await;
        yard.alter(destination(2), |host| host.used = GIB);
        destination_reports(&yard, 1, Some(100)).await;
        destination_reports(&yard, 2, Some(0)).await;
        source_reports(&yard, 100).await;
        yard.grade(&["a.mpg"]).await;
        assert_eq!(yard.open_task("a.mpg").await.destination, destination(1));
        yard.journal.stop().await;
    });
}
