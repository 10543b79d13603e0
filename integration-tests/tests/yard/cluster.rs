//! A yard that three nodes manage.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};

/// A worker leaves a silent node within 3 s. The rest is for a machine with other work.
const NOTICED: Duration = Duration::from_secs(6);

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

    // The worker calls its node, which leads. Only this node reads the hosts, and the others show what it knows.
    assert_eq!(cluster.leader(0)?.0, 0);
    let reads = |index: usize| -> Result<u64> {
        let (_, page) = cluster.fetch(index, "/metrics").context("no metrics")?;
        let looks = page.lines().find_map(|line| line.strip_prefix("reelyard_host_looks_total "));
        Ok(looks.context("no looks")?.parse()?)
    };
    assert!(reads(0)? > 0 && reads(1)? == 0 && reads(2)? == 0);
    let hosts = cluster.request(1, "GET", "/api/v1/hosts", "").context("no answer")?;
    assert!(hosts.status == 200 && hosts.body.contains("\"disk\":{"), "{}", hosts.body);
    let answers = worker.log_text().matches("the node answers").count();
    cluster.nodes[0].process.as_ref().context("the node does not run")?.pause()?;
    let paused = Instant::now();
    wait_for("the worker uses another node", &[&worker], || {
        (worker.log_text().matches("the node answers").count() > answers).then_some(())
    })?;
    assert!(paused.elapsed() < NOTICED, "it took {:?}", paused.elapsed());
    ground.grade(&[b"first.mpg", b"second.mpg"])?;
    is_copied(&ground, &worker, "second.mpg", &second)?;
    // It knows them after a restart, too.
    drop(worker);
    let worker = ground.start_destination(0, &[("node", &node)])?;
    let third = ground.master(b"third.mpg", 300_000)?;
    ground.grade(&[b"first.mpg", b"second.mpg", b"third.mpg"])?;
    is_copied(&ground, &worker, "third.mpg", &third)
}
