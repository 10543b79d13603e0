//! Two independent nodes on the same hosts, as real processes: both report it.

use std::process::Command;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::yard::{
    ProcessYard, RoleProcess, bearer_in, free_addr, holds, wait_for,
};
use serde_json::Value;

/// The body of a `GET`, for any status.
fn curl(url: &str) -> String {
    let output = Command::new("curl").args(["-s", "-m", "10", url]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// The signs of another manager that the node with this header of authority reports for a host.
fn foreign_managers(node: &str, bearer: &str, host: &str) -> Option<Vec<(String, bool)>> {
    let url = format!("http://{node}/api/v1/hosts");
    let output = Command::new("curl").args(["-s", "-m", "10", "-H", bearer, &url]).output().ok()?;
    let hosts: Value = serde_json::from_slice(&output.stdout).ok()?;
    let host = hosts["items"].as_array()?.iter().find(|one| one["host"] == host)?.clone();
    let result = host["foreign_managers"].as_array().cloned().unwrap_or_default();
    let sign = |one: &Value| Some((one["sign"].as_str()?.to_owned(), one["sure"].as_bool()?));
    result.iter().map(sign).collect()
}

#[test]
fn two_clusters_on_the_same_hosts_are_reported_by_both() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"a.mpg", 100_000)?;
    ground.grade(&[b"a.mpg"])?;
    let often = [("calls.inventory_interval", "300ms")];
    let (source, destination) = (ground.start_source(0, &[])?, ground.start_destination(0, &[])?);
    let mut first = ground.start_node(&often)?;
    let roles = [&source, &destination, &first];
    wait_for("the copy", &roles, || holds(&ground.copies(0).join("a.mpg"), &bytes).then_some(()))?;
    let (node, host) = (ground.node.to_string(), ground.destination(0).to_string());
    // A single node has nothing to report, also after a restart.
    first.kill();
    first.start_again()?;
    wait_for("it leads again and warns of nothing", &[&first], || {
        (curl(&format!("http://{node}/readyz")) == "ready\n").then_some(())
    })?;
    assert_eq!(foreign_managers(&node, &ground.bearer(), &host), Some(Vec::new()));

    let std::net::SocketAddr::V4(v4) = ground.node else { anyhow::bail!("expected IPv4") };
    let other = free_addr(*v4.ip())?.to_string();
    let settings = [
        ("listen", other.clone()),
        ("data_dir", ground.path("other-node").display().to_string()),
        ("hosts.sources", format!("[\"{}\"]", ground.source(0))),
        ("hosts.destinations", format!("[\"{host}\"]")),
        ("heartbeat.interval", "300ms".to_owned()),
        ("calls.inventory_interval", "300ms".to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value));
    let second = RoleProcess::start("node", &settings, ground.path("other-node.log"))?;
    let roles = [&first, &second];
    let shown = |node: &str, data_dir: &str, sign: &str| {
        let bearer = bearer_in(&ground.path(data_dir));
        foreign_managers(node, &bearer, &host)?.contains(&(sign.to_owned(), true)).then_some(())
    };
    wait_for("the first reports the second", &roles, || shown(&node, "node", "other_cluster"))?;
    wait_for("the second reports the effective manager", &roles, || {
        shown(&other, "other-node", "orders_elsewhere")
    })?;

    // It still works, and reports that next to the warning.
    let ready = curl(&format!("http://{node}/readyz"));
    assert!(ready.starts_with("ready\nwarning: another manager manages this yard too"), "{ready}");
    let url = format!("http://{node}");
    let hosts = run(&["hosts", "--url", &url]);
    assert!(hosts.out.contains(&format!("another manager manages {host}")), "{}", hosts.out);
    let status = ground.get("/api/v1/status").context("status")?;
    assert_eq!(
        (&status["ready"], status["warnings"].as_array().map(Vec::len)),
        (&true.into(), Some(1))
    );
    // It is reported once, for any number of observations.
    let lines = first.log_text();
    let lines: Vec<&str> = lines.lines().filter(|line| line.contains("other_cluster")).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    Ok(())
}
