//! Reads the heads of requests.

use std::time::Duration;

use tokio::time::timeout;

use super::client_stream::ClientStream;
use crate::http::request_head::{BadHead, HostRule, RequestHead};

/// Why no request was read.
#[derive(Debug)]
pub(crate) enum NoRequest {
    /// The client left, or was silent for too long. There is no answer.
    Gone,
    /// The head is refused.
    Bad(BadHead),
}

/// Reads until `buffer` has a complete head. `limit` is the time for all of it, also for a client that
/// sends slowly.
pub(crate) async fn read_head(
    stream: &ClientStream,
    buffer: &mut Vec<u8>,
    hosts: HostRule,
    limit: Duration,
) -> Result<(), NoRequest> {
    timeout(limit, read_all(stream, buffer, hosts)).await.unwrap_or(Err(NoRequest::Gone))
}

async fn read_all(
    stream: &ClientStream,
    buffer: &mut Vec<u8>,
    hosts: HostRule,
) -> Result<(), NoRequest> {
    loop {
        match RequestHead::parse(buffer) {
            Ok(Some(head)) => return head.check_host(hosts).map_err(NoRequest::Bad),
            Ok(None) => {}
            Err(bad) => return Err(NoRequest::Bad(bad)),
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return Err(NoRequest::Gone),
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
        }
    }
}
