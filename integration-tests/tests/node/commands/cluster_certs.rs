//! Certificates of the nodes of a cluster.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use reelyard_cluster::{ClusterTls, certificate_names};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};

fn certs(dir: &Path, arguments: &[&str]) -> Result<ProgramOutput> {
    let dir = dir.to_str().context("a path of ASCII")?;
    Ok(run(&[&["cluster", "certs"], arguments, &["--dir", dir]].concat()))
}

fn read(dir: &Path, name: &str) -> Result<ClusterTls> {
    let file = |name: String| dir.join(name);
    let (certificate, key) = (file(format!("{name}.crt")), file(format!("{name}.key")));
    Ok(ClusterTls::read(&dir.join("ca.crt"), &certificate, &key)?)
}

#[test]
fn a_node_gets_a_certificate_for_its_cluster_address() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    let before = certs(dir, &["node", "10.0.0.1"])?;
    ensure!(before.code == Some(2) && before.err.contains("cluster certs init"), "{}", before.err);
    let made = certs(dir, &["init"])?;
    ensure!(made.code == Some(0) && made.out.contains("cluster.tls.ca_file"), "{}", made.err);
    let made = certs(dir, &["node", "10.0.0.1", "a.example"])?;
    ensure!(made.code == Some(0), "{}", made.err);
    for key in ["ca_file = ", "cert_file = ", "key_file = "] {
        ensure!(made.out.contains(key), "{}", made.out);
    }
    let tls = read(dir, "10.0.0.1")?;
    for address in ["10.0.0.1:8082", "a.example:8082"] {
        assert_eq!(tls.check_own_name(address), Ok(()));
    }
    let again = certs(dir, &["node", "10.0.0.1"])?;
    assert_eq!(again.code, Some(1), "a certificate is not overwritten: {}", again.err);
    Ok(())
}

#[test]
fn a_renewed_certificate_has_the_same_names() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    for arguments in [&["init"][..], &["node", "b.example", "10.0.0.2", "2001:db8::2"]] {
        let made = certs(dir, arguments)?;
        ensure!(made.code == Some(0), "{}", made.err);
    }
    let former = read(dir, "b.example")?;
    let renewed = certs(dir, &["renew", "b.example"])?;
    ensure!(renewed.code == Some(0), "{}", renewed.err);
    ensure!(read(dir, "b.example")? != former, "the certificate is not new");
    let names = certificate_names(&dir.join("b.example.crt"))?;
    assert_eq!(names, ["b.example", "10.0.0.2", "2001:db8::2"]);
    let unknown = certs(dir, &["renew", "c.example"])?;
    ensure!(unknown.code == Some(2) && unknown.err.contains("certs node"), "{}", unknown.err);
    Ok(())
}

#[test]
fn a_certificate_for_another_host_is_refused_before_the_node_starts() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    for arguments in [&["init"][..], &["node", "10.0.0.1"]] {
        let made = certs(dir, arguments)?;
        ensure!(made.code == Some(0), "{}", made.err);
    }
    let check = |address: &str| -> Result<ProgramOutput> {
        let file = dir.join("node.toml");
        let text = format!(
            "[cluster]\nlisten = \"0.0.0.0:8082\"\naddress = \"{address}\"\n[cluster.tls]\nca_file = \"{0}/ca.crt\"\n\
             cert_file = \"{0}/10.0.0.1.crt\"\nkey_file = \"{0}/10.0.0.1.key\"\n",
            dir.display()
        );
        std::fs::write(&file, text)?;
        let file = file.to_str().context("a path of ASCII")?;
        Ok(run(&["config", "check", "node", "--config", file]))
    };
    let right = check("10.0.0.1:8082")?;
    ensure!(right.code == Some(0), "{}{}", right.out, right.err);
    let other = check("10.0.0.9:8082")?;
    let shown = format!("{}{}", other.out, other.err);
    ensure!(other.code != Some(0) && shown.contains("10.0.0.9"), "{shown}");
    ensure!(shown.contains("cluster.tls.cert_file") && shown.contains("certs node"), "{shown}");
    Ok(())
}
