//! `/metrics` of a running node and its workers, checked by a strict reader.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::exposition::{ExpositionPage, Form, read};
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use reelyard_integration_tests::rigs::yard::{
    ProcessYard, RoleProcess, holds, wait_for, wait_until_up,
};
use serde_json::json;

const FILES: usize = 5;
const SIZE: usize = 10_000;
const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";

/// The page at `addr`, which must be valid.
fn scrape(addr: SocketAddr) -> Result<ExpositionPage> {
    let (head, body) = get(addr, "*/*")?;
    anyhow::ensure!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    read(&body, Form::Prometheus).with_context(|| body.clone())
}

/// The head in lower case and the body of `GET /metrics`.
fn get(addr: SocketAddr, accept: &str) -> Result<(String, String)> {
    let output = Command::new("curl")
        .args(["-s", "-i", "-m", "20", "-H", &format!("Accept: {accept}")])
        .arg(format!("http://{addr}/metrics"))
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("no answer: {text}"))?;
    anyhow::ensure!(head.starts_with("HTTP/1.1 200"), "{head}");
    Ok((head.to_lowercase(), body.to_owned()))
}

/// A yard of one source and one destination that has copied every file.
struct CopiedYard {
    ground: ProcessYard,
    node: RoleProcess,
    source: RoleProcess,
    destination: RoleProcess,
}

impl CopiedYard {
    fn start() -> Result<Self> {
        let ground = ProcessYard::new(1, 1)?;
        let names: Vec<_> = (0..FILES).map(|i| format!("n{i}.mpg").into_bytes()).collect();
        let masters: Vec<_> =
            names.iter().map(|name| ground.master(name, SIZE)).collect::<Result<_>>()?;
        // It is ranked and can never be copied.
        let mut ranked: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        ranked.push(b"no-master.mpg");
        ground.grade(&ranked)?;
        let node = ground.start_node(&[("token", "open-sesame-open-now")])?;
        let token = [("token", "open-sesame-open-now")];
        let source = ground.start_source(0, &token)?;
        let destination = ground.start_destination(0, &token)?;
        wait_until_up(ground.destination(0), &destination)?;
        let copied = CopiedYard { ground, node, source, destination };
        for (name, bytes) in names.iter().zip(&masters) {
            let path = copied.ground.copies(0).join(str::from_utf8(name)?);
            wait_for("the copy", &copied.roles(), || holds(&path, bytes).then_some(()))?;
        }
        Ok(copied)
    }

    fn roles(&self) -> [&RoleProcess; 3] {
        [&self.node, &self.source, &self.destination]
    }
}

#[test]
fn copies_are_counted_where_they_are_planned_made_and_served() -> Result<()> {
    let yard = CopiedYard::start()?;
    let ground = &yard.ground;
    let bytes = (FILES * SIZE) as f64;
    let page = wait_for("the copies on the node's page", &yard.roles(), || {
        let page = scrape(ground.node).ok()?;
        (page.value("reelyard_copies_ended_total{outcome=\"done\"}") == Some(FILES as f64))
            .then_some(page)
    })?;
    assert_eq!(page.value("reelyard_copied_bytes_total{reason=\"ranked\"}"), Some(bytes));
    assert_eq!(page.sum("reelyard_copied_bytes_total"), bytes);
    assert_eq!(page.value("reelyard_exchanges_total"), Some(0.0));
    assert_eq!(page.value("reelyard_removed_bytes_total{reason=\"exchanged\"}"), Some(0.0));
    assert_eq!(page.value("reelyard_copies_planned_total"), Some(FILES as f64));
    assert_eq!(page.sum("reelyard_tasks"), 0.0);
    assert_eq!(page.sum("reelyard_copy_failures_total"), 0.0);
    assert_eq!(page.value("reelyard_files_graded"), Some(FILES as f64 + 1.0));
    assert!(page.value("reelyard_planning_round_seconds_count").unwrap() >= 1.0);
    assert_eq!(page.value("reelyard_ready"), Some(1.0));
    assert_eq!(page.value("reelyard_journal_leads"), Some(1.0));
    let commits = page.value("reelyard_journal_commits_total").unwrap();
    assert!(commits >= FILES as f64, "{commits}");
    assert!(page.value("reelyard_journal_commit_seconds_count").unwrap() >= commits - 1.0);

    let worker = wait_for("the copies on the destination's page", &yard.roles(), || {
        let page = scrape(ground.destination(0)).ok()?;
        (page.value("reelyard_copied_bytes_total") == Some(bytes)).then_some(page)
    })?;
    let done = "reelyard_copies_ended_total{outcome=\"done\"}";
    assert_eq!(worker.value(done), Some(FILES as f64));
    let handled = "reelyard_actor_messages_handled_total{actor=\"downloader\"}";
    assert!(worker.value(handled).unwrap() >= FILES as f64);
    let source = scrape(ground.source(0))?;
    assert!(source.value("reelyard_data_port_sent_bytes_total").unwrap() >= bytes);
    assert_eq!(source.value("reelyard_copies_begun_total"), None, "it makes no copies");
    Ok(())
}

#[test]
fn actors_hosts_inputs_and_requests_are_on_the_page() -> Result<()> {
    let mut yard = CopiedYard::start()?;
    let addr = yard.ground.node;
    let page = scrape(addr)?;
    for actor in ["catalog", "heartbeat", "task_manager", "remover", "cfw_worker"] {
        let of = |name: &str| page.value(&format!("{name}{{actor=\"{actor}\"}}")).unwrap();
        let actors = if actor == "cfw_worker" { 2.0 } else { 1.0 };
        assert_eq!(of("reelyard_actors_running"), actors, "{actor}");
        assert_eq!(of("reelyard_actor_restarts_total"), 0.0);
        assert!(of("reelyard_actor_mailbox_messages") >= 0.0);
        assert!(of("reelyard_actor_messages_handled_total") > 0.0, "{actor}");
    }
    for input in ["grade_info", "hitcount_history", "source_dirs"] {
        let age = page.value(&format!("reelyard_input_age_seconds{{input=\"{input}\"}}")).unwrap();
        assert!((0.0..60.0).contains(&age), "{input}: {age}");
        let usable = page.value(&format!("reelyard_input_usable{{input=\"{input}\"}}"));
        assert_eq!(usable, Some(1.0), "{input}");
    }
    let host = yard.ground.destination(0);
    let of = |name: &str| format!("reelyard_host_{name}{{host=\"{host}\"}}");
    let page = wait_for("the destination is known", &yard.roles(), || {
        let page = scrape(addr).ok()?;
        (page.value(&of("files")) == Some(FILES as f64)).then_some(page)
    })?;
    assert_eq!(page.value(&of("up")), Some(1.0));
    assert!(page.value(&of("disk_available_bytes")).unwrap() > 0.0);
    let up = "reelyard_hosts{role=\"destination\",health=\"up\"}";
    assert_eq!((page.value(up), page.sum("reelyard_hosts")), (Some(1.0), 2.0));

    // File names must not be on a page without access control.
    let (_, text) = get(addr, OPEN_METRICS)?;
    assert!(!text.contains(".mpg") && !text.contains("/masters"), "{text}");
    let (head, text) = get(addr, OPEN_METRICS)?;
    assert!(head.contains("content-type: application/openmetrics-text"), "{head}");
    let open = read(&text, Form::OpenMetrics).with_context(|| text.clone())?;
    let asked = "reelyard_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"}";
    assert!(open.value(asked).unwrap() >= 2.0, "{text}");
    Command::new("curl").args(["-s", "-X", "BREW", &format!("http://{addr}/pot/1")]).output()?;
    Command::new("curl").args(["-s", &format!("http://{addr}/api/v1/tasks")]).output()?;
    let page = scrape(addr)?;
    let count = |labels: &str| page.value(&format!("reelyard_http_requests_total{{{labels}}}"));
    assert_eq!(count("route=\"other\",method=\"other\",status=\"404\""), Some(1.0));
    assert_eq!(count("route=\"/api/v1/tasks\",method=\"GET\",status=\"401\""), Some(1.0));

    yard.destination.kill();
    wait_for("the destination is down", &[&yard.node], || {
        let page = scrape(addr).ok()?;
        (page.value(&of("up")) == Some(0.0)).then_some(())
    })?;
    Ok(())
}

#[test]
fn failures_are_counted_by_the_blamed_side() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.master(b"slow.mpg", 8 << 20)?;
    ground.grade(&[b"slow.mpg"])?;
    // The copy takes over a minute: it does not end before its source.
    let node = ground.start_node(&[("task.copy_speed", "1Mbit/s")])?;
    let mut source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    wait_for("the copy runs", &[&node, &source, &destination], || {
        let page = scrape(ground.node).ok()?;
        (page.value("reelyard_tasks{state=\"working\"}") == Some(1.0)).then_some(())
    })?;
    source.kill();
    let page = wait_for("a failure of the source", &[&node, &destination], || {
        let page = scrape(ground.node).ok()?;
        (page.value("reelyard_copy_failures_total{blame=\"source\"}")? >= 1.0).then_some(page)
    })?;
    assert!(page.value("reelyard_copies_ended_total{outcome=\"failed\"}").unwrap() >= 1.0);
    assert_eq!(page.sum("reelyard_copied_bytes_total"), 0.0);
    Ok(())
}

#[test]
fn pools_of_boxes_are_on_the_page() -> Result<()> {
    let boxes = BoxNode::start(&[])?;
    boxes.put("p", json!({ "size": 4, "grace": "0s" }));
    boxes.put("idle", json!({ "size": 1 }));
    let lease = boxes.take("p", json!({ "holder": "a person" }));
    boxes.with(&lease, "renew");
    boxes.with(&lease, "release");
    boxes.take("p", json!({ "holder": "a person", "count": 2 }));
    boxes.post("/pools/p/leases", json!({ "holder": "b", "count": 3 }));
    boxes.post("/pools/p/leases", json!({ "holder": "b", "count": 9 }));
    boxes.post("/pools/p/boxes/3/quarantine", json!({ "reason": "smells" }));
    let expected = [
        ("box_pools", 2.0),
        ("boxes{pool=\"p\",state=\"leased\"}", 2.0),
        ("boxes{pool=\"p\",state=\"quarantined\"}", 1.0),
        ("boxes{pool=\"idle\",state=\"free\"}", 1.0),
        ("box_leases_granted_total{pool=\"p\"}", 3.0),
        ("box_leases_ended_total{pool=\"p\",how=\"released\"}", 1.0),
        ("box_leases_ended_total{pool=\"p\",how=\"expired\"}", 0.0),
        ("box_renewals_total{pool=\"p\"}", 1.0),
        ("boxes_quarantined_total{pool=\"p\"}", 1.0),
        ("box_requests_total{pool=\"p\",outcome=\"served\"}", 2.0),
        ("box_requests_total{pool=\"p\",outcome=\"timed_out\"}", 1.0),
        ("box_requests_total{pool=\"p\",outcome=\"refused\"}", 1.0),
        ("box_queue_length{pool=\"p\"}", 0.0),
        ("box_wait_seconds_count{pool=\"p\"}", 2.0),
        ("box_wait_seconds_bucket{le=\"+Inf\",pool=\"p\"}", 2.0),
        ("box_hold_seconds_count{pool=\"p\"}", 1.0),
        ("box_cleanup_seconds_count{pool=\"p\"}", 0.0),
    ];
    let page = wait_for("the view is a new one", &[&boxes.node], || {
        let page = scrape(boxes.ground.node).ok()?;
        let served = "reelyard_box_requests_total{pool=\"p\",outcome=\"refused\"}";
        (page.value(served) == Some(1.0)).then_some(page)
    })?;
    for (name, value) in expected {
        assert_eq!(page.value(&format!("reelyard_{name}")), Some(value), "{name}");
    }
    let used = page.value("reelyard_box_utilisation{pool=\"p\"}").unwrap();
    assert!((used - 2.0 / 3.0).abs() < 1e-6, "{used}");
    let (_, text) = get(boxes.ground.node, OPEN_METRICS)?;
    read(&text, Form::OpenMetrics).with_context(|| text.clone())?;
    assert!(!text.contains("person"), "holders have no place on the page");
    Ok(())
}
