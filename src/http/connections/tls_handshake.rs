//! The TLS handshake with a new client.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use actix_http::error::DispatchError;
use reelyard_file_server::certificate::Certificate;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::client_stream::HttpClientStream;
use super::guarded_stream::GuardedStream;

/// Completes the handshake of a new connection within `patience`.
///
/// # Errors
///
/// The client speaks no TLS, trusts another authority, or is too slow. These are common on an open port, so they are
/// logged for debugging only.
pub async fn accept(
    stream: GuardedStream,
    certificate: &Certificate,
    patience: Duration,
) -> Result<HttpClientStream, DispatchError> {
    let acceptor = TlsAcceptor::from(certificate.server_config());
    let shaken = match timeout(patience, acceptor.accept(stream)).await {
        Ok(shaken) => shaken,
        Err(_) => Err(Error::new(ErrorKind::TimedOut, "the TLS handshake took too long")),
    };
    match shaken {
        Ok(stream) => Ok(HttpClientStream::Tls(Box::new(stream))),
        Err(error) => {
            tracing::debug!(%error, "a TLS handshake failed");
            Err(DispatchError::Io(error))
        }
    }
}
