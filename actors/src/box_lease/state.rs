//! The piece: pools with their boxes, leases, and what is remembered of ended ones. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::event::{BoxLogEntry, BoxRefusal};
use super::given_terms::GivenTerms;
use super::id::{BoxNumber, FenceToken, LeaseId};
use super::lease::{EndedLease, Lease};
use super::pool::Pool;
use super::slots::Slots;
use super::text::PoolName;
use crate::event::{Epoch, RequestId};
use crate::history::BoundedLog;

/// The durable state of the BoxLeaseActor.
///
/// **Invariants:** `leases` holds exactly the live leases; `graves` names exactly the lines of `ended`;
/// an id of a lease that was given once is not given again while it is remembered; the last token of
/// a pool that went is remembered for ever, so that one of that name goes on from there.
#[derive(Clone, Debug, Default)]
pub struct BoxTable {
    pub(super) pools: BTreeMap<PoolName, Pool>,
    pub(super) leases: HashMap<LeaseId, Arc<Lease>>,
    /// What is left of pools that went.
    pub(super) remnants: BTreeMap<PoolName, DroppedPool>,
    /// Leases that ended.
    pub(super) ended: BoundedLog<EndedLease>,
    /// Where each of them stands there.
    pub(super) ended_index: HashMap<LeaseId, u64>,
    /// What was granted to requests that were named, by their names.
    pub(super) requests: HashMap<u64, GrantedRequest>,
    /// What happened to boxes besides.
    pub(super) box_log: BoundedLog<BoxLogEntry>,
    /// Live leases that new leaders gave their full terms once more.
    pub(super) again: HashMap<LeaseId, GivenTerms>,
    /// The epoch of the leader that decided last.
    pub(super) led: Epoch,
    /// Whose rows come back from a snapshot just now.
    pub(super) thawing: Option<PoolName>,
}

/// What is left of a pool that went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedPool {
    /// The token that was given last.
    pub last_token: FenceToken,
    /// The ids that were used.
    pub slots: Option<Slots>,
}

/// What was granted to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedRequest {
    /// The idempotency key of the request.
    pub request: RequestId,
    /// Its leases, live and remembered.
    pub leases: Vec<LeaseId>,
}

/// What is known of a lease.
#[derive(Clone, Debug)]
pub enum FoundLease<'a> {
    /// It is live.
    Live(&'a Arc<Lease>),
    /// It ended.
    Ended(&'a EndedLease),
    /// It never was, or is no longer remembered.
    Unknown,
}

impl BoxTable {
    /// The epoch of the leader that decided last.
    pub fn led(&self) -> Epoch {
        self.led
    }

    /// The highest token that was given in any pool, also in those that are gone.
    pub fn highest_token(&self) -> FenceToken {
        let pools = self.pools.values().map(|pool| pool.last_token);
        let gone = self.remnants.values().map(|left| left.last_token);
        pools.chain(gone).max().unwrap_or_default()
    }

    /// The pools, by name.
    pub fn pools(&self) -> &BTreeMap<PoolName, Pool> {
        &self.pools
    }

    /// A pool.
    pub fn pool(&self, name: &PoolName) -> Result<&Pool, BoxRefusal> {
        self.pools.get(name).ok_or_else(|| BoxRefusal::NoPool { pool: name.clone() })
    }

    pub(super) fn pool_mut(&mut self, name: &PoolName) -> Result<&mut Pool, BoxRefusal> {
        self.pools.get_mut(name).ok_or_else(|| BoxRefusal::NoPool { pool: name.clone() })
    }

    /// What is known of a lease.
    pub fn find(&self, id: LeaseId) -> FoundLease<'_> {
        if let Some(lease) = self.leases.get(&id) {
            return FoundLease::Live(lease);
        }
        match self.ended_index.get(&id).and_then(|number| self.ended_at(*number)) {
            Some(ended) => FoundLease::Ended(ended),
            None => FoundLease::Unknown,
        }
    }

    /// A live lease, or why there is none.
    pub fn live(&self, id: LeaseId) -> Result<&Arc<Lease>, BoxRefusal> {
        match self.find(id) {
            FoundLease::Live(lease) => Ok(lease),
            FoundLease::Ended(ended) => Err(BoxRefusal::of_end(ended.how, ended.reason.as_ref())),
            FoundLease::Unknown => Err(BoxRefusal::UnknownLease),
        }
    }

    /// The live lease of this token that its holder was told of, or why there is none. A token that
    /// is not that of the lease is told as such also when the lease has ended.
    pub fn held(&self, id: LeaseId, token: FenceToken) -> Result<&Arc<Lease>, BoxRefusal> {
        let wanted = match self.find(id) {
            FoundLease::Live(lease) => lease.token,
            FoundLease::Ended(ended) => ended.lease.token,
            FoundLease::Unknown => return Err(BoxRefusal::UnknownLease),
        };
        if wanted != token {
            return Err(BoxRefusal::WrongToken);
        }
        let lease = self.live(id)?;
        if lease.is_held() { Ok(lease) } else { Err(BoxRefusal::NotReady) }
    }

    /// The live leases, in no particular order.
    pub fn leases(&self) -> impl Iterator<Item = &Arc<Lease>> {
        self.leases.values()
    }

    /// What was granted to a request of this name.
    pub fn granted_to(&self, request: RequestId) -> Option<&GrantedRequest> {
        self.requests.get(&request.name())
    }

    /// The leases that ended, as far as that is remembered.
    pub fn ended(&self) -> &BoundedLog<EndedLease> {
        &self.ended
    }

    /// What happened to boxes beside their leases, as far as that is remembered.
    pub fn box_log(&self) -> &BoundedLog<BoxLogEntry> {
        &self.box_log
    }

    /// The lease that a box has, if any.
    pub fn lease_of(&self, pool: &PoolName, number: BoxNumber) -> Option<&Arc<Lease>> {
        use super::pool::BoxState::{Leased, Preparing};
        match self.pools.get(pool)?.find(number)?.state {
            Preparing { lease } | Leased { lease } => self.leases.get(&lease),
            _ => None,
        }
    }

    pub(super) fn ended_at(&self, number: u64) -> Option<&EndedLease> {
        let (found, ended) = self.ended.oldest_from(number).next()?;
        (found == number).then_some(ended)
    }
}

/// The piece as readers share it: they look into it while it changes.
#[derive(Clone, Debug, Default)]
pub struct SharedTable(Arc<RwLock<BoxTable>>);

impl SharedTable {
    /// The table as it is. Not to be held across anything that takes long: events wait for it.
    pub fn read(&self) -> RwLockReadGuard<'_, BoxTable> {
        // A panic while it changes ends the process.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, BoxTable> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
