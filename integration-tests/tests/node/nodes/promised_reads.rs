//! Reads with a promise through any of three nodes, and what a node refuses that is cut off.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::plain_request::PlainAnswer;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::Value;

const TOKENS: &str = "/api/v1/tokens";
const LEASES: &str = "/api/v1/pools/judge/leases";

/// Without a leader each request is answered within this time.
const NOTICED: Duration = Duration::from_secs(3);

/// The leader and the two others.
fn ranks(cluster: &NodeCluster) -> Result<(usize, [usize; 2])> {
    let (leader, _) = cluster.leader(0)?;
    Ok((leader, [(leader + 1) % 3, (leader + 2) % 3]))
}

/// Adds a token through a node, and answers the entry of the journal that has it.
fn add_token(cluster: &NodeCluster, index: usize, name: &str) -> Result<u64> {
    let body = format!("{{\"name\": \"{name}\", \"role\": \"viewer\"}}");
    let added = cluster.request(index, "POST", TOKENS, &body).context("no answer")?;
    ensure!(added.status == 201, "{added:?}");
    let applied = added.header("Reelyard-Applied").context("no entry")?;
    Ok(applied.parse()?)
}

fn read(cluster: &NodeCluster, index: usize, query: &str) -> Result<PlainAnswer> {
    let path = format!("{TOKENS}?limit=1000{query}");
    cluster.request(index, "GET", &path, "").context("no answer")
}

/// Writes through one node while the other one is paused, and then reads there. The read arrives before the change.
fn write_and_read_elsewhere(
    cluster: &NodeCluster,
    (writes, reads): (usize, usize),
    name: &str,
    promise: impl Fn(u64) -> String,
) -> Result<()> {
    cluster.process(reads)?.pause()?;
    let written = add_token(cluster, writes, name);
    let query = promise(*written.as_ref().unwrap_or(&0));
    let answer = thread::scope(|scope| {
        let reading = scope.spawn(|| read(cluster, reads, &query));
        // The paused node does not accept the connection by itself: the system does, and the request waits.
        while !reading.is_finished() && !cluster.has_waiting_request(reads) {
            thread::yield_now();
        }
        cluster.process(reads)?.wake()?;
        reading.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?
    })?;
    written?;
    ensure!(answer.status == 200 && answer.body.contains(name), "{query}: {answer:?}");
    Ok(())
}

#[test]
fn a_change_is_read_at_another_node_by_entry_or_leader() -> Result<()> {
    let cluster = NodeCluster::three()?;
    let (leader, [one, other]) = ranks(&cluster)?;
    for number in 0..5 {
        let by_entry = format!("by-entry-{number}");
        write_and_read_elsewhere(&cluster, (one, other), &by_entry, |applied| {
            format!("&min_applied={applied}")
        })?;
        let by_leader = format!("by-leader-{number}");
        write_and_read_elsewhere(&cluster, (leader, other), &by_leader, |_| {
            "&consistency=leader".to_owned()
        })?;
    }
    let exact = read(&cluster, leader, "&consistency=leader&max_staleness=0s")?;
    assert_eq!((exact.status, exact.header("Reelyard-Staleness")), (200, Some("0ms")));
    let near = read(&cluster, other, "&max_staleness=2s")?;
    assert_eq!(near.status, 200, "{near:?}");
    assert!(near.header("Reelyard-Staleness").is_some_and(|age| age.ends_with("ms")), "{near:?}");
    // An entry that does not exist yet, and parameters of another form.
    let applied: u64 = near.header("Reelyard-Applied").context("no entry")?.parse()?;
    let early = read(&cluster, other, &format!("&min_applied={}", applied + 1000))?;
    assert_eq!((early.status, early.header("Retry-After")), (503, Some("1")), "{early:?}");
    assert!(early.body.contains("problem:behind") && early.body.contains("another node"));
    for wrong in ["&consistency=quorum", "&min_applied=x", "&max_staleness=soon", "&promise=1"] {
        assert_eq!(read(&cluster, other, wrong)?.status, 400, "{wrong}");
    }
    Ok(())
}

/// Pauses two nodes while the third one has sent a request to the leader, or answers it as the leader.
fn lose_quorum_while_a_request_waits(
    cluster: &NodeCluster,
    alone: usize,
    paused: [usize; 2],
) -> Result<()> {
    let waits = || {
        let pool = cluster.request(alone, "GET", "/api/v1/pools/judge", "")?;
        let pool: Value = serde_json::from_str(&pool.body).ok()?;
        (pool["waiting"].as_u64()? > 0).then_some(())
    };
    let (lost, answer) = thread::scope(|scope| {
        let wanted = "{\"holder\": \"w\", \"ttl\": \"1h\", \"wait\": \"1m\"}";
        let waiting = scope.spawn(|| cluster.request(alone, "POST", LEASES, wanted));
        wait_for("the request waits at the leader", &[cluster.process(alone)?], waits)?;
        for index in paused {
            cluster.process(index)?.pause()?;
        }
        let lost = Instant::now();
        let answer = waiting.join().map_err(|_| anyhow::anyhow!("the client panicked"))?;
        anyhow::Ok((lost, answer.context("no answer")?))
    })?;
    let took = lost.elapsed();
    let is_unknown = answer.status == 504 && answer.body.contains("problem:outcome-unknown");
    // The leader itself knows that it gave no box.
    let is_refused = answer.status == 503 && answer.body.contains("problem:leader-changed");
    ensure!(is_unknown || is_refused, "{answer:?}");
    ensure!(took < NOTICED, "the answer took {took:?}: {answer:?}");
    // The leader accepts connections although it is paused. Nothing is sent to it, so nothing is unknown.
    let asked = Instant::now();
    let change = cluster.request(alone, "POST", LEASES, "{\"holder\": \"late\"}");
    let (took, change) = (asked.elapsed(), change.context("no answer")?);
    ensure!(change.status == 503 && change.body.contains(":not-leader\""), "{change:?}");
    ensure!(took < NOTICED, "the refusal took {took:?}: {change:?}");
    Ok(())
}

#[test]
fn a_node_that_is_cut_off_refuses_what_it_cannot_promise() -> Result<()> {
    let cluster = NodeCluster::three()?;
    let (leader, [one, other]) = ranks(&cluster)?;
    let put = cluster.call(0, &["box", "pools", "put", "judge", "--size", "1"]);
    ensure!(put.code == Some(0), "{}", put.err);
    let lease = cluster.request(0, "POST", LEASES, "{\"holder\": \"h\", \"ttl\": \"1h\"}");
    ensure!(lease.as_ref().is_some_and(|lease| lease.status == 201), "{lease:?}");
    // A follower without its leader, and a leader without its followers.
    for (alone, paused) in [(other, [leader, one]), (leader, [one, other])] {
        lose_quorum_while_a_request_waits(&cluster, alone, paused)?;
        wait_for("the node notices that it is alone", &[cluster.process(alone)?], || {
            let refused = read(&cluster, alone, "&max_staleness=1s").ok()?;
            (refused.status == 503 && refused.body.contains("problem:stale")).then_some(())
        })?;
        let refused = read(&cluster, alone, "&consistency=leader")?;
        assert_eq!(
            (refused.status, refused.header("Retry-After")),
            (503, Some("1")),
            "{refused:?}"
        );
        assert!(refused.body.contains("problem:not-leader"), "{refused:?}");
        // Everything that it knows can still be read, with its age.
        let known = read(&cluster, alone, "")?;
        let age = known.header("Reelyard-Staleness").and_then(|age| age.strip_suffix("ms"));
        let age: u64 = age.context("no age")?.parse()?;
        assert!(known.status == 200 && age > 1000, "{known:?}");
        for index in paused {
            cluster.process(index)?.wake()?;
        }
        wait_for("the node has a leader again", &[cluster.process(alone)?], || {
            let read = read(&cluster, alone, "&consistency=leader&max_staleness=1s").ok()?;
            (read.status == 200).then_some(())
        })?;
        // The lead goes back, so that the second turn meets a leader.
        wait_for("the first leader leads again", &[cluster.process(leader)?], || {
            let wanted = (leader + 1).to_string();
            let now = cluster.leader(alone).ok()?.0;
            let moved = cluster.call(now, &["cluster", "transfer", &wanted]);
            (now == leader || moved.code == Some(0)).then_some(())
        })?;
    }
    Ok(())
}

/// A refusal follows from the state of a node, too, and so does the answer that a lease is valid. So a former leader
/// must not answer by what it knew.
#[test]
fn a_former_leader_that_wakes_answers_nothing_by_its_old_state() -> Result<()> {
    let cluster = NodeCluster::three()?;
    let put = cluster.call(0, &["box", "pools", "put", "judge", "--size", "9"]);
    ensure!(put.code == Some(0), "{}", put.err);
    for number in 0..5 {
        let (leader, [other, _]) = ranks(&cluster)?;
        let wanted = "{\"holder\": \"h\", \"ttl\": \"1h\"}";
        let lease = cluster.request(leader, "POST", "/api/v1/pools/judge/leases", wanted);
        let lease: Value = serde_json::from_str(&lease.context("no lease")?.body)?;
        let of_lease = |what: &str| {
            format!("/api/v1/leases/{}/{what}", lease["lease_id"].as_str().unwrap_or_default())
        };
        let token = format!("{{\"token\": {}}}", lease["token"]);
        cluster.process(leader)?.pause()?;
        cluster.wait(other, "another node leads", |view| {
            view["leader"].as_u64().filter(|now| *now != leader as u64 + 1).map(drop)
        })?;
        let name = format!("late-{number}");
        let added = add_token(&cluster, other, &name);
        let released = cluster.request(other, "POST", &of_lease("release"), &token);
        ensure!(released.as_ref().is_some_and(|answer| answer.status == 200), "{released:?}");
        // The token is known to the others only. The lease is valid only for the former leader.
        let verify = number % 2 == 1;
        let (method, path, body) = match verify {
            true => ("POST", of_lease("verify"), token.as_str()),
            false => ("DELETE", format!("{TOKENS}/{name}"), ""),
        };
        let answer = thread::scope(|scope| {
            let removing = scope.spawn(|| cluster.request(leader, method, &path, body));
            while !removing.is_finished() && !cluster.has_waiting_request(leader) {
                thread::yield_now();
            }
            cluster.process(leader)?.wake()?;
            removing
                .join()
                .map_err(|_| anyhow::anyhow!("the client panicked"))?
                .context("no answer")
        })?;
        added?;
        let expected = if verify { 410 } else { 204 };
        ensure!([expected, 503].contains(&answer.status), "round {number}: {answer:?}");
    }
    Ok(())
}
