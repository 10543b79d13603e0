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
use reelyard_replication::{CallKind, CallTarget, MemberRecord, NodeUnreachable, Transport};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Types;
use super::append_budget::AppendBudget;
use super::cannot_read_log;
use super::members::MemberNode;
use super::members::peer_contacts::PeerContacts;
use super::snapshot_transfer::{
    PART_TIMEOUT, SnapshotNotSent, SnapshotPart, SnapshotProgress, SnapshotSender,
};
use crate::status::SnapshotOnWay;

/// Version of the calls between nodes. The bodies are openraft's types in postcard, so a new version of
/// openraft, and any change of [`RaftRequest`] or [`RaftResponse`], needs another number. A test keeps the
/// bytes.
const VERSION: u8 = 4;
/// The reason why a node with another call version cannot be used.
const ANOTHER_VERSION: &str = "it speaks another version of the calls between nodes: run the same version of reelyard on all nodes";
/// How long a node that could not be reached gets no calls.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A call from another node.
#[derive(Serialize, Deserialize)]
pub(super) enum RaftRequest {
    Append(AppendEntriesRequest<Types>),
    Vote(VoteRequest<u64>),
    Snapshot(SnapshotPart),
    /// The leader with the vote `own` wants all voters to follow the vote `candidate` instead.
    GiveWay {
        own: Vote<u64>,
        candidate: Vote<u64>,
    },
    /// The leader with the vote `own` wants the receiver to stand for election.
    Stand {
        own: Vote<u64>,
    },
}

impl RaftRequest {
    /// The kind of the call. A heartbeat is an append without entries.
    fn kind(&self) -> CallKind {
        match self {
            RaftRequest::Append(append) if append.entries.is_empty() => CallKind::Vote,
            RaftRequest::Append(_) => CallKind::Log,
            RaftRequest::Vote(_) | RaftRequest::GiveWay { .. } | RaftRequest::Stand { .. } => {
                CallKind::Vote
            }
            RaftRequest::Snapshot(_) => CallKind::Snapshot,
        }
    }
}

/// The answer of a node to a call.
#[derive(Serialize, Deserialize)]
pub(super) enum RaftResponse {
    Append(Result<AppendEntriesResponse<u64>, RaftError<u64>>),
    Vote(Result<VoteResponse<u64>, RaftError<u64>>),
    Snapshot(SnapshotProgress),
    /// The journal there is starting or stopping.
    NotReady,
    /// The call is in a version, or of a kind, that is not known there.
    NotUnderstood,
    /// Whether the node does what the leader wants. It does not for another leader.
    Followed(bool),
}

/// The answer to every call while the raft node does not exist.
pub(crate) fn not_ready() -> Vec<u8> {
    encode(&RaftResponse::NotReady)
}

/// Encodes a call or an answer.
pub(super) fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Encoding into a growing vector fails only for values that no message contains. The receiver refuses
    // an empty message.
    let body = postcard::to_stdvec(message).unwrap_or_default();
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&body);
    bytes
}

/// Reads a call or an answer; none if it has another version.
pub(super) fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match bytes.split_first() {
        Some((&VERSION, body)) => postcard::from_bytes(body).ok(),
        _ => None,
    }
}

/// Makes a [`Peer`] for each other node.
#[derive(Clone)]
pub(super) struct PeerFactory {
    /// Id of the node that calls.
    pub(super) node: u64,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) contacts: PeerContacts,
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
        let answer = self.call(RaftRequest::Append(request)).await.map(|response| match response {
            RaftResponse::Append(answer) => Some(answer),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use openraft::error::Fatal;
    use openraft::{
        CommittedLeaderId, Entry, EntryPayload, LogId, Membership, SnapshotMeta, StoredMembership,
    };

    use super::*;
    use crate::raft::CommitBatch;
    use crate::raft::snapshot_transfer::SnapshotSource;
    use reelyard_core::cluster_id::StoreId;

    fn log_id(index: u64) -> LogId<u64> {
        LogId::new(CommittedLeaderId::new(3, 1), index)
    }

    fn entries() -> Vec<Entry<Types>> {
        let batch = EntryPayload::Normal(CommitBatch(vec![1, 0].into()));
        let record = |node: u64| MemberRecord {
            store: Some(StoreId::from(u128::from(node))),
            cluster_address: format!("10.0.0.{node}:8082"),
            api_address: format!("http://10.0.0.{node}:8080"),
            format_level: 1,
            numbers_given: node,
        };
        let voters = [1, 2].map(|node| (node, MemberNode(record(node))));
        let members = Membership::new(vec![[1].into(), [1, 2].into()], BTreeMap::from(voters));
        let payloads = [batch, EntryPayload::Blank, EntryPayload::Membership(members)];
        let entry = |(index, payload)| Entry { log_id: log_id(index), payload };
        (7..).zip(payloads).map(entry).collect()
    }

    /// One call or answer of each kind, with its kept bytes.
    fn kept() -> Vec<(Vec<u8>, &'static str)> {
        let vote = Vote::new_committed(3, 1);
        let append = AppendEntriesRequest {
            vote,
            prev_log_id: Some(log_id(6)),
            entries: entries(),
            leader_commit: Some(log_id(5)),
        };
        let part = SnapshotPart {
            source: SnapshotSource { node: 1, number: 4, bytes: 600 },
            vote,
            meta: SnapshotMeta {
                last_log_id: Some(log_id(9)),
                last_membership: StoredMembership::default(),
                snapshot_id: "3-9".to_owned(),
            },
            offset: 512,
            data: vec![1, 2, 3],
        };
        let fatal = RaftError::Fatal(Fatal::Stopped);
        let voted = VoteResponse { vote, vote_granted: true, last_log_id: Some(log_id(4)) };
        let failed = SnapshotProgress::Failed { why: "no".to_owned() };
        vec![
            (
                encode(&RaftRequest::Append(append)),
                concat!(
                    "040003010101030106030301070102010003010800",
                    "03010902020101020102020185017b2276657273696f6e223a2231222c227374",
                    "6f7265223a223030303030303030303030303030303030303030303030303030",
                    "303030303031222c22636c7573746572223a2231302e302e302e313a38303832",
                    "222c22617069223a22687474703a2f2f31302e302e302e313a38303830222c22",
                    "6c6576656c223a312c22676976656e223a317d0285017b2276657273696f6e22",
                    "3a2231222c2273746f7265223a22303030303030303030303030303030303030",
                    "3030303030303030303030303032222c22636c7573746572223a2231302e302e",
                    "302e323a38303832222c22617069223a22687474703a2f2f31302e302e302e32",
                    "3a38303830222c226c6576656c223a312c22676976656e223a327d",
                    "01030105",
                ),
            ),
            (encode(&RaftRequest::Vote(VoteRequest::new(vote, None))), "040103010100"),
            (
                encode(&RaftRequest::Snapshot(part)),
                "04020104d8040301010103010900000003332d39800403010203",
            ),
            (encode(&RaftResponse::Append(Ok(AppendEntriesResponse::Success))), "04000000"),
            (encode(&RaftResponse::Append(Ok(AppendEntriesResponse::Conflict))), "04000002"),
            (encode(&RaftResponse::Vote(Ok(voted))), "0401000301010101030104"),
            (encode(&RaftResponse::Vote(Err(fatal))), "0401010102"),
            (
                encode(&RaftResponse::Snapshot(SnapshotProgress::Wants { offset: 512 })),
                "0402008004",
            ),
            (encode(&RaftResponse::Snapshot(SnapshotProgress::Busy)), "040201"),
            (encode(&RaftResponse::Snapshot(SnapshotProgress::Done { vote })), "040202030101"),
            (encode(&RaftResponse::Snapshot(failed)), "040203026e6f"),
            (encode(&RaftResponse::NotReady), "0403"),
            (encode(&RaftResponse::NotUnderstood), "0404"),
            (
                encode(&RaftRequest::GiveWay { own: vote, candidate: Vote::new(4, 2) }),
                "0403030101040200",
            ),
            (encode(&RaftRequest::Stand { own: vote }), "0404030101"),
            (encode(&RaftResponse::Followed(true)), "040501"),
        ]
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sent_bytes_between_nodes_stay() {
        let changed: Vec<String> = kept()
            .into_iter()
            .map(|(bytes, kept)| (hex(&bytes), kept))
            .filter(|(bytes, kept)| bytes != kept)
            .map(|(bytes, kept)| format!("{kept} is now {bytes}"))
            .collect();
        assert!(changed.is_empty(), "raise VERSION:\n{}", changed.join("\n"));
    }

    #[test]
    fn a_call_of_another_version_is_not_read() {
        let mut bytes = encode(&RaftResponse::NotReady);
        assert!(decode::<RaftResponse>(&bytes).is_some());
        bytes[0] = VERSION + 1;
        assert!(decode::<RaftResponse>(&bytes).is_none());
    }

    #[test]
    fn stored_bytes_of_entries_stay() {
        let bytes: Vec<String> = entries()
            .iter()
            .map(|entry| hex(&crate::raft::encode_entry(entry).unwrap_or_default()))
            .collect();
        assert_eq!(
            bytes,
            [
                "03010701020100",
                "03010800",
                concat!(
                    "03010902020101020102020185017b2276657273696f6e223a2231222c227374",
                    "6f7265223a223030303030303030303030303030303030303030303030303030",
                    "303030303031222c22636c7573746572223a2231302e302e302e313a38303832",
                    "222c22617069223a22687474703a2f2f31302e302e302e313a38303830222c22",
                    "6c6576656c223a312c22676976656e223a317d0285017b2276657273696f6e22",
                    "3a2231222c2273746f7265223a22303030303030303030303030303030303030",
                    "3030303030303030303030303032222c22636c7573746572223a2231302e302e",
                    "302e323a38303832222c22617069223a22687474703a2f2f31302e302e302e32",
                    "3a38303830222c226c6576656c223a312c22676976656e223a327d",
                )
            ],
            "stores hold entries of this form"
        );
    }

    /// Before records had versions, the text of a member was its address.
    #[test]
    fn stored_bytes_of_members_without_a_version_are_read() {
        let stored =
            "0301090202010102010202010d31302e302e302e313a38303832020d31302e302e302e323a38303832";
        let digits = stored.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap());
        let bytes: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
        let entry = crate::raft::decode_entry(&bytes).unwrap();
        let EntryPayload::Membership(members) = entry.payload else { panic!("{entry:?}") };
        let MemberNode(record) = members.get_node(&2).unwrap();
        let expected =
            MemberRecord { cluster_address: "10.0.0.2:8082".to_owned(), ..MemberRecord::default() };
        assert_eq!(record, &expected);
    }
}
