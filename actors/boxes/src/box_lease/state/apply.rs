//! How events change leases. Deterministic: only the piece, the event and its time decide.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::{PieceId, RequestId};
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookOutput, LeaseId, PoolName, Reason};
use reelyard_replication::{FrozenPiece, Piece, UnreadableEvent};

use super::box_table::{BoxTable, DroppedPool, GrantedRequest, SharedTable};
use super::event::{BoxEvent, BoxLogEntry, BoxLogEvent, BoxOutcome, BoxRefusal, NewGrant};
use super::leases::given_terms::LeaderMachine;
use super::leases::lease::{EndedLease, Lease, LeaseEnd};
use super::pools::pool::{BoxState, Pool};
use super::snapshot::{FrozenBoxTable, thaw_row};

pub(in crate::box_lease) type BoxApplyResult = Result<BoxOutcome, BoxRefusal>;

impl Piece for SharedTable {
    const ID: PieceId = PieceId::Boxes;
    const EVENT_VERSION: u8 = 1;

    type Event = BoxEvent;
    type Outcome = BoxOutcome;
    type Refusal = BoxRefusal;

    fn apply(&mut self, at: Millis, event: &BoxEvent) -> BoxApplyResult {
        self.write().apply(at, event)
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenBoxTable::of(&self.read()))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(&mut self.write(), row)
    }

    fn emptied(&self) -> Self {
        SharedTable::default()
    }
}

/// How leases end, and the requesters of the ends.
#[derive(Clone, Copy)]
struct LeaseEnding<'a> {
    how: LeaseEnd,
    by: Option<&'a str>,
    reason: Option<&'a Reason>,
}

impl From<LeaseEnd> for LeaseEnding<'_> {
    fn from(how: LeaseEnd) -> Self {
        LeaseEnding { how, by: None, reason: None }
    }
}

impl BoxTable {
    /// Changes the table. If it refuses the event, the table does not change.
    pub fn apply(&mut self, at: Millis, event: &BoxEvent) -> BoxApplyResult {
        match event {
            BoxEvent::PoolPut { pool, spec } => self.put_pool(at, pool, spec),
            BoxEvent::PoolPutAlone { pool, spec } => {
                self.check_ids(pool, spec)?;
                self.put_pool(at, pool, spec)
            }
            BoxEvent::PoolPutBySettings { pool, spec, version } => {
                self.put_pool_by_settings(at, pool, spec, *version)
            }
            BoxEvent::TokensRaised { pool, beyond } => self.raise_tokens(pool, *beyond),
            BoxEvent::Led { epoch, beyond } => {
                self.led = *epoch;
                self.raise_all_tokens(*beyond);
                Ok(BoxOutcome::Applied)
            }
            BoxEvent::PoolRemoved { pool } => self.remove_pool(pool),
            BoxEvent::Granted(grant) => self.grant(at, grant),
            BoxEvent::Prepared { leases, term } => self.prepared(at, leases, *term),
            BoxEvent::InitFailed { lease, output } => self.init_failed(at, *lease, output),
            BoxEvent::Renewed { lease, token, term } => self.renew(at, *lease, *token, *term),
            BoxEvent::Released { lease, token } => {
                self.held(*lease, *token)?;
                Ok(self.end_all(at, [*lease], LeaseEnd::Released.into()))
            }
            BoxEvent::Expired { leases } => {
                Ok(self.end_all(at, self.expired(at, leases), LeaseEnd::Expired.into()))
            }
            BoxEvent::TermsPassed { leases } => {
                Ok(self.end_all(at, self.with_passed_terms(leases), LeaseEnd::Expired.into()))
            }
            BoxEvent::TermsAgain { leases } => Ok(self.give_again(at, leases, None)),
            BoxEvent::TermsGiven { boot, uptime, leases } => {
                Ok(self.give_again(at, leases, Some((*boot, *uptime))))
            }
            BoxEvent::LedOn { boot, uptime } => {
                self.led_on = Some(LeaderMachine { boot: *boot, uptime: *uptime, wall: at });
                Ok(BoxOutcome::Applied)
            }
            BoxEvent::Adopted { pool, output, by } => {
                let news = BoxLogEvent::Adopted { output: output.clone(), by: by.clone() };
                self.log_adoption(at, pool, news)
            }
            BoxEvent::WrongToken { lease, given, times } => {
                let news = BoxLogEvent::WrongToken { given: *given, times: *times };
                self.log_wrong_token(at, *lease, news)
            }
            BoxEvent::Revoked { leases, by, reason } => {
                let (by, reason) = (Some(by.as_str()), reason.as_ref());
                let end = LeaseEnding { how: LeaseEnd::Revoked, by, reason };
                Ok(self.end_all(at, leases.iter().copied(), end))
            }
            BoxEvent::NotTaken { leases } => {
                Ok(self.end_all(at, leases.iter().copied(), LeaseEnd::NotTaken.into()))
            }
            BoxEvent::Cleaned { pool, number, cleaning, output } => {
                self.cleaned(at, pool, *number, *cleaning, output.clone())
            }
            BoxEvent::CleanFailed { pool, number, cleaning, attempt, output } => {
                self.clean_failed(at, pool, *number, (*cleaning, *attempt), output)
            }
            BoxEvent::Quarantined { pool, number, cleaning, output, by } => {
                self.quarantine(at, pool, *number, *cleaning, output, by.as_ref())
            }
            BoxEvent::Unquarantined { pool, number, by } => {
                self.unquarantine(at, pool, *number, by)
            }
            BoxEvent::Recheck { pool } => self.recheck(at, pool),
            BoxEvent::Reconciled { pool, clean, dirty } => self.reconcile(at, pool, clean, dirty),
            BoxEvent::Forgot { ended_before, box_log_before } => {
                self.forget(*ended_before, *box_log_before);
                Ok(BoxOutcome::Applied)
            }
        }
    }

    fn grant(&mut self, at: Millis, grant: &NewGrant) -> BoxApplyResult {
        let leases = &grant.leases;
        self.check_grant(grant)?;
        let pool = self.pool_mut(&grant.pool)?;
        let first = FenceToken(pool.last_token.0 + 1);
        let is_logical = pool.spec.is_logical();
        let mut granted = Vec::with_capacity(leases.len());
        for (id, number) in leases {
            pool.last_token = FenceToken(pool.last_token.0 + 1);
            let token = pool.last_token;
            let slot = match (&pool.spec.slots, &mut pool.slots) {
                (Some(_), Some(slots)) => slots.draw(grant.rested_before),
                _ => None,
            };
            let state = match is_logical {
                true => BoxState::Leased { lease: *id },
                false => BoxState::Preparing { lease: *id },
            };
            pool.insert(*number, state, at);
            if let Some(record) = pool.boxes.get_mut(number) {
                (record.token, record.slot) = (Some(token), slot);
            }
            pool.hold(&grant.holder);
            granted.push(Lease {
                id: *id,
                pool: grant.pool.clone(),
                number: *number,
                slot,
                token,
                holder: grant.holder.clone(),
                granted: at,
                ttl: grant.ttl,
                term: grant.term,
                expires_at: is_logical.then(|| at.after(grant.term)),
                renewals: 0,
                request: grant.request,
            });
        }
        pool.totals.granted += granted.len() as u64;
        self.leases.extend(granted.into_iter().map(|lease| (lease.id, Arc::new(lease))));
        if let Some(request) = grant.request {
            let leases = leases.iter().map(|(id, _)| *id).collect();
            self.requests.insert(request.name(), GrantedRequest { request, leases });
        }
        Ok(BoxOutcome::Granted { first })
    }

    fn check_grant(&self, grant: &NewGrant) -> Result<(), BoxRefusal> {
        let pool = self.pool(&grant.pool)?;
        if pool.goes {
            return Err(BoxRefusal::PoolGoes { pool: grant.pool.clone() });
        }
        let count = u32::try_from(grant.leases.len()).unwrap_or(u32::MAX);
        if count == 0 {
            return Err(BoxRefusal::BadCount { most: pool.spec.size });
        }
        let mut seen = BTreeSet::new();
        for (id, number) in &grant.leases {
            if pool.may_grant(*number).is_none() || !seen.insert(number) {
                return Err(BoxRefusal::NotFree);
            }
            if self.leases.contains_key(id) || self.ended_index.contains_key(id) {
                return Err(BoxRefusal::IdInUse);
            }
        }
        let held = pool.held_by(&grant.holder);
        let most = pool.spec.quota;
        if most > 0 && held + count > most {
            return Err(BoxRefusal::OverQuota { count: held, most });
        }
        let ready = pool.slots.as_ref().map_or(0, |slots| slots.ready(grant.rested_before));
        if pool.spec.slots.is_some() && ready < u64::from(count) {
            return Err(BoxRefusal::NoSlot);
        }
        // If two grants were decided for one request, the first one counts.
        match grant.request.and_then(|request| self.granted_to(request)) {
            Some(_) => Err(BoxRefusal::GrantedBefore),
            None => Ok(()),
        }
    }

    fn prepared(&mut self, at: Millis, leases: &[LeaseId], term: Duration) -> BoxApplyResult {
        for id in leases {
            if self.live(*id)?.is_held() {
                return Err(BoxRefusal::WentOn);
            }
        }
        let expires_at = at.after(term);
        for id in leases {
            let Some(lease) = self.leases.get_mut(id) else { continue };
            let lease = Arc::make_mut(lease);
            (lease.term, lease.expires_at) = (term, Some(expires_at));
            let Some(pool) = self.pools.get_mut(&lease.pool) else { continue };
            pool.insert(lease.number, BoxState::Leased { lease: *id }, at);
            if let Some(record) = pool.boxes.get_mut(&lease.number) {
                record.init_failures = 0;
            }
        }
        Ok(BoxOutcome::Prepared { expires_at })
    }

    fn init_failed(&mut self, at: Millis, id: LeaseId, output: &HookOutput) -> BoxApplyResult {
        let lease = self.live(id)?;
        if lease.is_held() {
            return Err(BoxRefusal::WentOn);
        }
        let (name, number) = (lease.pool.clone(), lease.number);
        self.log_box_event(at, &name, number, BoxLogEvent::InitFailed(output.clone()));
        let pool = self.pool_mut(&name)?;
        pool.totals.init_failures += 1;
        if let Some(record) = pool.boxes.get_mut(&number) {
            record.init_failures += 1;
        }
        let ended = self.end_all(at, [id], LeaseEnd::InitFailed.into());
        let record = self.pools.get_mut(&name).and_then(|pool| pool.boxes.get_mut(&number));
        if let Some(BoxState::Draining(draining)) = record.map(|record| &mut record.state) {
            draining.output = Some(output.clone());
        }
        Ok(ended)
    }

    fn renew(
        &mut self,
        at: Millis,
        id: LeaseId,
        token: FenceToken,
        term: Duration,
    ) -> BoxApplyResult {
        let pool = self.held(id, token)?.pool.clone();
        let most = self.pool(&pool)?.spec.ttl_max;
        if term.is_zero() || term > most {
            return Err(BoxRefusal::BadTtl { most });
        }
        let expires_at = at.after(term);
        let lease = self.leases.get_mut(&id).ok_or(BoxRefusal::UnknownLease)?;
        let lease = Arc::make_mut(lease);
        (lease.term, lease.expires_at) = (term, Some(expires_at));
        lease.renewals += 1;
        let renewals = lease.renewals;
        self.pool_mut(&pool)?.totals.renewed += 1;
        Ok(BoxOutcome::Renewed { expires_at, renewals })
    }

    fn end_all(
        &mut self,
        at: Millis,
        leases: impl IntoIterator<Item = LeaseId>,
        end: LeaseEnding<'_>,
    ) -> BoxOutcome {
        let ended = leases.into_iter().filter(|id| self.end(at, *id, end)).collect();
        BoxOutcome::Ended { leases: ended }
    }

    /// Ends a lease; its box must then be cleaned. The box is free at once only if no hook runs and
    /// the holder knows of the end.
    fn end(&mut self, at: Millis, id: LeaseId, end: LeaseEnding<'_>) -> bool {
        let Some(lease) = self.leases.remove(&id) else { return false };
        self.again.remove(&id);
        if let Some(pool) = self.pools.get_mut(&lease.pool) {
            pool.release(&lease.holder);
            pool.totals.ended[end.how as usize] += 1;
            let needs_grace = end.how.may_surprise() && !pool.spec.grace.is_zero();
            if pool.spec.is_logical() && !needs_grace {
                pool.free(lease.number, at);
            } else {
                let state = pool.next_cleaning(Some(end.how), Some(lease.holder.clone()));
                pool.insert(lease.number, state, at);
            }
            self.drop_if_gone(&lease.pool);
        }
        if let Some(request) = lease.request.filter(|_| end.how.reached_no_client()) {
            // The caller may send the request again.
            self.leave_request(request, id);
        }
        self.ended_index.insert(id, self.ended.next());
        self.ended.push(EndedLease {
            lease: Arc::unwrap_or_clone(lease),
            at,
            how: end.how,
            by: end.by.map(str::to_owned),
            reason: end.reason.cloned(),
        });
        true
    }

    /// Removes a pool under removal together with its last box.
    pub(in crate::box_lease) fn drop_if_gone(&mut self, name: &PoolName) -> bool {
        let is_gone = |pool: &Pool| pool.goes && pool.boxes.is_empty();
        if !self.pools.get(name).is_some_and(is_gone) {
            return false;
        }
        if let Some(Pool { last_token, slots, .. }) = self.pools.remove(name) {
            self.dropped_pools.insert(name.clone(), DroppedPool { last_token, slots });
        }
        true
    }

    /// Something happened to a box.
    pub(in crate::box_lease) fn log_box_event(
        &mut self,
        at: Millis,
        name: &PoolName,
        number: BoxNumber,
        news: BoxLogEvent,
    ) {
        let record = self.pools.get(name).and_then(|pool| pool.find(number));
        let (token, slot) = record.map_or((None, None), |record| (record.token, record.slot));
        self.box_log.push(BoxLogEntry { at, pool: name.clone(), number, token, slot, news });
    }

    fn forget(&mut self, ended_before: u64, box_log_before: u64) {
        let mut going_requests = Vec::new();
        let going = self.ended.oldest_first().take_while(|(number, _)| *number < ended_before);
        for (_, ended) in going {
            let (id, request) = (ended.lease.id, ended.lease.request);
            self.ended_index.remove(&id);
            if let Some(request) = request {
                going_requests.push((request, id));
            }
        }
        for (request, id) in going_requests {
            self.leave_request(request, id);
        }
        self.ended.forget_before(ended_before);
        self.box_log.forget_before(box_log_before);
    }

    /// A lease no longer belongs to the grant of its request.
    fn leave_request(&mut self, request: RequestId, id: LeaseId) {
        let Some(known) = self.requests.get_mut(&request.name()) else { return };
        known.leases.retain(|lease| *lease != id);
        if known.leases.is_empty() {
            self.requests.remove(&request.name());
        }
    }
}
