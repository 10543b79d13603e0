//! Three nodes whose links are slow: 10 Mbit/s, and 200 ms there and back.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::chaos::slow_links::{LinkDelay, SlowLinks, SlowProxy};
use reelyard_integration_tests::rigs::node_cluster::{NodeCluster, voters};
use reelyard_integration_tests::rigs::writing_clients::WritingClients;
use reelyard_integration_tests::rigs::yard::bearer_in;

const SLOW: LinkDelay = LinkDelay {
    shortest: Duration::from_millis(100),
    longest: Duration::from_millis(100),
    lost_per_mille: 0,
    bytes_per_second: Some(10_000_000 / 8),
};

/// As the manual says for such a round trip.
const TIMES: &str =
    "journal.heartbeat = \"200ms\"\njournal.election_min = \"1s\"\njournal.election_max = \"2s\"\n";

/// The changes that a node lacks: about a megabyte of the log.
const CHANGES: u64 = 1500;
const CLIENTS: usize = 16;

#[test]
fn over_slow_links_changes_pass_and_a_node_catches_up() -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let links = SlowLinks::default();
    let mut cluster = NodeCluster::new()?;
    for index in 0..3 {
        cluster.add(true)?;
        let proxy = runtime.block_on(SlowProxy::start(links.clone()))?;
        proxy.pass_to(cluster.nodes[index].peers);
        cluster.nodes[index].public = Some(proxy.listens);
        cluster.nodes[index].more = TIMES.to_owned();
        cluster.write(index, true)?;
    }
    let begun = cluster.prepare(0, &["init"]);
    ensure!(begun.code == Some(0), "{}", begun.err);
    cluster.start(0)?;
    for (index, number) in [(1, "2"), (2, "3")] {
        cluster.join(index)?;
        cluster.wait(0, "the node has a vote", |view| {
            let promoted = || cluster.call(0, &["cluster", "promote", number]).code == Some(0);
            (voters(view).len() > index || promoted()).then_some(())
        })?;
    }
    cluster.nodes[2].process.as_mut().context("not started")?.kill();
    let nodes: Vec<SocketAddr> = vec![cluster.nodes[0].api; CLIENTS];
    let clients = WritingClients::start(&nodes, &bearer_in(&cluster.nodes[0].data_dir), "fast");
    clients.wait_for(CHANGES)?;
    let written = clients.stop();
    ensure!(written.failures.is_empty(), "{written:?}");

    links.set(Some(SLOW));
    // Both other nodes answer slowly from now on.
    let made = cluster.call(1, &["token", "create", "over-slow-links", "--role", "viewer"]);
    ensure!(made.code == Some(0), "{}", made.err);
    cluster.start(2)?;
    cluster.wait(0, "the node has every entry", |view| {
        (view["members"][2]["behind"] == 0 && view["members"][2]["behind_ms"] == 0).then_some(())
    })?;
    let view = cluster.view(0).context("no view")?;
    ensure!(view["epoch"] == 1, "there was an election: {view}");
    Ok(())
}
