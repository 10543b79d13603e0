//! HTTP clients of Reelyard, by the certificates that they trust.
//!
//! Each has its own TLS settings, so that nothing depends on a setting of the whole process. A client for the
//! yard needs no certificates at all.

use std::sync::Arc;

use reqwest::ClientBuilder;
use rustls::crypto::ring;
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
