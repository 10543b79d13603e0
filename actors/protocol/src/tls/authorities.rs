//! The authorities whose certificates a client trusts.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, SettingsReader};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Trusted authorities. Equal if their certificates are equal. Cheap to clone.
#[derive(Clone, Default)]
pub enum TrustedAuthorities {
    /// Those of the system, which are read at each use: the system keeps them up to date, and operators install
    /// their own authority there. `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's store.
    #[default]
    System,
    /// These only: private authorities, or the certificate of the server itself.
    These {
        /// Their certificates.
        roots: Arc<RootCertStore>,
        /// Identifies the certificates.
        fingerprint: blake3::Hash,
    },
}

/// Why a file of authorities cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadAuthorities {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// The file contains an invalid certificate.
    #[error("it contains an invalid certificate: {0}")]
    Garbled(String),
    /// The file contains no certificate.
    #[error("it contains no certificate in PEM format")]
    None,
}

impl TrustedAuthorities {
    /// Trusts no server.
    pub fn none() -> Self {
        let roots = Arc::new(RootCertStore::empty());
        TrustedAuthorities::These { roots, fingerprint: blake3::hash(b"") }
    }

    /// Trusts the certificates in this file (PEM) only.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or it contains no valid certificate.
    pub fn read(file: &Path) -> Result<Self, BadAuthorities> {
        let text = bounded_read::read(file, InputSource::File)?;
        let (mut roots, mut hasher) = (RootCertStore::empty(), blake3::Hasher::new());
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate =
                certificate.map_err(|error| BadAuthorities::Garbled(error.to_string()))?;
            hasher.update(&certificate);
            roots.add(certificate).map_err(|error| BadAuthorities::Garbled(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(BadAuthorities::None);
        }
        let (roots, fingerprint) = (Arc::new(roots), hasher.finalize());
        Ok(TrustedAuthorities::These { roots, fingerprint })
    }

    fn roots(&self) -> Arc<RootCertStore> {
        match self {
            TrustedAuthorities::System => Arc::new(system_roots()),
            TrustedAuthorities::These { roots, .. } => Arc::clone(roots),
        }
    }

    /// TLS settings of a client.
    ///
    /// # Errors
    ///
    /// rustls cannot create them.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, rustls::Error> {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?;
        Ok(tls.with_root_certificates(self.roots()).with_no_client_auth())
    }
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some certificates of the system cannot be read");
    }
    // Certificates that no TLS client can parse are skipped, as all clients do.
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        tracing::warn!("the system has no trusted certificates: https calls will fail");
    }
    roots
}

impl PartialEq for TrustedAuthorities {
    fn eq(&self, other: &Self) -> bool {
        let fingerprint = |this: &Self| match this {
            TrustedAuthorities::System => None,
            TrustedAuthorities::These { fingerprint, .. } => Some(*fingerprint),
        };
        fingerprint(self) == fingerprint(other)
    }
}

impl Eq for TrustedAuthorities {}

impl fmt::Debug for TrustedAuthorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustedAuthorities::System => f.write_str("System"),
            TrustedAuthorities::These { fingerprint, .. } => {
                f.debug_tuple("These").field(fingerprint).finish()
            }
        }
    }
}

/// A file with certificates of authorities, as a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityFile {
    path: PathBuf,
    /// None only if the file cannot be read.
    read: Option<TrustedAuthorities>,
}

impl AuthorityFile {
    /// Reads the file of the setting `key`, if it is set.
    pub fn resolve(file: &mut Option<Self>, key: &str, reader: &mut SettingsReader) {
        let Some(file) = file else { return };
        match TrustedAuthorities::read(&file.path) {
            Ok(authorities) => file.read = Some(authorities),
            Err(why) => reader.fault(key, format!("{}: {why}", file.path.display())),
        }
    }

    /// The authorities in the file; those of the system without a file.
    pub fn authorities(file: Option<&Self>) -> TrustedAuthorities {
        match file {
            Some(file) => file.read.clone().unwrap_or_else(TrustedAuthorities::none),
            None => TrustedAuthorities::System,
        }
    }
}

impl SettingValue for AuthorityFile {
    fn from_toml(value: &Value) -> Read<Self> {
        Ok(AuthorityFile { path: PathBuf::from_toml(value)?, read: None })
    }

    fn to_toml(&self) -> Option<Value> {
        self.path.to_toml()
    }
}

/// Makes TLS connections to servers of these authorities. The authorities are read at the first connection.
#[derive(Debug, Default)]
pub struct ClientTls {
    authorities: TrustedAuthorities,
    config: OnceLock<Arc<ClientConfig>>,
}

impl ClientTls {
    /// Trusts these authorities.
    pub fn trusting(authorities: TrustedAuthorities) -> Self {
        ClientTls { authorities, config: OnceLock::new() }
    }

    /// A new connection to a server at `ip`, whose certificate must name this address.
    ///
    /// # Errors
    ///
    /// rustls cannot create it.
    pub fn connection(&self, ip: IpAddr) -> Result<ClientConnection, rustls::Error> {
        let config = match self.config.get() {
            Some(config) => Arc::clone(config),
            None => {
                let made = Arc::new(self.authorities.client_config()?);
                Arc::clone(self.config.get_or_init(|| made))
            }
        };
        ClientConnection::new(config, ServerName::from(ip.to_canonical()))
    }
}
