//! The decision on a request: an event, or a refusal. Pure.

use std::time::Duration;

use reelyard_core::clock::ClockReading;
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{FenceToken, LeaseId};

use crate::box_lease::messages::BoxLeaseRequest;
use crate::box_lease::policy::memory::allocator::PoolAllocator;
use crate::box_lease::policy::memory::terms::{LeaseTerms, RequestedTerms};
use crate::box_lease::state::box_table::{BoxTable, FoundLease};
use crate::box_lease::state::event::{BoxEvent, BoxRefusal};
use crate::box_lease::state::leases::lease::{EndedLease, Lease};
use crate::box_lease::state::pools::pool::Pool;
use crate::box_lease::state::pools::spec::MOST_AT_ONCE;

/// The state of a named request to acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorAcquire {
    /// No earlier grant: the request may be granted.
    Nothing,
    /// These are its leases, and they are held.
    Held(Vec<LeaseId>),
    /// Boxes of its leases are being made ready.
    Preparing(Vec<LeaseId>),
    /// It was granted, and a lease ended.
    Ended(BoxRefusal),
}

impl BoxTable {
    /// The result of an earlier request of this name.
    pub fn prior_acquire(&self, request: RequestId) -> Result<PriorAcquire, BoxRefusal> {
        let Some(granted) = self.granted_to(request) else { return Ok(PriorAcquire::Nothing) };
        if granted.request != request {
            return Err(BoxRefusal::OtherRequest);
        }
        let mut held = true;
        let mut leases = Vec::with_capacity(granted.leases.len());
        for id in &granted.leases {
            match self.find(*id) {
                FoundLease::Live(lease) => {
                    held &= lease.is_held();
                    leases.push((lease.token, *id));
                }
                FoundLease::Ended(EndedLease { how, reason, .. }) => {
                    return Ok(PriorAcquire::Ended(BoxRefusal::of_end(*how, reason.as_ref())));
                }
                FoundLease::Unknown => return Ok(PriorAcquire::Ended(BoxRefusal::UnknownLease)),
            }
        }
        leases.sort_unstable();
        let leases = leases.into_iter().map(|(_, id)| id).collect();
        Ok(if held { PriorAcquire::Held(leases) } else { PriorAcquire::Preparing(leases) })
    }

    /// Whether a request may wait for this many boxes of a pool at all.
    pub fn may_wait(&self, ask: &BoxLeaseRequest) -> Result<&Pool, BoxRefusal> {
        let pool = self.pool(&ask.pool)?;
        if pool.goes() {
            return Err(BoxRefusal::PoolGoes { pool: ask.pool.clone() });
        }
        let most = pool.spec().size.min(MOST_AT_ONCE);
        if ask.count == 0 || ask.count > most {
            return Err(BoxRefusal::BadCount { most });
        }
        Ok(pool)
    }

    /// Whether a request for boxes is valid. The result depends on how many boxes of the holder are
    /// being taken back.
    pub(in crate::box_lease) fn may_ask(
        &self,
        ask: &BoxLeaseRequest,
        allocator: Option<&PoolAllocator>,
        going: u32,
    ) -> Result<RequestedTerms, BoxRefusal> {
        let pool = self.may_wait(ask)?;
        let spec = pool.spec();
        let ttl = check_ttl(ask.ttl.unwrap_or(spec.ttl_default), spec.ttl_max)?;
        let held = pool.held_by(&ask.holder).saturating_sub(going);
        let count = held + allocator.map_or(0, |allocator| allocator.asking.by(&ask.holder));
        if spec.quota > 0 && count + ask.count > spec.quota {
            return Err(BoxRefusal::OverQuota { count, most: spec.quota });
        }
        let first = spec.max_hold.map_or(ttl, |most| ttl.min(most));
        Ok(RequestedTerms { first, renewed: ttl })
    }

    /// Extends a lease: by `ttl` from now on, or by the term of its first request.
    pub fn renewal(
        &self,
        id: LeaseId,
        token: FenceToken,
        ttl: Option<Duration>,
        terms: &LeaseTerms,
        now: ClockReading,
    ) -> Result<BoxEvent, BoxRefusal> {
        let lease = self.held_now(id, token, terms, now)?;
        let spec = self.pool(&lease.pool)?.spec();
        // The pool may allow only shorter leases since then.
        let wanted = match ttl {
            Some(ttl) => check_ttl(ttl, spec.ttl_max)?,
            None => lease.ttl.min(spec.ttl_max),
        };
        let term = whole_millis(terms.renewed(id, wanted, now));
        if term.is_zero() {
            return Err(BoxRefusal::HeldTooLong);
        }
        Ok(BoxEvent::Renewed { lease: id, token, term })
    }

    /// A lease that is held and within its term.
    pub fn held_now(
        &self,
        id: LeaseId,
        token: FenceToken,
        terms: &LeaseTerms,
        now: ClockReading,
    ) -> Result<&Lease, BoxRefusal> {
        let lease = self.held(id, token)?;
        if terms.is_over(id, now) { Err(BoxRefusal::Expired) } else { Ok(lease) }
    }
}

fn check_ttl(ttl: Duration, most: Duration) -> Result<Duration, BoxRefusal> {
    let ttl = whole_millis(ttl);
    if ttl.is_zero() || ttl > most { Err(BoxRefusal::BadTtl { most }) } else { Ok(ttl) }
}

/// Answers give times in milliseconds.
fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;

    use super::*;
    use crate::box_lease::policy::memory::terms::HoldLimit;
    use crate::box_lease::samples::{TERM, grant, granted, holder, p, release, table};
    use crate::box_lease::state::event::BoxOutcome;
    use crate::box_lease::state::pools::spec::PoolSpec;

    fn ask() -> BoxLeaseRequest {
        BoxLeaseRequest::one(p(), holder())
    }

    #[test]
    fn a_request_stays_within_the_limits_of_its_pool() {
        let secs = Duration::from_secs;
        let (ttl_default, ttl_max) = (secs(10), secs(20));
        let spec = PoolSpec { ttl_default, ttl_max, quota: 3, ..PoolSpec::of(0, 4) };
        let mut table = table(spec.clone());
        let may = |table: &BoxTable, change: fn(&mut BoxLeaseRequest)| {
            let mut ask = ask();
            change(&mut ask);
            table.may_ask(&ask, None, 0)
        };
        let terms =
            |first, renewed| Ok(RequestedTerms { first: secs(first), renewed: secs(renewed) });
        assert_eq!(may(&table, |_| ()), terms(10, 10));
        assert_eq!(may(&table, |ask| ask.ttl = Some(Duration::from_secs(20))), terms(20, 20));
        let bad = Err(BoxRefusal::BadTtl { most: ttl_max });
        assert_eq!(may(&table, |ask| ask.ttl = Some(Duration::from_millis(20_001))), bad);
        assert_eq!(may(&table, |ask| ask.ttl = Some(Duration::from_nanos(999_999))), bad);
        assert!(may(&table, |ask| ask.count = 3).is_ok());
        let over = |count| Err(BoxRefusal::OverQuota { count, most: 3 });
        assert_eq!(may(&table, |ask| ask.count = 4), over(0));
        assert_eq!(may(&table, |ask| ask.count = 5), Err(BoxRefusal::BadCount { most: 4 }));
        granted(&mut table, 1, 0);
        let mut allocator = PoolAllocator::default();
        allocator.asking.add(&holder(), 1);
        assert!(table.may_ask(&ask(), Some(&allocator), 0).is_ok());
        allocator.asking.add(&holder(), 1);
        assert_eq!(table.may_ask(&ask(), Some(&allocator), 0), over(3));
        assert!(table.may_ask(&ask(), Some(&allocator), 1).is_ok());
        // A first term is no longer than a lease may be held.
        let short = PoolSpec { max_hold: Some(secs(4)), ..spec };
        let put = BoxEvent::PoolPut { pool: p(), spec: Box::new(short) };
        table.apply(Millis(0), &put).unwrap();
        assert_eq!(may(&table, |_| ()), terms(4, 10));
        table.apply(Millis(0), &BoxEvent::PoolRemoved { pool: p() }).unwrap();
        assert_eq!(may(&table, |_| ()), Err(BoxRefusal::PoolGoes { pool: p() }));
    }

    #[test]
    fn a_renewal_is_refused_once_the_term_is_over() {
        let mut table = table(PoolSpec::of(0, 1));
        let token = granted(&mut table, 1, 0);
        let (id, mut terms) = (LeaseId(1), LeaseTerms::default());
        let at = |ms: u64| {
            let monotonic = Duration::from_millis(ms);
            ClockReading { wall: Millis(0).after(monotonic), monotonic }
        };
        let hold = HoldLimit { granted: Millis(0), most: Some(Duration::from_millis(150)) };
        terms.start(id, TERM, hold, at(0));
        let renewal = |token, ttl, ms| table.renewal(id, token, ttl, &terms, at(ms));
        let renewed = |term| Ok(BoxEvent::Renewed { lease: id, token, term });
        assert_eq!(renewal(token, None, 40), renewed(TERM));
        assert_eq!(renewal(token, None, 99), renewed(Duration::from_millis(51)));
        assert_eq!(renewal(token, None, 100), Err(BoxRefusal::Expired));
        assert_eq!(renewal(FenceToken(9), None, 99), Err(BoxRefusal::WrongToken));
        let brief = Duration::from_millis(1);
        assert_eq!(renewal(token, Some(brief), 99), renewed(brief));
        terms.start(id, TERM, hold, at(150));
        assert_eq!(table.renewal(id, token, None, &terms, at(149)), renewed(brief));
        let at_the_end = ClockReading { wall: Millis(149), monotonic: Duration::from_millis(150) };
        let refusal = table.renewal(id, token, None, &terms, at_the_end);
        assert_eq!(refusal, Err(BoxRefusal::HeldTooLong));
    }

    #[test]
    fn a_request_is_known_by_its_name_and_by_the_rest() {
        let mut table = table(PoolSpec::of(0, 2));
        let [one, other] = [&b"boxes"[..], b"others"].map(|what| RequestId::of("n", what));
        assert_eq!(table.prior_acquire(one), Ok(PriorAcquire::Nothing));
        let two = grant(&[(7, 1), (3, 0)], Some("n"));
        assert!(matches!(table.apply(Millis(0), &two), Ok(BoxOutcome::Granted { .. })));
        // In the order of their tokens.
        assert_eq!(table.prior_acquire(one), Ok(PriorAcquire::Held(vec![LeaseId(7), LeaseId(3)])));
        assert_eq!(table.prior_acquire(other), Err(BoxRefusal::OtherRequest));
        table.apply(Millis(0), &release(3, FenceToken(2))).unwrap();
        assert_eq!(table.prior_acquire(one), Ok(PriorAcquire::Ended(BoxRefusal::AlreadyReleased)));
    }
}
