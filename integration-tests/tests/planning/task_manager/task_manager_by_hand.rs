//! The TaskManager and copies that an operator requests.

use reelyard_core::event::RequestId;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_yard::cfw_worker::HostObserved;
use reelyard_yard::task_manager::CopyFile;

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
            let copy = CopyFile { name, destination: to, source, asked_by, request };
            yard.manager.send(copy).await.unwrap().unwrap();
            assert_eq!(yard.open_task(file).await.source, from, "{file}");
        }
        yard.journal.stop().await;
    });
}
