//! Requests that were answered before, so that repeating one changes nothing.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::event::RequestId;
use crate::journal::piece::{Piece, UnreadableEvent};

/// How long an answered request is remembered, by the time of its commit.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);

/// Each event's outcome or refusal, encoded by its piece.
type Answers = Vec<Result<Vec<u8>, Vec<u8>>>;

/// Ids and outcomes of answered requests, bounded by age. Part of the piece: it survives restarts
/// and changes of leader.
#[derive(Clone, Debug, Default)]
pub struct RequestLedger {
    answers: HashMap<RequestId, Answers>,
    /// The same requests, oldest first.
    order: VecDeque<(Millis, RequestId)>,
}

#[derive(Serialize, Deserialize)]
struct LedgerRow {
    at: Millis,
    request: RequestId,
    answers: Answers,
}

impl RequestLedger {
    /// What `request` was answered, if it is still remembered.
    pub fn recall(&self, request: RequestId) -> Option<&[Result<Vec<u8>, Vec<u8>>]> {
        self.answers.get(&request).map(Vec::as_slice)
    }

    /// Remembers an answer and forgets those that are too old by now.
    pub fn remember(&mut self, request: RequestId, at: Millis, answers: Answers) {
        while let Some(&(oldest, old)) = self.order.front() {
            if at.since(oldest) < REMEMBERED_FOR {
                break;
            }
            self.order.pop_front();
            self.answers.remove(&old);
        }
        if self.answers.insert(request, answers).is_none() {
            self.order.push_back((at, request));
        }
    }

    /// Writes the ledger as snapshot rows, oldest first.
    pub fn write(&self, row: &mut dyn FnMut(&[u8])) {
        for &(at, request) in &self.order {
            let Some(answers) = self.answers.get(&request) else {
                continue;
            };
            let entry = LedgerRow { at, request, answers: answers.clone() };
            // Plain sequences and numbers always encode; a row that did not would only be forgotten.
            if let Ok(bytes) = postcard::to_stdvec(&entry) {
                row(&bytes);
            }
        }
    }

    /// Takes back one row that [`RequestLedger::write`] wrote for piece `P`.
    pub fn thaw<P: Piece>(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        let unreadable = |error: postcard::Error| UnreadableEvent::Body {
            piece: P::ID,
            error: error.to_string(),
        };
        let LedgerRow { at, request, answers } = postcard::from_bytes(row).map_err(unreadable)?;
        for answer in &answers {
            match answer {
                Ok(bytes) => drop(postcard::from_bytes::<P::Outcome>(bytes).map_err(unreadable)?),
                Err(bytes) => drop(postcard::from_bytes::<P::Refusal>(bytes).map_err(unreadable)?),
            }
        }
        self.remember(request, at, answers);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_remembered_for_its_time_and_not_longer() {
        let mut ledger = RequestLedger::default();
        let (first, second) = (RequestId(1), RequestId(2));
        ledger.remember(first, Millis(0), vec![Ok(vec![7])]);
        assert_eq!(ledger.recall(first), Some(&[Ok(vec![7])][..]));
        ledger.remember(second, Millis(0).after(REMEMBERED_FOR), vec![]);
        assert_eq!(ledger.recall(first), None);
        assert!(ledger.recall(second).is_some());
    }
}
