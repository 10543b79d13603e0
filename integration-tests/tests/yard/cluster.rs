//! A yard that three nodes manage.

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};

/// Waits until the destination has a copy with the bytes of its master.
fn is_copied(ground: &ProcessYard, worker: &RoleProcess, name: &str, bytes: &[u8]) -> Result<()> {
    let copy = ground.copies(0).join(name);
    wait_for(&format!("{name} is copied"), &[worker], || holds(&copy, bytes).then_some(()))
}

/// The paused node accepts connections and answers nothing. The worker is given this node only.
#[test]
fn a_worker_learns_the_other_nodes_and_goes_on_without_its_own() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let first = ground.master(b"first.mpg", 300_000)?;
    let second = ground.master(b"second.mpg", 300_000)?;
    ground.grade(&[b"first.mpg"])?;
    let cluster = NodeCluster::three_with(&ground.node_file())?;
    let node = format!("\"{}\"", cluster.nodes[0].api);
    let _source = ground.start_source(0, &[])?;
    let worker = ground.start_destination(0, &[("node", &node)])?;
    is_copied(&ground, &worker, "first.mpg", &first)?;

    // The worker calls its node, which leads.
    assert_eq!(cluster.leader(0)?.0, 0);
    cluster.nodes[0].process.as_ref().context("the node does not run")?.pause()?;
    ground.grade(&[b"first.mpg", b"second.mpg"])?;
    is_copied(&ground, &worker, "second.mpg", &second)?;
    // It knows them after a restart, too.
    drop(worker);
    let worker = ground.start_destination(0, &[("node", &node)])?;
    let third = ground.master(b"third.mpg", 300_000)?;
    ground.grade(&[b"first.mpg", b"second.mpg", b"third.mpg"])?;
    is_copied(&ground, &worker, "third.mpg", &third)
}
