//! `GET /api/v1/events` and `reelyard events` of a real node: events are reported in order, to each reader at
//! its own speed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::api_document::ApiDocument;
use reelyard_integration_tests::probes::event_reader::{EventReader, ReadEvent};
use reelyard_integration_tests::probes::exposition::{Form, read};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::yard::{
    ProcessYard, RoleProcess, holds, wait_for, wait_until_up,
};
use serde_json::Value;

/// A node without reachable hosts.
fn lonely() -> Result<(ProcessYard, RoleProcess)> {
    let ground = ProcessYard::new(1, 1)?;
    ground.grade(&[b"a.mpg"])?;
    let node = ground.start_node(&[])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status"))?;
    Ok((ground, node))
}

/// Makes the node publish one event, and waits for its end.
fn pin(ground: &ProcessYard, file: &str, method: &str) -> Result<()> {
    // The name has no master.
    let force = if method == "PUT" { "?force=true" } else { "" };
    let url = format!("http://{}/api/v1/files/{file}/pin{force}", ground.node);
    let output = ground.curl().args(["-f", "-X", method, &url]).output()?;
    anyhow::ensure!(output.status.success(), "{method} {url}: {output:?}");
    Ok(())
}

fn metric(ground: &ProcessYard, series: &str) -> Option<f64> {
    let url = format!("http://{}/metrics", ground.node);
    let output = Command::new("curl").args(["-sf", &url]).output().ok()?;
    read(str::from_utf8(&output.stdout).ok()?, Form::Prometheus).ok()?.value(series)
}

#[test]
fn the_life_of_a_copy_is_reported_as_documented() -> Result<()> {
    let document = ApiDocument::read(&binary::run(&["openapi"]).out)?;
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"a.mpg", 5000)?;
    ground.grade(&[b"none.mpg"])?;
    let node = ground.start_node(&[])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status"))?;
    let all = EventReader::open(&ground, "", &[])?;
    let tasks = EventReader::open(&ground, "?kinds=task,input", &[])?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    wait_until_up(ground.destination(0), &destination)?;
    ground.grade(&[b"a.mpg"])?;
    let path = ground.copies(0).join("a.mpg");
    wait_for("the copy", &[&node, &source, &destination], || holds(&path, &bytes).then_some(()))?;

    let step = |event: &ReadEvent, step: &str| event.kind == "task" && event.data["step"] == step;
    let mut seen: Vec<ReadEvent> = Vec::new();
    while seen.last().is_none_or(|event| event.kind != "placement") {
        seen.push(all.next()?);
    }
    let order = |find: &dyn Fn(&ReadEvent) -> bool| {
        seen.iter().position(find).with_context(|| format!("{seen:?}"))
    };
    let up = |host: String| {
        move |event: &ReadEvent| {
            event.data["host"] == host && event.data["what"] == "health" && event.data["to"] == "up"
        }
    };
    let source_up = order(&up(ground.source(0).to_string()))?;
    let ranking = order(&|event| event.data["what"] == "ranking" && event.data["files"] == 1)?;
    let created = order(&|event| step(event, "created"))?;
    let began = order(&|event| step(event, "began"))?;
    let ended = order(&|event| step(event, "ended"))?;
    assert!(source_up < created && ranking < created && created < began && began < ended);
    let (created, ended) = (&seen[created].data, &seen[ended].data);
    assert_eq!(
        (&created["task"]["state"], &created["task"]["name"]),
        (&"ready".into(), &"a.mpg".into())
    );
    assert_eq!((&ended["task"]["state"], &ended["task"]["size"]), (&"done".into(), &5000.into()));
    assert_eq!(created["task"]["id"], ended["task"]["id"]);
    let placed = &seen.last().unwrap().data;
    assert_eq!((&placed["gained"], &placed["came"][0]["name"]), (&1.into(), &"a.mpg".into()));

    // Ids increase by one, and each event follows the document.
    let ids: Vec<(String, u64)> = seen.iter().map(id_of).collect();
    assert!(ids.is_sorted_by(|one, next| one.0 == next.0 && one.1 + 1 == next.1), "{ids:?}");
    for event in &seen {
        document.check_named("ChangeEvent", &event.data)?;
        assert_eq!(event.data["kind"], event.kind.as_str());
    }
    // A reader that selects some kinds gets no others, with the same ids.
    let ended = tasks.next_where(|event| {
        assert!(["task", "input"].contains(&event.kind.as_str()), "{event:?}");
        step(event, "ended")
    })?;
    assert!(seen.iter().any(|event| event.id == ended.id && step(event, "ended")));
    // A reader of the event can read the new state.
    let shown =
        ground.get(&format!("/api/v1/tasks/{}", ended.data["task"]["id"].as_str().unwrap()));
    assert_eq!(shown.unwrap()["state"], "done");
    Ok(())
}

/// The start time and the number in an id.
fn id_of(event: &ReadEvent) -> (String, u64) {
    let (start, number) = event.id.split_once('-').unwrap();
    (start.to_owned(), number.parse().unwrap())
}

#[test]
fn a_returning_reader_gets_the_missed_events_or_a_notice() -> Result<()> {
    let (ground, mut node) = lonely()?;
    let reader = EventReader::open(&ground, "?kinds=pin", &[])?;
    pin(&ground, "a.mpg", "PUT")?;
    let first = reader.next()?;
    assert_eq!(
        (&first.data["file"]["name"], &first.data["pinned"]),
        (&"a.mpg".into(), &true.into())
    );
    drop(reader);
    pin(&ground, "a.mpg", "DELETE")?;
    pin(&ground, "b.mpg", "PUT")?;
    // A request without an effect is no change.
    pin(&ground, "b.mpg", "PUT")?;
    let last = format!("Last-Event-ID: {}", first.id);
    let again = EventReader::open(&ground, "?kinds=pin", &["-H", &last])?;
    let missed = [again.next()?, again.next()?];
    assert_eq!(missed[0].data["pinned"], false);
    assert_eq!(missed[1].data["file"]["name"], "b.mpg");
    pin(&ground, "c.mpg", "PUT")?;
    assert_eq!(again.next()?.data["file"]["name"], "c.mpg");

    // An unknown id, and an id of the previous process.
    let nonsense = EventReader::open(&ground, "", &["-H", "Last-Event-ID: nonsense"])?;
    assert_eq!(nonsense.next()?.data["why"], "other_process");
    node.start_again_with(&[])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status"))?;
    let other = EventReader::open(&ground, "?kinds=pin", &["-H", &last])?;
    let reset = other.next()?;
    assert_eq!((reset.kind.as_str(), &reset.data["why"]), ("reset", &"other_process".into()));
    // Earlier state is in the lists and is not sent again.
    pin(&ground, "d.mpg", "PUT")?;
    assert_eq!(other.next()?.data["file"]["name"], "d.mpg");
    assert_ne!(id_of(&reset).0, id_of(&first).0);
    Ok(())
}

#[test]
fn stopping_the_node_ends_every_stream_in_order() -> Result<()> {
    let (ground, mut node) = lonely()?;
    let readers: Vec<EventReader> =
        (0..3).map(|_| EventReader::open(&ground, "", &[])).collect::<Result<_>>()?;
    let status = node.terminate()?;
    assert_eq!(status.code(), Some(0), "{}", node.log_text());
    for reader in readers {
        assert!(reader.ended()?, "it was cut off instead of ended");
    }
    Ok(())
}

/// A connection that requested the events and reads nothing.
fn ask(ground: &ProcessYard) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(ground.node)?;
    stream.set_read_timeout(Some(reelyard_integration_tests::probes::waiting::PATIENCE))?;
    write!(
        stream,
        "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n",
        ground.bearer()
    )?;
    Ok(stream)
}

fn status_line(stream: &TcpStream) -> Result<String> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

#[test]
fn the_number_of_readers_is_limited_and_closed_ones_do_not_count() -> Result<()> {
    let (ground, node) = lonely()?;
    let mut streams = Vec::new();
    for _ in 0..64 {
        let stream = ask(&ground)?;
        assert!(status_line(&stream)?.contains(" 200 "));
        streams.push(stream);
    }
    assert_eq!(metric(&ground, "reelyard_change_listeners"), Some(64.0));
    let url = format!("http://{}/api/v1/events", ground.node);
    let refused = ground.curl().args(["-i", &url]).output()?;
    let refused = String::from_utf8(refused.stdout)?.to_lowercase();
    assert!(refused.starts_with("http/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after: ") && refused.contains("too-many-listeners"));
    drop(streams);
    wait_for("all have left", &[&node], || {
        (metric(&ground, "reelyard_change_listeners") == Some(0.0)).then_some(())
    })?;
    EventReader::open(&ground, "", &[])?;
    Ok(())
}

#[test]
fn a_slow_reader_gets_a_notice_of_missed_events() -> Result<()> {
    const FILES: usize = 1500;
    let ground = ProcessYard::new(1, 1)?;
    // A long path makes long events: more than the kernel buffers for a client that does not read.
    let masters = (0..14).fold(ground.path("masters"), |dir, _| dir.join("d".repeat(250)));
    std::fs::create_dir_all(&masters)?;
    let names: Vec<String> = (0..FILES).map(|number| format!("{number}.mpg")).collect();
    names.iter().try_for_each(|name| std::fs::write(masters.join(name), "x"))?;
    ground.grade(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>())?;
    let dirs = format!("[\"{}\"]", masters.display());
    let (dirs, quiet) = (("source_dirs", dirs.as_str()), ("log.level", "warn"));
    let node = ground.start_node(&[("task.copies_per_source", "64"), dirs, quiet])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status"))?;
    let mut slow = ask(&ground)?;
    rustix::net::sockopt::set_socket_recv_buffer_size(&slow, 1 << 18)?;
    let source = ground.start_source(0, &[dirs, quiet])?;
    let destination = ground.start_destination(0, &[("copies_at_once", "64"), quiet])?;
    wait_for("everything is copied", &[&node, &source, &destination], || {
        let done = metric(&ground, "reelyard_copies_ended_total{outcome=\"done\"}")?;
        (done == FILES as f64).then_some(())
    })?;
    // Now it reads: first the buffered events, then the notice that it missed some.
    let (mut tail, mut piece) = (String::new(), vec![0; 1 << 16]);
    while !tail.contains("\"why\":\"too_slow\"") {
        anyhow::ensure!(!tail.contains(": still here"), "it got every event");
        let length = slow.read(&mut piece)?;
        anyhow::ensure!(length > 0, "the stream has ended");
        let keep = tail.len().saturating_sub(100);
        tail = tail.split_off(tail.ceil_char_boundary(keep));
        tail.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    Ok(())
}

#[test]
fn invalid_requests_are_refused() -> Result<()> {
    let (ground, _node) = lonely()?;
    for query in ["?kinds=tasks", "?kinds=", "?kind=task"] {
        let url = format!("http://{}/api/v1/events{query}", ground.node);
        let output = ground.curl().arg(&url).output()?;
        let problem: Value = serde_json::from_slice(&output.stdout)?;
        assert_eq!(problem["status"], 400, "{query}: {problem}");
    }
    Ok(())
}

#[test]
fn the_command_follows_over_a_restart_of_the_node() -> Result<()> {
    let (ground, mut node) = lonely()?;
    let url = format!("http://{}", ground.node);
    let mut command = binary::reelyard(&["events", "--json", "--kinds", "pin", "--url", &url]);
    let mut follower = command.stderr(Stdio::null()).spawn()?;
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    wait_for("the command listens", &[&node], || {
        (metric(&ground, "reelyard_change_listeners") == Some(1.0)).then_some(())
    })?;
    pin(&ground, "a.mpg", "PUT")?;
    let mut next = || -> Result<Value> {
        let line = lines.next().context("the command has ended")??;
        Ok(serde_json::from_str(&line)?)
    };
    let first = next()?;
    assert_eq!((&first["event"], &first["data"]["file"]["name"]), (&"pin".into(), &"a.mpg".into()));
    node.start_again_with(&[])?;
    let reset = next()?;
    assert_eq!(reset["event"], "reset", "{reset}");
    pin(&ground, "b.mpg", "PUT")?;
    assert_eq!(next()?["data"]["file"]["name"], "b.mpg");
    follower.kill()?;
    follower.wait()?;

    // Without a node at the start it fails with the usual message.
    node.terminate()?;
    let ended = binary::run(&["events", "--url", &url]);
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    let wrong = binary::run(&["events", "--kinds", "tasks", "--url", &url]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    Ok(())
}

#[test]
fn every_kind_is_printed_as_text() -> Result<()> {
    let (ground, node) = lonely()?;
    let url = format!("http://{}", ground.node);
    let mut command = binary::reelyard(&["events", "--url", &url]);
    let mut follower = command.stderr(Stdio::null()).spawn()?;
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    wait_for("the command listens", &[&node], || {
        (metric(&ground, "reelyard_change_listeners") == Some(1.0)).then_some(())
    })?;
    let curl = |method: &str, path: &str, body: &str| -> Result<()> {
        let url = format!("{url}/api/v1/{path}");
        let json = ["-H", "content-type: application/json", "-d", body];
        let output = ground.curl().args(["-f", "-X", method]).args(json).arg(&url).output()?;
        anyhow::ensure!(output.status.success(), "{method} {url}: {output:?}");
        Ok(())
    };
    let host = ground.destination(0);
    pin(&ground, "a.mpg", "PUT")?;
    curl("PUT", &format!("hosts/{host}/mode"), r#"{"mode":"draining"}"#)?;
    curl("POST", &format!("hosts/{host}/reset"), "")?;
    curl("PUT", "hosts/192.0.2.7:8888", r#"{"role":"source"}"#)?;
    curl("DELETE", "hosts/192.0.2.7:8888", "")?;
    ground.grade(&[b"a.mpg", b"b.mpg"])?;
    let mut wanted: BTreeMap<&str, String> = BTreeMap::from([
        ("pin", "a.mpg is pinned by token admin".to_owned()),
        ("mode", format!("{host} is now draining, by token admin")),
        ("reset", format!("{host} was reset by token admin")),
        ("added", "192.0.2.7:8888 was added to the yard (source)".to_owned()),
        ("removed", "192.0.2.7:8888 was removed from the yard".to_owned()),
        ("ranking", "the ranking was read: 2 files".to_owned()),
        ("health", format!("{host} is down, was suspect")),
    ]);
    while !wanted.is_empty() {
        let line = lines.next().context("the command has ended")??;
        wanted.retain(|_, words| !line.contains(words.as_str()));
    }
    follower.kill()?;
    follower.wait()?;
    Ok(())
}

#[test]
fn a_removal_is_reported_from_its_decision_to_its_end() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"a.mpg", 5000)?;
    ground.grade(&[b"a.mpg"])?;
    for destination in 0..2 {
        std::fs::create_dir_all(ground.copies(destination))?;
        std::fs::write(ground.copies(destination).join("a.mpg"), &bytes)?;
    }
    let node = ground.start_node(&[("remover.interval", "\"200ms\"")])?;
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status"))?;
    let removals = EventReader::open(&ground, "?kinds=removal", &[])?;
    let _roles = [
        ground.start_source(0, &[])?,
        ground.start_destination(0, &[])?,
        ground.start_destination(1, &[])?,
    ];
    let intended = removals.next()?;
    assert_eq!(intended.data["step"], "intended", "{intended:?}");
    assert!(intended.data["reason"]["duplicate"]["copies"] == 2, "{intended:?}");
    let ended = removals.next()?;
    assert_eq!((&ended.data["step"], &ended.data["ending"]), (&"ended".into(), &"removed".into()));
    assert_eq!(ended.data["host"], intended.data["host"]);
    let kept = intended.data["keeper"].as_str().context("the keeper")?;
    let kept = usize::from(kept != ground.destination(0).to_string());
    assert!(holds(&ground.copies(kept).join("a.mpg"), &bytes));
    Ok(())
}
