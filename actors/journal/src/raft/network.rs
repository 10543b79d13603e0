//! openraft's calls as opaque bytes over a [`Transport`].

use std::sync::Arc;
use std::time::Duration;

use openraft::error::{
    InstallSnapshotError, RPCError, RaftError, RemoteError, Unreachable as PeerUnreachable,
};
use openraft::network::{Backoff, RPCOption};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{BasicNode, RaftNetwork, RaftNetworkFactory};
use serde::{Deserialize, Serialize};

use super::Types;
use crate::transport::{NodeUnreachable, Transport};

/// Version of the calls between nodes.
const VERSION: u8 = 1;
/// How long a node that could not be reached is left alone.
const REST: Duration = Duration::from_millis(100);

/// A call from another node.
#[derive(Serialize, Deserialize)]
pub(super) enum RaftRequest {
    Append(AppendEntriesRequest<Types>),
    Vote(VoteRequest<u64>),
    Snapshot(InstallSnapshotRequest<Types>),
}

/// The answer of a node to a call.
#[derive(Serialize, Deserialize)]
pub(super) enum RaftResponse {
    Append(Result<AppendEntriesResponse<u64>, RaftError<u64>>),
    Vote(Result<VoteResponse<u64>, RaftError<u64>>),
    Snapshot(Result<InstallSnapshotResponse<u64>, RaftError<u64, InstallSnapshotError>>),
    /// The journal there is starting or stopping.
    NotReady,
    /// The call is in a version, or of a kind, that is not known there.
    NotUnderstood,
}

/// Encodes a call or an answer.
pub(super) fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Encoding into a growing vector only fails for values that no message contains. The receiver
    // answers that it does not understand an empty message.
    let body = postcard::to_stdvec(message).unwrap_or_default();
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&body);
    bytes
}

/// Reads a call or an answer; none if it is not of this version.
pub(super) fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match bytes.split_first() {
        Some((&VERSION, body)) => postcard::from_bytes(body).ok(),
        _ => None,
    }
}

/// Makes a [`Peer`] for each other node.
pub(super) struct PeerFactory {
    pub(super) transport: Arc<dyn Transport>,
}

impl RaftNetworkFactory<Types> for PeerFactory {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _: &BasicNode) -> Peer {
        Peer { target, transport: self.transport.clone() }
    }
}

/// Another node of the cluster.
pub(super) struct Peer {
    target: u64,
    transport: Arc<dyn Transport>,
}

type CallError<E> = RPCError<u64, BasicNode, E>;

impl Peer {
    async fn call(&self, request: RaftRequest) -> Result<RaftResponse, NodeUnreachable> {
        let answer = self.transport.call(self.target, encode(&request)).await?;
        let unreachable = |why: &str| NodeUnreachable { node: self.target, why: why.to_owned() };
        match decode(&answer) {
            Some(RaftResponse::NotReady) => Err(unreachable("its journal is not ready")),
            Some(RaftResponse::NotUnderstood) => Err(unreachable("it runs another version")),
            Some(response) => Ok(response),
            None => Err(unreachable("its answer cannot be read: it runs another version")),
        }
    }

    /// The answer to a call in openraft's form. None means an answer to another kind of call.
    fn settle<T, E: std::error::Error>(
        &self,
        answer: Result<Option<Result<T, E>>, NodeUnreachable>,
    ) -> Result<T, CallError<E>> {
        let unreachable = match answer {
            Ok(Some(Ok(answer))) => return Ok(answer),
            Ok(Some(Err(error))) => return Err(RemoteError::new(self.target, error).into()),
            Ok(None) => NodeUnreachable {
                node: self.target,
                why: "its answer is of another kind".to_owned(),
            },
            Err(unreachable) => unreachable,
        };
        Err(PeerUnreachable::new(&unreachable).into())
    }
}

impl RaftNetwork<Types> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallError<RaftError<u64>>> {
        let answer = self.call(RaftRequest::Append(request)).await.map(|response| match response {
            RaftResponse::Append(answer) => Some(answer),
            _ => None,
        });
        self.settle(answer)
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, CallError<RaftError<u64, InstallSnapshotError>>> {
        let answer =
            self.call(RaftRequest::Snapshot(request)).await.map(|response| match response {
                RaftResponse::Snapshot(answer) => Some(answer),
                _ => None,
            });
        self.settle(answer)
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
        self.settle(answer)
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(REST))
    }
}
