//! openraft's calls as opaque bytes over a [`Transport`].

use std::sync::Arc;
use std::time::Duration;

use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError,
    Unreachable as PeerUnreachable,
};
use openraft::network::{Backoff, RPCOption};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{BasicNode, RaftNetwork, RaftNetworkFactory};
use serde::{Deserialize, Serialize};

use super::Types;
use crate::journal::transport::{Transport, Unreachable};

/// Version of the calls between nodes.
const VERSION: u8 = 1;
/// How long a node that could not be reached is left alone.
const REST: Duration = Duration::from_millis(100);

/// A call from another node.
#[derive(Serialize, Deserialize)]
pub(super) enum Request {
    Append(AppendEntriesRequest<Types>),
    Vote(VoteRequest<u64>),
    Snapshot(InstallSnapshotRequest<Types>),
}

/// What it is answered.
#[derive(Serialize, Deserialize)]
pub(super) enum Response {
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
    // Encoding into a growing vector fails only for what no message holds; an empty one is told
    // as not understood.
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
pub(super) struct Network {
    pub(super) transport: Arc<dyn Transport>,
}

impl RaftNetworkFactory<Types> for Network {
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
    async fn call<E: std::error::Error>(&self, request: Request) -> Result<Response, CallError<E>> {
        let answer = self
            .transport
            .call(self.target, encode(&request))
            .await
            .map_err(|error| RPCError::Unreachable(PeerUnreachable::new(&error)))?;
        match decode(&answer) {
            Some(Response::NotReady) => Err(self.unreachable("its journal is not ready")),
            Some(response) => Ok(response),
            None => Err(self.unreachable("its answer is not understood here")),
        }
    }

    fn unreachable<E: std::error::Error>(&self, why: &str) -> CallError<E> {
        let error = Unreachable { node: self.target, why: why.to_owned() };
        RPCError::Unreachable(PeerUnreachable::new(&error))
    }

    /// The answer to a call, or what is wrong with it.
    fn settle<T, E: std::error::Error>(
        &self,
        answer: Option<Result<T, E>>,
    ) -> Result<T, CallError<E>> {
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(RPCError::RemoteError(RemoteError::new(self.target, error))),
            None => {
                let why = "it does not understand the call: do both nodes run the same version?";
                let error = Unreachable { node: self.target, why: why.to_owned() };
                Err(RPCError::Network(NetworkError::new(&error)))
            }
        }
    }
}

impl RaftNetwork<Types> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallError<RaftError<u64>>> {
        let answer = match self.call(Request::Append(request)).await? {
            Response::Append(answer) => Some(answer),
            _ => None,
        };
        self.settle(answer)
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, CallError<RaftError<u64, InstallSnapshotError>>> {
        let answer = match self.call(Request::Snapshot(request)).await? {
            Response::Snapshot(answer) => Some(answer),
            _ => None,
        };
        self.settle(answer)
    }

    async fn vote(
        &mut self,
        request: VoteRequest<u64>,
        _: RPCOption,
    ) -> Result<VoteResponse<u64>, CallError<RaftError<u64>>> {
        let answer = match self.call(Request::Vote(request)).await? {
            Response::Vote(answer) => Some(answer),
            _ => None,
        };
        self.settle(answer)
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(REST))
    }
}
