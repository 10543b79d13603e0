//! Hosts change while a real node runs. The command line adds, drains, pauses and removes them, and the node
//! keeps the changes over a restart.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{self, ProgramOutput};
use reelyard_integration_tests::rigs::old_yard::{
    copies, is_on, no_task_open, old_destination, start_node,
};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};
use serde_json::Value;

/// Runs `reelyard <arguments>` with the yard's node.
fn reelyard(ground: &ProcessYard, arguments: &[&str]) -> ProgramOutput {
    binary::run(&[arguments, &["--url", &format!("http://{}", ground.node)]].concat())
}

/// Runs a command that must succeed and print these words.
fn succeeds_with(ground: &ProcessYard, arguments: &[&str], words: &str) -> Result<()> {
    let ended = reelyard(ground, arguments);
    ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.err);
    ensure!(ended.out.contains(words), "{arguments:?} says {:?}, not {words:?}", ended.out);
    Ok(())
}

/// Runs a command that must be refused with these words.
fn refused(ground: &ProcessYard, arguments: &[&str], words: &str) -> Result<()> {
    let ended = reelyard(ground, arguments);
    ensure!(ended.code == Some(4), "{arguments:?} ended with {:?}: {}", ended.code, ended.out);
    ensure!(ended.err.contains(words), "{arguments:?} says {:?}, not {words:?}", ended.err);
    Ok(())
}

/// A host as the API shows it.
fn host_json(ground: &ProcessYard, host: SocketAddr) -> Option<Value> {
    ground.get(&format!("/api/v1/hosts/{host}"))
}

/// Waits until the API shows this state of a host.
fn wait_until_shown(
    ground: &ProcessYard,
    node: &RoleProcess,
    host: SocketAddr,
    members: &[(&str, Value)],
) -> Result<()> {
    wait_for(&format!("{host} is shown with {members:?}"), &[node], || {
        let shown = host_json(ground, host)?;
        members.iter().all(|(member, value)| shown[member] == *value).then_some(())
    })
}

/// Grades these files, and waits until the last of them is on destination `number`.
fn comes_to(
    ground: &ProcessYard,
    roles: &[&RoleProcess],
    names: &[&str],
    number: usize,
) -> Result<()> {
    let name = names.last().context("a file is graded")?;
    let bytes = ground.master(name.as_bytes(), 50_000)?;
    let graded: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    ground.grade(&graded)?;
    wait_for(&format!("{name} is on destination {number}"), roles, || {
        (copies(ground, 1 + number, name.as_bytes(), &bytes) == 1
            && is_on(ground, number, name.as_bytes()))
        .then_some(())
    })
}

#[test]
fn a_destination_is_added_used_kept_over_a_restart_and_removed() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    ground.grade(&[])?;
    let mut node = ground.start_node(&[("hosts.destinations", "")])?;
    let added = ground.destination(0);
    let addr = added.to_string();
    wait_until_shown(&ground, &node, ground.source(0), &[("health", "up".into())])?;
    ensure!(host_json(&ground, added).is_none());

    succeeds_with(
        &ground,
        &["hosts", "add", &addr, "--role", "destination"],
        "is now a host of the yard",
    )?;
    let is_up = [("health", "up".into()), ("configured", false.into()), ("mode", "active".into())];
    wait_until_shown(&ground, &node, added, &is_up)?;
    comes_to(&ground, &[&node, &source, &destination], &["a.mpg"], 0)?;

    // Killed, not stopped: only durable state counts.
    node.kill();
    node.start_again()?;
    wait_until_shown(&ground, &node, added, &is_up)?;
    comes_to(&ground, &[&node, &source, &destination], &["a.mpg", "b.mpg"], 0)?;

    wait_for("both are on record", &[&node], || no_task_open(&ground))?;
    succeeds_with(&ground, &["hosts", "remove", &addr], "files on it: 2; only there: 2")?;
    wait_for("the host is gone", &[&node], || host_json(&ground, added).is_none().then_some(()))?;
    refused(&ground, &["hosts", "remove", &addr], "is not a host of this yard")?;
    ground.master(b"c.mpg", 50_000)?;
    ground.grade(&[b"a.mpg", b"c.mpg"])?;
    wait_for("no host can take it", &[&node], || {
        let why = ground.get("/api/v1/files/c.mpg/explain")?;
        (why["verdict"] == "no_destination").then_some(())
    })?;
    ensure!(!is_on(&ground, 0, b"c.mpg"));

    // It returns as a new host: its files are listed again.
    succeeds_with(
        &ground,
        &["hosts", "add", &addr, "--role", "destination"],
        "is now a host of the yard",
    )?;
    wait_until_shown(&ground, &node, added, &[("files", 3.into())])?;
    Ok(())
}

#[test]
fn configured_hosts_are_changed_in_the_configuration() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.grade(&[])?;
    let node = ground.start_node(&[])?;
    let (source, destination) = (ground.source(0).to_string(), ground.destination(0).to_string());
    wait_until_shown(&ground, &node, ground.destination(0), &[("configured", true.into())])?;
    let configured = "is in the configuration: change it there and reload";
    refused(&ground, &["hosts", "remove", &destination], configured)?;
    refused(&ground, &["hosts", "add", &source, "--role", "both"], configured)?;
    succeeds_with(
        &ground,
        &["hosts", "add", &source, "--role", "source"],
        "is now a host of the yard",
    )?;
    for command in ["drain", "maintain", "activate", "remove"] {
        refused(&ground, &["hosts", command, "127.0.0.1:9"], "is not a host of this yard")?;
    }
    refused(
        &ground,
        &["hosts", "add", "0.0.0.0:9", "--role", "both"],
        "is not the address of one host",
    )?;
    let usage = reelyard(&ground, &["hosts", "add", &source, "--role", "servant"]);
    ensure!(usage.code == Some(2), "{}", usage.err);
    Ok(())
}

#[test]
fn a_host_in_maintenance_gets_no_calls_after_a_change_of_process() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let old = [old_destination(&ground, 0)?, old_destination(&ground, 1)?];
    let mut node = start_node(&ground, &[("heartbeat.down_after", "2")])?;
    let host = ground.destination(0);
    let addr = host.to_string();
    wait_until_shown(&ground, &node, host, &[("health", "up".into()), ("files", 0.into())])?;
    succeeds_with(
        &ground,
        &["hosts", "maintain", &addr],
        "is in maintenance: it gets no calls and no copies",
    )?;
    let resting = [("mode", "maintenance".into()), ("health", "unknown".into())];
    wait_until_shown(&ground, &node, host, &resting)?;
    // The last call may have been in transit; every other one takes longer than several of these.
    old[0].set_frozen(true);
    let calls = || old[0].calls().len();
    let stays_alone = |node: &RoleProcess, calls_before: usize| -> Result<()> {
        let probes = old[1].count_of("HEAD /hb");
        wait_for("the other host is probed on", &[node], || {
            (old[1].count_of("HEAD /hb") >= probes + 4).then_some(())
        })?;
        wait_until_shown(&ground, node, host, &resting)?;
        ensure!(calls() == calls_before, "{:?}", old[0].calls());
        Ok(())
    };
    stays_alone(&node, calls())?;
    let before = calls();
    node.kill();
    node.start_again()?;
    wait_until_shown(&ground, &node, ground.destination(1), &[("health", "up".into())])?;
    stays_alone(&node, before)?;

    old[0].set_frozen(false);
    let lists = old[0].count_of("GET /files");
    succeeds_with(&ground, &["hosts", "activate", &addr], "takes part")?;
    wait_until_shown(&ground, &node, host, &[("health", "up".into()), ("mode", "active".into())])?;
    wait_for("it is listed again", &[&node], || {
        (old[0].count_of("GET /files") > lists).then_some(())
    })
}

#[test]
fn a_drained_host_gets_nothing_new_and_shows_the_remaining_files() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let source = ground.start_source(0, &[])?;
    let destinations = [ground.start_destination(0, &[])?, ground.start_destination(1, &[])?];
    for name in ["MN1advert.mpg", "no master.mpg"] {
        std::fs::write(ground.copies(1).join(name), name)?;
    }
    ground.grade(&[])?;
    let node = ground.start_node(&[("ignore.prefixes", "[\"MN1\"]")])?;
    let drained = ground.destination(1);
    wait_until_shown(&ground, &node, drained, &[("health", "up".into()), ("files", 2.into())])?;
    wait_for("its files are on record", &[&node], || {
        let held = ground.get("/api/v1/files/MN1advert.mpg/explain")?;
        held["held_on"][0]["confirmed"].is_number().then_some(())
    })?;
    let addr = drained.to_string();
    succeeds_with(&ground, &["hosts", "drain", &addr], "files on it: 2; only there: 2")?;
    wait_for("what cannot leave is shown", &[&node], || {
        let draining = &host_json(&ground, drained)?["draining"];
        let stays = draining["stays"].to_string();
        (draining["left"] == 2 && stays.contains("ignored") && stays.contains("no_master"))
            .then_some(())
    })?;
    succeeds_with(&ground, &["hosts"], "2 files left, 2 of them only there, 2 cannot leave")?;
    let roles = [&node, &source, &destinations[0], &destinations[1]];
    for names in [&["a.mpg"][..], &["a.mpg", "b.mpg"], &["a.mpg", "b.mpg", "c.mpg"]] {
        comes_to(&ground, &roles, names, 0)?;
    }
    ensure!(!["a.mpg", "b.mpg", "c.mpg"].iter().any(|name| is_on(&ground, 1, name.as_bytes())));
    let explanation = ground.get("/api/v1/files/d.mpg/explain").context("it explains")?;
    ensure!(explanation["destinations"].to_string().contains("\"draining\""), "{explanation}");

    // A source that is drained serves nothing new. Its masters stay, and it serves again once it is active.
    let serving = ground.source(0).to_string();
    succeeds_with(&ground, &["hosts", "drain", &serving], "")?;
    ground.master(b"d.mpg", 50_000)?;
    ground.grade(&["a.mpg", "b.mpg", "c.mpg", "d.mpg"].map(str::as_bytes))?;
    wait_for("no source can serve", &[&node], || {
        let explained = ground.get("/api/v1/files/d.mpg/explain")?;
        let sources = explained["sources"].to_string();
        (sources.contains("\"draining\"") && explained["rank"].is_number()).then_some(())
    })?;
    ensure!(!is_on(&ground, 0, b"d.mpg"));
    succeeds_with(&ground, &["hosts", "activate", &serving], "takes part")?;
    wait_for("its master is copied", &roles, || is_on(&ground, 0, b"d.mpg").then_some(()))
}

/// The body of a path of the node, as text.
fn page(ground: &ProcessYard, path: &str) -> Option<String> {
    let url = format!("http://{}{path}", ground.node);
    let output = Command::new("curl").args(["-s", "-m", "10", &url]).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|text| !text.is_empty())
}

/// Settings of a role that differ from the rest of its configuration.
type Settings<'a> = &'a [(&'a str, &'a str)];

#[test]
fn a_missing_or_different_token_is_shown_at_once() -> Result<()> {
    let ours = "token-of-this-yard-0";
    // Settings of the node and of the worker, and the message of each side.
    let cases: [(Settings<'_>, Settings<'_>, &str, &str); 3] = [
        (
            &[("token", ours)],
            &[],
            "does not prove that it knows this node's token",
            "requires a token",
        ),
        (&[], &[("token", ours)], "requires a token, and this node has none", "does not prove"),
        (
            &[("token", ours)],
            &[("token", "token-of-another-yard")],
            "has another token than this node",
            "expects another token than this worker",
        ),
    ];
    for (of_node, of_worker, why, why_there) in cases {
        let ground = ProcessYard::new(0, 1)?;
        let worker = ground.start_destination(0, of_worker)?;
        let node = ground.start_node(of_node)?;
        let roles = [&node, &worker];
        wait_for(&format!("/readyz says {why}"), &roles, || {
            page(&ground, "/readyz")?.contains(why).then_some(())
        })?;
        let hosts = reelyard(&ground, &["hosts"]);
        ensure!(hosts.out.contains(why), "{}", hosts.out);
        wait_for(&format!("the worker logs {why_there}"), &roles, || {
            worker.log_text().contains(why_there).then_some(())
        })?;
        ensure!(!node.log_text().contains(ours) && !worker.log_text().contains(ours));
    }
    Ok(())
}

/// Calls the worker of a destination as no node of the yard would.
fn call_worker(ground: &ProcessYard, headers: &[&str], method: &str, path: &str) -> Option<String> {
    let url = format!("http://{}{path}", ground.destination(0));
    let headers = headers.iter().flat_map(|header| ["-H", header]);
    let output = Command::new("curl")
        .args(["-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "-X", method, &url])
        .args(headers)
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()
}

#[test]
fn a_worker_that_obeys_another_cluster_is_adopted_by_its_node() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let source = ground.start_source(0, &[])?;
    let worker = ground.start_destination(0, &[])?;
    let answers = |role: &RoleProcess| {
        wait_for("the worker answers", &[role], || {
            (call_worker(&ground, &[], "GET", "/df")? == "200").then_some(())
        })
    };
    answers(&worker)?;
    // Without a token every program can do what only an operator should.
    let absurd = "Reelyard-Epoch: 18446744073709551615";
    let other_manager = "Reelyard-Manager: 0000000000000000000000000000beef/1";
    ensure!(call_worker(&ground, &[absurd], "DELETE", "/files/x").as_deref() == Some("412"));
    ensure!(
        call_worker(&ground, &[absurd, other_manager], "POST", "/adopt").as_deref() == Some("412")
    );
    let later = "Reelyard-Epoch: 99999";
    ensure!(
        call_worker(&ground, &[later, other_manager], "POST", "/adopt").as_deref() == Some("200")
    );
    let node = ground.start_node(&[])?;
    let roles = [&node, &source, &worker];
    let host = ground.destination(0).to_string();
    // The worker requests orders from this node: its operator wants it to obey this one.
    comes_to(&ground, &roles, &["a.mpg"], 0)?;
    ensure!(worker.log_text().contains("now obeys another cluster"), "{}", worker.log_text());
    succeeds_with(&ground, &["hosts", "adopt", &host], "obeys this cluster in epoch")?;
    refused(&ground, &["hosts", "adopt", "127.9.9.9:9"], "not a host of this yard")?;
    ensure!(node.log_text().contains("adopted on request"), "{}", node.log_text());
    comes_to(&ground, &roles, &["a.mpg", "b.mpg"], 0)?;
    Ok(())
}
