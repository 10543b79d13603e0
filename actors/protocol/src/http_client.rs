//! HTTP clients of Reelyard, by the certificates that they trust.
//!
//! Each has its own TLS settings, so that nothing depends on a setting of the whole process. A client for a
//! yard without TLS needs no certificates at all.

use std::path::Path;

use reqwest::ClientBuilder;

use crate::tls::{BadAuthorities, TrustedAuthorities};

/// A client within the yard, without TLS: it trusts no https server.
pub fn without_tls() -> ClientBuilder {
    trusting(&TrustedAuthorities::none())
}

/// A client that trusts the authorities of the system. Without any, only http works.
pub fn with_system_roots() -> ClientBuilder {
    trusting(&TrustedAuthorities::System)
}

/// A client that trusts the certificates in this file (PEM) only: those of a private authority, or that of the
/// server itself.
///
/// # Errors
///
/// The file cannot be read, or it contains no valid certificate.
pub fn trusting_file(file: &Path) -> Result<ClientBuilder, BadAuthorities> {
    Ok(trusting(&TrustedAuthorities::read(file)?))
}

/// A client that trusts these authorities.
pub fn trusting(authorities: &TrustedAuthorities) -> ClientBuilder {
    let builder = reqwest::Client::builder();
    match authorities.client_config() {
        Ok(tls) => builder.tls_backend_preconfigured(tls),
        // The safe versions are always available with ring.
        Err(_) => builder,
    }
}
