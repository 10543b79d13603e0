//! Answered requests, so that a repeated request changes nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::elapsed_time::ElapsedTime;
use reelyard_core::event::RequestId;
use serde::{Deserialize, Serialize};

use crate::piece::{Piece, UnreadableEvent};
use crate::stored::{RowVersions, encode_row, read_row};

/// How long an answered request is remembered, by the time of its commit: every node must forget it at the
/// same entry. Part of the event version.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);

/// Number of answers in one block.
const BLOCK: usize = 256;

/// Each event's outcome or refusal, encoded by its piece.
type EncodedOutcomes = Vec<Result<Vec<u8>, Vec<u8>>>;

/// Ids and outcomes of answered requests, bounded by age. Part of the piece: it survives restarts
/// and changes of leader.
///
/// The answers are in blocks, oldest first, which a frozen ledger shares. Freezing copies no
/// answer, and the next answer copies at most the last block.
#[derive(Clone, Debug, Default)]
pub struct IdempotencyLedger {
    blocks: VecDeque<Arc<Vec<LedgerRow>>>,
    /// The number of the first block; they are numbered as they come.
    first_block: u64,
    /// Position of each answer, by the name of its request.
    positions: HashMap<u64, LedgerPosition>,
    /// Answers at the start of the first block that are forgotten already.
    forgotten: usize,
}

/// Position of an answer in the blocks.
#[derive(Clone, Copy, Debug)]
struct LedgerPosition {
    request: RequestId,
    /// The number of its block.
    block: u64,
    /// Its index in the block.
    index: usize,
}

/// The answer to one request, with its time.
#[derive(Clone, Debug)]
struct LedgerRow {
    at: Millis,
    request: RequestId,
    answers: EncodedOutcomes,
    /// Time of the answer, as elapsed time.
    elapsed: ElapsedTime,
}

/// The versions of ledger rows. A version also covers the outcomes and refusals in the row: their enums
/// only grow at the end.
const LEDGER_VERSIONS: RowVersions = 1..=1;

/// An answer, as a snapshot holds it. Rows without a version have the same fields.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    at: Millis,
    request: RequestId,
    answers: EncodedOutcomes,
}

impl IdempotencyLedger {
    /// The answer to `request`, if it is still remembered.
    pub fn recall(&self, request: RequestId) -> Option<&[Result<Vec<u8>, Vec<u8>>]> {
        let known = self.positions.get(&request.name()).filter(|known| known.request == request)?;
        let block = usize::try_from(known.block - self.first_block).ok()?;
        self.blocks.get(block)?.get(known.index).map(|row| row.answers.as_slice())
    }

    /// Whether another remembered request has the name of `request`.
    pub fn means_another(&self, request: RequestId) -> bool {
        self.positions.get(&request.name()).is_some_and(|known| known.request != request)
    }

    /// Remembers an answer, and forgets answers that are too old.
    pub fn remember(&mut self, request: RequestId, at: Millis, answers: EncodedOutcomes) {
        let last = self.blocks.back().and_then(|block| block.last()).map(|row| row.elapsed);
        let elapsed = last.map_or(ElapsedTime::from(at), |last| last.advance_to(at));
        self.forget(elapsed);
        // A repeated request was answered from memory, and its first answer stays valid.
        if self.positions.contains_key(&request.name()) {
            return;
        }
        if self.blocks.back().is_none_or(|block| block.len() >= BLOCK) {
            self.blocks.push_back(Arc::new(Vec::with_capacity(BLOCK)));
        }
        let block = self.first_block + self.blocks.len() as u64 - 1;
        if let Some(last) = self.blocks.back_mut() {
            let last = Arc::make_mut(last);
            self.positions
                .insert(request.name(), LedgerPosition { request, block, index: last.len() });
            last.push(LedgerRow { at, request, answers, elapsed });
        }
    }

    fn forget(&mut self, now: ElapsedTime) {
        while let Some(first) = self.blocks.front() {
            match first.get(self.forgotten) {
                Some(oldest) if now.since(oldest.elapsed) < REMEMBERED_FOR => break,
                Some(oldest) => {
                    self.positions.remove(&oldest.request.name());
                    self.forgotten += 1;
                }
                // The last block is not full yet.
                None if self.blocks.len() == 1 && first.len() < BLOCK => break,
                None => {
                    self.blocks.pop_front();
                    self.first_block += 1;
                    self.forgotten = 0;
                }
            }
        }
    }

    /// The current ledger, to be written elsewhere while this one changes.
    pub fn freeze(&self) -> FrozenLedger {
        FrozenLedger { blocks: self.blocks.clone(), forgotten: self.forgotten }
    }

    /// Restores one row that [`FrozenLedger::write`] wrote for piece `P`.
    pub fn thaw<P: Piece>(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        let stored = read_row(P::ID, &LEDGER_VERSIONS, row)?;
        self.restore::<P>(stored)
    }

    /// Restores one row of an earlier program, which wrote rows without a version.
    pub fn thaw_without_version<P: Piece>(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        let stored = postcard::from_bytes(row).map_err(unreadable::<P>)?;
        self.restore::<P>(stored)
    }

    fn restore<P: Piece>(&mut self, stored: StoredAnswer) -> Result<(), UnreadableEvent> {
        let StoredAnswer { at, request, answers } = stored;
        for answer in &answers {
            match answer {
                Ok(bytes) => {
                    drop(postcard::from_bytes::<P::Outcome>(bytes).map_err(unreadable::<P>)?)
                }
                Err(bytes) => {
                    drop(postcard::from_bytes::<P::Refusal>(bytes).map_err(unreadable::<P>)?)
                }
            }
        }
        self.remember(request, at, answers);
        Ok(())
    }
}

fn unreadable<P: Piece>(error: postcard::Error) -> UnreadableEvent {
    UnreadableEvent::Body { piece: P::ID, error: error.to_string() }
}

/// A ledger at one log index.
#[derive(Clone, Debug)]
pub struct FrozenLedger {
    blocks: VecDeque<Arc<Vec<LedgerRow>>>,
    forgotten: usize,
}

impl FrozenLedger {
    /// Writes the ledger as snapshot rows, oldest first.
    pub fn write(&self, row: &mut dyn FnMut(&[u8])) {
        for entry in self.blocks.iter().flat_map(|block| block.iter()).skip(self.forgotten) {
            let LedgerRow { at, request, answers, elapsed: _ } = entry.clone();
            row(&encode_row(&LEDGER_VERSIONS, &StoredAnswer { at, request, answers }));
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::event::PieceId;

    use super::*;

    fn answer(of: u64) -> EncodedOutcomes {
        vec![Ok(of.to_le_bytes().to_vec())]
    }

    #[test]
    fn an_answer_is_remembered_for_its_time_and_not_longer() {
        let mut ledger = IdempotencyLedger::default();
        let (first, second) = (RequestId(1), RequestId(2));
        ledger.remember(first, Millis(0), vec![Ok(vec![7])]);
        assert_eq!(ledger.recall(first), Some(&[Ok(vec![7])][..]));
        ledger.remember(second, Millis(0).after(REMEMBERED_FOR), vec![]);
        assert_eq!(ledger.recall(first), None);
        assert!(ledger.recall(second).is_some());
    }

    #[test]
    fn answers_from_a_clock_that_was_ahead_are_forgotten_in_time() {
        let mut ledger = IdempotencyLedger::default();
        let year = 365 * 86_400_000;
        ledger.remember(RequestId(1), Millis(year), answer(1));
        ledger.remember(RequestId(2), Millis(0), answer(2));
        let just_before = REMEMBERED_FOR - Duration::from_millis(1);
        ledger.remember(RequestId(3), Millis(0).after(just_before), answer(3));
        assert!(ledger.recall(RequestId(1)).is_some());
        ledger.remember(RequestId(4), Millis(0).after(REMEMBERED_FOR), answer(4));
        let known = (1..=4).map(|id| ledger.recall(RequestId(id)).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [false, false, true, true]);
    }

    #[test]
    fn the_same_name_with_another_request_is_found_out() {
        let mut ledger = IdempotencyLedger::default();
        let [one, other] = [b"create a", b"create b"].map(|what| RequestId::of("once", what));
        assert_eq!((one.name(), one == other), (other.name(), false));
        assert!(!ledger.means_another(one));
        ledger.remember(one, Millis(0), answer(1));
        // Two that were under way at a time: the first one holds.
        ledger.remember(other, Millis(0), answer(2));
        assert!(!ledger.means_another(one) && ledger.means_another(other));
        assert_eq!((ledger.recall(one), ledger.recall(other)), (Some(&answer(1)[..]), None));
        ledger.remember(RequestId(1), Millis(0).after(REMEMBERED_FOR), answer(3));
        assert!(!ledger.means_another(other), "it is forgotten");
    }

    #[test]
    fn a_frozen_ledger_keeps_its_content_while_the_original_changes() {
        let mut ledger = IdempotencyLedger::default();
        let id = |n: u64| RequestId(u128::from(n));
        // One a second: those of the last 900 are remembered.
        let at = |n: u64| Millis(i64::try_from(n * 1000).unwrap());
        for n in 0..3000 {
            ledger.remember(id(n), at(n), answer(n));
        }
        let frozen = ledger.freeze();
        for n in 3000..5000 {
            ledger.remember(id(n), at(n), answer(n));
        }
        let mut rows: Vec<StoredAnswer> = Vec::new();
        frozen.write(&mut |row| {
            rows.push(read_row(PieceId::Probe, &LEDGER_VERSIONS, row).unwrap());
        });
        let remembered: Vec<_> = rows.iter().map(|row| row.request).collect();
        assert_eq!(remembered, (2100..3000).map(id).collect::<Vec<_>>());
        assert_eq!(rows[7].answers, answer(2107));
        for n in 0..5000 {
            let expected = (n >= 4100).then(|| answer(n));
            assert_eq!(ledger.recall(id(n)), expected.as_deref(), "{n}");
        }
        assert_eq!(ledger.positions.len(), 900);
    }
}
