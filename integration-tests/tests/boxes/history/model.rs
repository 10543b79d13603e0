//! The history, and the model for its check.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// A call of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseOperation {
    Acquire,
    Release {
        token: u64,
    },
    Verify {
        token: u64,
    },
    /// The lease may expire at any time from here on. No client controls when.
    MayExpire {
        token: u64,
    },
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseResult {
    Granted { number: u32, token: u64 },
    NoBox,
    Released,
    Live(bool),
    Expired,
}

/// The model: boxes that are granted one after the other.
#[derive(Clone, Debug)]
struct SequentialBoxes {
    /// Boxes that are certainly free.
    free: BTreeSet<u32>,
    /// Boxes that become free after their cleaning, at an unknown time.
    drained: BTreeSet<u32>,
    held: BTreeMap<u64, u32>,
    /// All later tokens of the history, in the order of their grants.
    tokens: VecDeque<u64>,
    /// Whether a released box is free at once.
    is_logical: bool,
}

impl SequentialBoxes {
    fn end(&mut self, token: u64) -> bool {
        let Some(number) = self.held.remove(&token) else { return false };
        let set = if self.is_logical { &mut self.free } else { &mut self.drained };
        set.insert(number)
    }
}

impl SequentialSpec for SequentialBoxes {
    type Op = LeaseOperation;
    type Ret = LeaseResult;

    /// The tester calls this only for operations without an answer: the possible expiry of a lease.
    fn invoke(&mut self, op: &LeaseOperation) -> LeaseResult {
        if let LeaseOperation::MayExpire { token } = op {
            self.end(*token);
        }
        LeaseResult::Expired
    }

    fn is_valid_step(&mut self, op: &LeaseOperation, ret: &LeaseResult) -> bool {
        match (op, ret) {
            (LeaseOperation::Acquire, LeaseResult::Granted { number, token }) => {
                let is_next = self.tokens.pop_front() == Some(*token);
                let is_free = self.free.remove(number) || self.drained.remove(number);
                is_next && is_free && self.held.insert(*token, *number).is_none()
            }
            (LeaseOperation::Acquire, LeaseResult::NoBox) => self.free.is_empty(),
            (LeaseOperation::Release { token }, LeaseResult::Released) => self.end(*token),
            (LeaseOperation::Verify { token }, LeaseResult::Live(live)) => {
                self.held.contains_key(token) == *live
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
enum HistoryEvent {
    Invoked(u32, LeaseOperation),
    Returned(u32, LeaseResult),
}

/// The operations in order. Clones share the same history.
#[derive(Clone, Default)]
pub struct BoxHistory {
    events: Arc<Mutex<Vec<HistoryEvent>>>,
    is_over: Arc<AtomicBool>,
}

/// The numbers of operations in a history.
#[derive(Debug, Default)]
pub struct HistoryCounts {
    pub granted: usize,
    pub released: usize,
}

impl BoxHistory {
    /// Records the call of a client.
    pub fn invoke(&self, client: u32, op: LeaseOperation) {
        self.events.lock().unwrap().push(HistoryEvent::Invoked(client, op));
    }

    /// Records the answer to a client.
    pub fn give(&self, client: u32, ret: LeaseResult) {
        self.events.lock().unwrap().push(HistoryEvent::Returned(client, ret));
    }

    /// Stops further calls.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The number of grants so far.
    pub fn granted(&self) -> usize {
        let is_grant = |event: &&HistoryEvent| {
            matches!(event, HistoryEvent::Returned(_, LeaseResult::Granted { .. }))
        };
        self.events.lock().unwrap().iter().filter(is_grant).count()
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Checks the history and returns its counts.
    pub fn check(&self, boxes: u32, is_logical: bool) -> HistoryCounts {
        let events = self.events.lock().unwrap().clone();
        let mut counts = HistoryCounts::default();
        let mut tokens = Vec::new();
        for event in &events {
            match event {
                HistoryEvent::Returned(_, LeaseResult::Granted { token, .. }) => {
                    tokens.push(*token)
                }
                HistoryEvent::Returned(_, LeaseResult::Released) => counts.released += 1,
                _ => {}
            }
        }
        counts.granted = tokens.len();
        tokens.sort_unstable();
        let all: BTreeSet<u32> = (0..boxes).collect();
        // On a worker each box is inspected first.
        let (free, drained) =
            if is_logical { (all, BTreeSet::new()) } else { (BTreeSet::new(), all) };
        let boxes = SequentialBoxes {
            free,
            drained,
            held: BTreeMap::new(),
            tokens: tokens.into(),
            is_logical,
        };
        let mut tester = LinearizabilityTester::new(boxes);
        for event in &events {
            match event.clone() {
                HistoryEvent::Invoked(client, op) => {
                    tester.on_invoke(client, op).map(drop).unwrap()
                }
                HistoryEvent::Returned(client, ret) => {
                    tester.on_return(client, ret).map(drop).unwrap()
                }
            }
        }
        assert!(tester.is_consistent(), "no order of it makes sense: {events:#?}");
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(events: &[(u32, Result<LeaseOperation, LeaseResult>)]) -> BoxHistory {
        let history = BoxHistory::default();
        for (client, event) in events {
            match event {
                Ok(op) => history.invoke(*client, op.clone()),
                Err(ret) => history.give(*client, ret.clone()),
            }
        }
        history
    }

    #[test]
    fn two_holders_of_one_box_are_no_valid_history() {
        let granted = |token| Err(LeaseResult::Granted { number: 0, token });
        let both = [
            (0, Ok(LeaseOperation::Acquire)),
            (0, granted(1)),
            (1, Ok(LeaseOperation::Acquire)),
            (1, granted(2)),
            (0, Ok(LeaseOperation::Release { token: 1 })),
            (0, Err(LeaseResult::Released)),
        ];
        let check = |events: &[_], is_logical| {
            std::panic::catch_unwind(|| history(events).check(1, is_logical)).is_ok()
        };
        assert!(!check(&both, true) && !check(&both, false));
        // The release was requested before the second grant.
        let mut in_turns = both.clone();
        in_turns.swap(3, 4);
        assert!(check(&in_turns, true) && check(&in_turns, false));
        // A token that is lower than an earlier one, or a box without a holder, is not valid either.
        let mut backwards = in_turns.clone();
        backwards[1].1 = granted(2);
        backwards[4].1 = granted(1);
        assert!(!check(&backwards, true));
        let empty = [(0, Ok(LeaseOperation::Acquire)), (0, Err(LeaseResult::NoBox))];
        assert!(!check(&empty, true));
        // A lease of a killed holder may expire at any time afterwards.
        let mut expired = both[..4].to_vec();
        expired.insert(2, (9, Ok(LeaseOperation::MayExpire { token: 1 })));
        assert!(check(&expired, true));
    }
}
