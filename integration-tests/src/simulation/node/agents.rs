//! The actors behind the routes of the owners: each passes its messages to the world.

use std::future::Future;
use std::sync::Arc;

use actix::{Actor, Context, Handler, ResponseFuture};
use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_core::event::{Commit, PieceId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxInspection, HookAnswer, InspectBoxes, PoolName, ProbeFailure, ProbeHost, RunHook,
};
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_replication::{
    CommitAnswer, CommitError, JournalCommand, Leadership, OnFullDisk, ReplicatedLog,
};
use reelyard_yard::catalog::{LookUpMasters, MasterLook};
use reelyard_yard::cfw_worker::{AskFailure, CopyArrived, DeleteCopy, Inventory, Refresh};
use tokio::sync::{oneshot, watch};

use super::outbox::{HookRequest, NodeRequest, ProcessOutbox};

/// The journal of a process, as its owners use it.
pub struct SimulatedLog {
    outbox: ProcessOutbox,
    leadership: watch::Receiver<Leadership>,
}

impl SimulatedLog {
    /// A log that passes requests to `outbox`.
    pub fn new(outbox: ProcessOutbox, leadership: watch::Receiver<Leadership>) -> Self {
        SimulatedLog { outbox, leadership }
    }
}

impl ReplicatedLog for SimulatedLog {
    fn register(&self, piece: PieceId, owner: actix::Recipient<JournalCommand>) {
        self.outbox.push(NodeRequest::Register(piece, owner));
    }

    fn commit(
        &self,
        commit: Commit,
        _: OnFullDisk,
    ) -> BoxFuture<'static, Result<CommitAnswer, CommitError>> {
        let request = commit.request;
        let (reply, answer) = oneshot::channel();
        self.outbox.push(NodeRequest::Commit(commit, reply));
        answer.map(move |answer| answer.unwrap_or(Err(CommitError::Unknown { request }))).boxed()
    }

    fn caught_up(&self, piece: PieceId) -> BoxFuture<'static, bool> {
        let (reply, answer) = oneshot::channel();
        self.outbox.push(NodeRequest::CaughtUp(piece, reply));
        answer.map(|answer| answer.unwrap_or(false)).boxed()
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    fn disk_full(&self) -> Option<String> {
        None
    }

    fn view_published(&self, _: PieceId, _: u64) {}

    fn report_stuck(&self, _: PieceId, _: &CommitError) {}
}

/// The Catalog, as far as owners ask it.
pub struct SimulatedCatalog(pub ProcessOutbox);

impl Actor for SimulatedCatalog {
    type Context = Context<Self>;
}

impl Handler<LookUpMasters> for SimulatedCatalog {
    type Result = ResponseFuture<Vec<(FileId, MasterLook)>>;

    fn handle(&mut self, look: LookUpMasters, _: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.0.push(NodeRequest::LookUp(look.files, reply));
        Box::pin(answer.map(Result::unwrap_or_default))
    }
}

/// The CfwWorker of one host, as far as owners ask it.
pub struct SimulatedHostAgent {
    /// Address of the simulated machine.
    pub host: HostAddr,
    /// Where its requests go.
    pub outbox: ProcessOutbox,
}

impl Actor for SimulatedHostAgent {
    type Context = Context<Self>;
}

impl Handler<Refresh> for SimulatedHostAgent {
    type Result = ResponseFuture<Result<Arc<Inventory>, AskFailure>>;

    fn handle(&mut self, _: Refresh, _: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.outbox.push(NodeRequest::Refresh(self.host, reply));
        Box::pin(or_not_asked(answer))
    }
}

impl Handler<CopyArrived> for SimulatedHostAgent {
    type Result = ();

    fn handle(&mut self, arrived: CopyArrived, _: &mut Context<Self>) {
        self.outbox.push(NodeRequest::Arrived(self.host, arrived.file));
    }
}

/// The answer of the world; without one the host was not asked.
fn or_not_asked<T>(
    answer: oneshot::Receiver<Result<T, AskFailure>>,
) -> impl Future<Output = Result<T, AskFailure>> {
    answer.map(|answer| {
        answer.unwrap_or_else(|_| Err(AskFailure::NotAsked("no call was made".to_owned())))
    })
}

/// The way to the hosts of boxes, as their owner uses it.
pub struct SimulatedBoxLink(pub ProcessOutbox);

impl Actor for SimulatedBoxLink {
    type Context = Context<Self>;
}

impl Handler<RunHook> for SimulatedBoxLink {
    type Result = ResponseFuture<HookAnswer>;

    fn handle(&mut self, run: RunHook, _: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.0.push(NodeRequest::Hook(HookRequest::Run(run, reply)));
        let silent = |_| HookAnswer::Silent { why: "no call was made".to_owned() };
        Box::pin(answer.map(move |answer| answer.unwrap_or_else(silent)))
    }
}

impl Handler<InspectBoxes> for SimulatedBoxLink {
    type Result = ResponseFuture<Result<BoxInspection, String>>;

    fn handle(&mut self, inspect: InspectBoxes, _: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.0.push(NodeRequest::Hook(HookRequest::Inspect(inspect, reply)));
        Box::pin(answer.map(|answer| answer.unwrap_or(Err("no call was made".to_owned()))))
    }
}

impl Handler<ProbeHost> for SimulatedBoxLink {
    type Result = ResponseFuture<Result<(), ProbeFailure>>;

    fn handle(&mut self, probe: ProbeHost, _: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.0.push(NodeRequest::Hook(HookRequest::Probe(probe.host, probe.within, reply)));
        let not_asked = |_| Err(ProbeFailure::NotAsked("no call was made".to_owned()));
        Box::pin(answer.map(move |answer| answer.unwrap_or_else(not_asked)))
    }
}

impl Handler<AdoptBoxes> for SimulatedBoxLink {
    type Result = Result<Vec<PoolName>, String>;

    fn handle(&mut self, _: AdoptBoxes, _: &mut Context<Self>) -> Self::Result {
        Err("no operator adopts boxes in a simulation".to_owned())
    }
}

impl Handler<DeleteCopy> for SimulatedHostAgent {
    type Result = ResponseFuture<Result<Deleted, AskFailure>>;

    fn handle(&mut self, delete: DeleteCopy, _: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.outbox.push(NodeRequest::Delete(self.host, delete, reply));
        Box::pin(or_not_asked(answer))
    }
}
