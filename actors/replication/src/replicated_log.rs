//! The replicated log, as owners of pieces use it. The journal implements it.

use std::sync::Arc;

use actix::Recipient;
use futures::future::BoxFuture;
use reelyard_core::event::{Commit, PieceId};
use tokio::sync::watch;

use crate::Leadership;
use crate::member::FORMAT_LEVEL;
use crate::messages::{CommitAnswer, CommitError, JournalCommand};
use crate::on_full_disk::OnFullDisk;

/// The part of the replicated log that an owner needs.
pub trait ReplicatedLog: Send + Sync {
    /// Makes `owner` apply the events of `piece`. A second call replaces the previous owner.
    fn register(&self, piece: PieceId, owner: Recipient<JournalCommand>);

    /// Commits. The commit enters the log in the order of these calls, before the future is polled.
    fn commit(
        &self,
        commit: Commit,
        on_full_disk: OnFullDisk,
    ) -> BoxFuture<'static, Result<CommitAnswer, CommitError>>;

    /// Waits until the owner of `piece` has applied everything that was recorded when this node
    /// started. False if the log stopped instead.
    fn caught_up(&self, piece: PieceId) -> BoxFuture<'static, bool>;

    /// The current leader, as a channel to watch.
    fn leadership(&self) -> watch::Receiver<Leadership>;

    /// Whether owners on this node make decisions of their own while it leads. They make none before the node runs
    /// with the settings on record.
    fn allows_decisions(&self) -> bool {
        true
    }

    /// Whether other nodes hold the log as well: one of them may have led before.
    fn has_other_members(&self) -> bool {
        false
    }

    /// The lowest format level of all members. Nothing of a higher level is written.
    fn format_level(&self) -> u16 {
        FORMAT_LEVEL
    }

    /// Why the log accepts no commits for lack of room on the disk. None while there is room.
    fn disk_full(&self) -> Option<String>;

    /// The owner of `piece` has published a view with everything up to the entry `applied`.
    fn view_published(&self, piece: PieceId, applied: u64);

    /// Records that the owner of `piece` cannot commit its own decision.
    fn report_stuck(&self, piece: PieceId, error: &CommitError);
}

/// A shared handle on the replicated log of this node. Cheap to clone.
#[derive(Clone)]
pub struct LogHandle(Arc<dyn ReplicatedLog>);

impl<L: ReplicatedLog + 'static> From<L> for LogHandle {
    fn from(log: L) -> Self {
        LogHandle(Arc::new(log))
    }
}

impl std::ops::Deref for LogHandle {
    type Target = dyn ReplicatedLog;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
