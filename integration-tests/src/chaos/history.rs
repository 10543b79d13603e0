//! The answers to all clients, and the rules for them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time in which one client held a box, as far as it could know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingOfBox {
    /// Number of the box.
    pub number: u64,
    /// The fencing token of the lease.
    pub token: u64,
    /// When the grant was known.
    pub from: Instant,
    /// The end of the lease, or the moment before the release was sent.
    pub until: Instant,
}

/// The acknowledged requests of all clients.
#[derive(Debug, Default)]
pub struct ChaosHistory(Mutex<RecordedAnswers>);

#[derive(Debug, Default)]
struct RecordedAnswers {
    /// The id of the share of each request, and whether its revocation was acknowledged. A revocation without an
    /// answer leaves it open.
    shares: BTreeMap<String, (String, ShareEnd)>,
    held: Vec<HoldingOfBox>,
    acknowledged: Vec<Instant>,
    violation: Option<String>,
}

/// How far the end of a share is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareEnd {
    /// It must be there.
    Live,
    /// A revocation is under way, or had no answer.
    Open,
    /// It must not be there.
    Revoked,
}

impl ChaosHistory {
    /// A request was acknowledged.
    pub fn acknowledge(&self) {
        self.now().acknowledged.push(Instant::now());
    }

    /// An answer breaks a rule, as `text` says. The first one is kept.
    pub fn violates(&self, text: String) {
        self.now().violation.get_or_insert(text);
    }

    /// The request `request` was answered with this share.
    pub fn shared(&self, request: &str, share: &str) {
        let mut now = self.now();
        let known = now.shares.get(request).map(|(known, _)| known.clone());
        match known {
            None => {
                now.shares.insert(request.to_owned(), (share.to_owned(), ShareEnd::Live));
            }
            Some(known) if known != share => {
                let text = format!("request {request} happened twice: shares {known} and {share}");
                now.violation.get_or_insert(text);
            }
            Some(_) => {}
        }
    }

    /// The end of a share is `end` now.
    pub fn ends(&self, request: &str, end: ShareEnd) {
        if let Some((_, present)) = self.now().shares.get_mut(request) {
            *present = end;
        }
    }

    /// A client held a box.
    pub fn held(&self, held: HoldingOfBox) {
        self.now().held.push(held);
    }

    /// The shares by request.
    pub fn shares(&self) -> BTreeMap<String, (String, ShareEnd)> {
        self.now().shares.clone()
    }

    /// Number of acknowledged requests.
    pub fn acknowledged(&self) -> usize {
        self.now().acknowledged.len()
    }

    /// The longest time without an acknowledged request from `from` on, until now.
    pub fn pause_since(&self, from: Instant) -> Duration {
        let now = self.now();
        let later = now.acknowledged.iter().rev().take_while(|at| **at >= from);
        let mut moments: Vec<Instant> = later.copied().collect();
        moments.extend([from, Instant::now()]);
        moments.sort();
        moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    /// The first violation: of a repeated request, or of the leases.
    pub fn violation(&self) -> Option<String> {
        let now = self.now();
        now.violation.clone().or_else(|| lease_violation(&now.held))
    }

    fn now(&self) -> MutexGuard<'_, RecordedAnswers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two holders of one box at once, or a token that does not grow.
fn lease_violation(held: &[HoldingOfBox]) -> Option<String> {
    let mut by_box: BTreeMap<u64, Vec<&HoldingOfBox>> = BTreeMap::new();
    for one in held {
        by_box.entry(one.number).or_default().push(one);
    }
    for (number, mut held) in by_box {
        held.sort_by_key(|one| one.from);
        for pair in held.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            if second.from < first.until {
                return Some(format!(
                    "box {number} had two holders: token {} until {:?} after token {} began",
                    first.token,
                    first.until - second.from,
                    second.token
                ));
            }
            if second.token <= first.token {
                return Some(format!(
                    "the token of box {number} did not grow: {} after {}",
                    second.token, first.token
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(number: u64, token: u64, from: u64, until: u64, begin: Instant) -> HoldingOfBox {
        let at = |ms| begin + Duration::from_millis(ms);
        HoldingOfBox { number, token, from: at(from), until: at(until) }
    }

    #[test]
    fn two_holders_and_a_lower_token_are_violations() {
        let begin = Instant::now();
        let first = held(1, 4, 0, 10, begin);
        let good = [first.clone(), held(1, 5, 10, 20, begin), held(2, 6, 5, 9, begin)];
        assert_eq!(lease_violation(&good), None);
        let both = lease_violation(&[first.clone(), held(1, 5, 9, 20, begin)]);
        assert!(both.is_some_and(|text| text.contains("two holders")));
        let lower = lease_violation(&[first, held(1, 4, 10, 20, begin)]);
        assert!(lower.is_some_and(|text| text.contains("did not grow")));
    }

    #[test]
    fn a_request_with_two_shares_is_a_violation() {
        let history = ChaosHistory::default();
        history.shared("a", "1");
        history.shared("a", "1");
        assert_eq!(history.violation(), None);
        history.shared("a", "2");
        assert!(history.violation().is_some_and(|text| text.contains("happened twice")));
    }
}
