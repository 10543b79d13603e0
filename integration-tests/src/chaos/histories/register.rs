//! Linearizable reads: the note of one share is a register. A read with `consistency=leader` never returns an older
//! value than one that was acknowledged, or read, before it began.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::join3;
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

use super::shares::create;
use crate::chaos::chaos_client::{ChaosClient, PACE, is_passing};
use crate::chaos::chaos_cluster::SHARED_PATH;
use crate::chaos::record::ChaosRecord;

/// The owner of the share; its note is the register.
const OWNER: &str = "register";

/// The values that were written and read. They only grow, because there is one writer.
#[derive(Debug, Default)]
pub struct RegisterHistory(Mutex<RegisterValues>);

#[derive(Clone, Copy, Debug, Default)]
struct RegisterValues {
    /// The greatest value whose write has begun.
    begun: u64,
    /// The greatest value that a write or a read has returned. A later read returns no older one.
    known: u64,
    reads: usize,
}

impl RegisterHistory {
    /// The number of checked reads.
    pub fn summary(&self) -> String {
        let RegisterValues { known, reads, .. } = *self.lock();
        format!("{reads} reads of {known} values")
    }

    fn begin_write(&self, value: u64) {
        self.lock().begun = value;
    }

    fn end_write(&self, value: u64) {
        let mut now = self.lock();
        now.known = now.known.max(value);
    }

    /// The oldest value that a read may return that begins now.
    fn begin_read(&self) -> u64 {
        self.lock().known
    }

    /// A read returned `value`. The violation, if it may not.
    fn end_read(&self, oldest: u64, value: u64) -> Option<String> {
        let mut now = self.lock();
        now.reads += 1;
        now.known = now.known.max(value);
        if value < oldest {
            return Some(format!("a read by the leader returned {value} after {oldest} was known"));
        }
        (value > now.begun)
            .then(|| format!("a read returned {value}, but only {} was written", now.begun))
    }

    fn lock(&self) -> MutexGuard<'_, RegisterValues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes and reads the register, until the load ends.
pub async fn use_register(client: &ChaosClient, history: &RegisterHistory, record: &ChaosRecord) {
    let body = json!({
        "path": SHARED_PATH, "owner": OWNER, "note": "register 0", "request_id": "register"
    });
    let Some(id) = create(client, record, 0, &body).await else { return };
    let path = format!("/shares/{id}");
    join3(
        write(client, history, record, &path),
        read(client, history, record, &path, 1),
        read(client, history, record, &path, 2),
    )
    .await;
}

async fn write(client: &ChaosClient, history: &RegisterHistory, record: &ChaosRecord, path: &str) {
    for value in 1.. {
        history.begin_write(value);
        let change = json!({
            "note": format!("register {value}"), "request_id": format!("register-{value}")
        });
        let node = usize::try_from(value).unwrap_or_default();
        let Some(written) = client.decided(node, Method::PATCH, path, Some(&change)).await else {
            return;
        };
        if written.status >= 300 {
            record.violates(format!("status {} for a write: {}", written.status, written.body));
            return;
        }
        history.end_write(value);
        record.acknowledge();
        sleep(PACE).await;
        if !client.goes_on() {
            return;
        }
    }
}

async fn read(
    client: &ChaosClient,
    history: &RegisterHistory,
    record: &ChaosRecord,
    path: &str,
    first: usize,
) {
    let path = format!("{path}?consistency=leader");
    for node in first.. {
        let oldest = history.begin_read();
        let answer = client.attempt(node, Method::GET, &path, None).await;
        if let Some((_, share)) = answer.filter(|(status, _)| !is_passing(*status)) {
            let note = share["note"].as_str().and_then(|note| note.strip_prefix("register "));
            let value = note.and_then(|value| value.parse().ok());
            let violation = match value {
                Some(value) => history.end_read(oldest, value),
                None => Some(format!("the register is not there: {share}")),
            };
            if let Some(violation) = violation {
                record.violates(violation);
            }
        }
        sleep(PACE).await;
        if !client.goes_on() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_of_an_older_or_unwritten_value_is_a_violation() {
        let history = RegisterHistory::default();
        history.begin_write(1);
        let early = history.begin_read();
        history.end_write(1);
        assert_eq!(history.end_read(early, 0), None, "the write was under way");
        let late = history.begin_read();
        assert!(history.end_read(late, 0).is_some_and(|text| text.contains("after 1 was known")));
        assert!(history.end_read(late, 2).is_some_and(|text| text.contains("only 1 was written")));
    }

    #[test]
    fn a_value_that_was_read_once_stays() {
        let history = RegisterHistory::default();
        history.begin_write(1);
        let first = history.begin_read();
        assert_eq!(history.end_read(first, 1), None);
        let second = history.begin_read();
        assert!(history.end_read(second, 0).is_some());
    }
}
