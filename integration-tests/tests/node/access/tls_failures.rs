//! Failures of TLS between node and workers: each names the setting to change.

use std::net::SocketAddr;

use anyhow::Result;
use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::yard::{RoleProcess, wait_for};

use super::tls_yard::TlsYard;

/// The error of the last probe of a host, as the API shows it.
fn failure_of(yard: &TlsYard, host: SocketAddr) -> Option<String> {
    let hosts = yard.get(yard.ground.node, "/api/v1/hosts")?;
    let is_it = |row: &&serde_json::Value| row["host"] == host.to_string();
    let row = hosts["items"].as_array()?.iter().find(is_it)?.clone();
    row["failure"].as_str().map(str::to_owned)
}

#[test]
fn a_call_to_a_worker_fails_with_a_remedy() -> Result<()> {
    let yard = TlsYard::new(5, 0)?;
    let at = |number| yard.ground.source(number);
    let (other, _) = yard.other_authority()?;
    let ip = |number: usize| at(number).ip().to_string();
    let unlisted = yard.certificate(at(1))?;
    let unknown = other.host(&[&ip(2)])?;
    let misnamed = yard.authority.host(&["worker.example"])?;
    let expired = yard.authority.expired(at(4).ip())?;
    let listed: Vec<String> =
        [0, 2, 3, 4].iter().map(|number| format!("\"{}\"", at(*number))).collect();
    let node = yard.start_node(&[("calls.tls", &format!("[{}]", listed.join(",")))])?;
    let roles = [
        yard.ground.start_source(0, &[])?,
        yard.ground.start_source(1, &unlisted.settings())?,
        yard.ground.start_source(2, &unknown.settings())?,
        yard.ground.start_source(3, &misnamed.settings())?,
        yard.ground.start_source(4, &expired.settings())?,
    ];
    for (number, words) in [
        (0, ["answers without TLS", "calls.tls"]),
        (1, ["over TLS only", "calls.tls"]),
        (2, ["an unknown authority", "calls.ca_file"]),
        (3, ["for another name", "reelyard certs host"]),
        (4, ["has expired", "reelyard certs host"]),
    ] {
        let what = format!("{words:?}");
        wait_for(&what, &[&node, &roles[number]], || {
            let failure = failure_of(&yard, at(number))?;
            words.iter().all(|words| failure.contains(words)).then_some(())
        })?;
    }
    Ok(())
}

#[test]
fn a_worker_names_the_setting_for_a_node_it_cannot_call() -> Result<()> {
    // The source without TLS stands for a node without TLS.
    let yard = TlsYard::new(1, 1)?;
    let node = yard.start_node(&[])?;
    let (_, other_ca) = yard.other_authority()?;
    let plain = format!("http://{}", yard.ground.node);
    let mut worker = yard.start_destination(&[("node", &plain)])?;
    let logs = |worker: &RoleProcess, words: &str| {
        wait_for(words, &[&node, worker], || worker.log_text().contains(words).then_some(()))
    };
    logs(&worker, "begin the setting node with https://")?;
    let url = yard.url(yard.ground.node);
    worker.start_again_with(&[("node", &url), ("node_ca_file", &other_ca)])?;
    logs(&worker, "set node_ca_file to the certificate of the authority")?;
    let no_tls = yard.ground.start_source(0, &[])?;
    worker.start_again_with(&[("node", &yard.url(yard.ground.source(0)))])?;
    wait_for("the words", &[&no_tls, &worker], || {
        worker.log_text().contains("remove https:// from the setting node").then_some(())
    })
}

#[test]
fn a_copy_from_an_untrusted_data_port_fails_with_a_remedy() -> Result<()> {
    let yard = TlsYard::new(1, 1)?;
    let (other, _) = yard.other_authority()?;
    let both = yard.both(&other)?;
    let node = yard.start_node(&[("calls.ca_file", &both)])?;
    let own = other.host(&[&yard.ground.source(0).ip().to_string()])?;
    let source = yard.start_source(&own.settings())?;
    let destination = yard.start_destination(&[])?;
    let roles = [&node, &source, &destination];
    let bytes = yard.ground.master(b"a.mpg", 100_000)?;
    yard.ground.grade(&[b"a.mpg"])?;
    let task = wait_for("the copy fails", &roles, || {
        let tasks = yard.get(yard.ground.node, "/api/v1/tasks?state=failed")?;
        tasks["items"].as_array()?.first().cloned()
    })?;
    let reason = task["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("node_ca_file") && task["blame"] == "pair", "{task}");
    // A reload reads the file again.
    std::fs::copy(&both, yard.authority.ca())?;
    destination.hang_up()?;
    let copy = yard.ground.copies(0).join("a.mpg");
    let arrived = || std::fs::read(&copy).is_ok_and(|copied| copied == bytes).then_some(());
    wait_for("the copy", &roles, arrived)
}

#[test]
fn tls_of_the_data_port_needs_a_certificate() {
    let checked = run(&[
        "config",
        "check",
        "worker",
        "--set",
        "listen=127.0.0.1:9",
        "--set",
        "source_dirs=/",
        "--set",
        "tls.data=true",
    ]);
    let fault = "tls.data: has no effect without tls.certificate";
    assert!(checked.code == Some(2) && checked.err.contains(fault), "{}", checked.err);
}
