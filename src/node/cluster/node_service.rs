//! Answers the other nodes.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures::future::{BoxFuture, FutureExt};
use reelyard_access::audit::{AuditRecord, AuditRecorder};
use reelyard_cluster::{ClusterService, LogLimit, NodeStream};
use reelyard_core::clock::Clock;
use reelyard_journal::{Journal, MemberChangeError};
use reelyard_protocol::cluster::{JoinAnswer, JoinOutcome, JoinRequest, JoinedMember};
use reelyard_replication::{CallKind, Member, MemberRecord, NodeIdentity};
use tokio::sync::{Notify, mpsc};

use super::invitation;
use super::journal_member::OpenedJournal;
use crate::node::actors::Wiring;

/// A stream of another node with requests to the API.
pub struct ForwardedStream {
    /// Number of the node.
    pub from: u64,
    /// The connection.
    pub stream: NodeStream,
}

/// The parts of a running node that take requests of nodes that join.
pub struct JoinParts {
    /// Has the tokens of invitations.
    pub actors: Arc<Wiring>,
    /// Records who joined.
    pub audit: AuditRecorder,
    /// Decides whether an invitation has expired.
    pub clock: Clock,
    /// Wakes the task that puts the settings of the cluster on record.
    pub joined: Arc<Notify>,
}

/// The work behind the listener for other nodes.
#[derive(Clone)]
pub struct NodeService {
    journal: OpenedJournal,
    /// Set once the actors run.
    joining: Arc<OnceLock<JoinParts>>,
    forwarded: mpsc::Sender<ForwardedStream>,
    /// Lines about refused invitations.
    refusals: Arc<LogLimit<()>>,
}

impl NodeService {
    /// A service that answers the calls of the journal, once it is open.
    pub fn new(journal: OpenedJournal, forwarded: mpsc::Sender<ForwardedStream>) -> Self {
        NodeService { journal, joining: Arc::default(), forwarded, refusals: Arc::default() }
    }

    /// From now on nodes can join.
    pub fn admit_by(&self, parts: JoinParts) {
        // It is called once.
        let _ = self.joining.set(parts);
    }

    async fn admit(self, from: SocketAddr, request: JoinRequest) -> JoinOutcome {
        let (Some(journal), Some(parts)) = (self.journal.get(), self.joining.get()) else {
            return refused("starting", "the node is starting: try again in a moment");
        };
        let members = journal.members();
        let is_known = |member: &Member| member.record.store == Some(request.store);
        // The answer to an earlier request of this store was lost.
        let is_new = !members.iter().any(is_known);
        if is_new {
            let ip = from.ip().to_canonical();
            let secret = &request.secret.0;
            if let Err(error) = invitation::check(secret, ip, &parts.actors, &parts.clock) {
                if let Some(silent) = self.refusals.admit((), Instant::now()) {
                    tracing::warn!(%from, %error, silent, "a node was not admitted to the cluster");
                }
                return refused("not-invited", &error.to_string());
            }
        }
        let record = MemberRecord {
            store: Some(request.store),
            cluster_address: request.cluster_address,
            api_address: request.api_address,
            format_level: request.levels.max,
            numbers_given: 0,
        };
        match journal.admit(record).await {
            Ok(number) => {
                parts.joined.notify_one();
                if is_new {
                    tracing::info!(%from, number, store = %request.store, "a node was admitted to the cluster");
                    let about = serde_json::json!({ "node": number, "store": request.store });
                    let record = AuditRecord::of_node(parts.clock.now(), "cluster.joined");
                    parts.audit.record(AuditRecord { after: Some(about), ..record });
                }
                let members = members.into_iter().filter(|member| member.number != number);
                let members = members.map(joined_member).collect();
                let cluster = journal.identity().cluster;
                JoinOutcome::Accepted(JoinAnswer { cluster, number, members })
            }
            Err(error) => refused("not-admitted", &with_leader(&error, journal)),
        }
    }
}

/// Adds the address of the leader.
fn with_leader(error: &MemberChangeError, journal: &Journal) -> String {
    let MemberChangeError::NotLeader { leader: Some(leader) } = error else {
        return error.to_string();
    };
    let members = journal.members();
    match members.iter().find(|member| member.number == *leader) {
        Some(leader) => format!("{error}. Use --at {}", leader.record.cluster_address),
        None => error.to_string(),
    }
}

fn joined_member(member: Member) -> JoinedMember {
    let Member { number, is_voter, record } = member;
    JoinedMember {
        number,
        is_voter,
        store: record.store,
        cluster_address: record.cluster_address,
        api_address: record.api_address,
        format_level: record.format_level,
    }
}

fn refused(kind: &str, why: &str) -> JoinOutcome {
    JoinOutcome::Refused { kind: kind.to_owned(), why: why.to_owned() }
}

impl ClusterService for NodeService {
    fn answer(
        &self,
        _: CallKind,
        from: NodeIdentity,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Vec<u8>> {
        let journal = self.journal.clone();
        async move {
            match journal.get() {
                Some(journal) => journal.answer(from.number, &request).await,
                None => Journal::not_ready(),
            }
        }
        .boxed()
    }

    fn join(&self, from: SocketAddr, request: JoinRequest) -> BoxFuture<'static, JoinOutcome> {
        self.clone().admit(from, request).boxed()
    }

    fn forward(&self, from: NodeIdentity, stream: NodeStream) -> BoxFuture<'static, ()> {
        let forwarded = self.forwarded.clone();
        async move {
            // Without a server the stream closes, and the other node answers that.
            let _ = forwarded.send(ForwardedStream { from: from.number, stream }).await;
        }
        .boxed()
    }
}
