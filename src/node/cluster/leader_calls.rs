//! Whether this node can call the leader. A change from here needs that, and a leader that is heard is not enough.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The leader is called at most this often.
const INTERVAL: Duration = Duration::from_secs(1);

/// After this time the outcome of a call no longer counts.
const COUNTS_FOR: Duration = Duration::from_secs(3);

/// The last call of a leader.
#[derive(Debug, Default)]
pub(super) struct LeaderCalls(Mutex<Option<LeaderCall>>);

#[derive(Clone, Debug)]
struct LeaderCall {
    leader: u64,
    at: Instant,
    /// Why it failed.
    failure: Option<String>,
}

impl LeaderCalls {
    /// Why this leader could not be called a moment ago.
    pub(super) fn failure(&self, leader: u64) -> Option<String> {
        let last = self.last().clone().filter(|call| call.leader == leader)?;
        last.failure.filter(|_| last.at.elapsed() <= COUNTS_FOR)
    }

    /// Whether the leader must be called now. Others that ask meanwhile get the former answer.
    pub(super) fn begin(&self, leader: u64) -> bool {
        let mut last = self.last();
        match last.as_mut().filter(|call| call.leader == leader) {
            Some(call) if call.at.elapsed() < INTERVAL => false,
            Some(call) => {
                call.at = Instant::now();
                true
            }
            None => {
                *last = Some(LeaderCall { leader, at: Instant::now(), failure: None });
                true
            }
        }
    }

    /// The call of this leader has ended.
    pub(super) fn end(&self, leader: u64, failure: Option<String>) {
        *self.last() = Some(LeaderCall { leader, at: Instant::now(), failure });
    }

    fn last(&self) -> MutexGuard<'_, Option<LeaderCall>> {
        // No code under this lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
