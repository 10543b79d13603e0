//! Why there is no TLS connection, in words.

use std::error::Error;
use std::io;

use reqwest::StatusCode;
use rustls::{CertificateError, InvalidMessage};

/// Status of the answer of a port with TLS to a request without TLS.
pub const NEEDS_TLS: StatusCode = StatusCode::UPGRADE_REQUIRED;

/// Why there is no TLS connection to a server. The texts follow the name of the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsTrouble {
    /// It does not use TLS.
    #[error("it answers without TLS")]
    NoTls,
    /// Its certificate is from an authority that the client does not trust.
    #[error("its certificate is from an unknown authority")]
    UnknownAuthority,
    /// Its certificate has expired.
    #[error("its certificate has expired")]
    Expired,
    /// Its certificate is not valid yet.
    #[error("its certificate is not valid yet, by the clock of this host")]
    NotYetValid,
    /// Its certificate does not name the called address.
    #[error("its certificate is for another name")]
    OtherName,
    /// Another failure of the handshake.
    #[error("the TLS handshake failed: {0}")]
    Other(String),
}

impl TlsTrouble {
    /// The failure of TLS that caused `error`; none for an error of another kind.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        Some(match cause(error)? {
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => TlsTrouble::NoTls,
            rustls::Error::InvalidCertificate(bad) => match bad {
                // The second one, if another authority has the same name.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    TlsTrouble::UnknownAuthority
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    TlsTrouble::Expired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    TlsTrouble::NotYetValid
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => TlsTrouble::OtherName,
                other => TlsTrouble::Other(format!("the certificate is invalid: {other}")),
            },
            other => TlsTrouble::Other(other.to_string()),
        })
    }

    /// The remedy at the server. None if the caller has to change a setting.
    pub fn remedy_at_server(&self) -> Option<&'static str> {
        match self {
            TlsTrouble::Expired | TlsTrouble::OtherName => {
                Some("make a certificate for its address by \"reelyard certs host\", and reload it")
            }
            TlsTrouble::NotYetValid => Some("correct the clocks of both hosts"),
            TlsTrouble::NoTls | TlsTrouble::UnknownAuthority | TlsTrouble::Other(_) => None,
        }
    }
}

/// The error of rustls within `error`.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // The source of such an error is the source of the inner one.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_handshake_is_found_below_other_errors() {
        let of = |error: rustls::Error| {
            let io = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
            TlsTrouble::of(&io)
        };
        let invalid = rustls::Error::InvalidCertificate;
        for (error, trouble) in [
            (InvalidMessage::InvalidContentType.into(), TlsTrouble::NoTls),
            (invalid(CertificateError::UnknownIssuer), TlsTrouble::UnknownAuthority),
            (invalid(CertificateError::BadSignature), TlsTrouble::UnknownAuthority),
            (invalid(CertificateError::Expired), TlsTrouble::Expired),
            (invalid(CertificateError::NotValidYet), TlsTrouble::NotYetValid),
            (invalid(CertificateError::NotValidForName), TlsTrouble::OtherName),
        ] {
            assert_eq!(of(error), Some(trouble));
        }
        let other = of(rustls::Error::HandshakeNotComplete);
        assert!(matches!(other, Some(TlsTrouble::Other(_))), "{other:?}");
        assert_eq!(TlsTrouble::of(&io::Error::other("no TLS")), None);
        assert_eq!(TlsTrouble::of(&io::Error::from(io::ErrorKind::UnexpectedEof)), None);
    }
}
