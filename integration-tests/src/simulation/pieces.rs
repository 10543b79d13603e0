//! The pieces of all owners: their rows in a snapshot, their digests, and their events in words.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use reelyard_boxes::box_lease::SharedTable;
use reelyard_core::event::{Commit, PieceId};
use reelyard_core::names::NameTable;
use reelyard_replication::{CommitAnswer, FrozenPiece, Ownership, Piece, decode_answers};
use reelyard_shares::share_expiry::ShareTable;
use reelyard_yard::remover::RemovalBook;
use reelyard_yard::task_manager::{TaskBook, TaskEvent};

use crate::simulation::invariants::log::same_pieces;

/// All pieces of a node.
pub const PIECES: [PieceId; 4] =
    [PieceId::Tasks, PieceId::Removals, PieceId::Shares, PieceId::Boxes];

/// The snapshot rows of all pieces.
#[derive(Clone, Debug, Default)]
pub struct PieceRows(Arc<BTreeMap<PieceId, Vec<Vec<u8>>>>);

impl PieceRows {
    /// The rows of one piece.
    pub fn of(&self, piece: PieceId) -> Vec<Vec<u8>> {
        self.0.get(&piece).cloned().unwrap_or_default()
    }
}

impl FromIterator<(PieceId, Vec<Vec<u8>>)> for PieceRows {
    fn from_iter<I: IntoIterator<Item = (PieceId, Vec<Vec<u8>>)>>(rows: I) -> Self {
        PieceRows(Arc::new(rows.into_iter().collect()))
    }
}

/// The snapshot rows of a frozen piece.
pub fn rows_of(frozen: Box<dyn FrozenPiece>) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    frozen.write(&mut |row| rows.push(row.to_vec()));
    rows
}

/// A hash of a piece that is equal on all nodes, or the reason why its rows do not read.
pub fn digest(piece: PieceId, index: u64, rows: &[Vec<u8>]) -> Result<u64, String> {
    match piece {
        PieceId::Tasks => {
            let mut own = Ownership::new(TaskBook::new(NameTable::new()));
            own.install(index, rows).map_err(|error| error.to_string())?;
            Ok(same_pieces::digest(own.piece()))
        }
        _ => Ok(digest_of_rows(rows)),
    }
}

/// A hash of rows that does not depend on their order.
fn digest_of_rows(rows: &[Vec<u8>]) -> u64 {
    let mut rows: Vec<&Vec<u8>> = rows.iter().collect();
    rows.sort_unstable();
    let mut hasher = DefaultHasher::new();
    for row in rows {
        hasher.write_usize(row.len());
        hasher.write(row);
    }
    hasher.finish()
}

/// An event of piece `P` with its result.
pub type AppliedResult<P> =
    (<P as Piece>::Event, Result<<P as Piece>::Outcome, <P as Piece>::Refusal>);

/// The events of a commit of piece `P`, each with its result.
pub fn events_of<P: Piece>(commit: &Commit, answer: &CommitAnswer) -> Vec<AppliedResult<P>> {
    let CommitAnswer::Applied(answers) = answer else { return Vec::new() };
    let events = decided::<P>(commit).into_iter();
    events.zip(decode_answers::<P>(answers)).collect()
}

/// The events of a commit of piece `P`.
pub fn decided<P: Piece>(commit: &Commit) -> Vec<P::Event> {
    commit.events.iter().filter_map(|event| P::decode(event).ok()).collect()
}

/// The events of a commit in words, one per line.
pub fn describe(commit: &Commit, answer: &CommitAnswer) -> Vec<String> {
    match commit.piece {
        PieceId::Tasks => events_of::<TaskBook>(commit, answer)
            .iter()
            .map(|(event, result)| format!("{} -> {result:?}", short(event)))
            .collect(),
        PieceId::Removals => events_of::<RemovalBook>(commit, answer)
            .iter()
            .map(|(event, result)| format!("{event:?} -> {result:?}"))
            .collect(),
        PieceId::Shares => events_of::<ShareTable>(commit, answer)
            .iter()
            .map(|(event, result)| format!("{event:?} -> {result:?}"))
            .collect(),
        PieceId::Boxes => events_of::<SharedTable>(commit, answer)
            .iter()
            .map(|(event, result)| format!("{event:?} -> {result:?}"))
            .collect(),
        piece => vec![format!("{piece:?}: {} events", commit.events.len())],
    }
}

/// A short description of an event.
fn short(event: &TaskEvent) -> String {
    match event {
        TaskEvent::Created(task) => {
            let (id, name) = (task.id, &task.name);
            format!("created {id} {name:?} {} -> {}", task.source, task.destination)
        }
        TaskEvent::InventoryDiffered { host, added, removed, complete } => {
            format!("{host} differs +{added:?} -{removed:?} complete {complete}")
        }
        TaskEvent::Ended { id, ending, .. } => {
            format!("ended {id}: {:?} {}", ending.how, ending.reason)
        }
        other => format!("{other:?}"),
    }
}
