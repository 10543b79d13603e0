//! TLS: the certificate of Reelyard with its key, from PEM files.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use reelyard_core::bounded_read::{self, InputSource};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig, ServerConnection};

/// Protocols for ALPN. curl requests the older one with `--http1.0`.
const PROTOCOLS: [&[u8]; 2] = [b"http/1.1", b"http/1.0"];

/// A certificate with its chain and key. Cheap to clone; equal if both were read from equal files.
#[derive(Clone)]
pub struct Certificate {
    server: Arc<ServerConfig>,
    fingerprint: blake3::Hash,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadCertificate {
    /// The file of the certificate cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The file contains no certificate.
    #[error("it contains no certificate in PEM format")]
    NoCertificate,
    /// The file contains an invalid certificate.
    #[error("it is not a valid certificate: {0}")]
    Garbled(String),
    /// The key cannot be used.
    #[error(transparent)]
    Key(BadKey),
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadKey {
    /// The file of the key cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The file contains no private key.
    #[error("it contains no private key in PEM format; encrypted keys are not supported")]
    NoKey,
    /// The key is invalid or of an unsupported kind.
    #[error("it cannot be used: {0}")]
    Unusable(String),
    /// The key belongs to another certificate.
    #[error("it is not the key of the certificate")]
    OfAnother,
}

impl Certificate {
    /// Reads a certificate and its key from PEM files.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or does not contain a valid certificate with its key.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, BadCertificate> {
        let chain = bounded_read::read(certificate, InputSource::File)
            .map_err(BadCertificate::Unreadable)?;
        let key = bounded_read::read(key, InputSource::File)
            .map_err(|error| BadKey::Unreadable(error).into_bad())?;
        Certificate::from_pem(&chain, &key)
    }

    /// Parses the contents of the two files.
    fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, BadCertificate> {
        let mut hasher = blake3::Hasher::new();
        let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, pem::Error>>()
            .map_err(|error| BadCertificate::Garbled(error.to_string()))?;
        for one in &chain {
            hasher.update(one);
        }
        if chain.is_empty() {
            return Err(BadCertificate::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            pem::Error::NoItemsFound => BadKey::NoKey.into_bad(),
            other => BadKey::Unusable(other.to_string()).into_bad(),
        })?;
        hasher.update(key.secret_der());
        let mut server = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| BadCertificate::Garbled(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unfit)?;
        server.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Certificate { server: Arc::new(server), fingerprint: hasher.finalize() })
    }

    /// The TLS settings for servers of other libraries.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// A TLS session with a new client.
    ///
    /// # Errors
    ///
    /// rustls cannot create it.
    pub fn session(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(Arc::clone(&self.server))
    }
}

impl BadKey {
    fn into_bad(self) -> BadCertificate {
        BadCertificate::Key(self)
    }
}

/// The cryptography of TLS.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn unfit(error: rustls::Error) -> BadCertificate {
    match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            BadKey::OfAnother.into_bad()
        }
        rustls::Error::InvalidCertificate(why) => BadCertificate::Garbled(format!("{why:?}")),
        other => BadKey::Unusable(other.to_string()).into_bad(),
    }
}

impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for Certificate {}

impl fmt::Debug for Certificate {
    /// Never shows the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate")
    }
}
