//! openraft's calls as opaque bytes over a [`Transport`].

mod append_budget;
mod append_on_way;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

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
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Types;
use super::call_messages::{RaftRequest, RaftResponse, decode, encode, follows};
use super::cannot_read_log;
use super::contact::QuorumContact;
use super::members::MemberNode;
use super::members::peer_contacts::PeerContacts;
use super::snapshot_transfer::{PART_TIMEOUT, SnapshotNotSent, SnapshotSender};
use crate::shown_position::ShownPosition;
use crate::status::SnapshotOnWay;
use crate::store::DiskSpace;
use append_budget::AppendBudget;
use append_on_way::AppendOnWay;

/// The reason why a node with another call version cannot be used.
const ANOTHER_VERSION: &str = "it speaks another version of the calls between nodes: run the same version of reelyard on all nodes";

/// The reason why a leader calls nobody.
const NO_QUORUM: &str =
    "no quorum answers this leader: it is silent, so that the others can elect another one";

/// An append call without an answer is given up after this time. Then its entries are sent again.
const LONGEST_WAY: Duration = Duration::from_secs(2);

/// How long a node that could not be reached gets no calls.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Makes a [`PeerNetwork`] for each other node.
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
    type Network = PeerNetwork;

    async fn new_client(&mut self, target: u64, member: &MemberNode) -> PeerNetwork {
        PeerNetwork {
            peer: self.peer(target, &member.0),
            append_budget: AppendBudget::default(),
            on_way: None,
        }
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
        }
    }
}

/// Another node of the cluster. Clones call the same one.
#[derive(Clone)]
pub(super) struct Peer {
    /// Id of the node that calls.
    node: u64,
    target: CallTarget,
    transport: Arc<dyn Transport>,
    contacts: PeerContacts,
    quorum: QuorumContact,
    position: Arc<ShownPosition>,
    room: watch::Receiver<DiskSpace>,
}

/// Another node, as openraft calls it.
pub(super) struct PeerNetwork {
    peer: Peer,
    append_budget: AppendBudget,
    /// The last call with entries, until openraft has its answer.
    on_way: Option<AppendOnWay>,
}

type AppendAnswer = Result<AppendEntriesResponse<u64>, CallError<RaftError<u64>>>;

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

    /// Sends entries. The call goes on when nobody waits for its answer.
    fn start_append(&self, request: AppendEntriesRequest<Types>) -> JoinHandle<AppendAnswer> {
        let peer = self.clone();
        tokio::spawn(async move {
            let answer = timeout(LONGEST_WAY, peer.append(request)).await;
            let silent = |_| Err(peer.fails(format!("no answer within {LONGEST_WAY:?}")));
            answer.unwrap_or_else(silent)
        })
    }

    async fn append_answer(&self, call: &mut JoinHandle<AppendAnswer>) -> AppendAnswer {
        call.await.unwrap_or_else(|why| Err(self.fails(why.to_string())))
    }

    fn fails(&self, why: String) -> CallError<RaftError<u64>> {
        PeerUnreachable::new(&NodeUnreachable { node: self.target.node, why }).into()
    }

    async fn append(&self, request: AppendEntriesRequest<Types>) -> AppendAnswer {
        let (to, term) = (self.target.node, request.vote.leader_id.term);
        if self.quorum.keeps_silent(term) {
            return Err(self.fails(NO_QUORUM.to_owned()));
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

impl RaftNetwork<Types> for PeerNetwork {
    /// openraft drops this future after one heartbeat, and then wants to send the same entries again. The call itself
    /// goes on, because over a long way no answer arrives that soon.
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> AppendAnswer {
        let Some(wanted) = request.entries.last().map(|entry| entry.log_id) else {
            return self.peer.append_answer(&mut self.peer.start_append(request)).await;
        };
        self.on_way.take_if(|on_way| !on_way.begins_like(&request));
        let on_way = match &mut self.on_way {
            Some(on_way) => {
                // The node would elect another leader if it heard nothing during a long call.
                let heartbeat = AppendEntriesRequest { entries: Vec::new(), ..request };
                drop(self.peer.start_append(heartbeat));
                on_way
            }
            empty => empty.insert(AppendOnWay::begin(&self.peer, request, &self.append_budget)),
        };
        let adapted = (&mut self.append_budget, option.hard_ttl());
        let answer = on_way.answer(&self.peer, wanted, adapted).await;
        self.on_way = None;
        answer
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
            sent = self.peer.send_snapshot(vote, snapshot) => match sent {
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
        let answer = self.peer.call(RaftRequest::Vote(request)).await;
        let answer = answer.map(|response| match response {
            RaftResponse::Vote(answer) => Some(answer),
            _ => None,
        });
        self.peer.raft_answer(answer)
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(RETRY_PAUSE))
    }
}
