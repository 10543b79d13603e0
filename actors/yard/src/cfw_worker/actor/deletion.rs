//! Deleting copies on a host.

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::host::HostKind;
use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfw::Deleted;

use crate::cfw_worker::{AskFailure, CfwWorker, DeleteCopy, HostCallKind};

impl CfwWorker {
    /// Why a copy must not be deleted there now, if so.
    fn refuses_to_delete(&self) -> Option<AskFailure> {
        if let Some(failure) = self.not_to_be_asked() {
            return Some(failure);
        }
        if !self.role.is_destination() {
            let why = "it is only a source, and masters are never deleted".to_owned();
            return Some(AskFailure::NotAsked(why));
        }
        if self.program.kind == HostKind::Unknown {
            let why = "the program at its address is not known yet".to_owned();
            return Some(AskFailure::NotAsked(why));
        }
        if let Some(failure) = self.is_on_trial() {
            return Some(failure);
        }
        let most = self.settings.open_calls.max(1) + self.settings.waiting_calls;
        (self.open_requests >= most).then_some(AskFailure::Busy)
    }

    /// Records the answer of the host.
    fn deleted(
        &mut self,
        name: &FileName,
        outcome: &Result<Deleted, AskFailure>,
        ctx: &mut Context<Self>,
    ) {
        self.open_requests -= 1;
        self.judge(HostCallKind::Delete, outcome);
        match outcome {
            Ok(Deleted::Removed | Deleted::Absent) => {
                self.copies_deleted += u64::from(*outcome == Ok(Deleted::Removed));
                if self.holdings.gone(self.names.intern(name)) {
                    self.notify_subscribers();
                }
            }
            Ok(Deleted::Directory | Deleted::Deposed) => {}
            Err(failure) => {
                self.record_failure("DELETE /files", failure);
                // If it is unknown whether the copy was removed, the host is asked as soon as
                // possible.
                if self.not_to_be_asked().is_none() {
                    self.look_soon(ctx, None);
                }
            }
        }
        self.check_breaker();
        self.publish_view();
    }
}

impl Handler<DeleteCopy> for CfwWorker {
    type Result = ResponseActFuture<Self, Result<Deleted, AskFailure>>;

    fn handle(&mut self, delete: DeleteCopy, _: &mut Context<Self>) -> Self::Result {
        if let Some(failure) = self.refuses_to_delete() {
            return Box::pin(fut::ready(Err(failure)));
        }
        self.open_requests += 1;
        self.publish_view();
        let (client, turns, kind) = (self.client.clone(), self.turns.clone(), self.program.kind);
        let DeleteCopy { name, epoch } = delete;
        let called = name.clone();
        let call = self.call_apart(async move {
            // The semaphore is never closed; were it, the call would only lose its bound.
            let _turn = turns.acquire_owned().await.ok();
            client.delete(kind, &called, epoch).await
        });
        Box::pin(fut::wrap_future::<_, Self>(call).map(move |outcome, worker, ctx| {
            let outcome = outcome.flatten();
            worker.deleted(&name, &outcome, ctx);
            outcome
        }))
    }
}
