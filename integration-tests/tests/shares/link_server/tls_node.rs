//! TLS of public links in the configuration of a node: at its start, and at a reload.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use reelyard::config::{Layers, load_node};
use reelyard_integration_tests::rigs::tls::certificate::Pem;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, free_addr, wait_for};
use serde_json::Value;

fn faults(settings: &[(&str, &Path)]) -> String {
    let set = settings.iter().map(|(key, path)| format!("share.tls.{key}={}", path.display()));
    let read = load_node(&Layers { set: set.collect(), ..Layers::default() });
    read.err().map(|faults| faults.to_string()).unwrap_or_default()
}

#[test]
fn errors_of_a_certificate_are_explained() {
    let place = tempfile::tempdir().unwrap();
    let [pem, other] = ["one", "other"].map(|name| Pem::make(place.path(), name));
    let both =
        |certificate: &Path, key: &Path| faults(&[("certificate", certificate), ("key", key)]);
    assert_eq!(both(&pem.certificate, &pem.key), "");
    let absent = place.path().join("absent");
    let empty = place.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let broken = place.path().join("broken");
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    for (certificate, key, at, why) in [
        (&absent, &pem.key, "certificate: ", "absent: cannot be read: No such file"),
        (&empty, &pem.key, "certificate: ", "empty: it contains no certificate"),
        (&pem.key, &pem.key, "certificate: ", "one.key: it contains no certificate"),
        (&broken, &pem.key, "certificate: ", "broken: it is not a valid certificate: "),
        (&pem.certificate, &absent, "key: ", "absent: cannot be read: No such file"),
        (&pem.certificate, &pem.certificate, "key: ", "one.crt: it contains no private key"),
        (&pem.certificate, &other.key, "key: ", "other.key: it is not the key of the certificate"),
    ] {
        let result = both(certificate, key);
        assert!(
            result.contains(&format!("share.tls.{at}")) && result.contains(why),
            "{why}: {result}"
        );
    }
    let alone = faults(&[("certificate", &pem.certificate)]);
    assert!(alone.contains("share.tls.key: is missing: share.tls.certificate is set"), "{alone}");
    let alone = faults(&[("key", &pem.key)]);
    assert!(alone.contains("share.tls.certificate: is missing: share.tls.key is set"), "{alone}");
}

/// The answer of curl for `url`, with trust only in `pem`.
fn fetch(pem: &Pem, url: &str) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-m", "20", "--cacert"]).arg(&pem.certificate);
    String::from_utf8(curl.arg(url).output().unwrap().stdout).unwrap()
}

#[test]
fn a_node_shows_its_certificate_and_after_a_reload_the_new_one() -> Result<()> {
    let ground = ProcessYard::new(1, 0)?;
    let films = ground.path("films");
    std::fs::create_dir_all(&films)?;
    std::fs::write(films.join("a.mpg"), b"0123456789")?;
    let pem = Pem::make(&ground.path(""), "shown");
    let (links, file) = (free_addr(Ipv4Addr::LOCALHOST)?, ground.path("node.toml"));
    let shown = |path: &Path| path.display().to_string();
    let clear = format!(
        "listen = \"{}\"\ndata_dir = \"{}\"\nshare.roots = {{ films = \"{}\" }}\n\
         share.listen = \"{links}\"\n",
        ground.node,
        shown(&ground.path("node")),
        shown(&films),
    );
    let tls = format!(
        "{clear}share.tls.certificate = \"{}\"\nshare.tls.key = \"{}\"\n",
        shown(&pem.certificate),
        shown(&pem.key)
    );
    std::fs::write(&file, &tls)?;
    let node = RoleProcess::start_by_file("node", &file, ground.path("node.log"))?;
    let url = wait_for("a share is made", &[&node], || share(&ground))?;
    ensure!(url.starts_with(&format!("https://{links}/s/")), "{url}");
    ensure!(fetch(&pem, &format!("{url}/file")) == "0123456789");

    let log =
        |words: &str| wait_for(words, &[&node], || node.log_text().contains(words).then_some(()));
    let kept = std::fs::read(&pem.key)?;
    std::fs::write(&pem.key, "")?;
    node.hang_up()?;
    log("it contains no private key")?;
    ensure!(fetch(&pem, &format!("{url}/file")) == "0123456789", "the old one is in force");
    std::fs::write(&pem.key, kept)?;

    let old = Pem { certificate: ground.path("old.crt"), ..pem.clone() };
    std::fs::copy(&pem.certificate, &old.certificate)?;
    let pem = Pem::make(&ground.path(""), "shown");
    node.hang_up()?;
    log("share.tls.certificate: changed")?;
    ensure!(fetch(&pem, &format!("{url}/file")) == "0123456789");
    ensure!(fetch(&old, &format!("{url}/file")).is_empty());

    std::fs::write(&file, clear)?;
    node.hang_up()?;
    let url = url.replace("https://", "http://");
    wait_for("it is served in the clear", &[&node], || {
        (fetch(&pem, &format!("{url}/file")) == "0123456789").then_some(())
    })?;
    ensure!(share(&ground).unwrap().starts_with("http://"));
    Ok(())
}

/// The URL of a new share.
fn share(ground: &ProcessYard) -> Option<String> {
    let mut curl = ground.curl();
    curl.args(["-H", "content-type: application/json", "-d", "{\"path\":\"films/a.mpg\"}"]);
    let output = curl.arg(format!("http://{}/api/v1/shares", ground.node)).output().ok()?;
    let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(answer["url"].as_str()?.to_owned())
}
