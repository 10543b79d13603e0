//! Held boxes: renewed until they are released or lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_api::{Granted, GrantedLease, LeaseEnded, LeaseToken};
use reelyard_protocol::boxes::FenceToken;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::calls::{BoxApiCalls, RetryBackoff, one_try};
use super::error::{BoxClientError, Lost};
use super::renewal::{Renewal, RunningTerm, earliest};

/// Time limit for the release of a box. After that the lease ends at its ttl.
const RELEASE: Duration = Duration::from_secs(10);

/// Held boxes. When this is dropped, a task of the runtime releases them, if the runtime still
/// runs.
#[derive(Debug)]
pub struct HeldBoxes {
    calls: Arc<BoxApiCalls>,
    pool: String,
    granted: Granted,
    /// The end of the earliest lease. A release is not tried after it.
    until: watch::Receiver<Instant>,
    lost: watch::Receiver<Option<Lost>>,
    renewing: JoinHandle<()>,
    renew_at_once: mpsc::Sender<oneshot::Sender<()>>,
    was_waited_for: bool,
    is_over: bool,
}

impl HeldBoxes {
    /// Leases that were granted after a request at `asked`.
    pub(super) fn of(
        calls: &Arc<BoxApiCalls>,
        pool: &str,
        granted: Granted,
        asked: Instant,
    ) -> Self {
        let now = Instant::now();
        let terms = granted.leases.iter().map(|lease| RunningTerm::granted_at(lease, asked, now));
        let terms: Vec<RunningTerm> = terms.collect();
        let was_waited_for = terms.iter().any(RunningTerm::is_old);
        let (ends, until) = watch::channel(earliest(&terms).unwrap_or(now));
        let (lost_sender, lost) = watch::channel(None);
        let (renew_at_once, at_once) = mpsc::channel(1);
        let renewal =
            Renewal { calls: Arc::clone(calls), pool: pool.to_owned(), terms, ends, at_once };
        let renewing = tokio::spawn(async move {
            // The holder may be dropped already; then the message is not needed.
            let _ = lost_sender.send(Some(renewal.until_lost().await));
        });
        let (calls, pool) = (Arc::clone(calls), pool.to_owned());
        HeldBoxes {
            calls,
            pool,
            granted,
            until,
            lost,
            renewing,
            renew_at_once,
            was_waited_for,
            is_over: false,
        }
    }

    /// The first box: its number, or the id that was drawn for it.
    pub fn box_id(&self) -> u32 {
        self.granted.box_id
    }

    /// The fencing token of the first box.
    pub fn token(&self) -> FenceToken {
        self.granted.token
    }

    /// All leases, sorted by token.
    pub fn leases(&self) -> &[GrantedLease] {
        &self.granted.leases
    }

    /// End of the earliest lease by the clock of this machine, unless it is renewed.
    pub fn until(&self) -> Instant {
        *self.until.borrow()
    }

    /// Whether the answer took so long that the remaining time is unknown. A renewal reports it.
    pub fn was_waited_for(&self) -> bool {
        self.was_waited_for
    }

    /// Renews all leases now, for a process that was stopped and must know whether it still holds
    /// them. Returns when all are renewed or one is lost.
    pub async fn renew(&mut self) -> Result<(), Lost> {
        let (asked, renewed) = oneshot::channel();
        // This fails if a lease was already lost.
        let _ = self.renew_at_once.send(asked).await;
        tokio::select! {
            biased;
            Ok(()) = renewed => self.check(),
            lost = self.lost() => Err(lost),
        }
    }

    /// Waits until a lease is lost. Cancel-safe: it may be dropped and called again.
    pub async fn lost(&mut self) -> Lost {
        match self.lost.wait_for(Option::is_some).await.map(|lost| lost.clone()) {
            Ok(Some(lost)) => lost,
            // The runtime is shutting down, with the caller.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Whether all leases are still held, as far as this process knows.
    pub fn check(&self) -> Result<(), Lost> {
        if let Some(lost) = &*self.lost.borrow() {
            return Err(lost.clone());
        }
        // This process may have been stopped for longer than the leases last.
        if Instant::now() < self.until() {
            return Ok(());
        }
        let why = "it was not renewed in time".to_owned();
        Err(Lost { pool: self.pool.clone(), box_id: self.box_id(), why })
    }

    /// Releases all boxes. Fails for boxes that were lost before. If no node answers, the leases
    /// end at their ttl.
    pub async fn release(mut self) -> Result<(), BoxClientError> {
        self.is_over = true;
        self.renewing.abort();
        let was_lost = self.lost.borrow().clone();
        let released = give_back(&self.calls, &self.granted.leases, self.try_until()).await;
        match was_lost {
            Some(lost) => Err(lost.into()),
            None => released,
        }
    }

    fn try_until(&self) -> Instant {
        self.until().min(Instant::now() + RELEASE)
    }
}

impl Drop for HeldBoxes {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.renewing.abort();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (calls, leases) = (Arc::clone(&self.calls), std::mem::take(&mut self.granted.leases));
        let until = self.try_until();
        runtime.spawn(async move {
            if let Err(error) = give_back(&calls, &leases, until).await {
                tracing::warn!(%error, "cannot release boxes, their leases end at their ttl");
            }
        });
    }
}

/// Releases each lease. Returns the first failure.
pub(super) async fn give_back(
    calls: &BoxApiCalls,
    leases: &[GrantedLease],
    until: Instant,
) -> Result<(), BoxClientError> {
    let mut first = Ok(());
    for lease in leases {
        let released = give_one_back(calls, lease, until).await;
        first = first.and(released);
    }
    first
}

async fn give_one_back(
    calls: &BoxApiCalls,
    lease: &GrantedLease,
    until: Instant,
) -> Result<(), BoxClientError> {
    let (id, body) = (lease.lease_id.to_string(), LeaseToken { token: lease.token });
    let (mut repeats, mut was_asked) = (RetryBackoff::default(), false);
    loop {
        let path = ["leases", &id, "release"];
        let most = one_try(until.saturating_duration_since(Instant::now()));
        // The attempt at the only node may be longer than the time that is left.
        let end = until.max(Instant::now() + most);
        match calls.post_until::<LeaseEnded>(&path, &body, most, end).await {
            Ok(_) => return Ok(()),
            // The answer to an earlier attempt was lost.
            Err(failed)
                if failed.is_released() && (was_asked || failed.follows_a_lost_answer()) =>
            {
                return Ok(());
            }
            Err(failed) => {
                was_asked = true;
                if !repeats.pause(&failed, until).await {
                    return Err(failed.into());
                }
            }
        }
    }
}
