//! Webhooks of a real node. Events of shares are sent signed, in order and at least once, also over failures
//! of the receiver and the node.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use reelyard_integration_tests::fakes::hook_receiver::{HookReceiver, ReceiverMode, SECRET};
use reelyard_integration_tests::probes::event_reader::EventReader;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::tls::certificate::Pem;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::{Value, json};

/// A node with a share root and webhooks, configured by a file.
struct WebhookNode {
    ground: ProcessYard,
    node: RoleProcess,
    links: String,
}

impl WebhookNode {
    fn start(hooks: &str) -> Result<Self> {
        WebhookNode::start_on(ProcessYard::new(1, 0)?, hooks, None)
    }

    fn start_on(ground: ProcessYard, hooks: &str, trusted: Option<&Path>) -> Result<Self> {
        std::fs::create_dir_all(ground.path("films"))?;
        std::fs::write(ground.path("films/a.mpg"), b"0123456789")?;
        let file = ground.path("node.toml");
        let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
        std::fs::write(&file, configuration(&ground, &links, hooks))?;
        let node = RoleProcess::start_trusting("node", &file, ground.path("node.log"), trusted)?;
        let place = WebhookNode { ground, node, links };
        place.until_up()?;
        Ok(place)
    }

    fn until_up(&self) -> Result<()> {
        wait_for("the node leads", &[&self.node], || {
            let hooks = self.hooks()?;
            let is_up = |hook: &Value| hook["told_up_to"].is_u64();
            hooks.iter().all(is_up).then_some(())
        })
    }

    /// Reloads the configuration with other webhooks.
    fn reload(&self, hooks: &str) -> Result<String> {
        let file = self.ground.path("node.toml");
        std::fs::write(file, configuration(&self.ground, &self.links, hooks))?;
        let url = format!("http://{}", self.ground.node);
        let answer = binary::run(&["config", "reload", "--url", &url]);
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        self.until_up()?;
        Ok(answer.out)
    }

    /// The webhooks that the overview of the yard shows as troubles. None if it shows none.
    fn hook_troubles(&self) -> Option<Vec<String>> {
        let overview = self.ask("GET", "/overview", &Value::Null)?;
        let troubles = overview["troubles"].as_array()?.iter();
        let of_hooks = troubles.filter(|trouble| trouble["kind"] == "hook_fails");
        let names = of_hooks.filter_map(|trouble| Some(trouble["subject"].as_str()?.to_owned()));
        Some(names.collect()).filter(|names: &Vec<String>| !names.is_empty())
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Option<Value> {
        let mut command = self.ground.curl();
        command.args(["-f", "-X", method]);
        if !body.is_null() {
            command.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        let output = command.arg(format!("http://{}/api/v1{path}", self.ground.node)).output();
        let output = output.unwrap();
        if !output.status.success() {
            return None;
        }
        Some(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    fn hooks(&self) -> Option<Vec<Value>> {
        Some(self.ask("GET", "/shares/hooks", &Value::Null)?["items"].as_array()?.clone())
    }

    fn hook(&self, name: &str) -> Value {
        let hooks = self.hooks().unwrap();
        hooks.into_iter().find(|hook| hook["name"] == name).unwrap()
    }

    fn create(&self, more: &Value) -> String {
        let mut wanted = json!({ "path": "films/a.mpg" });
        wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let share = self.ask("POST", "/shares", &wanted).unwrap();
        share["id"].as_str().unwrap().to_owned()
    }

    /// Creates a share and revokes it, which is one event.
    fn revoked(&self) -> String {
        let id = self.create(&json!({}));
        self.ask("DELETE", &format!("/shares/{id}"), &Value::Null).unwrap();
        id
    }

    /// Waits until the receiver accepted `count` requests, and returns their numbers.
    fn taken(&self, receiver: &HookReceiver, count: usize) -> Result<Vec<u64>> {
        wait_for(&format!("{count} are delivered"), &[&self.node], || {
            let taken: Vec<u64> = receiver.taken().iter().map(|one| one.number()).collect();
            (taken.len() >= count).then_some(taken)
        })
    }
}

fn configuration(ground: &ProcessYard, links: &str, hooks: &str) -> String {
    format!(
        r#"
listen = "{}"
data_dir = "{}"
[share]
roots = {{ films = "{}" }}
listen = "{links}"
notice_before = "10m"
keep_ended = "1s"
{hooks}
"#,
        ground.node,
        ground.path("node").display(),
        ground.path("films").display(),
    )
}

#[test]
fn webhooks_send_the_events_signed_and_in_order() -> Result<()> {
    let receiver = HookReceiver::start()?;
    let place = WebhookNode::start(&format!("webhooks = {{ billing = {} }}", receiver.hook("")))?;
    let events = EventReader::open(&place.ground, "?kinds=share", &[])?;
    let soon = place.create(&json!({ "ttl": "10m 2s", "owner": "jo" }));
    let revoked = place.revoked();
    place.taken(&receiver, 2)?;
    let terms = json!({ "ttl": "1s" });
    place.ask("PATCH", &format!("/shares/{soon}"), &terms).unwrap();
    place.taken(&receiver, 3)?;
    let reported = receiver.taken();
    let mut event_bodies = Vec::new();
    while event_bodies.len() < 3 {
        let event = events.next_where(|event| event.data["number"].is_u64())?;
        event_bodies.push(event.data);
    }
    let bodies: Vec<Value> = reported.into_iter().map(|one| one.body).collect();
    assert_eq!(bodies, event_bodies, "word by word");
    assert_eq!(bodies[0]["why"], "revoked");
    assert_eq!(bodies[0]["share"]["id"], revoked.as_str());
    assert_eq!((&bodies[1]["what"], &bodies[1]["share"]["id"]), (&json!("notice"), &json!(soon)));
    assert_eq!(
        (&bodies[2]["why"], &bodies[2]["share"]["owner"]),
        (&json!("expired"), &json!("jo"))
    );
    let url = format!("http://{}", place.ground.node);
    let status = binary::run(&["share", "status", "--url", &url]);
    let line = status.out.lines().find(|line| line.trim_start().starts_with("billing")).unwrap();
    assert!(line.split_whitespace().any(|word| word == "works"), "{line}");
    let status = binary::run(&["share", "status", "--json", "--url", &url]);
    let status: Value = serde_json::from_str(&status.out)?;
    assert_eq!(status["hooks"][0]["delivered"], 3);
    let metrics = Command::new("curl").args(["-s", &format!("{url}/metrics")]).output()?.stdout;
    let metrics = String::from_utf8(metrics)?;
    for line in [
        "reelyard_webhook_delivered_total{hook=\"billing\"} 3",
        "reelyard_webhook_backlog{hook=\"billing\"} 0",
        "reelyard_webhook_failing{hook=\"billing\"} 0",
    ] {
        assert!(metrics.lines().any(|reported| reported == line), "{line}\n{metrics}");
    }
    Ok(())
}

#[test]
fn a_failing_receiver_gets_everything_later_and_delays_no_other() -> Result<()> {
    let (bad, good) = (HookReceiver::start()?, HookReceiver::start()?);
    let both = format!(
        "webhooks = {{ bad = {}, good = {} }}",
        bad.hook(", timeout = \"300ms\""),
        good.hook("")
    );
    let place = WebhookNode::start(&both)?;
    bad.is_to(ReceiverMode::Hangs);
    place.revoked();
    place.revoked();
    assert_eq!(place.taken(&good, 2)?, [0, 1]);
    wait_for("it fails", &[&place.node], || {
        let hook = place.hook("bad");
        let reason = hook["failing"]["reason"].as_str()?.to_owned();
        (reason == "it did not answer within 300ms").then_some(())
    })?;
    let troubles = wait_for("the overview names it", &[&place.node], || place.hook_troubles());
    assert_eq!(troubles?, ["bad"]);
    bad.is_to(ReceiverMode::Refuses(410, Some(1)));
    wait_for("it refuses", &[&place.node], || {
        (place.hook("bad")["failing"]["reason"] == "the receiver answered 410 Gone").then_some(())
    })?;
    let addr = bad.addr();
    drop(bad);
    place.revoked();
    wait_for("it is gone", &[&place.node], || {
        let hook = place.hook("bad");
        let reason = hook["failing"]["reason"].as_str()?.to_owned();
        (reason.starts_with("it cannot be reached") && hook["backlog"] == 3).then_some(())
    })?;
    assert!(place.hook("bad")["oldest"].is_i64());
    let back =
        wait_for("its address is free", &[&place.node], || HookReceiver::start_at(addr).ok())?;
    // All settings except one are equal: the node tries it at once.
    let both = format!("webhooks = {{ bad = {}, good = {} }}", back.hook(""), good.hook(""));
    assert!(place.reload(&both)?.contains("share.webhooks"));
    assert_eq!(place.taken(&back, 3)?, [0, 1, 2], "in order, and none is lost");
    assert_eq!(place.taken(&good, 3)?, [0, 1, 2]);
    wait_for("it works again", &[&place.node], || {
        place.hook("bad")["failing"].is_null().then_some(())
    })?;
    wait_for("no webhook is a trouble", &[&place.node], || {
        place.hook_troubles().is_none().then_some(())
    })?;
    let log = place.node.log_text();
    assert_eq!(log.matches("webhook failed").count(), 1, "{log}");
    assert_eq!(log.matches("webhook works again").count(), 1, "{log}");
    assert!(!log.contains(SECRET));
    Ok(())
}

#[test]
fn over_https_only_a_receiver_that_the_system_trusts_gets_events() -> Result<()> {
    let ground = ProcessYard::new(1, 0)?;
    let [trusted, other] = ["trusted", "other"].map(|name| Pem::make(&ground.path(""), name));
    let (good, bad) = (HookReceiver::start_tls(&trusted)?, HookReceiver::start_tls(&other)?);
    let both = format!("webhooks = {{ good = {}, bad = {} }}", good.hook(""), bad.hook(""));
    let place = WebhookNode::start_on(ground, &both, Some(&trusted.certificate))?;
    let id = place.revoked();
    assert_eq!(place.taken(&good, 1)?, [0]);
    assert_eq!(good.taken()[0].body["share"]["id"], id.as_str());
    wait_for("it is not trusted", &[&place.node], || {
        let hook = place.hook("bad");
        let reason = hook["failing"]["reason"].as_str()?.to_owned();
        (reason.starts_with("it cannot be reached") && reason.contains("certificate")).then_some(())
    })?;
    assert!(bad.received().is_empty());
    // Once the system trusts the certificate, a reload does too.
    std::fs::copy(&other.certificate, &trusted.certificate)?;
    let bad = format!("webhooks = {{ bad = {} }}", bad.hook(", timeout = \"3s\""));
    place.reload(&bad)?;
    wait_for("it works", &[&place.node], || (place.hook("bad")["delivered"] == 1).then_some(()))
}

#[test]
fn after_kill_9_delivery_resumes_and_nothing_is_lost() -> Result<()> {
    let receiver = HookReceiver::start()?;
    let mut place =
        WebhookNode::start(&format!("webhooks = {{ billing = {} }}", receiver.hook("")))?;
    place.revoked();
    place.taken(&receiver, 1)?;
    receiver.is_to(ReceiverMode::Refuses(503, None));
    for _ in 0..5 {
        place.revoked();
    }
    wait_for("it was tried", &[&place.node], || {
        receiver.received().iter().any(|one| one.number() == 1).then_some(())
    })?;
    place.node.kill();
    receiver.is_to(ReceiverMode::Takes);
    place.node.start_again()?;
    place.until_up()?;
    wait_for("all are delivered", &[&place.node], || {
        let reported: Vec<u64> = receiver.taken().iter().map(|one| one.number()).collect();
        (reported.last() == Some(&5)).then_some(())
    })?;
    // Kills the node during a delivery, at any point.
    for round in 0..3 {
        for _ in 0..10 {
            place.revoked();
        }
        place.node.kill();
        place.node.start_again()?;
        place.until_up()?;
        let last = 5 + 10 * (round + 1);
        wait_for("all are delivered", &[&place.node], || {
            (receiver.taken().last()?.number() == last).then_some(())
        })?;
    }
    let mut reported: Vec<u64> = receiver.taken().iter().map(|one| one.number()).collect();
    reported.sort_unstable();
    reported.dedup();
    assert_eq!(reported, (0..=35).collect::<Vec<u64>>(), "each at least once");
    Ok(())
}

#[test]
fn a_new_webhook_begins_with_its_creation_and_gets_only_selected_events() -> Result<()> {
    let place = WebhookNode::start("")?;
    place.revoked();
    let receiver = HookReceiver::start()?;
    let table = format!(
        "hooks.late.url = \"http://{}/shares\"\nhooks.late.secret_file = \"{}\"\nhooks.late.kinds = [\"exhausted\"]\n",
        receiver.addr(),
        place.ground.path("secret").display()
    );
    std::fs::write(place.ground.path("secret"), format!("{SECRET}\n"))?;
    place.reload(&table)?;
    place.revoked();
    let id = place.create(&json!({ "max_downloads": 1 }));
    let link = format!("http://{}/s/{id}/file", place.links);
    assert!(Command::new("curl").args(["-s", "-f", "-o", "/dev/null", &link]).status()?.success());
    assert_eq!(place.taken(&receiver, 1)?, [2]);
    assert_eq!(receiver.taken()[0].body["why"], "exhausted");
    assert_eq!(place.hook("late")["passed_over"], 1);
    place.reload("")?;
    assert_eq!(place.hooks(), Some(vec![]));
    let id = place.create(&json!({ "max_downloads": 1 }));
    let link = format!("http://{}/s/{id}/file", place.links);
    assert!(Command::new("curl").args(["-s", "-f", "-o", "/dev/null", &link]).status()?.success());
    // Events that the removed webhook did not receive are not sent after its return.
    wait_for("it is free", &[&place.node], || {
        place.reload(&table).ok()?;
        (place.hook("late")["told_up_to"] == 4).then_some(())
    })?;
    assert_eq!(receiver.received().len(), 1);
    Ok(())
}

#[test]
fn undelivered_events_are_dropped_when_too_old_and_the_loss_is_reported() -> Result<()> {
    let receiver = HookReceiver::start()?;
    receiver.is_to(ReceiverMode::Refuses(500, None));
    let hooks =
        format!("webhook_retention = \"2s\"\nwebhooks = {{ billing = {} }}", receiver.hook(""));
    let place = WebhookNode::start(&hooks)?;
    place.revoked();
    wait_for("it is dropped", &[&place.node], || {
        (place.hook("billing")["dropped"] == 1).then_some(())
    })?;
    receiver.is_to(ReceiverMode::Takes);
    assert!(place.node.log_text().contains("too old for a webhook"));
    let hooks = format!("webhooks = {{ billing = {} }}", receiver.hook(""));
    place.reload(&hooks)?;
    let id = place.revoked();
    place.taken(&receiver, 1)?;
    assert_eq!(receiver.taken()[0].body["share"]["id"], id.as_str());
    Ok(())
}

#[test]
fn the_event_stream_loses_nothing_over_a_kill_and_keeps_its_numbers() -> Result<()> {
    let mut place = WebhookNode::start("")?;
    let ground = &place.ground;
    let open = |query: &str, last: Option<&str>| {
        let last = last.map(|last| format!("Last-Event-ID: {last}"));
        let more: Vec<&str> = last.iter().flat_map(|last| ["-H", last.as_str()]).collect();
        EventReader::open_at(ground, &format!("/api/v1/shares/events{query}"), &more)
    };
    place.revoked();
    let now = open("", None)?;
    let first = place.revoked();
    let event = now.next()?;
    assert_eq!((event.id.as_str(), event.kind.as_str()), ("1", "revoked"));
    assert_eq!(event.data["share"]["id"], first.as_str());
    drop(now);
    place.revoked();
    let soon = place.create(&json!({ "ttl": "1s" }));
    wait_for("it has expired", &[&place.node], || {
        let answer = place.ask("GET", "/shares/reclaim", &Value::Null)?;
        (answer["totals"]["expired"] == 1).then_some(())
    })?;
    place.node.kill();
    place.node.start_again()?;
    place.until_up()?;
    wait_for("shares are known", &[&place.node], || place.ask("GET", "/shares", &Value::Null))?;
    let again = open("?from=0", Some("1"))?;
    let missed = [again.next()?, again.next()?];
    let answer = missed.each_ref().map(|one| (one.id.as_str(), one.kind.as_str()));
    assert_eq!(answer, [("2", "revoked"), ("3", "expired")]);
    assert_eq!(
        (&missed[1].data["number"], &missed[1].data["share"]["id"]),
        (&json!(3), &json!(soon))
    );
    let all = open("?from=0", None)?;
    assert_eq!(all.next()?.id, "0");
    assert_eq!(all.next()?.data, event.data, "also after the kill");
    place.revoked();
    assert_eq!(again.next()?.id, "4");

    // Future numbers, and ids of another stream.
    for lost in ["77", "1700000000000-5"] {
        let lost = open("", Some(lost))?;
        let reset = lost.next()?;
        assert_eq!((reset.kind.as_str(), &reset.data["kind"]), ("reset", &json!("reset")));
        assert_eq!(
            (&reset.data["why"], &reset.data["first"]),
            (&json!("other_process"), &json!(0))
        );
        assert_eq!(lost.next()?.id, "0", "all that is kept");
    }
    let url = format!("http://{}", ground.node);
    let mut printed = binary::reelyard(&["share", "events", "--after", "2", "--url", &url]);
    let mut printed = printed.stdout(std::process::Stdio::piped()).spawn()?;
    let mut line = String::new();
    let mut out = std::io::BufReader::new(printed.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line)?;
    printed.kill()?;
    printed.wait()?;
    assert!(line.ends_with("a share of films/a.mpg ended: expired\n"), "{line}");
    place.node.terminate()?;
    assert!(again.ended()?, "in order");
    Ok(())
}

#[test]
fn the_events_lost_with_a_removed_webhook_are_logged() -> Result<()> {
    let receiver = HookReceiver::start()?;
    receiver.is_to(ReceiverMode::Refuses(503, None));
    let place = WebhookNode::start(&format!("webhooks = {{ billing = {} }}", receiver.hook("")))?;
    place.revoked();
    place.revoked();
    wait_for("two wait", &[&place.node], || (place.hook("billing")["backlog"] == 2).then_some(()))?;
    place.reload("")?;
    let log = std::fs::read_to_string(place.ground.path("node.log"))?;
    let line = log.lines().find(|line| line.contains("webhook removed")).unwrap();
    assert!(line.contains("which are lost") && line.contains('2'), "{line}");
    Ok(())
}

#[test]
fn a_request_for_deleted_events_names_the_first_kept_one() -> Result<()> {
    let place = WebhookNode::start("webhook_retention = \"1s\"")?;
    place.revoked();
    place.revoked();
    let path = "/api/v1/shares/events";
    let behind_first = ["-H", "Last-Event-ID: 0"];
    let reset = wait_for("both are forgotten", &[&place.node], || {
        let reader = EventReader::open_at(&place.ground, path, &behind_first).ok()?;
        Some(reader.next().ok()?).filter(|event| event.data["first"] == 2)
    })?;
    assert_eq!((reset.kind.as_str(), reset.id.as_str()), ("reset", "1"));
    assert_eq!((&reset.data["kind"], &reset.data["why"]), (&json!("reset"), &json!("too_old")));
    // A reader that requests everything in memory misses nothing.
    let all = EventReader::open_at(&place.ground, &format!("{path}?from=0"), &[])?;
    let behind = EventReader::open_at(&place.ground, path, &behind_first)?;
    assert_eq!(behind.next()?.kind, "reset");
    place.revoked();
    for reader in [&all, &behind] {
        assert_eq!(reader.next()?.id, "2", "and on from there");
    }
    Ok(())
}
