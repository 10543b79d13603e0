//! Accepts connections, and serves each in a task of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reelyard_protocol::cluster::{ConnectionRefusal, ConnectionUse, LARGEST_JOIN, RefusalKind};
use reelyard_replication::{CallKind, NodeIdentity};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::admission::{Admission, AdmittedCaller};
use super::call_server::CallServer;
use super::certificate_watch::CertificateWatch;
use super::connection_slots::{ConnectionSlots, GuestSlot};
use super::service::ClusterService;
use crate::transport::framing::{FrameError, read_frame, write_frame};
use crate::transport::local_node::LocalNode;
use crate::transport::peers::PeerRecord;
use crate::transport::socket;
use crate::transport::stream::NodeStream;
use reelyard_protocol::cluster::{JoinOutcome, JoinRequest};

/// Interval of the looks at the end of the certificate.
const LOOK_AT_CERTIFICATE: Duration = Duration::from_secs(60 * 60);
/// Pause after the system gave no connection, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Time limit for the request of a node that wants to join.
const JOIN_REQUEST_TIME: Duration = Duration::from_secs(5);

/// The task of a listener.
pub(super) struct AcceptLoop {
    pub(super) listener: TcpListener,
    pub(super) local: Arc<LocalNode>,
    pub(super) service: Arc<dyn ClusterService>,
    pub(super) slots: ConnectionSlots,
}

impl AcceptLoop {
    /// Runs until it is aborted. Then all connections end.
    pub(super) async fn run(self) {
        let mut connections = JoinSet::new();
        let mut certificate = CertificateWatch::default();
        let mut looks = tokio::time::interval(LOOK_AT_CERTIFICATE);
        loop {
            // Ended tasks leave the set, so that it does not grow.
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = looks.tick() => {
                    certificate.look(&self.local.security(), self.local.clock().now());
                    continue;
                }
            };
            match accepted {
                Ok((stream, from)) => self.start(stream, from, &mut connections),
                Err(error) => {
                    let why = format!("the system gives no connection: {error}");
                    let refusal = ConnectionRefusal::new(RefusalKind::Busy, why);
                    self.local.peers().refused_other("unknown", &refusal);
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Gives a connection a slot and a task.
    fn start(&self, stream: TcpStream, from: SocketAddr, connections: &mut JoinSet<()>) {
        let ip = from.ip().to_canonical();
        let Some(guest) = self.slots.admit(ip, self.local.is_address_of_member(ip)) else {
            let refusal = ConnectionRefusal::new(
                RefusalKind::Busy,
                "there are too many connections that have not greeted yet",
            );
            return self.local.peers().refused_other(from, &refusal);
        };
        let caller = CallerConnection {
            local: Arc::clone(&self.local),
            service: Arc::clone(&self.service),
            slots: self.slots.clone(),
            from,
        };
        connections.spawn(caller.serve(stream, guest));
    }
}

/// One connection.
struct CallerConnection {
    local: Arc<LocalNode>,
    service: Arc<dyn ClusterService>,
    slots: ConnectionSlots,
    from: SocketAddr,
}

impl CallerConnection {
    async fn serve(self, stream: TcpStream, guest: GuestSlot) {
        if let Err(error) = socket::prepare(&stream) {
            tracing::debug!(%error, from = %self.from, "a connection ended before its hello");
            return;
        }
        let time = self.slots.limits().greeting_time;
        let admission = Admission { local: &self.local, slots: &self.slots, from: self.from };
        let Some(admitted) = admission.admit(stream, &guest, time).await else { return };
        match admitted {
            AdmittedCaller::Newcomer(stream) => {
                // The slot stays taken until the answer.
                self.join(stream).await;
                drop(guest);
            }
            AdmittedCaller::Member { stream, purpose, identity, peer } => {
                drop(guest);
                self.serve_member(stream, purpose, identity, &peer).await;
            }
        }
    }

    async fn serve_member(
        &self,
        stream: NodeStream,
        purpose: ConnectionUse,
        from: NodeIdentity,
        peer: &PeerRecord,
    ) {
        let kind = match purpose {
            ConnectionUse::Vote => CallKind::Vote,
            ConnectionUse::Log => CallKind::Log,
            ConnectionUse::Snapshot => CallKind::Snapshot,
            ConnectionUse::Forward => return self.forward(from, stream).await,
            // The admission lets no member join.
            ConnectionUse::Join => return,
        };
        let server = CallServer {
            service: self.service.as_ref(),
            clock: self.local.clock(),
            peer,
            from,
            purpose,
            kind,
        };
        if let Err(error) = server.run(stream).await {
            self.ended(&error);
        }
    }

    async fn forward(&self, from: NodeIdentity, stream: NodeStream) {
        if let Err(error) = socket::let_reader_pause(stream.socket()) {
            tracing::debug!(%error, from = %self.from, "a connection ended after its hello");
            return;
        }
        self.service.forward(from, stream).await;
    }

    /// Answers the one request of a newcomer.
    async fn join(&self, mut stream: NodeStream) {
        let read = timeout(JOIN_REQUEST_TIME, read_frame(&mut stream, LARGEST_JOIN)).await;
        let outcome = match read {
            Ok(Ok(Some(frame))) => match JoinRequest::read(&frame) {
                Ok(request) => self.service.join(self.from, request).await,
                Err(bad) => {
                    let why = bad.to_string();
                    self.refused(RefusalKind::Garbage, &why);
                    JoinOutcome::Refused { kind: RefusalKind::Garbage.word().to_owned(), why }
                }
            },
            Ok(Ok(None)) => return,
            Ok(Err(error)) => return self.refused(RefusalKind::Garbage, &error.to_string()),
            Err(_) => return self.refused(RefusalKind::Slow, "no request to join came in time"),
        };
        if let Err(error) = write_frame(&mut stream, LARGEST_JOIN, &[], &outcome.encode()).await {
            self.ended(&error);
        }
    }

    fn refused(&self, kind: RefusalKind, why: &str) {
        self.local.peers().refused_other(self.from, &ConnectionRefusal::new(kind, why));
    }

    /// The end of an accepted connection. A closed one is usual; a bad frame is a fault of the member.
    fn ended(&self, error: &FrameError) {
        match error {
            FrameError::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
                tracing::debug!(%error, from = %self.from, "the connection of another node ended");
            }
            error => self.refused(RefusalKind::Garbage, &error.to_string()),
        }
    }
}
