//! Three nodes as an operator forms them: by commands, from a node that runs alone.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::node_cluster::{NodeCluster, voters};
use reelyard_integration_tests::rigs::yard::{bearer_in, wait_for};

/// A node without a leader refuses a change within this time.
const NOTICED: Duration = Duration::from_secs(3);

/// A leader that no quorum has answered for this time may have been replaced.
const LEASE: Duration = Duration::from_millis(500);

/// Requests of one node that may wait at the leader at once.
const WAITS_OF_A_NODE: usize = 192;

/// Sends requests for boxes that are all leased, through a node.
fn wait_for_boxes(cluster: &NodeCluster, index: usize, count: usize) -> Result<Vec<TcpStream>> {
    let (api, bearer) = (cluster.nodes[index].api, bearer_in(&cluster.nodes[0].data_dir));
    let begin = |holder: usize| -> Result<TcpStream> {
        let body = format!("{{\"holder\":\"waiter-{holder}\",\"wait\":\"1m\"}}");
        let mut stream = TcpStream::connect(api)?;
        write!(
            stream,
            "POST /api/v1/pools/judge/leases HTTP/1.1\r\nHost: {api}\r\n{bearer}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    (0..count).map(begin).collect()
}

/// Connections to the cluster port of a node that were closed lately.
fn closed_connections(cluster: &NodeCluster, index: usize) -> Result<usize> {
    const TIME_WAIT: &str = "06";
    let port = format!(":{:04X}", cluster.nodes[index].peers.port());
    let table = std::fs::read_to_string("/proc/net/tcp")?;
    let is_closed = |line: &&str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote, state, ..] = columns[..] else { return false };
        state == TIME_WAIT && (local.ends_with(&port) || remote.ends_with(&port))
    };
    Ok(table.lines().filter(is_closed).count())
}

/// Whether the answer is there, and says that the request may be repeated.
fn is_refused_as_busy(stream: &TcpStream) -> bool {
    let mut answer = [0; 4096];
    let length = stream.peek(&mut answer).unwrap_or(0);
    let answer = String::from_utf8_lossy(&answer[..length]).to_lowercase();
    answer.starts_with("http/1.1 503") && answer.contains("retry-after: 1\r\n")
}

fn create_token(cluster: &NodeCluster, index: usize, name: &str) -> Result<(), String> {
    let created = cluster.call(index, &["token", "create", name, "--role", "viewer"]);
    if created.code == Some(0) { Ok(()) } else { Err(created.err) }
}

fn has_token(cluster: &NodeCluster, index: usize, name: &str) -> bool {
    cluster.call(index, &["token", "list"]).out.contains(name)
}

#[test]
fn three_nodes_answer_changes_anywhere_and_survive_the_loss_of_the_leader() -> Result<()> {
    let mut cluster = NodeCluster::three()?;
    for index in 0..3 {
        create_token(&cluster, index, &format!("by-{index}")).map_err(anyhow::Error::msg)?;
    }
    for index in 0..3 {
        cluster.wait(index, "the node has all tokens", |_| {
            (0..3).all(|by| has_token(&cluster, index, &format!("by-{by}"))).then_some(())
        })?;
        cluster.wait(index, "its console names the leader and the epoch", |view| {
            let (leader, epoch) = (view["leader"].as_u64()?, view["epoch"].as_u64()?);
            let page = cluster.request(index, "GET", "/console/guide", "")?;
            page.body.contains(&format!("Node {leader} leads, epoch {epoch}")).then_some(())
        })?;
    }
    // Each node passes the changes of the leader on, under the ids of the leader.
    let readers = [0, 1].map(|index| cluster.follow(index, "/api/v1/events?kinds=box", ""));
    let put = cluster.call(2, &["box", "pools", "put", "judge", "--size", "9"]);
    assert_eq!(put.code, Some(0), "{}", put.err);
    let [of_leader, passed_on] = readers;
    let (of_leader, passed_on) = (of_leader?, passed_on?);
    let last = passed_on.next()?.id;
    assert_eq!(of_leader.next()?.id, last);
    // Requests that are passed on one after the other share a few connections.
    let before = closed_connections(&cluster, 0)?;
    for _ in 0..100 {
        let pools = cluster.request(1, "GET", "/api/v1/pools", "");
        assert!(pools.as_ref().is_some_and(|pools| pools.status == 200), "{pools:?}");
    }
    let closed = closed_connections(&cluster, 0)?.saturating_sub(before);
    assert!(closed < 64, "{closed} connections for 100 requests");
    // Many that wait at the leader leave room for others. The reader of events at this node waits, too.
    let all = r#"{"holder":"first","count":9,"ttl":"10m"}"#;
    let leased = cluster.request(1, "POST", "/api/v1/pools/judge/leases", all);
    assert!(leased.as_ref().is_some_and(|leased| leased.status < 300), "{leased:?}");
    let taken = WAITS_OF_A_NODE - 1;
    let waits = wait_for_boxes(&cluster, 1, taken + 8)?;
    wait_for("the node refuses those beyond its limit", &[cluster.process(1)?], || {
        (waits.iter().filter(|wait| is_refused_as_busy(wait)).count() == 8).then_some(())
    })?;
    create_token(&cluster, 1, "beside-waits").map_err(anyhow::Error::msg)?;
    drop(waits);
    if let Some(leader) = &mut cluster.nodes[0].process {
        leader.kill();
    }
    // They end with its lead. The next leader has other ids, and says so.
    assert!(passed_on.ended()?, "the events of a lost leader end like any answer");
    cluster.wait(1, "another node leads and takes a change", |view| {
        let led = view["leader"].as_u64().is_some_and(|leader| leader != 1);
        (led && create_token(&cluster, 1, "after").is_ok()).then_some(())
    })?;
    assert_eq!(cluster.follow(1, "/api/v1/events?kinds=box", &last)?.next()?.kind, "reset");
    // The former leader comes back at another address, follows, and passes changes on.
    cluster.nodes[0].peers = cluster.free_addr()?;
    cluster.write(0, true)?;
    cluster.start(0)?;
    cluster.wait(0, "the former leader has the change", |_| {
        has_token(&cluster, 0, "after").then_some(())
    })?;
    create_token(&cluster, 0, "by-the-former").map_err(anyhow::Error::msg)?;
    // The leader can be removed while the others answer.
    cluster.make_lead(2)?;
    let removed = cluster.call(0, &["cluster", "remove", "3"]);
    assert_eq!(removed.code, Some(0), "{}", removed.err);
    cluster.wait(0, "two vote", |view| (voters(view) == [1, 2]).then_some(()))?;
    cluster.wait(2, "the removed node says that it was removed", |view| {
        let why = view["hindrance"].as_str()?;
        (why.contains("node 3 was removed") && view["leader"].is_null()).then_some(())
    })?;
    // Old workers may call any node.
    for index in 0..2 {
        let tasks = cluster.fetch(index, "/tasks");
        assert_eq!(tasks.as_ref().map(|(status, _)| *status), Some(200), "{index}: {tasks:?}");
    }
    // Of three nodes one is left.
    for index in [0, 2] {
        cluster.nodes[index].process.as_mut().context("not started")?.kill();
    }
    // It may have led: then a change that has begun can still be carried out, and at first the outcome is unknown.
    for is_known in [false, true] {
        let asked = Instant::now();
        let body = r#"{"name":"late","role":"viewer"}"#;
        let change = cluster.request(1, "POST", "/api/v1/tokens", body).context("no answer")?;
        let took = asked.elapsed();
        let waits = change.header("Retry-After").and_then(|seconds| seconds.parse::<u64>().ok());
        let is_refused = change.status == 503
            && change.body.contains(":not-leader\"")
            && waits.is_some_and(|seconds| seconds > 0);
        let is_unknown = change.status == 504 && change.body.contains(":outcome-unknown\"");
        assert!(is_refused || (is_unknown && !is_known), "{change:?}");
        assert!(took < NOTICED, "it took {took:?}: {change:?}");
        cluster.wait(1, "no node leads", |view| {
            let members = view["members"].as_array()?;
            let is_led = members.iter().any(|member| member["rank"] == "leader");
            let is_shown = !is_led && view["leader"].is_null();
            view["hindrance"].as_str().filter(|_| is_shown).map(drop)
        })?;
    }
    // The same holds for what only a leader knows. Other reads are answered.
    for (path, status) in [
        ("/api/v1/pools", 503),
        ("/api/v1/plan", 503),
        ("/api/v1/files/film/explain", 503),
        ("/api/v1/hosts", 200),
        ("/console/hosts", 200),
        ("/api/v1/tokens", 200),
    ] {
        let answer = cluster.request(1, "GET", path, "").context("no answer")?;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    assert_eq!(cluster.fetch(1, "/tasks").map(|(status, _)| status), Some(503));
    Ok(())
}

#[test]
fn an_emptied_disk_is_no_member_and_founds_nothing() -> Result<()> {
    let mut cluster = NodeCluster::three()?;
    let emptied = &mut cluster.nodes[2];
    if let Some(process) = &mut emptied.process {
        process.kill();
    }
    std::fs::remove_dir_all(&emptied.data_dir)?;
    let config = emptied.file.display().to_string();
    let refused = binary::run(&["node", "--config", &config]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("reelyard cluster join"), "{}", refused.err);
    // Even if somebody founds a cluster there, the others refuse it in words.
    let founded = cluster.prepare(2, &["init"]);
    assert_eq!(founded.code, Some(0), "{}", founded.err);
    cluster.start(2)?;
    cluster.wait(0, "the leader refuses the node of another cluster", |view| {
        let members = view["members"].as_array()?;
        let trouble = members.iter().find(|member| member["number"] == 3)?["trouble"].as_str()?;
        let is_counted = view["refused"]["another-cluster"].as_u64()? > 0;
        (trouble.contains("cluster") && is_counted).then_some(())
    })?;
    let shown = cluster.call(0, &["cluster", "status"]).out;
    let page = cluster.request(0, "GET", "/console/cluster", "").context("no page")?.body;
    let metrics = cluster.fetch(0, "/metrics").context("no metrics")?.1;
    assert!(
        shown.contains("Refused connections between nodes: ") && page.contains("another-cluster")
    );
    for line in [
        "cluster_refused_connections_total{reason=\"another-cluster\"}",
        "cluster_member_behind_seconds{member=\"3\"}",
        "cluster_member_rank{member=\"1\",rank=\"leader\"} 1",
        "cluster_member_format_level{member=\"2\"}",
    ] {
        assert!(metrics.contains(&format!("reelyard_{line}")), "{line}: {metrics}");
    }
    // It cannot join under its old number either, but it can as a new member.
    let again = cluster.prepare(2, &["join", "--at", "127.0.0.1:1", "--secret", "x"]);
    assert!(again.err.contains("has the store of a node already"), "{}", again.err);
    if let Some(process) = &mut cluster.nodes[2].process {
        process.kill();
    }
    std::fs::remove_dir_all(&cluster.nodes[2].data_dir)?;
    cluster.admit(2)?;
    // It waits until the node has started and has the log, and needs no second command.
    let mut replacing = Command::new(binary::path())
        .args(cluster.with_access(0, &["cluster", "replace", "3", "4"]))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(replacing.stdout.take().context("no output")?).lines();
    let waits = lines.next().context("no line")??;
    assert!(waits.contains("waiting: ") && waits.contains("does not answer yet"), "{waits}");
    cluster.start(2)?;
    let done = lines.next().context("no second line")??;
    assert!(done.contains("node 4 votes") && replacing.wait()?.success(), "{done}");
    let view = cluster.view(0).context("no view")?;
    assert_eq!(voters(&view), [1, 2, 4], "{view}");
    let again = cluster.call(1, &["cluster", "replace", "3", "4"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    let unknown = cluster.call(1, &["cluster", "replace", "4", "7"]);
    assert!(
        unknown.code == Some(4) && unknown.err.contains("node 7 is no member"),
        "{}",
        unknown.err
    );
    Ok(())
}

#[test]
fn a_node_joins_only_with_a_secret_of_an_invitation() -> Result<()> {
    let mut cluster = NodeCluster::new()?;
    cluster.add(true)?;
    assert_eq!(cluster.prepare(0, &["init"]).code, Some(0));
    let twice = cluster.prepare(0, &["init"]);
    assert!(twice.code == Some(1) && twice.err.contains("start the node"), "{}", twice.err);
    cluster.start(0)?;
    cluster.add(true)?;
    let at = cluster.nodes[0].peers.to_string();
    let wrong = cluster.prepare(1, &["join", "--at", &at, "--secret", "wrong"]);
    assert!(wrong.code == Some(4) && wrong.err.contains("cluster invite"), "{}", wrong.err);
    // A token with other rights is no invitation.
    let viewer = cluster.call(0, &["token", "create", "ci", "--role", "viewer"]);
    let other = cluster.prepare(1, &["join", "--at", &at, "--secret", viewer.out.trim()]);
    assert!(other.err.contains("cluster:join"), "{}", other.err);
    // The answer of the first attempt counts, also for a repetition.
    let invited = cluster.call(0, &["cluster", "add"]);
    let secret = invited.out.lines().next().context("no secret")?.to_owned();
    for _ in 0..2 {
        let joined = cluster.prepare(1, &["join", "--at", &at, "--secret", &secret]);
        assert!(joined.out.contains("this is node 2"), "{}{}", joined.out, joined.err);
    }
    // A node that never starts cannot get a vote by hand: no quorum would be left.
    let promoted = cluster.call(0, &["cluster", "promote", "2"]);
    let is_refused = promoted.code == Some(4) && promoted.err.contains("no quorum would be left");
    assert!(is_refused, "{}", promoted.err);
    let last = cluster.call(0, &["cluster", "remove", "1"]);
    assert!(last.code == Some(4) && last.err.contains("only voter"), "{}", last.err);
    Ok(())
}

/// The status of `/readyz`, and its body.
fn readiness(cluster: &NodeCluster, index: usize) -> Result<(u16, String)> {
    cluster.fetch(index, "/readyz").context("the node does not answer")
}

#[test]
fn an_operator_sees_who_is_missing_and_when_no_change_is_possible() -> Result<()> {
    let mut cluster = NodeCluster::three()?;
    // The nodes have no inputs, so none is ready. Only the lines about the leader count here.
    let led = |index: usize| -> Result<bool> {
        let (_, text) = readiness(&cluster, index)?;
        Ok(!text.contains("the yard"))
    };
    for index in 0..3 {
        assert!(led(index)?, "{:?}", readiness(&cluster, index)?);
    }
    let view = cluster.view(0).context("no view")?;
    assert!(view["hindrance"].is_null() && view["leader_changes"] == 1, "{view}");
    assert_eq!(view["warnings"].as_array().map(Vec::len), Some(0), "{view}");
    create_token(&cluster, 1, "passed-on").map_err(anyhow::Error::msg)?;
    let forwarded = cluster.view(1).context("no view")?["forwarded"].as_u64();
    assert!(forwarded.is_some_and(|forwarded| forwarded > 0));
    let metric = |name: &str, value: &str| {
        let page = cluster.fetch(0, "/metrics").map(|(_, page)| page).unwrap_or_default();
        let line = format!("reelyard_cluster_{name} {value}");
        page.lines().any(|present| present == line)
    };
    for (name, value) in [("members", "3"), ("voters", "3"), ("led", "1"), ("warnings", "0")] {
        assert!(metric(name, value), "{name}");
    }
    let second = cluster.nodes[1].process.as_ref().context("not started")?;
    wait_for("node 2 has every entry", &[second], || {
        metric("member_behind_entries{member=\"2\"}", "0.0").then_some(())
    })?;

    // A follower that hears the leader and cannot call it takes no change.
    let file = cluster.nodes[0].file.clone();
    let elsewhere = format!("{}address = \"{}:1\"\n", std::fs::read_to_string(&file)?, cluster.ip);
    for (text, can_call) in [(elsewhere, false), (std::fs::read_to_string(&file)?, true)] {
        std::fs::write(&file, text)?;
        let reloaded = cluster.call(0, &["config", "reload"]);
        assert_eq!(reloaded.code, Some(0), "{}", reloaded.err);
        wait_for("readiness follows the address of the leader", &[second], || {
            let (_, text) = readiness(&cluster, 1).ok()?;
            (text.contains("this node cannot call it") != can_call).then_some(())
        })?;
    }
    let refused = cluster.view(1).context("no view")?["refused"].clone();
    assert!(refused.is_null(), "{refused}");

    // A paused member is silent without a failed connection.
    let paused = cluster.nodes[2].process.as_ref().context("not started")?;
    paused.pause()?;
    cluster.wait(0, "the leader misses the paused node", |view| {
        let warning = view["warnings"][0].as_str()?;
        warning.contains("node 3").then_some(())
    })?;
    let shown = cluster.call(0, &["cluster", "status"]);
    assert!(shown.out.contains("warning: node 3"), "{}", shown.out);
    assert!(led(0)?, "two of three are a quorum");
    // The second loss leaves no quorum. The leader was paused too, and already its first answer says so.
    let first = cluster.process(0)?;
    for process in [first, second] {
        process.pause()?;
    }
    let paused = Instant::now();
    let (_, text) = thread::scope(|scope| {
        let asked = scope.spawn(|| readiness(&cluster, 0));
        wait_for("the request waits", &[], || cluster.has_waiting_request(0).then_some(()))?;
        wait_for("its lead is over", &[], || (paused.elapsed() > LEASE).then_some(()))?;
        first.wake()?;
        asked.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    })?;
    assert!(text.contains("no node leads the yard"), "{text}");
    cluster.wait(0, "no change is possible", |view| view["hindrance"].as_str().map(drop))?;
    let (code, text) = readiness(&cluster, 0)?;
    assert!(code == 503 && text.contains("no node leads the yard"), "{text}");
    assert!(metric("led", "0"));
    for index in 1..3 {
        cluster.nodes[index].process.as_ref().context("not started")?.wake()?;
    }
    cluster.wait(0, "changes are possible again", |view| {
        (view["hindrance"].is_null() && view["warnings"].as_array()?.is_empty()).then_some(())
    })?;
    let log = cluster.nodes[1].process.as_ref().context("not started")?.log_text();
    assert!(log.contains("a node is a member now") && log.contains("node=3"), "{log}");
    // Members that are away cause no line for each call to them.
    let log = cluster.nodes[0].process.as_ref().context("not started")?.log_text();
    let lines = log.lines().filter(|line| !line.contains(" INFO "));
    assert!(log.matches("no quorum answers").count() <= 2, "{log}");
    assert!(lines.clone().count() < 12, "{}", lines.collect::<Vec<_>>().join("\n"));
    // A silent leader counts as none, before another one is elected.
    cluster.nodes[0].process.as_mut().context("not started")?.kill();
    cluster.wait(1, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != 1).map(drop)
    })?;
    // Without a quorum a node starts for some seconds, and says so meanwhile.
    for index in 1..3 {
        cluster.process(index)?.pause()?;
    }
    cluster.begin(0)?;
    wait_for("the node says that it is starting", &[cluster.process(0)?], || {
        let (code, text) = cluster.fetch(0, "/api/v1/cluster")?;
        (code == 503 && text.contains("the node is starting")).then_some(())
    })?;
    for index in 1..3 {
        cluster.process(index)?.wake()?;
    }
    cluster.wait(0, "the node serves", |view| view["leader"].as_u64().map(drop))?;
    // A new token of the administrator waits until this node leads.
    cluster.wait(1, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != 1).map(drop)
    })?;
    let token = cluster.nodes[0].data_dir.join("admin.token");
    let read = || std::fs::read_to_string(&token).context("no token");
    let (lost, config) = (read()?, cluster.nodes[0].file.display().to_string());
    let asked = binary::run(&["token", "recover", "--config", &config]);
    assert!(asked.code == Some(0) && asked.out.contains("leads"), "{}", asked.out);
    assert_eq!(cluster.call(0, &["config", "reload"]).code, Some(0));
    wait_for("the node says why it waits", &[cluster.process(0)?], || {
        let log = cluster.process(0).ok()?.log_text();
        log.contains("on the host of the leader").then_some(())
    })?;
    assert_eq!(read()?, lost);
    cluster.make_lead(0)?;
    wait_for("the token is replaced", &[cluster.process(0)?], || {
        read().ok().filter(|token| *token != lost).map(drop)
    })?;
    create_token(&cluster, 0, "recovered").map_err(anyhow::Error::msg)
}
