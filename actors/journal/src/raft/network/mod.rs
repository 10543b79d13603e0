//! openraft's calls as opaque bytes over a [`Transport`].

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use openraft::error::{
    Fatal, RPCError, RaftError, RemoteError, ReplicationClosed, StreamingError,
    Unreachable as PeerUnreachable,
};
use openraft::network::{Backoff, RPCOption};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{RaftNetwork, RaftNetworkFactory, Snapshot, Vote};
use reelyard_replication::{CallTarget, MemberRecord, NodeUnreachable, Transport};
use tokio::sync::watch;
use tokio::time::timeout;

use super::Types;
use super::append_budget::AppendBudget;
use super::call_messages::{RaftRequest, RaftResponse, decode, encode, follows};
use super::cannot_read_log;
use super::contact::QuorumContact;
use super::members::MemberNode;
use super::members::peer_contacts::PeerContacts;
use super::snapshot_transfer::{PART_TIMEOUT, SnapshotNotSent, SnapshotSender};
use crate::shown_position::ShownPosition;
use crate::status::SnapshotOnWay;
use crate::store::DiskSpace;

/// The reason why a node with another call version cannot be used.
const ANOTHER_VERSION: &str = "it speaks another version of the calls between nodes: run the same version of reelyard on all nodes";

/// The reason why a leader calls nobody.
const NO_QUORUM: &str =
    "no quorum answers this leader: it is silent, so that the others can elect another one";

/// How long a node that could not be reached gets no calls.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Makes a [`Peer`] for each other node.
#[derive(Clone)]
pub(super) struct PeerFactory {
    /// Id of the node that calls.
    pub(super) node: u64,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) contacts: PeerContacts,
    pub(super) quorum: QuorumContact,
    /// How far the log is applied on this node.
    pub(super) position: Arc<ShownPosition>,
    /// The disk of this node.
    pub(super) room: watch::Receiver<DiskSpace>,
}

impl RaftNetworkFactory<Types> for PeerFactory {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, member: &MemberNode) -> Peer {
        self.peer(target, &member.0)
    }
}

impl PeerFactory {
    /// The node with this number and record.
    pub(super) fn peer(&self, node: u64, record: &MemberRecord) -> Peer {
        Peer {
            node: self.node,
            target: CallTarget { node, record: record.clone() },
            transport: self.transport.clone(),
            contacts: self.contacts.clone(),
            quorum: self.quorum.clone(),
            position: self.position.clone(),
            room: self.room.clone(),
            append_budget: AppendBudget::default(),
        }
    }
}

/// Another node of the cluster.
pub(super) struct Peer {
    /// Id of the node that calls.
    node: u64,
    target: CallTarget,
    transport: Arc<dyn Transport>,
    contacts: PeerContacts,
    quorum: QuorumContact,
    position: Arc<ShownPosition>,
    room: watch::Receiver<DiskSpace>,
    append_budget: AppendBudget,
}

type CallError<E> = RPCError<u64, MemberNode, E>;

impl Peer {
    /// Calls the node, and returns its answer. Refusals to work at all count as unreachable.
    pub(super) async fn call(&self, request: RaftRequest) -> Result<RaftResponse, NodeUnreachable> {
        let answer = self.transport.call(&self.target, request.kind(), encode(&request)).await?;
        self.contacts.answered(self.target.node);
        let unreachable =
            |why: &str| NodeUnreachable { node: self.target.node, why: why.to_owned() };
        match decode(&answer) {
            Some(RaftResponse::NotReady) => Err(unreachable("its journal is not ready")),
            Some(RaftResponse::NotUnderstood) => Err(unreachable(ANOTHER_VERSION)),
            Some(response) => Ok(response),
            None => Err(unreachable(ANOTHER_VERSION)),
        }
    }

    async fn append(
        &self,
        request: AppendEntriesRequest<Types>,
    ) -> Result<AppendEntriesResponse<u64>, CallError<RaftError<u64>>> {
        let (to, term) = (self.target.node, request.vote.leader_id.term);
        if self.quorum.keeps_silent(term) {
            let silent = NodeUnreachable { node: to, why: NO_QUORUM.to_owned() };
            return Err(PeerUnreachable::new(&silent).into());
        }
        let state = (self.position.applied(), self.room.borrow().full.is_some());
        let news = self.quorum.news(to, term, state);
        let sent = self.quorum.now();
        let answer = self.call(RaftRequest::Append { request, news }).await;
        let answer = answer.map(|response| match response {
            RaftResponse::Append { answer, mark } => {
                let followed = answer.as_ref().is_ok_and(follows).then_some(term);
                self.quorum.answered(to, mark, (sent, followed));
                Some(answer)
            }
            _ => None,
        });
        self.raft_answer(answer)
    }

    async fn send_snapshot(
        &self,
        vote: Vote<u64>,
        snapshot: Snapshot<Types>,
    ) -> Result<Vote<u64>, SnapshotNotSent> {
        let Snapshot { meta, snapshot } = snapshot;
        let body = Arc::from(snapshot);
        let mut sender = SnapshotSender::new(self.node, self.target.node, vote, meta, body)?;
        let on_way = self.contacts.sending(self.target.node);
        loop {
            let part = sender.next_part().await?;
            on_way.reached(SnapshotOnWay { sent: part.offset, bytes: part.source.bytes });
            let answer = timeout(PART_TIMEOUT, self.call(RaftRequest::Snapshot(part))).await;
            let silent = |_| NodeUnreachable {
                node: self.target.node,
                why: format!("it took no part of a snapshot within {PART_TIMEOUT:?}"),
            };
            let RaftResponse::Snapshot(progress) = answer.map_err(silent)?? else {
                return Err(self.another_kind().into());
            };
            if let Some(vote) = sender.answered(progress)? {
                return Ok(vote);
            }
        }
    }

    fn another_kind(&self) -> NodeUnreachable {
        NodeUnreachable { node: self.target.node, why: "its answer is of another kind".to_owned() }
    }

    /// The answer to a call in openraft's form. None if it is the answer to another kind of call.
    fn raft_answer<T, E: std::error::Error>(
        &self,
        answer: Result<Option<Result<T, E>>, NodeUnreachable>,
    ) -> Result<T, CallError<E>> {
        let unreachable = match answer {
            Ok(Some(Ok(answer))) => return Ok(answer),
            Ok(Some(Err(error))) => return Err(RemoteError::new(self.target.node, error).into()),
            Ok(None) => self.another_kind(),
            Err(unreachable) => unreachable,
        };
        Err(PeerUnreachable::new(&unreachable).into())
    }
}

impl RaftNetwork<Types> for Peer {
    async fn append_entries(
        &mut self,
        mut request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallError<RaftError<u64>>> {
        if request.entries.is_empty() {
            return self.append(request).await;
        }
        let sent = self.append_budget.fitting(&request.entries);
        let is_cut = sent < request.entries.len();
        request.entries.truncate(sent);
        let last = request.entries.last().map(|entry| entry.log_id);
        // openraft drops this future at the end of the time limit. Then nothing after the call runs.
        self.append_budget.begin();
        let began = Instant::now();
        let answer = self.append(request).await;
        if answer.is_ok() {
            self.append_budget.answered(began.elapsed(), option.hard_ttl(), is_cut);
        }
        match answer {
            Ok(AppendEntriesResponse::Success) if is_cut => {
                Ok(AppendEntriesResponse::PartialSuccess(last))
            }
            answer => answer,
        }
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote<u64>,
        snapshot: Snapshot<Types>,
        cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<Types, Fatal<u64>>> {
        tokio::select! {
            closed = cancel => Err(closed.into()),
            sent = self.send_snapshot(vote, snapshot) => match sent {
                Ok(vote) => Ok(SnapshotResponse::new(vote)),
                Err(SnapshotNotSent::Unreachable(why)) => Err(PeerUnreachable::new(&why).into()),
                Err(SnapshotNotSent::Unreadable(why)) => Err(cannot_read_log(why).into()),
            },
        }
    }

    async fn vote(
        &mut self,
        request: VoteRequest<u64>,
        _: RPCOption,
    ) -> Result<VoteResponse<u64>, CallError<RaftError<u64>>> {
        let answer = self.call(RaftRequest::Vote(request)).await.map(|response| match response {
            RaftResponse::Vote(answer) => Some(answer),
            _ => None,
        });
        self.raft_answer(answer)
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(RETRY_PAUSE))
    }
}
