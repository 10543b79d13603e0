//! The face of the ShareFilesActor. What only reads asks the [`ShareFilesBoard`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use arc_swap::ArcSwap;

use crate::event::RequestId;
use crate::share_expiry::{MoveRefused, Moved, RootName, ShareError, SharePlace};

/// Moves or renames a file or directory; every share of it and of what is in it follows. Repeated
/// under the same id it is answered as before.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Moved, MoveError>")]
pub struct MoveFile {
    /// Where it is.
    pub from: SharePlace,
    /// Where it is to be: its own new path, not that of the directory that it is to be in.
    pub to: SharePlace,
    /// Whether what is there goes, and its shares with it.
    pub overwrite: bool,
    /// Who asks.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Why nothing was moved, or what is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] MoveRefused),
    /// It could not be put on record, or what came of it could not.
    #[error(transparent)]
    Share(#[from] ShareError),
}

/// Looks now at what is missing and at all shares, instead of when it is time. Operators and tests
/// send it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SweepNow;

/// Goes by these settings from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeSettings(pub ShareFilesSettings);

/// What an operator can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareFilesSettings {
    /// How long something has to be missing before its shares end.
    pub removed_after: Duration,
    /// How often it is looked at what all shares stand for.
    pub sweep_every: Duration,
}

/// What there is to see of the actor. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ShareFilesBoard(Arc<ArcSwap<ShareFilesView>>);

/// What there is to see of the actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareFilesView {
    /// The roots that cannot be reached, and why: nothing of them ends as removed.
    pub unreachable: BTreeMap<RootName, String>,
    /// How many shares stand for something that was missing when it was looked at last.
    pub missing: u64,
    /// How many passes over all shares came to their end.
    pub sweeps: u64,
    /// How many shares were looked at in passes.
    pub looked: u64,
}

impl ShareFilesBoard {
    /// What there is to see.
    pub fn view(&self) -> Arc<ShareFilesView> {
        self.0.load_full()
    }

    pub(super) fn show(&self, view: ShareFilesView) {
        self.0.store(Arc::new(view));
    }
}
