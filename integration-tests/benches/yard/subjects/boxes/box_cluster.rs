//! Boxes of a cluster of three nodes, in comparison with three etcd servers. Each request is one event that a
//! majority has synced before the answer.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::yard::bearer_in;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::etcd::{Etcd, EtcdCluster};
use crate::peers::wrk::{self, WrkResult};
use crate::subjects::boxes::boxes_http::{BOXES, CYCLES};
use crate::usage::cpu_of;

/// The members of each cluster.
const MEMBERS: usize = 3;

/// The numbers of parallel clients.
const CLIENTS: [usize; 3] = [1, 64, 256];

/// The duration of one measurement.
const SPAN: Duration = Duration::from_secs(4);

/// The number of alternating runs. The best one counts, because noise only slows a run down.
const TIMES: usize = 3;

/// The duration of the observation without requests.
const IDLE: Duration = Duration::from_secs(30);

/// A read that every node answers from its own state.
const READ: &str = "wrk.path = '/api/v1/pools/q/boxes'";

const PEER: &str = "etcd, three servers, at their leader";

/// Measures both clusters by turns.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let here = std::env::current_dir()?;
    let dir = tempfile::tempdir_in(&here)?;
    let pools = format!("p = {{ size = {BOXES}, queue_limit = 10000 }}, q = {{ size = 1 }}");
    let nodes = NodeCluster::three_in(&here, &format!("box.pools = {{ {pools} }}\n"))?;
    let idle = idle_cores(&nodes)?;
    let (leader, _) = nodes.leader(0)?;
    let ours = ClusterApi { nodes: &nodes, scripts: dir.path() };
    let at_leader = {
        let servers = EtcdCluster::start(dir.path(), MEMBERS)?;
        let theirs = servers.leader()?;
        CLIENTS.map(|clients| -> Result<[WrkResult; 2]> {
            let ours = || ours.run(leader, CYCLES, clients);
            best_of_both(ours, || cycles_of_etcd(theirs, dir.path(), clients))
        })
    };
    let [one, some, many] = at_leader;
    let ([one, etcd_one], [some, etcd_some], [many, etcd_many]) = (one?, some?, many?);
    let follower = (leader + 1) % MEMBERS;
    let forwarded = best_of(|| ours.run(follower, CYCLES, 1))?;
    let read = best_of(|| ours.run(follower, READ, CLIENTS[1]))?;
    let rate = |clients: usize, wanted: f64, ours: &WrkResult, theirs: &WrkResult| {
        let what = format!("three nodes: durable changes over HTTP, {clients} clients");
        BenchFigure::new(what, ours.per_second, "/s", FigureTarget::AtLeast(wanted))
            .beside(PEER, theirs.per_second)
    };
    Ok(vec![
        BenchFigure::new(
            "three nodes: a durable change over HTTP, one client, p50",
            one.median_ms,
            "ms",
            FigureTarget::AtMost(2.0),
        )
        .beside(PEER, etcd_one.median_ms),
        BenchFigure::new(
            "… through a follower, more than at the leader",
            forwarded.median_ms - one.median_ms,
            "ms",
            FigureTarget::AtMost(0.5),
        ),
        rate(CLIENTS[1], 15_000.0, &some, &etcd_some),
        // One event a request: nodes and clients share the cores with HTTP. The journal alone has its own figure.
        rate(CLIENTS[2], 15_000.0, &many, &etcd_many),
        BenchFigure::new(
            "three nodes: reads of one follower over HTTP, 64 clients",
            read.per_second,
            "/s",
            FigureTarget::AtLeast(50_000.0),
        ),
        BenchFigure::new(
            "three nodes: the busiest one without requests",
            idle * 100.0,
            "% of a core",
            FigureTarget::AtMost(1.0),
        ),
    ])
}

/// The part of a core that the busiest node uses without requests.
fn idle_cores(nodes: &NodeCluster) -> Result<f64> {
    let used = || -> Result<Vec<Duration>> {
        let processes =
            (0..MEMBERS).map(|index| nodes.process(index)?.process().context("a node has ended"));
        processes.map(|process| cpu_of(process?)).collect()
    };
    let before = used()?;
    std::thread::sleep(IDLE);
    let spent = used()?.into_iter().zip(before).map(|(after, before)| after - before);
    let most = spent.max().unwrap_or_default();
    Ok(most.as_secs_f64() / IDLE.as_secs_f64())
}

/// The API of each node, called by `wrk`.
struct ClusterApi<'a> {
    nodes: &'a NodeCluster,
    /// The directory of the scripts of `wrk`.
    scripts: &'a Path,
}

impl ClusterApi<'_> {
    fn run(&self, index: usize, script: &str, clients: usize) -> Result<WrkResult> {
        let bearer = bearer_in(&self.nodes.nodes[0].data_dir);
        let authorization = bearer.strip_prefix("Authorization: ").unwrap_or_default();
        let script = wrk::script(self.scripts, &wrk::authorized(authorization, script))?;
        wrk::run(&format!("http://{}", self.nodes.nodes[index].api), &script, clients, SPAN)
    }
}

fn cycles_of_etcd(server: &Etcd, scripts: &Path, clients: usize) -> Result<WrkResult> {
    wrk::run(&server.url(), &wrk::script(scripts, Etcd::cycles())?, clients, SPAN)
}

/// The best results of both sides, which run by turns.
fn best_of_both(
    ours: impl Fn() -> Result<WrkResult>,
    theirs: impl Fn() -> Result<WrkResult>,
) -> Result<[WrkResult; 2]> {
    let mut best = [ours()?, theirs()?];
    for _ in 1..TIMES {
        best = [best[0].better(ours()?), best[1].better(theirs()?)];
    }
    Ok(best)
}

fn best_of(run: impl Fn() -> Result<WrkResult>) -> Result<WrkResult> {
    let mut best = run()?;
    for _ in 1..TIMES {
        best = best.better(run()?);
    }
    Ok(best)
}
