//! Encryption between nodes: both sides present a certificate of the same authority.
//!
//! The certificate of a member names the host of its cluster address, as a DNS name or as an IP address. So it can
//! be made before the node has a number, and it stays valid if the number changes.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::clock::Millis;
use rustls::client::{Resumption, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};

use super::certificate_fields::{certificate_end, names_in};
use super::socket::split_address;

/// The certificates of this node. Cheap to clone; equal if the files were equal.
#[derive(Clone)]
pub struct ClusterTls {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    certificate: CertificateDer<'static>,
    ends: Millis,
    fingerprint: blake3::Hash,
}

/// Why the files of `cluster.tls` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", .file.display())]
pub struct BadClusterTls {
    /// The file at fault.
    pub file: PathBuf,
    /// The fault, and the remedy.
    pub why: String,
}

impl ClusterTls {
    /// Reads the certificate of the authority, and the certificate of this node with its key (PEM).
    ///
    /// # Errors
    /// When a file cannot be read, or is no certificate or key.
    pub fn read(ca: &Path, certificate: &Path, key: &Path) -> Result<Self, BadClusterTls> {
        let bad = |file: &Path, why: String| BadClusterTls { file: file.to_owned(), why };
        let mut hasher = blake3::Hasher::new();
        let mut roots = RootCertStore::empty();
        for authority in certificates(ca)? {
            hasher.update(&authority);
            roots.add(authority).map_err(|error| bad(ca, error.to_string()))?;
        }
        let chain = certificates(certificate)?;
        for one in &chain {
            hasher.update(one);
        }
        // There is at least one: see `certificates`.
        let own = chain.first().cloned().unwrap_or_else(|| CertificateDer::from(Vec::new()));
        let ends = certificate_end(&own)
            .ok_or_else(|| bad(certificate, "its end cannot be read".to_owned()))?;
        let text = read_file(key)?;
        let private = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
            bad(key, format!("it contains no private key in PEM format: {error}"))
        })?;
        hasher.update(private.secret_der());
        let roots = Arc::new(roots);
        let (server, client) = configs(&roots, chain, private).map_err(|error| {
            bad(certificate, format!("it cannot be used with its key: {error}"))
        })?;
        let fingerprint = hasher.finalize();
        Ok(ClusterTls { server, client, certificate: own, ends, fingerprint })
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    pub(super) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.client)
    }

    /// The end of the validity of this node's certificate.
    pub fn ends(&self) -> Millis {
        self.ends
    }

    /// Whether the certificate of this node names the host of `cluster_address`. Otherwise members refuse it.
    ///
    /// # Errors
    /// Says which name is missing.
    pub fn check_own_name(&self, cluster_address: &str) -> Result<(), String> {
        check_name(&self.certificate, cluster_address)
    }
}

fn read_file(file: &Path) -> Result<Vec<u8>, BadClusterTls> {
    bounded_read::read(file, InputSource::File).map_err(|error| BadClusterTls {
        file: file.to_owned(),
        why: format!("it cannot be read: {error}"),
    })
}

/// The certificates in a file: at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, BadClusterTls> {
    let bad = |why: String| BadClusterTls { file: file.to_owned(), why };
    let text = read_file(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found =
        found.map_err(|error| bad(format!("it contains an invalid certificate: {error}")))?;
    if found.is_empty() {
        return Err(bad("it contains no certificate in PEM format".to_owned()));
    }
    Ok(found)
}

/// The names and addresses of the first certificate in a file (PEM).
///
/// # Errors
/// When the file contains no certificate, or the certificate has no names.
pub fn certificate_names(file: &Path) -> Result<Vec<String>, BadClusterTls> {
    let found = certificates(file)?;
    let names = found.first().and_then(|first| names_in(first)).unwrap_or_default();
    if names.is_empty() {
        let why = "its certificate has no names".to_owned();
        return Err(BadClusterTls { file: file.to_owned(), why });
    }
    Ok(names)
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    // The caller's order counts. AES with 128 bits needs the least processor time.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

fn configs(
    roots: &Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<(Arc<ServerConfig>, Arc<ClientConfig>), Box<dyn std::error::Error>> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), provider()).build()?;
    let mut server = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())?;
    let mut client = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(Arc::clone(roots))
        .with_client_auth_cert(chain, key)?;
    // Each connection proves its certificate.
    client.resumption = Resumption::disabled();
    server.send_tls13_tickets = 0;
    Ok((Arc::new(server), Arc::new(client)))
}

/// The name that the certificate of the member at this address must have.
pub(super) fn name_of(cluster_address: &str) -> Result<ServerName<'static>, String> {
    let (host, _) = split_address(cluster_address).map_err(|bad| bad.to_string())?;
    ServerName::try_from(host.to_owned())
        .map_err(|_| format!("\"{host}\" is no name of a host and no address"))
}

/// Whether a certificate names the host of a cluster address.
pub(super) fn check_name(
    certificate: &CertificateDer<'_>,
    cluster_address: &str,
) -> Result<(), String> {
    let name = name_of(cluster_address)?;
    let parsed = ParsedCertificate::try_from(certificate)
        .map_err(|error| format!("the certificate cannot be read: {error}"))?;
    verify_server_name(&parsed, &name).map_err(|_| {
        format!(
            "the certificate names {}, and not {}, the host of the cluster address: make one with \
             \"reelyard cluster certs node\"",
            names_in(certificate).unwrap_or_default().join(", "),
            name.to_str()
        )
    })
}

impl PartialEq for ClusterTls {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for ClusterTls {}

impl fmt::Debug for ClusterTls {
    /// Never shows the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterTls")
    }
}

/// How connections between nodes are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkSecurity {
    /// Mutual TLS.
    Tls(ClusterTls),
    /// No encryption, and only within this machine.
    PlainOnLoopback,
    /// No encryption: everybody in the network can act as a member.
    PlainEverywhere,
}

impl LinkSecurity {
    /// Whether this address may be used.
    ///
    /// # Errors
    /// Without encryption, for an address outside this machine. The text names the remedies.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), String> {
        let is_open =
            *self == LinkSecurity::PlainOnLoopback && !address.ip().to_canonical().is_loopback();
        if !is_open {
            return Ok(());
        }
        Err(format!(
            "{address} is outside this machine, and connections between nodes are not encrypted. Set \
             cluster.tls.ca_file, cluster.tls.cert_file and cluster.tls.key_file (\"reelyard cluster certs\" makes \
             them). Or use a loopback address such as 127.0.0.1:8082"
        ))
    }
}
