//! HTTP clients of Reelyard, by the certificates that they trust.
//!
//! Each has its own TLS settings, so that nothing depends on a setting of the whole process. A client for the
//! yard needs no certificates at all.

use std::path::Path;
use std::sync::Arc;

use reelyard_core::bounded_read::{self, InputSource};
use reqwest::ClientBuilder;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// A client within the yard, without TLS: it trusts no https server.
pub fn without_tls() -> ClientBuilder {
    trusting(RootCertStore::empty())
}

/// A client that trusts the system's certificates: the system keeps them up to date, and operators
/// install their own authority there. Without any, only http works. `SSL_CERT_FILE` and `SSL_CERT_DIR`
/// replace the system's store.
pub fn with_system_roots() -> ClientBuilder {
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
    trusting(roots)
}

/// A client that trusts the certificates in this file (PEM) only: those of a private authority, or that of the
/// server itself.
///
/// # Errors
///
/// The file cannot be read, or it contains no valid certificate.
pub fn trusting_file(file: &Path) -> Result<ClientBuilder, BadTrustedCertificates> {
    let text = bounded_read::read(file, InputSource::File)?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate =
            certificate.map_err(|error| BadTrustedCertificates::Garbled(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| BadTrustedCertificates::Garbled(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(BadTrustedCertificates::None);
    }
    Ok(trusting(roots))
}

/// Why a file of trusted certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTrustedCertificates {
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

fn trusting(roots: RootCertStore) -> ClientBuilder {
    let builder = reqwest::Client::builder();
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions();
    match tls {
        Ok(tls) => {
            let tls = tls.with_root_certificates(roots).with_no_client_auth();
            builder.tls_backend_preconfigured(tls)
        }
        // The safe versions are always available with ring.
        Err(_) => builder,
    }
}
