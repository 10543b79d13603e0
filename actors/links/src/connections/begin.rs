//! The start of a connection: the TLS handshake, if TLS is configured.

use std::io;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client_stream::ClientStream;
use super::connection_limiter::LinkConnectionSlot;
use super::lingering_close;
use crate::ShareServerState;

/// The answer to a client that speaks plain HTTP to a TLS port.
const IN_THE_CLEAR: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain\r\nContent-Length: 40\r\nConnection: close\r\n\r\n\
    This port needs TLS: use https instead.\n";

/// Why there is no TLS connection.
enum NoTls {
    /// The client closed the connection at once, for example a port check.
    Silent,
    /// The client speaks plain HTTP.
    Clear(ClientStream),
    /// The handshake failed, or the client left during it.
    Failed(io::Error),
}

/// Prepares a new connection. The TLS handshake has the same time limit as a request. Meanwhile the
/// connection may lose its slot to a new one.
pub(crate) async fn begin(
    stream: TcpStream,
    place: &LinkConnectionSlot,
    shared: &ShareServerState,
) -> Option<ClientStream> {
    let Some(certificate) = (shared.certificate)() else {
        return Some(ClientStream::plain(stream));
    };
    place.is_idle(true);
    let beginning = async {
        if speaks_in_the_clear(&stream).await? {
            return Err(NoTls::Clear(ClientStream::plain(stream)));
        }
        let session = certificate.session().map_err(io::Error::other)?;
        let line = ClientStream::under_tls(stream, session);
        line.shake_hands().await?;
        Ok(line)
    };
    let began = tokio::select! {
        began = timeout(shared.settings.request_timeout, beginning) => began,
        () = place.evicted() => return None,
    };
    place.is_idle(false);
    let why = match began {
        Ok(Ok(line)) => return Some(line),
        Ok(Err(why)) => why,
        Err(_) => NoTls::Failed(io::ErrorKind::TimedOut.into()),
    };
    give_up(why, place, shared).await;
    None
}

async fn give_up(why: NoTls, place: &LinkConnectionSlot, shared: &ShareServerState) {
    let peer = place.peer();
    match why {
        NoTls::Silent => return,
        NoTls::Clear(line) => {
            tracing::debug!(%peer, "a client sent a request without TLS");
            // The send buffer is empty. If this send fails, the client only sees the close.
            let _ = line.try_send(IN_THE_CLEAR, false);
            lingering_close::close(&line).await;
        }
        NoTls::Failed(error) => tracing::debug!(%peer, %error, "the TLS handshake failed"),
    }
    shared.counts.no_tls.one();
}

/// Whether the first bytes are an HTTP method.
async fn speaks_in_the_clear(stream: &TcpStream) -> Result<bool, NoTls> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Err(NoTls::Silent),
        _ => Ok(first[0].is_ascii_uppercase()),
    }
}

impl From<io::Error> for NoTls {
    fn from(error: io::Error) -> Self {
        NoTls::Failed(error)
    }
}
