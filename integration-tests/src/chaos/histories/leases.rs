//! Leases of boxes: no box has two holders, and the tokens of a box only grow.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::chaos::chaos_client::{ChaosClient, PACE};
use crate::chaos::record::ChaosRecord;

/// The pool whose boxes the clients lease.
pub const POOL: &str = "chaos";

/// Number of boxes of the pool.
pub const BOXES: u64 = 3;

/// Term of a lease. It is over within most rounds if the holder cannot release it.
const TERM: &str = "2s";

/// The time in which one client held a box, as far as it could know.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HoldingOfBox {
    /// Number of the box.
    number: u64,
    /// The fencing token of the lease.
    token: u64,
    /// When the grant was known.
    from: Instant,
    /// The end of the lease, or the moment before the release was sent.
    until: Instant,
}

/// The boxes that clients held.
#[derive(Debug, Default)]
pub struct LeaseHistory(Mutex<Vec<HoldingOfBox>>);

impl LeaseHistory {
    /// Two holders of one box at once, or a token that does not grow.
    pub fn violation(&self) -> Option<String> {
        lease_violation(&self.lock())
    }

    /// The number of checked leases.
    pub fn summary(&self) -> String {
        format!("{} leases", self.lock().len())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HoldingOfBox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leases a box, holds it for a moment and releases it, until the load ends.
pub async fn use_leases(
    client: &ChaosClient,
    history: &LeaseHistory,
    record: &ChaosRecord,
    number: usize,
) {
    for round in 0.. {
        let request = format!("lease-{number}-{round}");
        let body =
            json!({ "holder": format!("holder-{number}"), "ttl": TERM, "request_id": request });
        let path = format!("/pools/{POOL}/leases");
        let granted = client.decided(number + round, Method::POST, &path, Some(&body)).await;
        let Some(granted) = granted else { return };
        let known = Instant::now();
        if let (true, Some(held)) = (granted.status < 300, held(&granted.body, granted.sent, known))
        {
            record.acknowledge();
            if held.number > BOXES {
                record.violates(format!("box {} was leased, which no pool has", held.number));
            }
            sleep(Duration::from_millis(20 + 17 * (round as u64 % 11))).await;
            let released = Instant::now();
            let until = held.until.min(released);
            history.lock().push(HoldingOfBox { until, ..held });
            let id = granted.body["lease_id"].as_str().unwrap_or_default();
            let path = format!("/leases/{id}/release");
            let token = json!({ "token": granted.body["token"] });
            if client.decided(number + round, Method::POST, &path, Some(&token)).await.is_none() {
                return;
            }
        }
        sleep(PACE).await;
        if !client.goes_on() {
            return;
        }
    }
}

/// The box of a granted lease. The rest of the term counts from the moment before the request.
fn held(lease: &Value, sent: Instant, known: Instant) -> Option<HoldingOfBox> {
    let left: Duration = lease["left"].as_str().and_then(span)?;
    Some(HoldingOfBox {
        number: lease["box"].as_u64()?,
        token: lease["token"].as_u64()?,
        from: known,
        until: (sent + left).max(known),
    })
}

/// A span such as `1.99s` or `1s 990ms`.
fn span(text: &str) -> Option<Duration> {
    text.parse::<reelyard_api::Span>().ok().map(|span| span.0)
}

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
}
