//! The TLS handshake with a new client.

use std::io::{self, Error, ErrorKind};
use std::time::Duration;

use actix_http::error::DispatchError;
use reelyard_file_server::certificate::Certificate;
use reelyard_file_server::{TLS_NEEDED, is_plain_http};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::client_stream::HttpClientStream;
use super::guarded_stream::GuardedStream;

/// How long a refused client may take to read the answer and to close the connection.
const REFUSAL: Duration = Duration::from_secs(1);

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
    let shaken = match timeout(patience, shake(stream, certificate)).await {
        Ok(shaken) => shaken,
        Err(_) => Err(Error::new(ErrorKind::TimedOut, "the TLS handshake took too long")),
    };
    shaken.map_err(|error| {
        tracing::debug!(%error, "a TLS handshake failed");
        DispatchError::Io(error)
    })
}

async fn shake(
    mut stream: GuardedStream,
    certificate: &Certificate,
) -> io::Result<HttpClientStream> {
    if stream.peek().await?.is_some_and(is_plain_http) {
        // If it does not end in time, the client only sees the close.
        let _ = timeout(REFUSAL, refuse(stream)).await;
        return Err(Error::new(ErrorKind::InvalidData, "the client sent a request without TLS"));
    }
    let acceptor = TlsAcceptor::from(certificate.server_config());
    Ok(HttpClientStream::Tls(Box::new(acceptor.accept(stream).await?)))
}

/// Answers a client that uses plain HTTP. A close with unread bytes would discard the answer.
async fn refuse(mut stream: GuardedStream) -> io::Result<()> {
    stream.write_all(TLS_NEEDED).await?;
    stream.shutdown().await?;
    let mut scratch = [0; 1024];
    while stream.read(&mut scratch).await? > 0 {}
    Ok(())
}
