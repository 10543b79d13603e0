//! Workers with TLS: calls of the node, and copies between data ports.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::yard::{RoleProcess, holds, wait_for};

use super::tls_yard::TlsYard;

#[test]
fn a_yard_copies_over_tls_from_end_to_end() -> Result<()> {
    let yard = TlsYard::new(1, 1)?;
    let node = yard.start_node(&[])?;
    let source = yard.start_source(&[])?;
    let destination = yard.start_destination(&[])?;
    let roles = [&node, &source, &destination];
    // Small files are requested ahead, and the large one needs many records.
    let names: Vec<String> = (0..20).map(|number| format!("small-{number}.mpg")).collect();
    let mut files = vec![("large.mpg".to_owned(), yard.ground.master(b"large.mpg", 5_000_001)?)];
    for name in names {
        let bytes = yard.ground.master(name.as_bytes(), 70_000)?;
        files.push((name, bytes));
    }
    let graded: Vec<&[u8]> = files.iter().map(|(name, _)| name.as_bytes()).collect();
    yard.ground.grade(&graded)?;
    for (name, bytes) in &files {
        let copy = yard.ground.copies(0).join(name);
        wait_for(name, &roles, || holds(&copy, bytes).then_some(()))?;
    }
    let ca = yard.authority.ca();
    let data = yard.data_port(yard.ground.source(0)).context("its data port has TLS")?;
    for addr in [yard.ground.source(0), data] {
        let url = format!("{}/hb", yard.url(addr));
        assert!(yard.answers(&ca, &["-I", "--tls-max", "1.2"], &url), "{url}");
        assert!(yard.answers(&ca, &["-I", "--tlsv1.3"], &url), "{url}");
        assert!(!yard.answers(&ca, &["-I", "--tls-max", "1.1"], &url), "{url}");
        let url = format!("http://{addr}/hb");
        let plain = Command::new("curl").args(["-si", "-m", "20", &url]).output()?;
        let plain = String::from_utf8(plain.stdout)?;
        assert!(plain.starts_with("HTTP/1.1 426 ") && plain.contains("use https"), "{plain}");
    }
    let hosts = yard.get(yard.ground.node, "/api/v1/hosts").context("the hosts")?;
    let kinds = hosts["items"].as_array().into_iter().flatten();
    assert!(kinds.clone().all(|host| host["kind"]["reelyard"]["data_tls"] == true), "{hosts}");
    assert_eq!(kinds.count(), 2);
    Ok(())
}

#[test]
fn a_data_port_without_tls_serves_beside_a_listener_with_it() -> Result<()> {
    let yard = TlsYard::new(1, 1)?;
    let node = yard.start_node(&[])?;
    let source = yard.start_source(&[("tls.data", "false")])?;
    let destination = yard.start_destination(&[])?;
    let bytes = yard.ground.master(b"a.mpg", 100_000)?;
    yard.ground.grade(&[b"a.mpg"])?;
    let copy = yard.ground.copies(0).join("a.mpg");
    wait_for("the copy", &[&node, &source, &destination], || holds(&copy, &bytes).then_some(()))
}

#[test]
fn a_reload_changes_the_certificate_and_drops_no_copy() -> Result<()> {
    let yard = TlsYard::new(1, 1)?;
    let node = yard.start_node(&[("task.copy_speed", "2MiB/s")])?;
    let source = yard.start_source(&[])?;
    let destination = yard.start_destination(&[])?;
    let roles = [&node, &source, &destination];
    let bytes = yard.ground.master(b"slow.mpg", 12 << 20)?;
    yard.ground.grade(&[b"slow.mpg"])?;
    let bytes_copied = || {
        let tasks = yard.get(yard.ground.node, "/api/v1/tasks")?;
        tasks["items"][0]["copied"].as_u64().filter(|bytes| *bytes > 0)
    };
    wait_for("the copy runs", &roles, bytes_copied)?;
    let addr = yard.ground.source(0);
    let data = yard.data_port(addr).context("its data port has TLS")?;
    let (old, new) = (yard.authority.ca(), yard.renew_by_other_authority(addr, &source)?);
    for port in [addr, data] {
        let url = format!("{}/hb", yard.url(port));
        wait_for("the new certificate", &roles, || {
            yard.answers(&new, &["-I"], &url).then_some(())
        })?;
        assert!(!yard.answers(&old, &["-I"], &url), "{url}");
    }
    let copy = yard.ground.copies(0).join("slow.mpg");
    assert!(!Path::new(&copy).exists(), "the reload came during the copy");
    // The destination does not trust the new authority, so it could not connect again.
    wait_for("the copy", &roles, || holds(&copy, &bytes).then_some(()))
}

/// Connections that begin no handshake: more than the server has places for.
struct IdleClients(Vec<TcpStream>);

impl IdleClients {
    /// Connects, and waits until the server closed some of the connections because others needed their places.
    fn over_the_limit(addr: SocketAddr, count: usize, role: &RoleProcess) -> Result<Self> {
        let connect = |_| {
            let stream = TcpStream::connect(addr)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let clients = IdleClients((0..count).map(connect).collect::<Result<_>>()?);
        wait_for("the server closes some connections", &[role], || {
            (clients.open() < count).then_some(())
        })?;
        Ok(clients)
    }

    /// How many are still open.
    fn open(&self) -> usize {
        let is_open = |mut stream: &TcpStream| {
            let read = stream.read(&mut [0]);
            read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        self.0.iter().filter(|stream| is_open(stream)).count()
    }
}

#[test]
fn idle_handshakes_block_no_others() -> Result<()> {
    let yard = TlsYard::new(1, 0)?;
    let node = yard.start_node(&[("http.connections_per_address", "32")])?;
    let source = yard.start_source(&[])?;
    let (host, ca) = (yard.ground.source(0), yard.authority.ca());
    let data = wait_for("the worker is up", &[&source], || yard.data_port(host))?;
    wait_for("the node is up", &[&node], || yard.get(yard.ground.node, "/api/v1/hosts"))?;
    for (addr, count, role) in
        [(yard.ground.node, 100, &node), (host, 600, &source), (data, 100, &source)]
    {
        let idle = IdleClients::over_the_limit(addr, count, role)?;
        assert!(idle.open() > 0, "{addr}: most connections are still open");
        let url = format!("{}/hb", yard.url(addr));
        assert!(yard.answers(&ca, &[], &url), "{addr} does not answer");
    }
    Ok(())
}
