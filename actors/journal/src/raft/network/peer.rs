//! Another node of the cluster, and the calls to it.

use std::sync::Arc;
use std::time::Duration;

use openraft::error::{RPCError, RaftError, Unreachable as PeerUnreachable};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::{Snapshot, Vote};
use reelyard_replication::{CallTarget, NodeUnreachable, Transport};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::raft::Types;
use crate::raft::call_messages::{RaftRequest, RaftResponse, decode, encode, follows};
use crate::raft::contact::QuorumContact;
use crate::raft::members::MemberNode;
use crate::raft::members::peer_contacts::PeerContacts;
use crate::raft::snapshot_transfer::{PART_TIMEOUT, SnapshotNotSent, SnapshotSender};
use crate::shown_position::ShownPosition;
use crate::status::SnapshotOnWay;
use crate::store::DiskSpace;

/// The reason why a node with another call version cannot be used.
const ANOTHER_VERSION: &str = "it speaks another version of the calls between nodes: run the same version of reelyard on all nodes";

/// The reason why a leader calls nobody.
const NO_QUORUM: &str =
    "no quorum answers this leader: it is silent, so that the others can elect another one";

/// An append call without an answer is given up after this time. Then its entries are sent again.
const LONGEST_WAY: Duration = Duration::from_secs(2);

/// Another node of the cluster. Clones call the same one.
#[derive(Clone)]
pub(in crate::raft) struct Peer {
    /// Id of the node that calls.
    pub(super) node: u64,
    pub(super) target: CallTarget,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) contacts: PeerContacts,
    pub(super) quorum: QuorumContact,
    pub(super) position: Arc<ShownPosition>,
    pub(super) room: watch::Receiver<DiskSpace>,
}

/// The answer to an append call, in the form of openraft.
pub(in crate::raft) type AppendAnswer =
    Result<AppendEntriesResponse<u64>, CallError<RaftError<u64>>>;

/// The failure of a call, in the form of openraft.
pub(in crate::raft) type CallError<E> = RPCError<u64, MemberNode, E>;

impl Peer {
    /// Calls the node, and returns its answer. Refusals to work at all count as unreachable.
    pub(in crate::raft) async fn call(
        &self,
        request: RaftRequest,
    ) -> Result<RaftResponse, NodeUnreachable> {
        let answer = self.transport.call(&self.target, request.kind(), encode(&request)).await?;
        let unreachable =
            |why: &str| NodeUnreachable { node: self.target.node, why: why.to_owned() };
        match decode(&answer) {
            Some(RaftResponse::NotReady) => Err(unreachable("its journal is not ready")),
            Some(RaftResponse::NotUnderstood) => Err(unreachable(ANOTHER_VERSION)),
            Some(RaftResponse::Refused(why)) => Err(unreachable(&why)),
            Some(response) => {
                self.contacts.answered(self.target.node);
                Ok(response)
            }
            None => Err(unreachable(ANOTHER_VERSION)),
        }
    }

    /// Sends entries. The call goes on when nobody waits for its answer.
    pub(in crate::raft) fn start_append(
        &self,
        request: AppendEntriesRequest<Types>,
    ) -> JoinHandle<AppendAnswer> {
        let peer = self.clone();
        tokio::spawn(async move {
            let answer = timeout(LONGEST_WAY, peer.append(request)).await;
            let silent = |_| Err(peer.fails(format!("no answer within {LONGEST_WAY:?}")));
            answer.unwrap_or_else(silent)
        })
    }

    /// Waits for the answer to a call. A wait that is given up may be begun again.
    pub(in crate::raft) async fn append_answer(
        &self,
        call: &mut JoinHandle<AppendAnswer>,
    ) -> AppendAnswer {
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
        let answer = self.call(RaftRequest::Append { request: request.into(), news }).await;
        let answer = answer.map(|response| match response {
            RaftResponse::Append { answer, mark } => {
                let answer: Result<AppendEntriesResponse<u64>, String> = answer.map(Into::into);
                let followed = answer.as_ref().is_ok_and(follows).then_some(term);
                self.quorum.answered(to, mark, (sent, followed));
                Some(answer)
            }
            _ => None,
        });
        self.raft_answer(answer)
    }

    /// Sends a snapshot part by part, and answers the vote of the node.
    pub(super) async fn send_snapshot(
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
    pub(super) fn raft_answer<A, T: From<A>>(
        &self,
        answer: Result<Option<Result<A, String>>, NodeUnreachable>,
    ) -> Result<T, CallError<RaftError<u64>>> {
        let unreachable = match answer {
            Ok(Some(Ok(answer))) => return Ok(answer.into()),
            Ok(Some(Err(why))) => NodeUnreachable { node: self.target.node, why },
            Ok(None) => self.another_kind(),
            Err(unreachable) => unreachable,
        };
        Err(PeerUnreachable::new(&unreachable).into())
    }
}
