//! Boxes in one's hands: renewed until they are given back or lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_actors::box_lease::{FenceToken, LeaseId};
use reelyard_actors::wire::api::{Granted, LeaseEnded, LeaseToken, LeaseTold, WantedRenewal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::BoxClientError;
use super::calls::{ANSWER, Calls, Repeats};

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
pub struct Held {
    calls: Arc<Calls>,
    pool: String,
    granted: Granted,
    /// Until when each lasts: a lease that cannot be given back is not tried for longer.
    until: watch::Receiver<Instant>,
    lost: watch::Receiver<Option<Lost>>,
    renewing: JoinHandle<()>,
    is_over: bool,
}

/// A lease, by this machine's clock.
#[derive(Clone, Copy, Debug)]
struct Term {
    lease: LeaseId,
    box_id: u32,
    token: FenceToken,
    /// How long from when that was told.
    lasts: Duration,
    until: Instant,
    /// Whether it is to be renewed at once.
    is_old: bool,
}

impl Term {
    /// One that was told at `now`, of what was asked for at `asked`.
    fn told(told: &LeaseTold, asked: Instant, now: Instant) -> Self {
        let lasts = told.left.0;
        Term {
            lease: told.lease_id,
            box_id: told.box_id,
            token: told.token,
            lasts,
            until: now + lasts,
            // What is left of it was told a while ago, and nobody here knows when: the answer to a
            // renewal, which tells that, comes sooner.
            is_old: now - asked > lasts / 10,
        }
    }

    /// When it is to be renewed: after a third of it.
    fn due(&self) -> Instant {
        if self.is_old {
            return Instant::now();
        }
        self.until.checked_sub(self.lasts * 2 / 3).unwrap_or(self.until)
    }
}

impl Held {
    /// What was granted some time after it was `asked` for.
    pub(super) fn of(calls: &Arc<Calls>, pool: &str, granted: Granted, asked: Instant) -> Self {
        let now = Instant::now();
        let terms = granted.leases.iter().map(|told| Term::told(told, asked, now));
        let terms: Vec<Term> = terms.collect();
        let (ends, until) = watch::channel(earliest(&terms).unwrap_or(now));
        let (tells, lost) = watch::channel(None);
        let renewal = Renewal { calls: Arc::clone(calls), pool: pool.to_owned(), terms, ends };
        let renewing = tokio::spawn(async move {
            // Whoever held them may have gone: then nobody needs to be told.
            let _ = tells.send(Some(renewal.until_lost().await));
        });
        let (calls, pool) = (Arc::clone(calls), pool.to_owned());
        Held { calls, pool, granted, until, lost, renewing, is_over: false }
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
        if Instant::now() < *self.until.borrow() {
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
        (*self.until.borrow()).min(Instant::now() + RELEASE)
    }
}

impl Drop for Held {
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
                tracing::warn!(%error, "boxes are not given back: their terms end their leases");
            }
        });
    }
}

/// Gives each back; answers the first failure.
async fn give_back(
    calls: &Calls,
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
    calls: &Calls,
    lease: &LeaseTold,
    until: Instant,
) -> Result<(), BoxClientError> {
    let (id, body) = (lease.lease_id.to_string(), LeaseToken { token: lease.token });
    let (mut repeats, mut was_asked) = (Repeats::default(), false);
    loop {
        let path = ["leases", &id, "release"];
        match calls.post::<LeaseEnded>(&path, &body, Duration::ZERO).await {
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

/// What keeps leases.
struct Renewal {
    calls: Arc<Calls>,
    pool: String,
    terms: Vec<Term>,
    ends: watch::Sender<Instant>,
}

fn earliest(terms: &[Term]) -> Option<Instant> {
    terms.iter().map(|term| term.until).min()
}

impl Renewal {
    /// Renews each lease in time, until one is lost.
    async fn until_lost(mut self) -> Lost {
        loop {
            let next = (0..self.terms.len()).min_by_key(|place| self.terms[*place].due());
            let Some(place) = next else { return std::future::pending().await };
            tokio::time::sleep_until(self.terms[place].due().into()).await;
            match self.renewed(self.terms[place]).await {
                Ok(term) => self.terms[place] = term,
                Err(why) => {
                    let (pool, box_id) = (self.pool, self.terms[place].box_id);
                    return Lost { pool, box_id, why };
                }
            }
            if let Some(until) = earliest(&self.terms) {
                self.ends.send_replace(until);
            }
        }
    }

    /// The lease with a new term, or why it is lost.
    async fn renewed(&self, term: Term) -> Result<Term, String> {
        let (id, body) = (term.lease.to_string(), WantedRenewal { token: term.token, ttl: None });
        let (path, mut repeats) = (["leases", &id, "renew"], Repeats::default());
        let why = loop {
            let asked = Instant::now();
            let call = self.calls.post::<LeaseTold>(&path, &body, Duration::ZERO);
            // An answer that comes later than this is of no use.
            let most = term.until.saturating_duration_since(asked).min(ANSWER);
            let failed = match tokio::time::timeout(most, call).await {
                Ok(Ok(told)) => {
                    // By when it was asked for: the node counts from later on.
                    let lasts = told.left.0;
                    return Ok(Term { lasts, until: asked + lasts, is_old: false, ..term });
                }
                Ok(Err(failed)) if failed.tells_the_end() => return Err(failed.why().to_owned()),
                Ok(Err(failed)) => failed,
                Err(_) => break "it was not renewed in time: the node does not answer".to_owned(),
            };
            if !repeats.pause(&failed, term.until).await {
                break failed.why().to_owned();
            }
        };
        // What is not renewed any more lasts until its end all the same.
        tokio::time::sleep_until(term.until.into()).await;
        Err(why)
    }
}

#[cfg(test)]
mod tests {
    use reelyard_actors::clock::Millis;
    use reelyard_actors::wire::api::{Rfc3339, Span};

    use super::*;

    #[test]
    fn a_lease_is_renewed_after_a_third_and_one_that_was_told_late_at_once() {
        let told = LeaseTold {
            lease_id: LeaseId(1),
            box_id: 7,
            token: FenceToken(1),
            expires_at: Rfc3339(Millis(0)),
            left: Span(Duration::from_secs(30)),
        };
        let asked = Instant::now();
        let told_at = |at: Duration| Term::told(&told, asked, asked + at);
        let late = Duration::from_secs(3);
        assert_eq!(told_at(late).due(), asked + late + Duration::from_secs(10));
        let old = told_at(late + Duration::from_nanos(1));
        assert!(old.due() <= Instant::now());
    }
}
