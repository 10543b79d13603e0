//! Deletions of copies for the Remover, after the CfwWorker.

use std::time::Duration;

use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_yard::cfw_worker::{AskFailure, DeleteCopy};
use reelyard_yard::remover::PinFile;

use super::SimulatedNode;
use super::outbox::{DeletionReply, PendingDeletion};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};

/// The timeout of a deletion, in milliseconds.
const DELETE_TIMEOUT: u64 = 3000;

impl SimulatedNode {
    pub(super) fn delete(
        &mut self,
        context: &mut Context,
        host: HostAddr,
        delete: DeleteCopy,
        reply: DeletionReply,
    ) {
        let DeleteCopy { name, epoch } = delete;
        let kind = self.kind_of(host).filter(|_| self.is_destination(host));
        let epoch = match kind {
            Some(HostKind::Reelyard { .. }) => Some(epoch),
            Some(HostKind::Cfw) => None,
            Some(HostKind::Unknown) | None => {
                let why = "it does not answer".to_owned();
                // An owner that ended waits no more.
                return drop(reply.send(Err(AskFailure::NotAsked(why))));
            }
        };
        let Some(to) = context.judge.party_at(host) else { return };
        let call = SimulatedCall::Delete { name: name.clone(), epoch };
        let id = context.call(self.party(), self.life, to, call, DELETE_TIMEOUT);
        self.deletions.insert(id, PendingDeletion { host, name, reply });
    }

    /// Handles the answer to a deletion, or its timeout.
    pub(super) fn deletion_answered(
        &mut self,
        context: &mut Context,
        deletion: PendingDeletion,
        answer: Option<SimulatedResponse>,
    ) {
        let PendingDeletion { host, name, reply } = deletion;
        let result = match answer.map(|answer| answer.status) {
            Some(200) => Ok(Deleted::Removed),
            Some(404) => Ok(Deleted::Absent),
            Some(412) => Ok(Deleted::Deposed),
            Some(status) => Err(AskFailure::Status(status)),
            None => Err(AskFailure::TimedOut(Duration::from_millis(DELETE_TIMEOUT))),
        };
        match result {
            Ok(Deleted::Removed | Deleted::Absent) => self.gone(host, &name),
            Ok(Deleted::Directory | Deleted::Deposed) => {}
            Err(_) => self.look_soon(context, host, Vec::new()),
        }
        // An owner that ended waits no more.
        let _ = reply.send(result);
    }

    /// Pins a file for the operator, or unpins it.
    pub fn pin(&mut self, context: &mut Context, name: FileName, pinned: bool) {
        let Some(process) = &self.process else { return };
        let (asked_by, request) = ("the operator".to_owned(), context.request());
        process.remover.addr.do_send(PinFile { name, pinned, asked_by, request });
    }
}
