//! The start of a connection: the TLS handshake, if TLS is configured.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client_stream::ClientStream;
use super::lingering_close;
use crate::certificate::Certificate;

/// The answer to a client that uses plain HTTP on a TLS port.
const NEEDS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain\r\nContent-Length: 40\r\nConnection: close\r\n\r\n\
    This port needs TLS: use https instead.\n";

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
    // An HTTP method.
    if first[0].is_ascii_uppercase() {
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
    let _ = stream.try_send(NEEDS_TLS, false);
    lingering_close::close(stream).await;
}

impl From<io::Error> for NoTls {
    fn from(error: io::Error) -> Self {
        NoTls::Failed(error)
    }
}
