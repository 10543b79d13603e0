//! The stream of another node, as a connection of its client.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::HeaderName;
use reelyard_cluster::NodeStream;
use reelyard_protocol::cluster::shared_files::CLIENT_HEADER;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::node::ForwardedStream;

/// The longest first line.
const LONGEST_LINE: usize = 64;

/// Time limit for the first line.
const LINE_TIME: Duration = Duration::from_secs(5);

/// The node from which the requests of a connection come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardedBy(pub u64);

/// Takes the client of a passed request from its header. Its stream may have begun with another one. Only a node may name
/// a client.
pub fn name_client(request: &mut ServiceRequest) {
    let named = request.headers_mut().remove(HeaderName::from_static(CLIENT_HEADER)).next();
    if request.request().conn_data::<ForwardedBy>().is_some()
        && let Some(client) = named.and_then(|client| client.to_str().ok()?.parse().ok())
    {
        request.head_mut().peer_addr = Some(client);
    }
}

/// Reads the address of the client, and answers the stream with the requests.
///
/// # Errors
/// The stream ends, is too slow, or begins otherwise.
pub async fn accept(forwarded: ForwardedStream) -> std::io::Result<(NodeStream, SocketAddr)> {
    let mut stream = forwarded.stream;
    let client = timeout(LINE_TIME, first_line(&mut stream)).await;
    let client = client.map_err(|_| Error::from(ErrorKind::TimedOut))??;
    Ok((stream, client))
}

async fn first_line(stream: &mut NodeStream) -> std::io::Result<SocketAddr> {
    let mut line = Vec::new();
    while line.len() < LONGEST_LINE {
        match stream.read_u8().await? {
            b'\n' => {
                let text = str::from_utf8(&line).unwrap_or_default();
                return text.parse().map_err(|_| Error::from(ErrorKind::InvalidData));
            }
            byte => line.push(byte),
        }
    }
    Err(ErrorKind::InvalidData.into())
}
