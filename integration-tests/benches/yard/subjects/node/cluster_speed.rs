//! The speed of the transport between nodes: the cost of TLS, a member that catches up, and a snapshot beside commits.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::yard::{bearer_in, free_addr};
use serde_json::Value;

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::wrk::{self, WrkResult};
use crate::subjects::boxes::boxes_http::{BOXES, CYCLES};
use crate::subjects::shares::share_links::makes;
use crate::usage::cpu_of;

const MEMBERS: usize = 3;
const CLIENTS: usize = 64;

/// The number of alternating runs with TLS and without. The best ones count.
const TIMES: usize = 5;

/// The duration of one run.
const SPAN: Duration = Duration::from_secs(4);

/// How far the follower falls behind, in events. Each request is one event.
const BEHIND: f64 = 1_000_000.0;

/// The links in the snapshot.
const LINKS: f64 = 1_000_000.0;
const SHARED_FILES: usize = 16;

/// The duration of the runs beside the snapshot. Short, so that the runs end soon after it.
const SHORT_SPAN: Duration = Duration::from_secs(1);

/// How often the leader is killed.
const KILLS: usize = 200;

/// The longest time for catching up, and for a snapshot.
const PATIENCE: Duration = Duration::from_secs(300);

/// Measures the cost of TLS, the catching up, and the snapshot.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let here = std::env::current_dir()?;
    let pools = format!("box.pools.p = {{ size = {BOXES}, queue_limit = 10000 }}\n");
    let mut plain = NodeCluster::three_in(&here, &pools)?;
    let TlsCost { without_tls, with_tls, way_without_tls, way_with_tls } =
        cost_of_tls(&plain, &here, &pools)?;
    let mut pauses = pauses_of_kills(&mut plain)?;
    pauses.sort_unstable();
    let pause = |percent: usize| pauses[(KILLS * percent / 100).min(KILLS - 1)].as_secs_f64() * 1e3;
    let caught_up = events_caught_up(&mut plain)?;
    drop(plain);
    let snapshot = snapshot_beside_commits(&here, &pools)?;
    Ok(vec![
        BenchFigure::new(
            "three nodes: cost of TLS between them, 64 clients",
            (1.0 - with_tls.per_second / without_tls.per_second) * 100.0,
            "%",
            FigureTarget::AtMost(5.0),
        ),
        BenchFigure::new(
            "… processor time of all nodes for a change",
            with_tls.cpu_us,
            "µs",
            FigureTarget::AtMostTimesPeer(1.05),
        )
        .beside("the same without TLS", without_tls.cpu_us),
        BenchFigure::new(
            "… one client through a follower, p50",
            way_with_tls,
            "ms",
            FigureTarget::AtMostTimesPeer(1.05),
        )
        .beside("the same without TLS", way_without_tls),
        BenchFigure::new(
            format!("{KILLS} times kill -9 of the leader: the next acknowledged change, p50"),
            pause(50),
            "ms",
            FigureTarget::AtMost(1000.0),
        ),
        BenchFigure::new("… p99", pause(99), "ms", FigureTarget::AtMost(2000.0)),
        BenchFigure::new(
            format!("a follower {BEHIND} events behind catches up, with its start"),
            caught_up,
            "events/s",
            FigureTarget::AtLeast(100_000.0),
        ),
        BenchFigure::new(
            format!("a snapshot of {:.0} MB to a new member", snapshot.megabytes),
            snapshot.megabytes_per_second,
            "MB/s",
            FigureTarget::AtLeast(50.0),
        ),
        BenchFigure::new(
            "… commits meanwhile, of those when it is up to date",
            snapshot.commits * 100.0,
            "%",
            FigureTarget::AtLeast(50.0),
        ),
    ])
}

/// The speed of changes with 64 clients.
#[derive(Clone, Copy, Debug, Default)]
struct ChangeCost {
    per_second: f64,
    /// The processor time of all nodes for one change, in microseconds.
    cpu_us: f64,
}

/// The best of several runs without TLS, and with it.
struct TlsCost {
    without_tls: ChangeCost,
    with_tls: ChangeCost,
    /// The median time of a change of one client through a follower, in milliseconds.
    way_without_tls: f64,
    way_with_tls: f64,
}

fn cost_of_tls(plain: &NodeCluster, parent: &Path, pools: &str) -> Result<TlsCost> {
    let with_tls = NodeCluster::three_with_certificates_in(parent, pools)?;
    let mut best = [ChangeCost { per_second: 0.0, cpu_us: f64::MAX }; 2];
    let mut ways = [f64::MAX; 2];
    for _ in 0..TIMES {
        for (nodes, way) in [plain, &with_tls].into_iter().zip(&mut ways) {
            let (leader, _) = nodes.leader(running(nodes)?)?;
            let result = run_cycles(nodes, (leader + 1) % MEMBERS, 1, SPAN)?;
            *way = way.min(result.median_ms);
        }
        for (nodes, best) in [plain, &with_tls].into_iter().zip(&mut best) {
            let before = cpu_of_all(nodes)?;
            let per_second = cycles_per_second(nodes, SPAN)?;
            let used = cpu_of_all(nodes)?.saturating_sub(before).as_secs_f64();
            best.per_second = best.per_second.max(per_second);
            best.cpu_us = best.cpu_us.min(used * 1e6 / (per_second * SPAN.as_secs_f64()));
        }
    }
    eprintln!("without TLS {:?}, with it {:?}; ways {ways:?} ms", best[0], best[1]);
    let ([without_tls, with_tls], [way_without_tls, way_with_tls]) = (best, ways);
    Ok(TlsCost { without_tls, with_tls, way_without_tls, way_with_tls })
}

/// The processor time of all nodes so far.
fn cpu_of_all(nodes: &NodeCluster) -> Result<Duration> {
    let running = nodes.nodes.iter().filter_map(|node| node.process.as_ref()?.process());
    running.map(cpu_of).sum()
}

/// Durable changes per second at the leader.
fn cycles_per_second(nodes: &NodeCluster, span: Duration) -> Result<f64> {
    let (leader, _) = nodes.leader(running(nodes)?)?;
    Ok(run_cycles(nodes, leader, CLIENTS, span)?.per_second)
}

/// Durable changes at this node.
fn run_cycles(
    nodes: &NodeCluster,
    index: usize,
    clients: usize,
    span: Duration,
) -> Result<WrkResult> {
    let script = wrk::script(nodes.path(), &wrk::authorized(&authorization(nodes), CYCLES))?;
    wrk::run(&url(nodes, index), &script, clients, span)
}

/// Kills the leader again and again. Answers the times from each kill to the next acknowledged change. A follower gets
/// the request at once, and passes it on when there is a leader.
fn pauses_of_kills(nodes: &mut NodeCluster) -> Result<Vec<Duration>> {
    let mut pauses = Vec::with_capacity(KILLS);
    for _ in 0..KILLS {
        let (leader, _) = nodes.leader(0)?;
        drop(nodes.nodes[leader].process.take());
        let began = Instant::now();
        while !is_acknowledged(nodes, (leader + 1) % MEMBERS) {
            ensure!(began.elapsed() < PATIENCE, "no change is acknowledged after a kill");
        }
        pauses.push(began.elapsed());
        nodes.start(leader)?;
        let all_follow = |view: &Value| is_complete(view).then_some(());
        nodes.wait((leader + 1) % MEMBERS, "the killed node has caught up", all_follow)?;
    }
    Ok(pauses)
}

/// Whether a box was granted.
fn is_acknowledged(nodes: &NodeCluster, index: usize) -> bool {
    let wanted = r#"{"holder":"a bench","ttl":"1s"}"#;
    let answer = nodes.request(index, "POST", "/api/v1/pools/p/leases", wanted);
    answer.is_some_and(|answer| answer.status == 201)
}

/// Whether every member is in contact with the node that answers.
fn is_complete(view: &Value) -> bool {
    let members = view["members"].as_array();
    members.is_some_and(|members| members.iter().all(|member| member["trouble"].is_null()))
        && view["hindrance"].is_null()
}

/// Stops a follower until it is far behind. Answers how many events per second it applies after its start.
fn events_caught_up(nodes: &mut NodeCluster) -> Result<f64> {
    let (leader, _) = nodes.leader(0)?;
    let follower = (leader + 1) % MEMBERS;
    drop(nodes.nodes[follower].process.take());
    let mut behind = 0.0;
    while behind < BEHIND {
        behind += cycles_per_second(nodes, SPAN)? * SPAN.as_secs_f64();
    }
    let began = Instant::now();
    nodes.begin(follower)?;
    let number = follower as u64 + 1;
    while member(&status(nodes, leader)?, number)?["behind"].as_u64() != Some(0) {
        ensure!(began.elapsed() < PATIENCE, "the follower does not catch up");
        sleep(Duration::from_millis(20));
    }
    eprintln!("{behind:.0} events in {:?}", began.elapsed());
    Ok(behind / began.elapsed().as_secs_f64())
}

/// The figures of a snapshot to a new member.
struct SnapshotSpeed {
    megabytes: f64,
    /// Until the receiver has all bytes.
    megabytes_per_second: f64,
    /// Commits beside the snapshot, as a part of those when the member is up to date.
    commits: f64,
}

fn snapshot_beside_commits(parent: &Path, pools: &str) -> Result<SnapshotSpeed> {
    let films = tempfile::tempdir_in(parent)?;
    for file in 0..SHARED_FILES {
        std::fs::write(films.path().join(format!("{file}.mpg")), "some bytes")?;
    }
    let links = free_addr([127, 0, 0, 1].into())?;
    let share = format!("share.listen = \"{links}\"\nshare.roots.films = {:?}\n", films.path());
    let mut nodes = NodeCluster::founder_in(parent, &format!("{pools}{share}"))?;
    create_links(&nodes)?;
    let before = status(&nodes, 0)?["leader_changes"].clone();
    let joining = nodes.add(true)?;
    nodes.nodes[joining].more = pools.to_owned();
    nodes.write(joining, true)?;
    nodes.admit(joining)?;
    nodes.begin(joining)?;
    let (commits, transfer) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch_snapshot(&nodes));
        let mut rates = Vec::new();
        while !watching.is_finished() {
            rates.push(cycles_per_second(&nodes, SHORT_SPAN)?);
        }
        let transfer = watching
            .join()
            .map_err(|_| anyhow::anyhow!("the watch of the snapshot panicked"))??;
        anyhow::Ok((rates.iter().sum::<f64>() / rates.len() as f64, transfer))
    })?;
    ensure!(status(&nodes, 0)?["leader_changes"] == before, "there was an election");
    // The new member takes its part of the machine also when it is up to date. It has no vote yet.
    let is_up_to_date = |view: &Value| {
        let behind = member(view, 2).ok()?["behind"].as_u64()?;
        (behind == 0).then_some(())
    };
    nodes.wait(0, "the new member is up to date", is_up_to_date)?;
    let usual = (0..TIMES).map(|_| cycles_per_second(&nodes, SHORT_SPAN));
    let usual = usual.collect::<Result<Vec<f64>>>()?.into_iter().sum::<f64>() / TIMES as f64;
    ensure!(member(&status(&nodes, 0)?, 2)?["rank"] == "learner", "it got its vote too soon");
    eprintln!("{transfer:?}; commits {usual:.0}/s after it, {commits:.0}/s beside it");
    let SnapshotTransfer { megabytes, sent, .. } = transfer;
    let megabytes_per_second = megabytes / sent.as_secs_f64();
    Ok(SnapshotSpeed { megabytes, megabytes_per_second, commits: commits / usual })
}

fn create_links(nodes: &NodeCluster) -> Result<()> {
    let script = makes(nodes.path(), &authorization(nodes), SHARED_FILES)?;
    let mut created = 0.0;
    while created < LINKS {
        created +=
            wrk::answers_per_second(&url(nodes, 0), &script, CLIENTS, SPAN)? * SPAN.as_secs_f64();
    }
    Ok(())
}

/// The way of a snapshot to a new member.
#[derive(Clone, Copy, Debug)]
struct SnapshotTransfer {
    megabytes: f64,
    /// From its begin until the receiver has all bytes.
    sent: Duration,
    /// From its begin until the receiver has installed it.
    installed: Duration,
}

/// Waits until the second member has installed its snapshot.
fn watch_snapshot(nodes: &NodeCluster) -> Result<SnapshotTransfer> {
    let waits = Instant::now();
    let mut begun: Option<(Instant, SnapshotTransfer)> = None;
    loop {
        ensure!(waits.elapsed() < PATIENCE, "the snapshot does not end");
        let view = status(nodes, 0)?;
        let snapshot = &member(&view, 2)?["snapshot"];
        if let Some(bytes) = snapshot["bytes"].as_u64() {
            let nothing = SnapshotTransfer {
                megabytes: bytes as f64 / 1e6,
                sent: Duration::ZERO,
                installed: Duration::ZERO,
            };
            let (began, transfer) = begun.get_or_insert((Instant::now(), nothing));
            if transfer.sent.is_zero() && snapshot["sent"] == bytes {
                transfer.sent = began.elapsed();
            }
        } else if let Some((began, mut transfer)) = begun {
            transfer.installed = began.elapsed();
            ensure!(!transfer.sent.is_zero(), "the snapshot ended before all was sent");
            return Ok(transfer);
        }
        sleep(Duration::from_millis(20));
    }
}

/// The first node that runs.
fn running(nodes: &NodeCluster) -> Result<usize> {
    nodes.nodes.iter().position(|node| node.process.is_some()).context("no node runs")
}

fn authorization(nodes: &NodeCluster) -> String {
    let bearer = bearer_in(&nodes.nodes[0].data_dir);
    bearer.strip_prefix("Authorization: ").unwrap_or_default().to_owned()
}

fn url(nodes: &NodeCluster, index: usize) -> String {
    format!("http://{}", nodes.nodes[index].api)
}

fn status(nodes: &NodeCluster, index: usize) -> Result<Value> {
    nodes.view(index).context("the node shows no cluster")
}

fn member(view: &Value, number: u64) -> Result<&Value> {
    let members = view["members"].as_array().context("no members")?;
    members.iter().find(|member| member["number"] == number).context("no such member")
}
