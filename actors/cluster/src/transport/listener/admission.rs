//! The admission of a caller: TLS, its hello, and the hello or the refusal of this node.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reelyard_protocol::cluster::{
    ConnectionRefusal, ConnectionUse, Greeting, LARGEST_GREETING, NodeHello, RefusalKind,
};
use reelyard_protocol::tls::TlsTrouble;
use reelyard_replication::NodeIdentity;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::connection_slots::{ConnectionSlots, GuestSlot, MemberSlot};
use crate::transport::framing::{FrameError, read_frame, write_frame};
use crate::transport::hello_check::{check_caller, check_newcomer, hello_in};
use crate::transport::local_node::LocalNode;
use crate::transport::peers::{PeerRecord, RefusedBy};
use crate::transport::security::{LinkSecurity, check_name};
use crate::transport::stream::{NodeStream, below_tls};

/// The first byte of a TLS connection: a handshake follows.
const TLS_HANDSHAKE: u64 = 0x16;

/// A caller whose hello was accepted.
pub(super) enum AdmittedCaller {
    /// A node that wants to join.
    Newcomer(NodeStream),
    /// A member may use its connection until it closes it.
    Member {
        stream: NodeStream,
        purpose: ConnectionUse,
        identity: NodeIdentity,
        peer: Arc<PeerRecord>,
    },
}

/// Why a caller is not admitted.
enum NotAdmitted {
    /// It left, as health checks of other programs do. Or it has its refusal, which is counted.
    Gone,
    /// It is refused without an answer.
    Refused(ConnectionRefusal),
}

impl NotAdmitted {
    fn guest(kind: RefusalKind, why: impl Into<String>) -> Self {
        NotAdmitted::Refused(ConnectionRefusal::new(kind, why))
    }
}

/// Admits one caller.
pub(super) struct Admission<'a> {
    pub(super) local: &'a LocalNode,
    pub(super) slots: &'a ConnectionSlots,
    pub(super) from: SocketAddr,
}

impl Admission<'_> {
    /// The admitted caller. None if it was refused: then it is counted and logged.
    pub(super) async fn admit(
        &self,
        stream: TcpStream,
        guest: &GuestSlot,
        time: Duration,
    ) -> Option<AdmittedCaller> {
        let admitted = match timeout(time, self.greet(stream, guest)).await {
            Ok(admitted) => admitted,
            Err(_) => {
                let why = format!("the caller did not greet within {} ms", time.as_millis());
                Err(NotAdmitted::guest(RefusalKind::Slow, why))
            }
        };
        match admitted {
            Ok(caller) => Some(caller),
            Err(NotAdmitted::Gone) => None,
            Err(NotAdmitted::Refused(refusal)) => {
                self.count(None, &refusal);
                None
            }
        }
    }

    /// Only members have counters of their own: anybody can send a number.
    fn count(&self, number: Option<u64>, refusal: &ConnectionRefusal) {
        match number.filter(|number| self.local.record_of(*number).is_some()) {
            Some(number) => {
                let now = self.local.clock().now();
                self.local.peers().refused(number, RefusedBy::Us, refusal, now);
            }
            None => self.local.peers().refused_other(self.from, refusal),
        }
    }

    async fn greet(
        &self,
        stream: TcpStream,
        guest: &GuestSlot,
    ) -> Result<AdmittedCaller, NotAdmitted> {
        let mut stream = self.encrypt(stream).await?;
        let frame = match read_frame(&mut stream, LARGEST_GREETING).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return Err(NotAdmitted::Gone),
            Err(error) => return self.refuse(stream, None, of_frame(&error)?).await,
        };
        let Ok(read) = Greeting::read(&frame) else {
            let why = "the first bytes of the caller are no greeting of a node";
            return Err(NotAdmitted::guest(RefusalKind::Garbage, why));
        };
        let hello = match hello_in(read) {
            Ok(Ok(hello)) => hello,
            // A caller does not begin with a refusal.
            Ok(Err(refusal)) => return Err(NotAdmitted::Refused(refusal)),
            Err(refusal) => return self.refuse(stream, None, refusal).await,
        };
        match self.check(&hello, &stream, guest) {
            Ok(checked) => self.accept(stream, &hello, checked).await,
            Err(refusal) => {
                let number = hello.sender.map(|sender| sender.number);
                self.refuse(stream, number, refusal).await
            }
        }
    }

    async fn encrypt(&self, stream: TcpStream) -> Result<NodeStream, NotAdmitted> {
        let LinkSecurity::Tls(tls) = self.local.security() else {
            return Ok(NodeStream::plain(stream));
        };
        match TlsAcceptor::from(tls.server()).accept(below_tls(stream)).await {
            Ok(stream) => Ok(NodeStream::encrypted(stream.into())),
            Err(error) => Err(match TlsTrouble::of(&error) {
                Some(TlsTrouble::NoTls) => NotAdmitted::guest(
                    RefusalKind::Tls,
                    "the caller uses no TLS: set cluster.tls there, or on no node",
                ),
                Some(trouble) => {
                    NotAdmitted::guest(RefusalKind::Certificate, format!("the caller: {trouble}"))
                }
                None => NotAdmitted::Gone,
            }),
        }
    }

    /// The identity of a member with its slot. None for a newcomer.
    fn check(
        &self,
        hello: &NodeHello,
        stream: &NodeStream,
        guest: &GuestSlot,
    ) -> Result<Option<(NodeIdentity, MemberSlot)>, ConnectionRefusal> {
        if hello.purpose == ConnectionUse::Join {
            return check_newcomer(self.local, hello).map(|()| None);
        }
        let identity = check_caller(self.local, hello)?;
        // A number that is not in the list may be newer than the list of this node, which is behind then. The name in
        // its certificate cannot be compared. Requests of clients need a known member: it vouches for their addresses.
        let is_unknown = self.local.record_of(identity.number).is_none();
        let is_for_members = hello.purpose == ConnectionUse::Forward;
        if is_unknown && (is_for_members || !self.local.may_be_newer(identity.number)) {
            let why =
                format!("node {} is not in the list of members of this node", identity.number);
            return Err(ConnectionRefusal::new(RefusalKind::AnotherNode, why));
        }
        if let (Some(certificate), Some(record)) =
            (stream.peer_certificate(), self.local.record_of(identity.number))
        {
            check_name(certificate, &record.cluster_address)
                .map_err(|why| ConnectionRefusal::new(RefusalKind::Certificate, why))?;
        }
        let busy = || {
            let why = format!("node {} has too many connections", identity.number);
            ConnectionRefusal::new(RefusalKind::Busy, why)
        };
        let slot = self.slots.promote(guest, identity.number, hello.purpose).ok_or_else(busy)?;
        Ok(Some((identity, slot)))
    }

    async fn accept(
        &self,
        mut stream: NodeStream,
        hello: &NodeHello,
        checked: Option<(NodeIdentity, MemberSlot)>,
    ) -> Result<AdmittedCaller, NotAdmitted> {
        let answer = Greeting::Hello(Box::new(self.local.hello(hello.purpose, None))).encode();
        let written = write_frame(&mut stream, LARGEST_GREETING, &[], &answer).await;
        written.map_err(|_| NotAdmitted::Gone)?;
        let Some((identity, slot)) = checked else { return Ok(AdmittedCaller::Newcomer(stream)) };
        let peer = self.local.peers().peer(identity.number);
        self.local.greeted(&peer, hello);
        stream.count_for(peer.traffic());
        stream.take_slot(slot);
        Ok(AdmittedCaller::Member { stream, purpose: hello.purpose, identity, peer })
    }

    /// Counts a refusal, sends it, and closes the connection. The number is the one in the hello.
    async fn refuse<T>(
        &self,
        mut stream: NodeStream,
        number: Option<u64>,
        refusal: ConnectionRefusal,
    ) -> Result<T, NotAdmitted> {
        self.count(number, &refusal);
        let answer = Greeting::Refused(refusal).encode();
        // The caller may be gone.
        if write_frame(&mut stream, LARGEST_GREETING, &[], &answer).await.is_ok() {
            let _ = stream.shutdown().await;
        }
        Err(NotAdmitted::Gone)
    }
}

/// The refusal of a caller whose first frame cannot be read.
fn of_frame(error: &FrameError) -> Result<ConnectionRefusal, NotAdmitted> {
    Ok(match error {
        FrameError::Io(error) => match TlsTrouble::of(error) {
            Some(trouble) => {
                ConnectionRefusal::new(RefusalKind::Certificate, format!("the caller: {trouble}"))
            }
            None if error.kind() == io::ErrorKind::InvalidData => {
                ConnectionRefusal::new(RefusalKind::Garbage, error.to_string())
            }
            None => return Err(NotAdmitted::Gone),
        },
        FrameError::TooLarge(too_large) if too_large.length >> 24 == TLS_HANDSHAKE => {
            ConnectionRefusal::new(
                RefusalKind::Tls,
                "the caller uses TLS, and this node does not: set cluster.tls here, or on no node",
            )
        }
        error => ConnectionRefusal::new(RefusalKind::Garbage, error.to_string()),
    })
}
