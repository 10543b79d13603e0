//! The stream of another node, as a connection of its client.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use reelyard_cluster::NodeStream;
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
