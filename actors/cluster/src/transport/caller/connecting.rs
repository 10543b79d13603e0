//! Makes one connection: TCP, TLS, and the hello of both sides.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_protocol::cluster::{
    AddressedNode, ConnectionRefusal, ConnectionUse, Greeting, LARGEST_GREETING, NodeHello,
    PROTOCOL_VERSIONS, RefusalKind,
};
use reelyard_protocol::tls::TlsTrouble;
use reelyard_replication::CallTarget;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::transport::framing::{read_frame, write_frame};
use crate::transport::hello_check::{check_answer, hello_in};
use crate::transport::local_node::LocalNode;
use crate::transport::peers::{PeerRecord, RefusedBy};
use crate::transport::security::{LinkSecurity, name_of};
use crate::transport::socket::{self, split_address};
use crate::transport::stream::{NodeStream, below_tls};

/// Time limit for TLS and both hellos.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum ConnectFailed {
    /// The other side cannot be reached.
    Unreachable(String),
    /// One side refused.
    Refused(RefusedBy, ConnectionRefusal),
}

impl ConnectFailed {
    fn of_us(kind: RefusalKind, why: impl Into<String>) -> Self {
        ConnectFailed::Refused(RefusedBy::Us, ConnectionRefusal::new(kind, why))
    }

    /// The reason in words.
    pub(super) fn why(&self) -> &str {
        match self {
            ConnectFailed::Unreachable(why) => why,
            ConnectFailed::Refused(_, refusal) => &refusal.why,
        }
    }
}

/// Connects to a member. Counts and logs the outcome.
pub(super) async fn connect_member(
    local: &LocalNode,
    target: &CallTarget,
    purpose: ConnectionUse,
) -> Result<(NodeStream, Arc<PeerRecord>), String> {
    let peer = local.peers().peer(target.node);
    match greet_member(local, target, purpose, &peer).await {
        Ok(mut stream) => {
            stream.count_for(peer.traffic());
            local.peers().attempted(&peer, Ok(()));
            Ok((stream, peer))
        }
        Err(failed) => {
            if let ConnectFailed::Refused(by, refusal) = &failed {
                local.peers().refused(target.node, *by, refusal, local.clock().now());
            }
            local.peers().attempted(&peer, Err(failed.why()));
            Err(failed.why().to_owned())
        }
    }
}

async fn greet_member(
    local: &LocalNode,
    target: &CallTarget,
    purpose: ConnectionUse,
    peer: &PeerRecord,
) -> Result<NodeStream, ConnectFailed> {
    let expected = AddressedNode { number: target.node, store: target.record.store };
    let hello = local.hello(purpose, Some(expected));
    let (stream, answer, round_trip) =
        open(&local.security(), &target.record.cluster_address, hello).await?;
    check_answer(local, target, &answer)
        .map_err(|refusal| ConnectFailed::Refused(RefusedBy::Us, refusal))?;
    local.greeted(peer, &answer);
    peer.measured(round_trip, answer.clock, local.clock().reading().wall);
    Ok(stream)
}

/// Connects to `address`, and exchanges hellos. Returns the connection, the hello of the other side, and the time
/// that the exchange took.
pub(super) async fn open(
    security: &LinkSecurity,
    address: &str,
    hello: NodeHello,
) -> Result<(NodeStream, NodeHello, Duration), ConnectFailed> {
    let unreachable =
        |error: &dyn std::error::Error| ConnectFailed::Unreachable(format!("{address}: {error}"));
    let (host, port) = split_address(address).map_err(|bad| unreachable(&bad))?;
    let admits = |address| security.check_address(address).map_err(io::Error::other);
    let tcp = socket::connect(host, port, admits).await.map_err(|error| unreachable(&error))?;
    let greeted = timeout(GREETING_TIME, async {
        let mut stream = match security {
            LinkSecurity::Tls(tls) => {
                let name = name_of(address).map_err(ConnectFailed::Unreachable)?;
                let connected =
                    TlsConnector::from(tls.client()).connect(name, below_tls(tcp)).await;
                let tls = connected.map_err(|error| of_tls(address, &error))?;
                NodeStream::encrypted(tls.into())
            }
            LinkSecurity::PlainOnLoopback | LinkSecurity::PlainEverywhere => NodeStream::plain(tcp),
        };
        let (answer, round_trip) = exchange(address, &mut stream, hello).await?;
        Ok((stream, answer, round_trip))
    });
    let silent = || {
        let why = format!("{address}: no hello within {} s", GREETING_TIME.as_secs());
        ConnectFailed::Unreachable(why)
    };
    greeted.await.unwrap_or_else(|_| Err(silent()))
}

/// Sends the hello, and reads the one of the other side.
async fn exchange(
    address: &str,
    stream: &mut NodeStream,
    hello: NodeHello,
) -> Result<(NodeHello, Duration), ConnectFailed> {
    let began = Instant::now();
    let greeting = Greeting::Hello(Box::new(hello)).encode();
    let sent = write_frame(stream, LARGEST_GREETING, &[], &greeting).await;
    // The other side may have closed the connection after its refusal, so the refusal is read in any case.
    let answer = match (read_frame(stream, LARGEST_GREETING).await, sent) {
        (Ok(Some(answer)), _) => answer,
        (Err(error), _) | (Ok(None), Err(error)) => return Err(of_first_read(address, &error)),
        (Ok(None), Ok(())) => {
            let why = format!("{address}: it closed the connection without a hello");
            return Err(ConnectFailed::Unreachable(why));
        }
    };
    let round_trip = began.elapsed();
    let garbage = |_| {
        ConnectFailed::of_us(
            RefusalKind::Garbage,
            format!("{address} does not answer as a node: check the cluster address"),
        )
    };
    let read = Greeting::read(&answer).map_err(garbage)?;
    // Without a common version there is no hello either.
    stream.speaks(PROTOCOL_VERSIONS.common(read.versions).unwrap_or_default());
    match hello_in(read) {
        Ok(Ok(answer)) => Ok((answer, round_trip)),
        Ok(Err(refusal)) => Err(ConnectFailed::Refused(RefusedBy::Peer, refusal)),
        Err(refusal) => Err(ConnectFailed::Refused(RefusedBy::Us, refusal)),
    }
}

/// A failed read of the greeting. With TLS 1.3, the other side checks the certificate after this one is done, so its
/// refusal arrives here.
fn of_first_read(address: &str, error: &crate::transport::framing::FrameError) -> ConnectFailed {
    use crate::transport::framing::FrameError;
    match error {
        FrameError::Io(error) => of_tls(address, error),
        FrameError::TooLarge(_) => ConnectFailed::of_us(
            RefusalKind::Garbage,
            format!(
                "{address} does not answer as a node without TLS: check the cluster address, and cluster.tls of both \
                 nodes"
            ),
        ),
        other => ConnectFailed::Unreachable(format!("{address}: {other}")),
    }
}

/// A failure below the hello. Only a fault of TLS is a refusal.
fn of_tls(address: &str, error: &io::Error) -> ConnectFailed {
    match TlsTrouble::of(error) {
        None => ConnectFailed::Unreachable(format!("{address}: {error}")),
        Some(TlsTrouble::NoTls) => ConnectFailed::of_us(
            RefusalKind::Tls,
            format!("{address} answers without TLS: set cluster.tls there, or on no node"),
        ),
        Some(trouble) => ConnectFailed::of_us(
            RefusalKind::Certificate,
            format!(
                "{address}: {trouble}. Check the certificates of both nodes, and make new ones with \
                 \"reelyard cluster certs node\""
            ),
        ),
    }
}
