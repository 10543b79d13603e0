//! The model of a node's journal. It applies the log through the owners, informs them of leadership, proposes
//! their commits, and completes them.

mod applying;
mod commits;
mod leadership;

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::Recipient;
use reelyard_core::event::{Commit, Epoch, PieceId};
use reelyard_replication::{
    Apply, CommitAnswer, FrozenPiece, Install, InstallStage, JournalCommand,
};
use tokio::sync::oneshot;

use crate::simulation::pieces::PIECES;

/// A piece that its owner freezes.
type PendingFreeze = oneshot::Receiver<Box<dyn FrozenPiece>>;

/// Answers of several owners to the same command.
struct OwnerAnswers<T> {
    waiting: BTreeMap<PieceId, oneshot::Receiver<T>>,
    came: BTreeMap<PieceId, T>,
}

impl<T> OwnerAnswers<T> {
    fn new() -> Self {
        OwnerAnswers { waiting: BTreeMap::new(), came: BTreeMap::new() }
    }

    /// Whether all owners have answered. An owner that ended is asked again once it is back.
    fn is_complete(&mut self) -> bool {
        let mut came = Vec::new();
        for (piece, answer) in &mut self.waiting {
            if let Ok(answer) = answer.try_recv() {
                came.push((*piece, answer));
            }
        }
        for (piece, answer) in came {
            self.waiting.remove(&piece);
            self.came.insert(piece, answer);
        }
        self.waiting.is_empty()
    }
}

/// An entry that the owners are applying.
struct EntryApplication {
    index: u64,
    term: u64,
    payload: Arc<[u8]>,
    commits: Vec<Arc<Commit>>,
    answers: OwnerAnswers<Vec<CommitAnswer>>,
}

/// The command that the owners are carrying out.
#[derive(Default)]
enum JournalWork {
    #[default]
    Nothing,
    Applying(EntryApplication),
    Freezing(u64, OwnerAnswers<Box<dyn FrozenPiece>>),
}

impl JournalWork {
    /// Whether no owner has still to answer.
    fn is_complete(&mut self) -> bool {
        match self {
            JournalWork::Nothing => true,
            JournalWork::Applying(entry) => entry.answers.is_complete(),
            JournalWork::Freezing(_, frozen) => frozen.is_complete(),
        }
    }
}

/// The owners of a node's pieces, and the commands to them.
#[derive(Default)]
pub(super) struct HostedOwners {
    owners: BTreeMap<PieceId, Recipient<JournalCommand>>,
    work: JournalWork,
    /// Owners that do not lead yet, and the end of the log at which they do.
    kept_from_leading: BTreeMap<PieceId, u64>,
    /// Owners that wait until they have applied the log up to this index.
    catching_up: Vec<(u64, PieceId, oneshot::Sender<bool>)>,
    /// Frozen pieces to compare with those of other nodes, by index.
    compared: Vec<(u64, PieceId, PendingFreeze)>,
}

impl HostedOwners {
    fn send(&self, piece: PieceId, command: JournalCommand) {
        if let Some(owner) = self.owners.get(&piece) {
            owner.do_send(command);
        }
    }

    fn freeze(&self, piece: PieceId) -> PendingFreeze {
        let (reply, frozen) = oneshot::channel();
        self.send(piece, JournalCommand::Freeze { reply });
        frozen
    }

    /// Has an owner apply its commits of an entry.
    fn apply(
        &self,
        piece: PieceId,
        (index, term): (u64, u64),
        commits: &[Arc<Commit>],
    ) -> oneshot::Receiver<Vec<CommitAnswer>> {
        let (reply, answers) = oneshot::channel();
        let its = commits.iter().filter(|commit| commit.piece == piece).cloned().collect();
        let apply = Apply { index, term: Epoch(term), commits: its, reply };
        self.send(piece, JournalCommand::Apply(apply));
        answers
    }

    fn install(&self, piece: PieceId, index: u64, rows: Vec<Vec<u8>>) {
        for stage in [InstallStage::Begin, InstallStage::Rows(rows), InstallStage::End] {
            // A row that does not read shows as another piece.
            let (reply, _) = oneshot::channel();
            self.send(piece, JournalCommand::Install(Install { index, stage, reply }));
        }
    }

    fn compare(&mut self, index: u64) {
        for piece in PIECES {
            let frozen = self.freeze(piece);
            self.compared.push((index, piece, frozen));
        }
    }
}
