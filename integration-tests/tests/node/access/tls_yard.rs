//! A yard whose node and workers use TLS, with a private authority.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::tls::private_authority::{HostCertificate, PrivateAuthority};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess};
use serde_json::Value;

/// All hosts of the tests.
const ALL: (&str, &str) = ("calls.tls", "[\"127.0.0.0/8\"]");

/// A yard with an authority.
pub struct TlsYard {
    /// Directories and addresses.
    pub ground: ProcessYard,
    /// The authority of all hosts.
    pub authority: PrivateAuthority,
}

impl TlsYard {
    /// A yard for this number of hosts. Nothing runs yet.
    pub fn new(sources: usize, destinations: usize) -> Result<Self> {
        let ground = ProcessYard::new(sources, destinations)?;
        let authority = PrivateAuthority::make(ground.path("certs"))?;
        Ok(TlsYard { ground, authority })
    }

    /// A certificate for the IP of `addr`.
    pub fn certificate(&self, addr: SocketAddr) -> Result<HostCertificate> {
        self.authority.host(&[&addr.ip().to_string()])
    }

    /// Starts a node with TLS that calls all workers over TLS.
    pub fn start_node(&self, more: &[(&str, &str)]) -> Result<RoleProcess> {
        let (own, ca) = (self.certificate(self.ground.node)?, self.authority.ca());
        let settings = [&own.settings()[..], &[ALL, ("calls.ca_file", &ca)], more].concat();
        self.ground.start_node(&settings)
    }

    /// Starts source 0 with TLS on both ports.
    pub fn start_source(&self, more: &[(&str, &str)]) -> Result<RoleProcess> {
        self.with_settings(self.ground.source(0), more, |settings| {
            self.ground.start_source(0, settings)
        })
    }

    /// Starts destination 0 with TLS on both ports.
    pub fn start_destination(&self, more: &[(&str, &str)]) -> Result<RoleProcess> {
        self.with_settings(self.ground.destination(0), more, |settings| {
            self.ground.start_destination(0, settings)
        })
    }

    fn with_settings(
        &self,
        addr: SocketAddr,
        more: &[(&str, &str)],
        start: impl Fn(&[(&str, &str)]) -> Result<RoleProcess>,
    ) -> Result<RoleProcess> {
        let (own, ca) = (self.certificate(addr)?, self.authority.ca());
        let node = self.url(self.ground.node);
        let of_yard = [("node", node.as_str()), ("node_ca_file", &ca), ("tls.data", "true")];
        start(&[&own.settings()[..], &of_yard, more].concat())
    }

    /// The URL of a port with TLS.
    pub fn url(&self, addr: SocketAddr) -> String {
        format!("https://{addr}")
    }

    /// Whether curl, which trusts `ca`, gets an answer from this URL with these options.
    pub fn answers(&self, ca: &str, options: &[&str], url: &str) -> bool {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-m", "20", "-o", "/dev/null", "--cacert", ca]);
        curl.args(options).arg(url).status().is_ok_and(|status| status.success())
    }

    /// A `GET` as the administrator, as JSON. None unless the status is 200.
    pub fn get(&self, addr: SocketAddr, path: &str) -> Option<Value> {
        let mut curl = self.ground.curl();
        curl.args(["-f", "--cacert", &self.authority.ca()]);
        let output = curl.arg(format!("{}{path}", self.url(addr))).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// The data port of a worker, as its `/info` names it.
    pub fn data_port(&self, worker: SocketAddr) -> Option<SocketAddr> {
        let info = self.get(worker, "/info")?;
        info["data_tls"].as_bool().filter(|tls| *tls)?;
        info["data_listen"].as_str()?.parse().ok()
    }

    /// A new authority, whose certificate is in the second place.
    pub fn other_authority(&self) -> Result<(PrivateAuthority, String)> {
        let other = PrivateAuthority::make(self.ground.path("other-certs"))?;
        let ca = other.ca();
        Ok((other, ca))
    }

    /// Replaces the certificate of a host by one of a new authority, and reloads the process. Returns the certificate
    /// of the authority.
    pub fn renew_by_other_authority(&self, addr: SocketAddr, role: &RoleProcess) -> Result<String> {
        let (other, ca) = self.other_authority()?;
        let (old, new) = (self.certificate(addr)?, other.host(&[&addr.ip().to_string()])?);
        std::fs::copy(&new.certificate, &old.certificate)?;
        std::fs::copy(&new.key, &old.key)?;
        role.hang_up()?;
        Ok(ca)
    }

    /// A file with the certificates of both authorities.
    pub fn both(&self, other: &PrivateAuthority) -> Result<String> {
        let both = [std::fs::read(self.authority.ca())?, std::fs::read(other.ca())?].concat();
        let file = self.ground.path("both.crt");
        std::fs::write(&file, both)?;
        Ok(file.to_str().context("a path")?.to_owned())
    }
}
