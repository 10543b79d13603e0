//! A log that answers when the test says so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use actix::{Addr, Recipient};
use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_core::event::{Commit, Epoch, PieceId};
use tokio::sync::{Notify, oneshot, watch};

use super::owner::Owner;
use crate::leadership::Leadership;
use crate::messages::{Apply, CommitAnswer, CommitError, JournalCommand};
use crate::on_full_disk::OnFullDisk;
use crate::replicated_log::ReplicatedLog;

type LateReply = oneshot::Sender<Result<CommitAnswer, CommitError>>;

/// A commit that waits for its answer.
type HeldCommit = (Commit, LateReply);

/// A log that keeps each commit until the test answers it.
#[derive(Clone)]
pub(super) struct HeldLog {
    pub(super) commits: Arc<Mutex<Vec<HeldCommit>>>,
    leadership: watch::Sender<Leadership>,
    /// Notified of each commit.
    pub(super) handed_in: Arc<Notify>,
    /// The index of the last entry.
    last: Arc<AtomicU64>,
    /// Whether owners catch up at once. Otherwise they never do.
    pub(super) lets_catch_up: Arc<AtomicBool>,
}

impl HeldLog {
    pub(super) fn new() -> Self {
        let leadership = watch::Sender::new(Leadership::Nobody);
        HeldLog {
            commits: Arc::default(),
            leadership,
            handed_in: Arc::default(),
            last: Arc::default(),
            lets_catch_up: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Answers the commits so far, the earliest first: nothing was refused.
    pub(super) fn answer_all(&self) {
        for (_, reply) in self.commits.lock().unwrap().drain(..) {
            reply.send(Ok(CommitAnswer::Applied(Vec::new()))).unwrap();
        }
    }
}

impl HeldLog {
    /// Applies the commits so far as one entry, and answers them.
    pub(super) async fn apply_all<O: Owner>(&self, owner: &Addr<O>, term: Epoch) -> usize {
        let held: Vec<HeldCommit> = self.commits.lock().unwrap().drain(..).collect();
        let (commits, replies): (Vec<Commit>, Vec<LateReply>) = held.into_iter().unzip();
        let commits: Vec<Arc<Commit>> = commits.into_iter().map(Arc::new).collect();
        let (reply, answers) = oneshot::channel();
        let index = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        let apply = Apply { index, term, commits, reply };
        owner.send(JournalCommand::Apply(apply)).await.unwrap();
        let answers = answers.await.unwrap();
        let count = answers.len();
        for (reply, answer) in replies.into_iter().zip(answers) {
            reply.send(Ok(answer)).unwrap();
        }
        count
    }
}

impl ReplicatedLog for HeldLog {
    fn register(&self, _: PieceId, _: Recipient<JournalCommand>) {}

    fn commit(
        &self,
        commit: Commit,
        _: OnFullDisk,
    ) -> BoxFuture<'static, Result<CommitAnswer, CommitError>> {
        let (reply, answer) = oneshot::channel();
        self.commits.lock().unwrap().push((commit, reply));
        self.handed_in.notify_one();
        answer.map(|answer| answer.unwrap_or(Err(CommitError::Stopped))).boxed()
    }

    fn caught_up(&self, _: PieceId) -> BoxFuture<'static, bool> {
        match self.lets_catch_up.load(Ordering::SeqCst) {
            true => futures::future::ready(true).boxed(),
            false => futures::future::pending().boxed(),
        }
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    fn disk_full(&self) -> Option<String> {
        None
    }

    fn view_published(&self, _: PieceId, _: u64) {}

    fn report_stuck(&self, _: PieceId, _: &CommitError) {}
}
