//! How far the log has come into the views that readers read.
//!
//! An owner answers the journal before it has renewed its view. So an applied entry can be missing in a view for a
//! moment. All positions are one past an entry.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use reelyard_core::event::PieceId;
use tokio::sync::watch;

/// The positions of this node.
pub(crate) struct ShownPosition {
    progress: Mutex<AppliedProgress>,
    shown: watch::Sender<u64>,
}

#[derive(Default)]
struct AppliedProgress {
    /// The end of the applied log.
    applied: u64,
    pieces: BTreeMap<PieceId, PieceProgress>,
}

#[derive(Clone, Copy, Default)]
struct PieceProgress {
    /// The end of the last entry that the owner was given.
    given: u64,
    /// The end of the last entry in the published view.
    viewed: u64,
}

impl ShownPosition {
    /// No view shows the log yet, which is applied up to `applied`.
    pub(crate) fn new(pieces: impl IntoIterator<Item = PieceId>, applied: u64) -> Self {
        let empty = PieceProgress { given: applied, viewed: 0 };
        let pieces = pieces.into_iter().map(|piece| (piece, empty)).collect();
        let progress = Mutex::new(AppliedProgress { applied, pieces });
        ShownPosition { progress, shown: watch::Sender::new(0) }
    }

    /// These owners are given entries up to `end`.
    pub(crate) fn give<'a>(&self, pieces: impl IntoIterator<Item = &'a PieceId>, end: u64) {
        self.change(|progress| {
            for piece in pieces {
                progress.pieces.entry(*piece).or_default().given = end;
            }
        });
    }

    /// All entries up to `end` are applied.
    pub(crate) fn apply(&self, end: u64) {
        self.change(|progress| progress.applied = progress.applied.max(end));
    }

    /// The owner of a piece has published a view with its entries up to `end`.
    pub(crate) fn view(&self, piece: PieceId, end: u64) {
        self.change(|progress| progress.pieces.entry(piece).or_default().viewed = end);
    }

    /// The end of the applied log.
    pub(crate) fn applied(&self) -> u64 {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).applied
    }

    /// The end of the log that all views show, as a channel to watch. It never goes back.
    pub(crate) fn shown(&self) -> watch::Receiver<u64> {
        self.shown.subscribe()
    }

    fn change(&self, change: impl FnOnce(&mut AppliedProgress)) {
        // No code under this lock can panic during a change.
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut progress);
        let now = progress.shown();
        self.shown.send_if_modified(|shown| {
            let is_further = *shown < now;
            *shown = now.max(*shown);
            is_further
        });
    }
}

impl AppliedProgress {
    fn shown(&self) -> u64 {
        let behind = self.pieces.values().filter(|piece| piece.viewed < piece.given);
        behind.map(|piece| piece.viewed).min().unwrap_or(self.applied).min(self.applied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_shown_once_the_views_of_its_owners_have_it() {
        let [tasks, boxes] = [PieceId::Tasks, PieceId::Boxes];
        let position = ShownPosition::new([tasks, boxes], 5);
        let shown = || *position.shown().borrow();
        assert_eq!((shown(), position.applied()), (0, 5));
        position.view(tasks, 5);
        assert_eq!(shown(), 0, "one view is not published");
        position.view(boxes, 5);
        assert_eq!(shown(), 5);
        // An entry of the raft layer is in no view.
        position.apply(6);
        assert_eq!(shown(), 6);
        position.give([&boxes], 7);
        position.apply(7);
        assert_eq!((shown(), position.applied()), (6, 7));
        position.view(tasks, 5);
        assert_eq!(shown(), 6, "another owner has published");
        position.view(boxes, 7);
        assert_eq!(shown(), 7);
    }

    #[test]
    fn the_views_of_a_busy_owner_advance_although_one_entry_always_waits() {
        let boxes = PieceId::Boxes;
        let position = ShownPosition::new([boxes], 0);
        for end in 1..10 {
            position.give([&boxes], end);
            position.apply(end);
            position.view(boxes, end - 1);
            assert_eq!(*position.shown().borrow(), end - 1);
        }
    }
}
