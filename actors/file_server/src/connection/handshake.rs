//! The start of a connection: the TLS handshake, if TLS is configured.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client_stream::ClientStream;
use super::lingering_close;
use crate::certificate::Certificate;

/// The answer to a client that uses plain HTTP on a TLS port.
pub const TLS_NEEDED: &[u8] = b"HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\n\
    Content-Type: text/plain\r\nContent-Length: 40\r\nConnection: close, upgrade\r\n\r\n\
    This port needs TLS: use https instead.\n";

/// Whether the first byte of a connection begins a request of plain HTTP instead of TLS.
pub fn is_plain_http(first: u8) -> bool {
    // Methods are in upper case.
    first.is_ascii_uppercase()
}

/// Why there is no TLS connection.
pub(crate) enum NoTls {
    /// The client closed the connection at once, for example a port check.
    Silent,
    /// The client uses plain HTTP.
    PlainHttp(ClientStream),
    /// The handshake failed, or the client left during it.
    Failed(io::Error),
}

/// Prepares a new connection. `limit` is the time for the handshake.
pub(crate) async fn establish(
    stream: TcpStream,
    certificate: Option<Certificate>,
    limit: Duration,
) -> Result<ClientStream, NoTls> {
    let Some(certificate) = certificate else { return Ok(ClientStream::plain(stream)) };
    timeout(limit, with_tls(stream, &certificate))
        .await
        .unwrap_or_else(|_| Err(NoTls::Failed(io::ErrorKind::TimedOut.into())))
}

async fn with_tls(stream: TcpStream, certificate: &Certificate) -> Result<ClientStream, NoTls> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Err(NoTls::Silent);
    }
    if is_plain_http(first[0]) {
        return Err(NoTls::PlainHttp(ClientStream::plain(stream)));
    }
    let session = certificate.session().map_err(io::Error::other)?;
    let stream = ClientStream::with_tls(stream, session);
    stream.complete_handshake().await?;
    Ok(stream)
}

/// Answers a client that uses plain HTTP on a TLS port, and closes the connection.
pub(crate) async fn refuse_plain_http(stream: &ClientStream) {
    // The send buffer is empty. If this send fails, the client only sees the close.
    let _ = stream.try_send(TLS_NEEDED, false);
    lingering_close::close(stream).await;
}

impl From<io::Error> for NoTls {
    fn from(error: io::Error) -> Self {
        NoTls::Failed(error)
    }
}
