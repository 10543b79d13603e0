//! The messages of the ShareFilesActor. Queries that only read use the [`ShareFilesViewHandle`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use arc_swap::ArcSwap;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::settings;

use crate::share_expiry::{MoveRefused, Moved, PendingMove, RootName, ShareError, ShareLocation};

/// Moves or renames a file or directory; every share of it and of its contents follows. A repetition
/// under the same id gets the earlier answer.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Moved, MoveError>")]
pub struct MoveFile {
    /// The current path of the file.
    pub from: ShareLocation,
    /// The new path of the file itself, not of its new parent directory.
    pub to: ShareLocation,
    /// Whether an existing file may be replaced, which ends its shares.
    pub overwrite: bool,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Why nothing was moved, or why the outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The move was refused.
    #[error(transparent)]
    Refused(#[from] MoveRefused),
    /// The move or its outcome could not be recorded.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The outcome is not known yet. The actor checks the disk until it is known. A repeated request then
    /// gets the answer. Until then a request without a name is listed among the moves.
    #[error(
        "the outcome of the move is not known yet: {why}. See it in the list of moves (GET \
         /api/v1/files/moves, reelyard share moves), or repeat the request with the same \
         request_id"
    )]
    Unsettled {
        /// The error of the disk.
        why: String,
        /// The idempotency key for repetitions by actors. Outside of them only the name of a request is
        /// known.
        request: RequestId,
    },
}

/// Checks the paths of the roots now instead of at the next check. A directory that has appeared is
/// opened.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct CheckRoots;

/// Checks the roots, missing files and all shares now, without waiting. Operators and tests send it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SweepNow;

/// Uses these settings from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeShareFilesSettings(pub ShareFilesSettings);

settings! {
    /// The detection of missing shared files.
    pub struct ShareFilesSettings {
        /// A share ends when its file has been missing for this long. A file that is replaced keeps
        /// its links.
        removed_after: Duration = Default "30s",
        /// Interval of the slow check that the files of all shares exist. A missing file is also
        /// noticed when its link is used.
        sweep_interval: Duration = Default "6h",
    }
}

/// The read view of the actor. Clones share the same view.
#[derive(Clone, Debug, Default)]
pub struct ShareFilesViewHandle(Arc<ArcSwap<ShareFilesView>>);

/// The read view of the actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareFilesView {
    /// The roots that cannot be reached, and why. No shares of these roots end as removed.
    pub unreachable: BTreeMap<RootName, String>,
    /// How many shares had no file at the last check.
    pub missing: u64,
    /// How many passes over all shares were completed.
    pub sweeps: u64,
    /// How many shares were checked in passes.
    pub looked: u64,
    /// How many were checked once more because their files were missing.
    pub looked_again: u64,
    /// Moves in progress, and those whose outcome only the disk knows, by number; on the leader.
    pub unsettled: BTreeMap<u64, UnsettledMove>,
}

/// A recorded move whose outcome is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsettledMove {
    /// The move that is not settled.
    pub moving: Arc<PendingMove>,
    /// When this node learned of it.
    pub since: Millis,
    /// Why its outcome is unknown; none while it is being carried out or checked.
    pub why: Option<String>,
}

impl ShareFilesViewHandle {
    /// The current view.
    pub fn view(&self) -> Arc<ShareFilesView> {
        self.0.load_full()
    }

    pub(super) fn publish(&self, view: ShareFilesView) {
        self.0.store(Arc::new(view));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsettled_move_names_the_command_that_shows_its_outcome() {
        let request = RequestId(0xabcd);
        let message = MoveError::Unsettled { why: "no answer".to_owned(), request }.to_string();
        assert!(!message.contains(&request.to_string()), "{message}");
        assert!(message.contains("no answer"), "{message}");
        assert!(message.contains("GET /api/v1/files/moves"), "{message}");
        assert!(message.contains("reelyard share moves"), "{message}");
    }
}
