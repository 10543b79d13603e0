//! Moving shared files, and settling unfinished moves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::{ready, wrap_future};
use actix::{
    ActorFutureExt, AsyncContext, Context, Handler, MailboxError, ResponseActFuture, WrapFuture,
};
use reelyard_core::actor_parts::Observer;
use reelyard_core::event::RequestId;
use reelyard_replication::CommitError;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::waiters::{MoveReply, MoveRequestWaiters};
use super::{RETRY, ShareFiles, ShareFilesCollaborators, UnsettledMovesFound};
use crate::share_expiry::{
    BeginMove, BegunMove, MoveEnd, Moved, NewMove, PendingMove, RecallMove, SettleMove, ShareError,
    ShareRefusal,
};
use crate::share_files::dirs::{NotMoved, SharedDirs};
use crate::share_files::messages::{MoveError, MoveFile};
use crate::share_files::views::UnsettledMove;

/// How long the log waits before it reports again that a move is unsettled.
const WARN_AGAIN_AFTER: Duration = Duration::from_secs(10 * 60);

/// The answer of another actor, or the error that it is unknown.
fn answered<T>(
    answer: Result<Result<T, ShareError>, MailboxError>,
    request: RequestId,
) -> Result<T, ShareError> {
    answer.unwrap_or(Err(CommitError::Unknown { request }.into()))
}

/// Runs a blocking disk operation on a thread that may wait.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ShareError> {
    // It ends only with the process.
    spawn_blocking(work).await.map_err(|_| CommitError::Stopped.into())
}

/// The outcome of an earlier request of this name.
async fn recall(
    others: ShareFilesCollaborators,
    request: RequestId,
) -> Result<Option<Moved>, MoveError> {
    let recalled = others.recall.recipient().send(RecallMove { request }).await;
    Ok(answered(recalled, request)?.transpose()?)
}

/// Carries out a requested move: recorded, done on the disk, and recorded again.
async fn make(dirs: SharedDirs, others: ShareFilesCollaborators, wanted: MoveFile) -> MoveReply {
    let MoveFile { from, to, overwrite, asked_by: by, request } = wanted;
    let (at, place, other) = (dirs.clone(), from.clone(), to.clone());
    let file = on_disk(move || at.prepare(&place, &other, overwrite)).await??;
    let new = NewMove { from, to, file, by, request };
    let begun = others.begin.recipient().send(BeginMove(new.clone())).await;
    let BegunMove { number, epoch } = answered(begun, request)?;
    let leadership = others.leadership.clone();
    let leads = move || leadership.borrow().epoch() == Some(epoch);
    let end = match on_disk(move || dirs.carry_out(&new, overwrite, leads)).await? {
        Ok(()) => MoveEnd::Moved,
        Err(NotMoved::Refused(why)) => MoveEnd::NotMoved(why),
        // The current leader finds it begun.
        Err(NotMoved::Deposed) => return Err(ShareError::from(CommitError::Deposed).into()),
        Err(NotMoved::Unsure(why)) => {
            tracing::error!(number, why, "outcome of a move not confirmed by the disk");
            return Err(MoveError::Unsettled { why, request });
        }
    };
    let settled = others.settle.recipient().send(SettleMove { number, end }).await;
    Ok(answered(settled, request)??)
}

impl Handler<MoveFile> for ShareFiles {
    type Result = ResponseActFuture<Self, MoveReply>;

    fn handle(&mut self, wanted: MoveFile, _: &mut Context<Self>) -> Self::Result {
        let request = wanted.request;
        if let Some(waiters) = self.moving.get_mut(&request) {
            let (waiter, waiting) = oneshot::channel();
            waiters.push(waiter);
            let unknown = ShareError::Journal(CommitError::Unknown { request });
            return Box::pin(wrap_future(
                async move { waiting.await.unwrap_or(Err(unknown.into())) },
            ));
        }
        if self.moving.keys().any(|other| *other != request && other.name() == request.name()) {
            let reused = ShareError::from(ShareRefusal::OtherRequest);
            return Box::pin(ready(Err(reused.into())));
        }
        self.moving.insert(request, MoveRequestWaiters::new());
        let recalling = recall(self.others.clone(), request).into_actor(self);
        let making =
            recalling.then(move |before, files, _| -> ResponseActFuture<Self, MoveReply> {
                if let Some(before) = before.transpose() {
                    return Box::pin(ready(before));
                }
                // From here on no other task settles the move.
                files.making.insert(request);
                let (dirs, others) = (files.dirs(), files.others.clone());
                Box::pin(make(dirs, others, wanted).into_actor(files))
            });
        Box::pin(making.map(move |made: MoveReply, files, ctx: &mut Context<Self>| {
            files.making.remove(&request);
            for waiter in files.moving.remove(&request).unwrap_or_default() {
                // The caller may have left.
                let _ = waiter.send(made.clone());
            }
            // An unsettled move is settled by a check of the disk.
            ctx.notify(UnsettledMovesFound);
            made
        }))
    }
}

impl Handler<UnsettledMovesFound> for ShareFiles {
    type Result = ();

    fn handle(&mut self, _: UnsettledMovesFound, ctx: &mut Context<Self>) {
        let found = self.others.shares.unsettled().borrow().clone();
        self.publish_unsettled(&found);
        let is_strange = |new: &NewMove| !self.making.contains(&new.request);
        let strange: Vec<_> = found.into_iter().filter(|moving| is_strange(&moving.new)).collect();
        if strange.is_empty() || self.settling {
            return;
        }
        self.settling = true;
        let (dirs, others) = (self.dirs(), self.others.clone());
        let patience = self.settings.removed_after;
        let settling = async move {
            let mut unclear = BTreeMap::new();
            for moving in strange {
                if let Err(why) = settle(dirs.clone(), &others, &moving, patience).await {
                    unclear.insert(moving.number, why);
                }
            }
            unclear
        };
        ctx.spawn(settling.into_actor(self).map(|unclear, files, ctx| {
            files.settling = false;
            if unclear.is_empty() {
                ctx.notify(UnsettledMovesFound);
            } else {
                ctx.notify_later(UnsettledMovesFound, RETRY);
            }
            files.publish_unclear(unclear);
        }));
    }
}

impl ShareFiles {
    /// Shows which moves are unsettled.
    fn publish_unsettled(&mut self, found: &[Arc<PendingMove>]) {
        let since = self.shell.now();
        let mut before = std::mem::take(&mut self.view.unsettled);
        let unsettled = found.iter().map(|moving| {
            let known = before.remove(&moving.number);
            let new = || UnsettledMove { moving: Arc::clone(moving), since, why: None };
            (moving.number, known.unwrap_or_else(new))
        });
        self.view.unsettled = unsettled.collect();
        self.warned_unsettled.retain(|number, _| self.view.unsettled.contains_key(number));
        self.publish_view();
    }

    /// Publishes why these moves cannot be settled, and logs it: at once, and again while it
    /// does not change.
    fn publish_unclear(&mut self, mut unclear: BTreeMap<u64, String>) {
        let now = self.shell.now();
        for (number, unsettled) in &mut self.view.unsettled {
            unsettled.why = unclear.remove(number);
            let Some(why) = &unsettled.why else { continue };
            let answer = self.warned_unsettled.get(number);
            if answer.is_some_and(|answer| now.since(*answer) < WARN_AGAIN_AFTER) {
                continue;
            }
            self.warned_unsettled.insert(*number, now);
            let new = &unsettled.moving.new;
            let (from, to) = (new.from.to_string(), new.to.to_string());
            let seconds = now.since(unsettled.since).as_secs();
            tracing::warn!(number, from, to, seconds, why, "outcome of a move unknown");
        }
        self.publish_view();
    }
}

/// Finds the outcome of an unfinished move on the disk, and records it.
async fn settle(
    dirs: SharedDirs,
    others: &ShareFilesCollaborators,
    moving: &PendingMove,
    patience: Duration,
) -> Result<(), String> {
    let (number, new) = (moving.number, moving.new.clone());
    let NewMove { from, to, request, .. } = new.clone();
    let looked = on_disk(move || match dirs.move_outcome(&new)? {
        MoveEnd::Lost if is_early(&dirs, &new, patience) => {
            Err("another directory has just taken the place of its root".to_owned())
        }
        end => Ok(end),
    });
    let end = looked.await.map_err(|error| error.to_string())??;
    // As texts: the log escapes characters that could forge a line.
    let (from, to) = (from.to_string(), to.to_string());
    let outcome = match end {
        MoveEnd::Moved => "moved",
        MoveEnd::NotMoved(_) => "not moved",
        MoveEnd::Lost => "lost",
    };
    tracing::info!(from, to, outcome, "unfinished move settled");
    let settled = others.settle.recipient().send(SettleMove { number, end }).await;
    match answered(settled, request) {
        // It was settled meanwhile.
        Ok(_) | Err(ShareError::Refused(ShareRefusal::ChangedMeanwhile)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether a file at neither path may still appear.
fn is_early(dirs: &SharedDirs, new: &NewMove, patience: Duration) -> bool {
    [&new.from, &new.to].iter().any(|place| dirs.is_new(&place.root, patience))
}
