//! Certificates for TLS.

pub mod certificate;
pub mod private_authority;
