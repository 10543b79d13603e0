//! Boxes in one's hands: renewed until they are given back or lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_actors::box_lease::FenceToken;
use reelyard_actors::wire::api::{Granted, LeaseEnded, LeaseToken, LeaseTold};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::BoxClientError;
use super::calls::{BoxApiCalls, RetryBackoff, one_try};
use super::renewal::{Renewal, RunningTerm, earliest};

/// For how long it is tried to give a box back. After that its term ends the lease.
const RELEASE: Duration = Duration::from_secs(10);

/// A lease has ended against its holder's will: the box may be somebody else's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease of box {box_id} of pool {pool} is lost: {why}")]
pub struct Lost {
    /// The pool.
    pub pool: String,
    /// The box.
    pub box_id: u32,
    /// Why.
    pub why: String,
}

/// Boxes that one holds. Dropped, they are given back by a task of the runtime, if it still runs.
#[derive(Debug)]
pub struct HeldBoxes {
    calls: Arc<BoxApiCalls>,
    pool: String,
    granted: Granted,
    /// Until when each lasts: a lease that cannot be given back is not tried for longer.
    until: watch::Receiver<Instant>,
    lost: watch::Receiver<Option<Lost>>,
    renewing: JoinHandle<()>,
    renew_at_once: mpsc::Sender<oneshot::Sender<()>>,
    was_waited_for: bool,
    is_over: bool,
}

impl HeldBoxes {
    /// What was granted some time after it was `asked` for.
    pub(super) fn of(
        calls: &Arc<BoxApiCalls>,
        pool: &str,
        granted: Granted,
        asked: Instant,
    ) -> Self {
        let now = Instant::now();
        let terms = granted.leases.iter().map(|told| RunningTerm::granted_at(told, asked, now));
        let terms: Vec<RunningTerm> = terms.collect();
        let was_waited_for = terms.iter().any(RunningTerm::is_old);
        let (ends, until) = watch::channel(earliest(&terms).unwrap_or(now));
        let (tells, lost) = watch::channel(None);
        let (renew_at_once, at_once) = mpsc::channel(1);
        let renewal =
            Renewal { calls: Arc::clone(calls), pool: pool.to_owned(), terms, ends, at_once };
        let renewing = tokio::spawn(async move {
            // Whoever held them may have gone: then nobody needs to be told.
            let _ = tells.send(Some(renewal.until_lost().await));
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

    /// All leases, in the order of their tokens.
    pub fn leases(&self) -> &[LeaseTold] {
        &self.granted.leases
    }

    /// Until when all last, by this machine's clock, unless they are renewed.
    pub fn until(&self) -> Instant {
        *self.until.borrow()
    }

    /// Whether the answer took so long that nobody here can know how much was left of it: a renewal tells.
    pub fn was_waited_for(&self) -> bool {
        self.was_waited_for
    }

    /// Renews all at once, for whoever was stopped and is to know whether they are still held. Comes back
    /// when they are renewed or one is lost.
    pub async fn renew(&mut self) -> Result<(), Lost> {
        let (asked, renewed) = oneshot::channel();
        // It fails when one was lost already.
        let _ = self.renew_at_once.send(asked).await;
        tokio::select! {
            biased;
            Ok(()) = renewed => self.check(),
            lost = self.lost() => Err(lost),
        }
    }

    /// Waits until a lease is lost. May be dropped and called again.
    pub async fn lost(&mut self) -> Lost {
        match self.lost.wait_for(Option::is_some).await.map(|lost| lost.clone()) {
            Ok(Some(lost)) => lost,
            // The runtime is shutting down, and with it whoever waits.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Whether all leases are still held, as far as one can know here.
    pub fn check(&self) -> Result<(), Lost> {
        if let Some(lost) = &*self.lost.borrow() {
            return Err(lost.clone());
        }
        // This process may have been stopped for longer than they last.
        if Instant::now() < self.until() {
            return Ok(());
        }
        let why = "it was not renewed in time".to_owned();
        Err(Lost { pool: self.pool.clone(), box_id: self.box_id(), why })
    }

    /// Gives all boxes back. Refused for those that were lost before; what cannot be given back because
    /// no node answers ends by its term.
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

/// Gives each back; answers the first failure.
pub(super) async fn give_back(
    calls: &BoxApiCalls,
    leases: &[LeaseTold],
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
    lease: &LeaseTold,
    until: Instant,
) -> Result<(), BoxClientError> {
    let (id, body) = (lease.lease_id.to_string(), LeaseToken { token: lease.token });
    let (mut repeats, mut was_asked) = (RetryBackoff::default(), false);
    loop {
        let path = ["leases", &id, "release"];
        let most = one_try(until.saturating_duration_since(Instant::now()));
        match calls.post_within::<LeaseEnded>(&path, &body, most).await {
            Ok(_) => return Ok(()),
            // That answer was lost.
            Err(failed) if was_asked && failed.is_released() => return Ok(()),
            Err(failed) => {
                was_asked = true;
                if !repeats.pause(&failed, until).await {
                    return Err(failed.into());
                }
            }
        }
    }
}
