//! Renews leases in time, until one is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_api::{GrantedLease, WantedRenewal};
use reelyard_protocol::boxes::{FenceToken, LeaseId};
use tokio::sync::{mpsc, oneshot, watch};

use super::calls::{BoxApiCalls, RetryBackoff, one_try};
use super::error::Lost;

/// A lease with its end by the clock of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningTerm {
    lease: LeaseId,
    box_id: u32,
    token: FenceToken,
    /// The remaining time in the last answer.
    lasts: Duration,
    until: Instant,
    /// Whether it must be renewed at once.
    is_old: bool,
}

impl RunningTerm {
    /// A lease whose answer arrived at `now`, to a request at `asked`.
    pub(super) fn granted_at(granted: &GrantedLease, asked: Instant, now: Instant) -> Self {
        let lasts = granted.left.0;
        // A slow answer means a wait: the term started at an unknown time in between. The arrival
        // is then the best estimate, and a renewal at once gives a better one. A fast answer counts
        // from the request, which is earlier than the start at the node.
        let is_old = now - asked > lasts / 10;
        let since = if is_old { now } else { asked };
        RunningTerm {
            lease: granted.lease_id,
            box_id: granted.box_id,
            token: granted.token,
            lasts,
            until: since + lasts,
            is_old,
        }
    }

    /// Whether it must be renewed at once.
    pub(super) fn is_old(&self) -> bool {
        self.is_old
    }

    /// Time of the next renewal: after a third of the term.
    fn due(&self) -> Instant {
        if self.is_old {
            return Instant::now();
        }
        self.until.checked_sub(self.lasts * 2 / 3).unwrap_or(self.until)
    }
}

/// The task that renews leases.
pub(super) struct Renewal {
    pub calls: Arc<BoxApiCalls>,
    pub pool: String,
    pub terms: Vec<RunningTerm>,
    /// Publishes the end of the earliest lease.
    pub ends: watch::Sender<Instant>,
    /// Requests to renew all leases now; each is answered when that is done.
    pub at_once: mpsc::Receiver<oneshot::Sender<()>>,
}

/// The end of the earliest lease.
pub(super) fn earliest(terms: &[RunningTerm]) -> Option<Instant> {
    terms.iter().map(|term| term.until).min()
}

impl Renewal {
    /// Renews each lease in time. Returns the first lost one.
    pub(super) async fn until_lost(mut self) -> Lost {
        loop {
            let next = (0..self.terms.len()).min_by_key(|place| self.terms[*place].due());
            let Some(place) = next else { return std::future::pending().await };
            let at_once = tokio::select! {
                () = tokio::time::sleep_until(self.terms[place].due().into()) => None,
                Some(at_once) = self.at_once.recv() => Some(at_once),
            };
            let places = if at_once.is_some() { 0..self.terms.len() } else { place..place + 1 };
            for place in places {
                if let Err(lost) = self.renew(place).await {
                    return lost;
                }
            }
            // The requester may no longer exist.
            let _ = at_once.map(|asked| asked.send(()));
        }
    }

    async fn renew(&mut self, place: usize) -> Result<(), Lost> {
        let term = self.terms[place];
        let lost = |why| Lost { pool: self.pool.clone(), box_id: term.box_id, why };
        self.terms[place] = self.renewed(term).await.map_err(lost)?;
        if let Some(until) = earliest(&self.terms) {
            self.ends.send_replace(until);
        }
        Ok(())
    }

    /// The lease with a new term, or the reason of its loss.
    async fn renewed(&self, term: RunningTerm) -> Result<RunningTerm, String> {
        let (id, body) = (term.lease.to_string(), WantedRenewal { token: term.token, ttl: None });
        let (path, mut repeats) = (["leases", &id, "renew"], RetryBackoff::default());
        let why = loop {
            let asked = Instant::now();
            let left = term.until.saturating_duration_since(asked);
            if left.is_zero() {
                return Err("it was not renewed in time".to_owned());
            }
            // An answer after the end of the lease is useless.
            let call =
                self.calls.post_until::<GrantedLease>(&path, &body, one_try(left), term.until);
            let failed = match call.await {
                Ok(granted) => {
                    // Counted from the request, which is earlier than the start at the node.
                    let lasts = granted.left.0;
                    return Ok(RunningTerm { lasts, until: asked + lasts, is_old: false, ..term });
                }
                Err(failed) if failed.ends_the_lease() => return Err(failed.why()),
                Err(failed) => failed,
            };
            if !repeats.pause(&failed, term.until).await {
                break failed.why();
            }
        };
        // A lease that is no longer renewed still lasts until its end.
        tokio::time::sleep_until(term.until.into()).await;
        Err(why)
    }
}

#[cfg(test)]
mod tests {
    use reelyard_api::{Rfc3339, Span};
    use reelyard_core::clock::Millis;

    use super::*;

    #[test]
    fn a_lease_is_renewed_after_a_third_or_at_once_if_late() {
        let lease = GrantedLease {
            lease_id: LeaseId(1),
            box_id: 7,
            token: FenceToken(1),
            expires_at: Rfc3339(Millis(0)),
            left: Span(Duration::from_secs(30)),
        };
        let asked = Instant::now();
        let granted_at = |at: Duration| RunningTerm::granted_at(&lease, asked, asked + at);
        let late = Duration::from_secs(3);
        assert_eq!(granted_at(late).due(), asked + Duration::from_secs(10));
        assert_eq!(granted_at(late).until, asked + Duration::from_secs(30));
        let very_late = late + Duration::from_nanos(1);
        let old = granted_at(very_late);
        assert!(old.due() <= Instant::now());
        assert_eq!(old.until, asked + very_late + Duration::from_secs(30));
    }
}
