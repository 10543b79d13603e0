//! A proxy before each node: it holds the bytes of single directions between nodes back.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use reelyard_protocol::cluster::{FRAME_LENGTH_BYTES, Greeting};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The longest greeting that is looked at.
const LARGEST_GREETING: usize = 64 << 10;

/// Pairs of numbers: the bytes from the first node to the second one are held back.
type CutPairs = BTreeSet<(u64, u64)>;

/// The directions that are cut now. Clones share them.
#[derive(Clone, Debug)]
pub struct CutLinks(Arc<watch::Sender<CutPairs>>);

impl Default for CutLinks {
    fn default() -> Self {
        CutLinks(Arc::new(watch::Sender::new(CutPairs::new())))
    }
}

impl CutLinks {
    /// Cuts exactly these directions from now on.
    pub fn set(&self, pairs: impl IntoIterator<Item = (u64, u64)>) {
        self.0.send_replace(pairs.into_iter().collect());
    }

    async fn until_open(&self, from: u64, to: u64) {
        let mut now = self.0.subscribe();
        // The sender lives as long as this.
        let _ = now.wait_for(|cut| !cut.contains(&(from, to))).await;
    }
}

/// Passes connections to the node `to` on, whose own address is `node`.
///
/// # Errors
/// No address is free.
pub async fn start(links: CutLinks, to: u64, node: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((caller, _)) = listener.accept().await {
            let links = links.clone();
            // A connection that fails is an ordinary event here: the nodes connect again.
            tokio::spawn(async move { pass_on(&links, to, node, caller).await });
        }
    });
    Ok(at)
}

async fn pass_on(links: &CutLinks, to: u64, node: SocketAddr, mut caller: TcpStream) -> Result<()> {
    caller.set_nodelay(true)?;
    let mut length = [0; FRAME_LENGTH_BYTES];
    caller.read_exact(&mut length).await?;
    let size = usize::try_from(u32::from_be_bytes(length))?;
    anyhow::ensure!(size <= LARGEST_GREETING, "the greeting has {size} bytes");
    let mut first = vec![0; size];
    caller.read_exact(&mut first).await?;
    let from = sender(&first);
    links.until_open(from, to).await;
    let mut server = TcpStream::connect(node).await?;
    server.set_nodelay(true)?;
    server.write_all(&length).await?;
    server.write_all(&first).await?;
    let ((from_caller, to_caller), (from_server, to_server)) =
        (caller.into_split(), server.into_split());
    // The end of one direction ends both.
    tokio::select! {
        ended = pump(links, (from, to), from_caller, to_server) => ended,
        ended = pump(links, (to, from), from_server, to_caller) => ended,
    }
}

/// The number of the node that greets. Zero for a node without one, which is never cut.
fn sender(greeting: &[u8]) -> u64 {
    match Greeting::read(greeting).ok().and_then(|read| read.greeting) {
        Some(Greeting::Hello(hello)) => hello.sender.map_or(0, |sender| sender.number),
        _ => 0,
    }
}

async fn pump(
    links: &CutLinks,
    (from, to): (u64, u64),
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = reader.read(&mut bytes).await?;
        links.until_open(from, to).await;
        if read == 0 {
            return Ok(writer.shutdown().await?);
        }
        writer.write_all(&bytes[..read]).await?;
    }
}
