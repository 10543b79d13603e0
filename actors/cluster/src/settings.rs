//! Settings of the network between nodes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use reelyard_core::settings;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{HostAndPort, SettingsReader};
use reelyard_core::settings::{Read, SettingValue};
use reelyard_replication::ClusterClockConfig;

use crate::transport::{ClusterTls, LinkSecurity};

settings! {
    /// The network between the nodes of a cluster.
    pub struct ClusterConfig [node] {
        /// Address for the other nodes. Without it the node runs alone.
        listen: Option<SocketAddr> = Optional "127.0.0.1:8082",
        /// Address by which the other nodes reach this one, as `host:port`. Without it, that is `listen`.
        address: Option<HostAndPort> = Optional "10.0.0.1:8082",
        /// Accepts other nodes without encryption on all addresses. Everybody in that network can act as a
        /// node, and read and change everything. Only for tests in closed networks.
        insecure: bool = Default "false",
    }
    parts {
        /// The clocks of the nodes.
        clock: ClusterClockConfig,
    }
    groups {
        /// Encryption between nodes.
        tls: ClusterTlsConfig,
    }
}

settings! {
    /// TLS between nodes: both sides present a certificate of the same authority. A reload reads the
    /// files again; new connections use them. `reelyard cluster certs` makes them.
    pub struct ClusterTlsConfig [node] {
        /// Certificate of the authority of all nodes in PEM.
        ca_file: Option<PathBuf> = Optional "/etc/reelyard/cluster-ca.crt",
        /// Certificate of this node in PEM. It names the host of the node's cluster address, and is valid
        /// for servers and clients.
        cert_file: Option<ClusterCertificateFile> = Optional "/etc/reelyard/node.crt",
        /// Private key of the certificate in PEM, without a password.
        key_file: Option<PathBuf> = Optional "/etc/reelyard/node.key",
    }
}

/// Path of the certificate of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterCertificateFile {
    path: PathBuf,
    /// The certificates; none only if a file cannot be read.
    read: Option<ClusterTls>,
}

impl SettingValue for ClusterCertificateFile {
    fn from_toml(value: &Value) -> Read<Self> {
        Ok(ClusterCertificateFile { path: PathBuf::from_toml(value)?, read: None })
    }

    fn to_toml(&self) -> Option<Value> {
        self.path.to_toml()
    }
}

impl ClusterConfig {
    /// Reads the files of TLS, and checks that the address may be used.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        self.tls.resolve(reader);
        let Some(listen) = self.listen else {
            if self.address.is_some() {
                reader
                    .fault("cluster.address", "has no effect without cluster.listen: set that too");
            }
            return;
        };
        if listen.ip().is_unspecified() && self.address.is_none() {
            let why = format!(
                "is missing: other nodes cannot reach {listen}. Set it to an address of this host"
            );
            reader.fault("cluster.address", why);
        }
        let own = self.public_address();
        if let (Some(tls), Some(own)) = (self.tls.read_files(), own)
            && let Err(why) = tls.check_own_name(&own)
        {
            reader.fault("cluster.tls.cert_file", why);
        }
        if let Err(why) = self.security().check_address(listen) {
            reader.fault("cluster.listen", why);
        }
    }

    /// The address for the records of other nodes. None without a listener.
    pub fn public_address(&self) -> Option<String> {
        let listen = self.listen?;
        Some(self.address.as_ref().map_or_else(|| listen.to_string(), HostAndPort::to_string))
    }

    /// How connections to other nodes are protected.
    pub fn security(&self) -> LinkSecurity {
        match self.tls.read_files() {
            Some(tls) => LinkSecurity::Tls(tls.clone()),
            None if self.insecure => LinkSecurity::PlainEverywhere,
            None => LinkSecurity::PlainOnLoopback,
        }
    }
}

impl ClusterTlsConfig {
    fn read_files(&self) -> Option<&ClusterTls> {
        self.cert_file.as_ref()?.read.as_ref()
    }

    fn resolve(&mut self, reader: &mut SettingsReader) {
        const KEYS: [&str; 3] =
            ["cluster.tls.ca_file", "cluster.tls.cert_file", "cluster.tls.key_file"];
        let cert = self.cert_file.as_ref().map(|file| file.path.as_path());
        let files: [Option<&Path>; 3] = [self.ca_file.as_deref(), cert, self.key_file.as_deref()];
        let [Some(ca), Some(cert), Some(key)] = files else {
            if files.iter().any(Option::is_some) {
                for (key, _) in KEYS.iter().zip(files).filter(|(_, file)| file.is_none()) {
                    reader.fault(key, "is missing: TLS between nodes needs all three files");
                }
            }
            return;
        };
        match ClusterTls::read(ca, cert, key) {
            Ok(tls) => {
                if let Some(file) = &mut self.cert_file {
                    file.read = Some(tls);
                }
            }
            Err(bad) => {
                let at = files.iter().position(|file| *file == Some(bad.file.as_path()));
                let key = at.and_then(|at| KEYS.get(at)).unwrap_or(&KEYS[1]);
                reader.fault(key, bad.to_string());
            }
        }
    }
}
