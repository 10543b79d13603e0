//! The workers whose calls the node refuses now.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;

/// A worker that learns a challenge is refused once, and signs its next call. A refusal that lasts longer is shown.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// A refusal is no longer shown after this time without another one. A source makes no calls by which it would clear it.
const SHOWN_FOR: Duration = Duration::from_secs(60);

/// Shortest interval between two log lines about one worker.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The refused calls of one worker since its last accepted one.
#[derive(Clone, Debug)]
struct RefusedWorkerCalls {
    since: Millis,
    last: Millis,
    why: String,
    from: IpAddr,
    logged: Option<(Millis, String)>,
}

impl RefusedWorkerCalls {
    fn is_shown(&self) -> bool {
        self.last.since(self.since) >= SHOWN_AFTER
    }
}

/// The workers whose calls are refused. They are hosts of the yard, so their number is bounded.
#[derive(Debug, Default)]
pub struct WorkerRefusals(Mutex<BTreeMap<HostAddr, RefusedWorkerCalls>>);

impl WorkerRefusals {
    /// Records a refused call in the name of this host.
    pub fn record(&self, host: HostAddr, why: &str, from: IpAddr, now: Millis) {
        let mut hosts = self.hosts();
        let calls = hosts.entry(host).or_insert_with(|| {
            let (why, logged) = (why.to_owned(), None);
            RefusedWorkerCalls { since: now, last: now, why, from, logged }
        });
        calls.last = now;
        calls.from = from;
        if calls.why != why {
            calls.why = why.to_owned();
        }
        let is_known = calls
            .logged
            .as_ref()
            .is_some_and(|(at, logged)| logged == why && now.since(*at) < LOG_EVERY);
        if calls.is_shown() && !is_known {
            calls.logged = Some((now, why.to_owned()));
            let since = calls.since;
            tracing::warn!(%host, %from, %since, why, "the calls of a worker are refused");
        }
    }

    /// A call of this host was accepted.
    pub fn clear(&self, host: HostAddr) {
        let mut hosts = self.hosts();
        if let Some(calls) = hosts.remove(&host)
            && calls.logged.is_some()
        {
            tracing::info!(%host, "the calls of a worker are accepted again");
        }
    }

    /// Why the calls of this host are refused. None if they are not.
    pub fn of(&self, host: HostAddr, now: Millis) -> Option<String> {
        let mut hosts = self.hosts();
        hosts.retain(|_, calls| now.since(calls.last) < SHOWN_FOR);
        let calls = hosts.get(&host).filter(|calls| calls.is_shown())?;
        let RefusedWorkerCalls { since, why, from, .. } = calls;
        Some(format!("calls from {from} in its name are refused since {since}: {why}"))
    }

    fn hosts(&self) -> MutexGuard<'_, BTreeMap<HostAddr, RefusedWorkerCalls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_lasts_is_shown_until_a_call_is_accepted() {
        let (refusals, host) = (WorkerRefusals::default(), "10.0.0.21:8888".parse().unwrap());
        let from = IpAddr::from([10, 0, 0, 21]);
        refusals.record(host, "no signature", from, Millis(1000));
        assert_eq!(refusals.of(host, Millis(1000)), None, "the worker learned a challenge");
        refusals.record(host, "another key", from, Millis(2000));
        let shown = refusals.of(host, Millis(2000)).unwrap();
        assert!(shown.contains("from 10.0.0.21") && shown.ends_with("another key"), "{shown}");
        refusals.clear(host);
        assert_eq!(refusals.of(host, Millis(2000)), None);
        refusals.record(host, "another key", from, Millis(3000));
        refusals.record(host, "another key", from, Millis(4000));
        assert!(refusals.of(host, Millis(63_999)).is_some());
        assert_eq!(refusals.of(host, Millis(64_000)), None, "nobody calls any more");
    }
}
