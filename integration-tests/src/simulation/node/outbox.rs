//! The requests of the actors of one process to the world around them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix::Recipient;
use reelyard_core::event::{Commit, PieceId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::boxes::{BoxInspection, HookAnswer, InspectBoxes, ProbeFailure, RunHook};
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_replication::{CommitAnswer, CommitError, JournalCommand};
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::cfw_worker::{AskFailure, DeleteCopy, Inventory};
use tokio::sync::{Notify, oneshot};

use crate::simulation::environment::messages::SimulatedResponse;
use crate::simulation::environment::parties::Party;
use crate::simulation::scene::operator::OperatorAction;

/// The receiver of the result of a commit.
pub type PendingReply = oneshot::Sender<Result<CommitAnswer, CommitError>>;
/// The receiver of the list of a host.
pub type ListReply = oneshot::Sender<Result<Arc<Inventory>, AskFailure>>;
/// The receiver of the masters that the Catalog found.
pub type LookReply = oneshot::Sender<Vec<(FileId, MasterLook)>>;

/// The receiver of the result of a deletion.
pub type DeletionReply = oneshot::Sender<Result<Deleted, AskFailure>>;

/// A deletion that a host has not answered.
pub struct PendingDeletion {
    /// The host of the copy.
    pub host: HostAddr,
    /// The file name of the copy.
    pub name: FileName,
    /// Gets the result.
    pub reply: DeletionReply,
}

/// A request of the owner of boxes to a host, with the receiver of its answer.
pub enum HookRequest {
    /// Runs a hook.
    Run(RunHook, oneshot::Sender<HookAnswer>),
    /// Inspects boxes.
    Inspect(InspectBoxes, oneshot::Sender<Result<BoxInspection, String>>),
    /// Checks within this time whether the worker answers.
    Probe(HostAddr, Duration, oneshot::Sender<Result<(), ProbeFailure>>),
}

/// A request of an actor.
pub enum NodeRequest {
    /// The owner of a piece joins the journal.
    Register(PieceId, Recipient<JournalCommand>),
    /// An owner commits.
    Commit(Commit, PendingReply),
    /// An owner waits until it has applied the log that existed at the start.
    CaughtUp(PieceId, oneshot::Sender<bool>),
    /// Masters are looked up.
    LookUp(Vec<FileId>, LookReply),
    /// A host is read.
    Refresh(HostAddr, ListReply),
    /// A copy arrived on a host.
    Arrived(HostAddr, FileId),
    /// The owner of boxes uses a host.
    Hook(HookRequest),
    /// The Remover deletes a copy on a host.
    Delete(HostAddr, DeleteCopy, DeletionReply),
    /// An HTTP request is answered.
    Answer {
        /// The caller and the number of its call.
        caller: (Party, u64),
        /// The response to send.
        answer: SimulatedResponse,
    },
    /// The operator acts again, after this number of milliseconds.
    Again(u64, OperatorAction),
}

/// The queue of these requests, and a bell that rings for each.
#[derive(Clone, Default)]
pub struct ProcessOutbox {
    requests: Arc<Mutex<VecDeque<NodeRequest>>>,
    wake: Arc<Notify>,
}

impl ProcessOutbox {
    /// An empty queue.
    pub fn new(wake: &Arc<Notify>) -> Self {
        ProcessOutbox { requests: Arc::default(), wake: Arc::clone(wake) }
    }

    /// Adds a request.
    pub fn push(&self, request: NodeRequest) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
        self.wake.notify_one();
    }

    /// Takes all requests, in order. Answers come last, in the order of their callers: a `watch` wakes the
    /// tasks that wait for it in a random order.
    pub fn take(&self) -> VecDeque<NodeRequest> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.make_contiguous().sort_by_key(|request| match request {
            NodeRequest::Answer { caller, .. } => Some(*caller),
            _ => None,
        });
        std::mem::take(&mut *requests)
    }
}
