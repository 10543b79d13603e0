//! A proxy before each node that delays bytes and ends connections at random. Its own address never changes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// The time of the bytes that the buffer of a limited link holds.
const BUFFERED: Duration = Duration::from_millis(100);

/// Parts of one direction that wait at the same time.
const WAITING_PARTS: usize = 256;

/// The delay and the loss of all links between the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkDelay {
    /// The shortest delay of one direction.
    pub shortest: Duration,
    /// The longest delay of one direction.
    pub longest: Duration,
    /// Of a thousand parts, this number ends its connection.
    pub lost_per_mille: u32,
    /// The bytes per second of one direction of the link of a node, if they are limited.
    pub bytes_per_second: Option<u32>,
}

/// The delay of all links now; none by default. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SlowLinks(Arc<Mutex<Option<LinkDelay>>>);

impl SlowLinks {
    /// Delays all links like this from now on.
    pub fn set(&self, delay: Option<LinkDelay>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = delay;
    }

    /// When a part of this length that arrives now goes on. None if its connection is lost.
    fn leaves(&self, length: usize, link: &LinkDirection) -> Option<Instant> {
        let delay = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(delay) = delay else { return Some(Instant::now()) };
        if let Some(rate) = delay.bytes_per_second.filter(|rate| *rate > 0) {
            let passes = Duration::from_secs_f64(length as f64 / f64::from(rate));
            let mut free = link.free();
            *free = Instant::now().max(*free) + passes;
            return Some(*free + delay.shortest);
        }
        if fastrand::u32(..1000) < delay.lost_per_mille {
            return None;
        }
        let spread = delay.longest.saturating_sub(delay.shortest);
        Some(Instant::now() + delay.shortest + spread.mul_f64(fastrand::f64()))
    }
}

/// One direction of the link of a node. All its connections share it: the parts so far have passed it at this moment.
#[derive(Clone, Debug)]
struct LinkDirection(Arc<Mutex<Instant>>);

impl LinkDirection {
    fn new() -> Self {
        LinkDirection(Arc::new(Mutex::new(Instant::now())))
    }

    fn free(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until its buffer has room, as a sender on a real link does.
    async fn has_room(&self) {
        let free = *self.free();
        sleep_until(free - BUFFERED).await;
    }
}

/// A proxy whose connections go to a changeable address.
#[derive(Clone, Debug)]
pub struct SlowProxy {
    /// Where the nodes call it.
    pub listens: SocketAddr,
    target: Arc<Mutex<Option<SocketAddr>>>,
    is_closed: Arc<watch::Sender<bool>>,
}

impl SlowProxy {
    /// Starts a proxy on a free address. Before [`SlowProxy::pass_to`] it refuses connections.
    ///
    /// # Errors
    /// No address is free.
    pub async fn start(links: SlowLinks) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = SlowProxy {
            listens: listener.local_addr()?,
            target: Arc::default(),
            is_closed: Arc::new(watch::Sender::new(false)),
        };
        let (target, is_closed) = (Arc::clone(&proxy.target), Arc::clone(&proxy.is_closed));
        let directions = [LinkDirection::new(), LinkDirection::new()];
        tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                let now = *target.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(now) = now.filter(|_| !*is_closed.borrow()) else { continue };
                let passed = pass_on(links.clone(), directions.clone(), now, caller);
                let mut closing = is_closed.subscribe();
                // A connection that fails is an ordinary event here: the nodes connect again.
                tokio::spawn(async move {
                    tokio::select! {
                        _ = passed => {}
                        _ = closing.wait_for(|is_closed| *is_closed) => {}
                    }
                });
            }
        });
        Ok(proxy)
    }

    /// Ends all connections and refuses new ones, or passes them again. The node can still call others.
    pub fn close(&self, is_closed: bool) {
        self.is_closed.send_replace(is_closed);
    }

    /// Passes new connections to this address.
    pub fn pass_to(&self, target: SocketAddr) {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = Some(target);
    }
}

async fn pass_on(
    links: SlowLinks,
    [there, back]: [LinkDirection; 2],
    target: SocketAddr,
    caller: TcpStream,
) -> Result<()> {
    let server = TcpStream::connect(target).await?;
    caller.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_caller, to_caller), (from_server, to_server)) =
        (caller.into_split(), server.into_split());
    // The end of one direction ends both.
    tokio::select! {
        ended = direction(&links, &there, from_caller, to_server) => ended,
        ended = direction(&links, &back, from_server, to_caller) => ended,
    }
}

/// Passes the bytes of one direction on. Parts wait at the same time, and keep their order.
async fn direction(
    links: &SlowLinks,
    link: &LinkDirection,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> Result<()> {
    let (sender, mut waiting) = mpsc::channel::<(Instant, Vec<u8>)>(WAITING_PARTS);
    let read = async {
        let mut bytes = vec![0; 16 << 10];
        loop {
            link.has_room().await;
            let read = reader.read(&mut bytes).await?;
            let part = links.leaves(read, link).zip(Some(bytes[..read].to_vec()));
            let Some(part) = part.filter(|_| read > 0) else { return Ok(()) };
            if sender.send(part).await.is_err() {
                return Ok(());
            }
        }
    };
    let write = async {
        while let Some((at, part)) = waiting.recv().await {
            sleep_until(at).await;
            writer.write_all(&part).await?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        ended = read => ended,
        ended = write => ended,
    }
}
