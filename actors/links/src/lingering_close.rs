//! Closing a connection so that its last answer arrives: the kernel takes back what it has still to
//! send when a connection is closed over bytes that nobody read.

use std::time::Duration;

use rustix::net::{SendFlags, send};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client_stream::ClientStream;

/// How long a client may take to notice the end.
const PATIENCE: Duration = Duration::from_secs(1);

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Content-Type: text/plain\r\nContent-Length: 36\r\nConnection: close\r\n\r\n\
    too many connections, retry shortly\n";

/// Says that nothing more comes, and reads what does come until the client has closed, too.
pub(super) async fn close(line: &ClientStream) {
    let closing = async {
        if line.finish_sending().await.is_ok() {
            line.drain().await;
        }
    };
    // One that does not close is left.
    let _ = timeout(PATIENCE, closing).await;
}

/// Tells a client that there is no place for it. Its send buffer is empty: this does not wait.
pub(super) fn refuse_busy(stream: &TcpStream) {
    // A client that does not get even this learns it from the closed connection.
    let _ = send(stream, BUSY, SendFlags::NOSIGNAL);
}
