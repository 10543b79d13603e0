//! The TaskManager and copies that an operator requests.

use reelyard_core::event::RequestId;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::{ByHandRefused, CopyFile, CopyRefused};

use crate::task_manager::task_manager_yard::{
    TaskManagerYard, YardPlan, destination, ours, source,
};

const START: i64 = 1_800_000_000_000;

/// Makes a source report its kind.
async fn observe_source(yard: &TaskManagerYard, host: HostAddr, kind: HostKind) {
    let (inventory, disk, traffic, at) = (None, None, None, yard.clock.now());
    let seen = HostObserved { host, kind, inventory, disk, traffic, at };
    yard.manager.send(seen).await.unwrap();
}

#[test]
fn a_requested_copy_comes_from_a_source_of_the_same_kind() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = YardPlan::of(2, 2).open_up(dir.path(), START).await;
        let (old, new) = (HostKind::Cfw, ours(source(2)));
        observe_source(&yard, source(1), old).await;
        observe_source(&yard, source(2), new).await;
        let HostKind::Reelyard { data_addr, .. } = ours(destination(1)) else { unreachable!() };
        let new = HostKind::Reelyard { data_addr, fetches_from_old: true, data_tls: false };
        for (host, kind) in [(destination(1), new), (destination(2), HostKind::Cfw)] {
            yard.alter(host, |probed| probed.kind = kind);
            yard.look(host).await;
        }
        yard.list_masters(&[yard.file("new.mpg"), yard.file("old.mpg")]).await;
        for (file, to, from) in
            [("new.mpg", destination(1), source(2)), ("old.mpg", destination(2), source(1))]
        {
            let (name, asked_by) = (TaskManagerYard::name(file), "op".to_owned());
            let (source, request) = (None, RequestId::random());
            let copy = CopyFile { name, destination: Some(to), source, asked_by, request };
            yard.manager.send(copy).await.unwrap().unwrap();
            assert_eq!(yard.open_task(file).await.source, from, "{file}");
        }
        yard.journal.stop().await;
    });
}

#[test]
fn a_copy_to_any_destination_follows_the_rules_of_requested_copies() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let mut plan = YardPlan::of(1, 2);
        plan.settings.copies_per_source = 1;
        let yard = plan.open_up(dir.path(), START).await;
        yard.grade(&["a.mpg", "b.mpg", "c.mpg"]).await;
        let planned = yard.open_task("a.mpg").await;
        // The other destination has the most room. A file that waits for a source may be copied by hand.
        let other =
            [destination(1), destination(2)].into_iter().find(|to| *to != planned.destination);
        let ask = |file: &str| {
            let (name, asked_by) = (TaskManagerYard::name(file), "op".to_owned());
            let (destination, source, request) = (None, None, RequestId::random());
            yard.manager.send(CopyFile { name, destination, source, asked_by, request })
        };
        let task = ask("b.mpg").await.unwrap().unwrap();
        let begun = yard.open_task("b.mpg").await;
        assert_eq!((begun.id, Some(begun.destination)), (task, other));
        let refused = ask("c.mpg").await.unwrap();
        assert_eq!(refused, Err(CopyRefused::Rules(ByHandRefused::NoSource)));
        for host in [destination(1), destination(2)] {
            yard.health(host, Health::Down).await;
        }
        yard.finish(&planned).await;
        let refused = ask("c.mpg").await.unwrap().unwrap_err().to_string();
        let words =
            format!("no destination can take 'c.mpg' now: {}: it is not up", destination(1));
        assert_eq!(refused, words);
        yard.journal.stop().await;
    });
}
