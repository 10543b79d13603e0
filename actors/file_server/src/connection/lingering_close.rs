//! Lingering close: the last answer arrives even if the client still sends. If a connection is
//! closed with unread input, the kernel discards its unsent output.

use std::time::Duration;

use rustix::net::{SendFlags, send};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client_stream::ClientStream;

/// Longest wait for the close of the client.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Content-Type: text/plain\r\nContent-Length: 36\r\nConnection: close\r\n\r\n\
    too many connections, retry shortly\n";

/// Sends the end of the stream, then reads until the client closes too.
pub(crate) async fn close(stream: &ClientStream) {
    let closing = async {
        if stream.finish_sending().await.is_ok() {
            stream.drain().await;
        }
    };
    // After the time limit the connection is dropped.
    let _ = timeout(CLOSE_TIMEOUT, closing).await;
}

/// Refuses a client when all connection slots are in use. The send buffer is empty, so this does
/// not block.
pub(crate) fn refuse_busy(stream: &TcpStream) {
    // If this send fails, the client only sees the close.
    let _ = send(stream, BUSY, SendFlags::NOSIGNAL);
}
