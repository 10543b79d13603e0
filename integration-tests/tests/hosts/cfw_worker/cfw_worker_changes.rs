//! A node's CfwWorker and a real worker: changes in the base directory are reported without a complete list.
//! Any program may make the changes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use actix::prelude::*;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_protocol::worker::ReportedState;
use reelyard_yard::cfw_worker::{
    CfwWorker, CfwWorkerSettings, CfwWorkerView, DeleteCopy, Inventory, ProbeHeartbeat, Refresh,
    http_client,
};

struct HostChangesNode {
    worker: Addr<CfwWorker>,
    view: ViewHandle<CfwWorkerView>,
    names: NameTable,
}

impl HostChangesNode {
    /// A node that has probed `host`.
    async fn of(host: HostAddr) -> Self {
        let settings = CfwWorkerSettings::default();
        let http = http_client(&settings).unwrap();
        let (names, clock) = (NameTable::new(), Clock::system());
        let role = HostRole::Destination;
        let worker = CfwWorker::new(host, role, settings, http, names.clone(), clock);
        let view = worker.view();
        let node = HostChangesNode { worker: worker.start(), view, names };
        node.worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
        node
    }

    async fn inventory(&self) -> Arc<Inventory> {
        self.worker.send(Refresh).await.unwrap().unwrap()
    }

    async fn holds(&self) -> Vec<String> {
        let inventory = self.inventory().await;
        let name = |file| self.names.name(FileId(file)).to_string();
        let mut names: Vec<String> = inventory.files.iter().map(name).collect();
        names.sort();
        names
    }

    /// The number of complete lists.
    fn whole_lists(&self) -> u64 {
        self.view.load().whole_lists
    }
}

fn write(dir: &Path, name: &str) {
    fs::write(dir.join(name), name).unwrap();
}

#[actix::test]
async fn changes_on_a_worker_are_known_without_another_complete_list() {
    let (source, destination, orders) = (Rig::new(), Rig::new(), FakeNode::start());
    let serving = started(source.source()).await;
    let settings = destination.destination(&orders.url);
    let running = started(settings.clone()).await;
    let copies = destination.copies();
    write(&copies, "first");
    let node = HostChangesNode::of(destination.host).await;
    assert_eq!(node.holds().await, ["first"]);
    let whole = node.whole_lists();

    write(&copies, "by hand");
    source.master(b"copied", 10_000);
    orders.order(source.order(1, b"copied"));
    assert!(matches!(orders.end_of(1).await, ReportedState::Done { .. }));
    assert_eq!(node.holds().await, ["by hand", "copied", "first"]);

    let delete = DeleteCopy { name: FileName::new("first").unwrap(), epoch: Epoch(1) };
    assert_eq!(node.worker.send(delete).await.unwrap(), Ok(Deleted::Removed));
    fs::rename(copies.join("by hand"), copies.join("renamed")).unwrap();
    assert_eq!(node.holds().await, ["copied", "renamed"]);
    assert_eq!(node.whole_lists(), whole);
    assert!(node.view.load().inventory.unwrap().follows_changes);

    // No program recorded changes while the worker was down: it sends a complete list.
    running.stop().await;
    fs::remove_file(copies.join("renamed")).unwrap();
    let again = started(settings).await;
    assert_eq!(node.holds().await, ["copied"]);
    assert_eq!(node.whole_lists(), whole + 1);
    again.stop().await;
    serving.stop().await;
    orders.stop().await;
}

#[actix::test]
async fn an_old_cfw_is_listed_whole_each_time() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a");
    let host = StandInCfw::start(dir.path()).unwrap();
    let node = HostChangesNode::of(host.addr()).await;
    for _ in 0..3 {
        assert_eq!(node.holds().await, ["a"]);
    }
    write(dir.path(), "b");
    assert_eq!(node.holds().await, ["a", "b"]);
    fs::remove_file(dir.path().join("a")).unwrap();
    assert_eq!(node.holds().await, ["b"]);
    assert!(node.whole_lists() >= 5);
    assert!(!node.view.load().inventory.unwrap().follows_changes);
}
