//! openraft's calls as opaque bytes over a [`Transport`].

mod append_budget;
mod append_on_way;
mod peer;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use openraft::error::{
    Fatal, RaftError, ReplicationClosed, StreamingError, Unreachable as PeerUnreachable,
};
use openraft::network::{Backoff, RPCOption};
use openraft::raft::{AppendEntriesRequest, SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{RaftNetwork, RaftNetworkFactory, Snapshot, Vote};
use reelyard_replication::{CallTarget, MemberRecord, Transport};
use tokio::sync::watch;

use super::Types;
use super::call_messages::{RaftRequest, RaftResponse};
use super::cannot_read_log;
use super::contact::QuorumContact;
use super::members::MemberNode;
use super::members::peer_contacts::PeerContacts;
use super::snapshot_transfer::SnapshotNotSent;
use crate::shown_position::ShownPosition;
use crate::store::DiskSpace;
use append_budget::AppendBudget;
use append_on_way::AppendOnWay;
use peer::{AppendAnswer, CallError, Peer};

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

/// Another node, as openraft calls it.
pub(super) struct PeerNetwork {
    peer: Peer,
    append_budget: AppendBudget,
    /// The last call with entries, until openraft has its answer.
    on_way: Option<AppendOnWay>,
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
        let answer = self.peer.call(RaftRequest::Vote(request.into())).await;
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
