//! The API over TLS, with a private authority.

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::tls::private_authority::PrivateAuthority;
use reelyard_integration_tests::rigs::yard::{RoleProcess, holds, wait_for};

use super::tls_yard::TlsYard;

/// Starts a node with TLS. It calls its workers without TLS.
fn start_node(yard: &TlsYard) -> Result<RoleProcess> {
    yard.ground.start_node(&yard.certificate(yard.ground.node)?.settings())
}

fn whoami(yard: &TlsYard, ca: &str) -> ProgramOutput {
    run(&["whoami", "--url", &yard.url(yard.ground.node), "--ca-file", ca])
}

#[test]
fn a_node_with_a_certificate_answers_over_tls_only() -> Result<()> {
    let yard = TlsYard::new(0, 0)?;
    let node = start_node(&yard)?;
    let (ca, url) = (yard.authority.ca(), yard.url(yard.ground.node));
    let who = wait_for("the node answers over TLS", &[&node], || {
        Some(whoami(&yard, &ca)).filter(|who| who.code == Some(0))
    })?;
    assert!(who.out.contains("token admin"), "the local token works over TLS: {}", who.out);
    let untrusted = run(&["whoami", "--url", &url]);
    assert!(untrusted.code == Some(3) && untrusted.err.contains("--ca-file"), "{}", untrusted.err);
    let plain = run(&["whoami", "--url", &format!("http://{}", yard.ground.node)]);
    assert!(plain.code == Some(3) && plain.err.contains("with https://"), "{}", plain.err);
    let answers = |options: &[&str]| yard.answers(&ca, options, &format!("{url}/healthz"));
    assert!(answers(&["--tls-max", "1.2"]) && answers(&["--tlsv1.3"]));
    assert!(!answers(&["--tls-max", "1.1"]));
    let log = node.log_text();
    let link = log.split("https://").nth(1).context("the link uses https")?;
    assert!(link.contains("/login?link="), "{log}");
    Ok(())
}

#[test]
fn a_reload_serves_a_new_certificate() -> Result<()> {
    let yard = TlsYard::new(0, 0)?;
    let node = start_node(&yard)?;
    let old = yard.authority.ca();
    wait_for("the node answers", &[&node], || (whoami(&yard, &old).code == Some(0)).then_some(()))?;
    let new = yard.renew_by_other_authority(yard.ground.node, &node)?;
    wait_for("the new certificate", &[&node], || {
        (whoami(&yard, &new).code == Some(0)).then_some(())
    })?;
    assert_eq!(whoami(&yard, &old).code, Some(3));
    Ok(())
}

#[test]
fn workers_reach_a_node_over_tls() -> Result<()> {
    let yard = TlsYard::new(1, 1)?;
    let node = start_node(&yard)?;
    let (url, ca) = (yard.url(yard.ground.node), yard.authority.ca());
    let settings = [("node", url.as_str()), ("node_ca_file", ca.as_str())];
    let source = yard.ground.start_source(0, &settings)?;
    let destination = yard.ground.start_destination(0, &settings)?;
    let bytes = yard.ground.master(b"a.mpg", 1 << 20)?;
    yard.ground.grade(&[b"a.mpg"])?;
    let copy = yard.ground.copies(0).join("a.mpg");
    wait_for("the copy", &[&node, &source, &destination], || holds(&copy, &bytes).then_some(()))
}

#[test]
fn a_command_names_http_for_a_port_without_tls() -> Result<()> {
    let yard = TlsYard::new(0, 0)?;
    let node = yard.ground.start_node(&[])?;
    let plain = format!("http://{}", yard.ground.node);
    wait_for("the node answers", &[&node], || {
        (run(&["whoami", "--url", &plain]).code == Some(0)).then_some(())
    })?;
    let refused = run(&["whoami", "--url", &yard.url(yard.ground.node)]);
    assert!(refused.code == Some(3) && refused.err.contains("with http://"), "{}", refused.err);
    Ok(())
}

#[test]
fn a_listener_that_others_reach_needs_tls_or_a_decision() {
    let check = |more: &[&str]| {
        run(&[&["config", "check", "node", "--set", "listen=0.0.0.0:8080"], more].concat())
    };
    let refused = check(&[]);
    assert!(refused.code == Some(2) && refused.err.contains("tls.certificate"), "{}", refused.err);
    assert!(refused.err.contains("insecure = true"), "{}", refused.err);
    let accepted = check(&["--set", "insecure=true"]);
    assert!(accepted.code == Some(0), "{}", accepted.err);
    assert!(accepted.out.contains("can read tokens and passwords"), "{}", accepted.out);
}

#[test]
fn an_authority_is_not_overwritten() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("certs");
    let authority = PrivateAuthority::make(path.clone())?;
    authority.certs(&["host", "localhost"])?;
    let path = path.display().to_string();
    let again = run(&["certs", "init", "--dir", &path]);
    assert!(again.code == Some(1) && again.err.contains("cannot be created"), "{}", again.err);
    let host = run(&["certs", "host", "localhost", "--dir", &path]);
    assert_eq!(host.code, Some(1), "{}", host.err);
    authority.certs(&["host", "localhost", "--replace"])?;
    let none = dir.path().join("none").display().to_string();
    let absent = run(&["certs", "host", "a", "--dir", &none]);
    assert!(absent.code == Some(2) && absent.err.contains("certs init"), "{}", absent.err);
    Ok(())
}
