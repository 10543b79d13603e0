//! The API over TLS, with a private authority.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};

/// A yard with an authority and a certificate of its node.
struct TlsYard {
    ground: ProcessYard,
    certs: PathBuf,
}

impl TlsYard {
    fn new() -> Result<Self> {
        Self::with(ProcessYard::new(0, 0)?)
    }

    fn with(ground: ProcessYard) -> Result<Self> {
        let certs = ground.path("certs");
        let yard = TlsYard { ground, certs };
        yard.make(&["init"])?;
        yard.make_host(&[])?;
        Ok(yard)
    }

    /// A certificate for the node.
    fn make_host(&self, more: &[&str]) -> Result<()> {
        let ip = self.ground.node.ip().to_string();
        self.make(&[&["host", "localhost", &ip], more].concat())
    }

    fn make(&self, arguments: &[&str]) -> Result<()> {
        let dir = self.certs.display().to_string();
        let ended = run(&[&["certs"], arguments, &["--dir", &dir]].concat());
        ensure!(ended.code == Some(0), "{}", ended.err);
        Ok(())
    }

    fn cert(&self, name: &str) -> String {
        self.certs.join(name).display().to_string()
    }

    fn start(&self) -> Result<RoleProcess> {
        let (certificate, key) = (self.cert("localhost.crt"), self.cert("localhost.key"));
        self.ground.start_node(&[("tls.certificate", &certificate), ("tls.key", &key)])
    }

    fn url(&self) -> String {
        format!("https://{}", self.ground.node)
    }

    fn whoami(&self, ca: &str) -> ProgramOutput {
        run(&["whoami", "--url", &self.url(), "--ca-file", ca])
    }

    /// Whether curl gets an answer of the node with these options.
    fn answers(&self, options: &[&str]) -> bool {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-m", "20", "-o", "/dev/null", "--cacert", &self.cert("ca.crt")]);
        curl.args(options).arg(format!("{}/healthz", self.url()));
        curl.status().is_ok_and(|status| status.success())
    }
}

#[test]
fn a_node_with_a_certificate_answers_over_tls_only() -> Result<()> {
    let yard = TlsYard::new()?;
    let node = yard.start()?;
    let ca = yard.cert("ca.crt");
    let who = wait_for("the node answers over TLS", &[&node], || {
        Some(yard.whoami(&ca)).filter(|who| who.code == Some(0))
    })?;
    assert!(who.out.contains("token admin"), "the local token works over TLS: {}", who.out);
    let untrusted = run(&["whoami", "--url", &yard.url()]);
    assert!(
        untrusted.code == Some(3) && untrusted.err.contains("certificate"),
        "{}",
        untrusted.err
    );
    let plain = run(&["whoami", "--url", &format!("http://{}", yard.ground.node)]);
    assert_eq!(plain.code, Some(3), "{}", plain.err);
    assert!(yard.answers(&["--tls-max", "1.2"]) && yard.answers(&["--tlsv1.3"]));
    assert!(!yard.answers(&["--tls-max", "1.1"]));
    let log = node.log_text();
    let link = log.split("https://").nth(1).context("the link uses https")?;
    assert!(link.contains("/login?link="), "{log}");
    Ok(())
}

#[test]
fn a_reload_serves_a_new_certificate() -> Result<()> {
    let yard = TlsYard::new()?;
    let node = yard.start()?;
    let old = yard.ground.path("old.crt").display().to_string();
    std::fs::copy(yard.cert("ca.crt"), &old)?;
    wait_for("the node answers", &[&node], || (yard.whoami(&old).code == Some(0)).then_some(()))?;
    std::fs::remove_dir_all(&yard.certs)?;
    yard.make(&["init"])?;
    yard.make_host(&[])?;
    node.hang_up()?;
    let new = yard.cert("ca.crt");
    wait_for("the new certificate", &[&node], || {
        (yard.whoami(&new).code == Some(0)).then_some(())
    })?;
    assert_eq!(yard.whoami(&old).code, Some(3));
    Ok(())
}

#[test]
fn workers_reach_a_node_over_tls() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let yard = TlsYard::with(ground)?;
    let node = yard.start()?;
    let (url, ca) = (yard.url(), yard.cert("ca.crt"));
    let settings = [("node", url.as_str()), ("node_ca_file", ca.as_str())];
    let source = yard.ground.start_source(0, &settings)?;
    let destination = yard.ground.start_destination(0, &settings)?;
    let bytes = yard.ground.master(b"a.mpg", 1 << 20)?;
    yard.ground.grade(&[b"a.mpg"])?;
    let copy = yard.ground.copies(0).join("a.mpg");
    wait_for("the copy", &[&node, &source, &destination], || holds(&copy, &bytes).then_some(()))
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
    let yard = TlsYard::new()?;
    let dir = yard.certs.display().to_string();
    let again = run(&["certs", "init", "--dir", &dir]);
    assert!(again.code == Some(1) && again.err.contains("cannot be created"), "{}", again.err);
    let host = run(&["certs", "host", "localhost", "--dir", &dir]);
    assert_eq!(host.code, Some(1), "{}", host.err);
    yard.make_host(&["--replace"])?;
    let absent =
        run(&["certs", "host", "a", "--dir", &yard.ground.path("none").display().to_string()]);
    assert!(absent.code == Some(2) && absent.err.contains("certs init"), "{}", absent.err);
    Ok(())
}
