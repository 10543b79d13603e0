//! The piece: pools with their boxes, leases, and the records of ended ones. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use reelyard_core::event::{Epoch, RequestId};
use reelyard_core::history::BoundedLog;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, LeaseId, PoolName};

use super::event::{BoxLogEntry, BoxRefusal};
use super::leases::given_terms::{GivenTerms, LeaderMachine};
use super::leases::lease::{EndedLease, Lease};
use super::pools::pool::Pool;
use super::pools::slots::Slots;

/// The durable state of the BoxLeaseActor.
///
/// **Invariant:** `leases` holds exactly the live leases.
///
/// **Invariant:** the id of a lease is not reused while it is remembered.
///
/// **Invariant:** the last token of a removed pool is remembered permanently, so that a new pool of that name
/// continues from there.
#[derive(Clone, Debug, Default)]
pub struct BoxTable {
    pub(in crate::box_lease) pools: BTreeMap<PoolName, Pool>,
    pub(in crate::box_lease) leases: HashMap<LeaseId, Arc<Lease>>,
    /// The records of removed pools.
    pub(in crate::box_lease) dropped_pools: BTreeMap<PoolName, DroppedPool>,
    /// The log of ended leases.
    pub(in crate::box_lease) ended: BoundedLog<EndedLease>,
    /// The position of each of these lines in that log.
    pub(in crate::box_lease) ended_index: HashMap<LeaseId, u64>,
    /// The grants of named requests, by their names.
    pub(in crate::box_lease) requests: HashMap<u64, GrantedRequest>,
    /// The log of other events of boxes.
    pub(in crate::box_lease) box_log: BoundedLog<BoxLogEntry>,
    /// Live leases whose terms new leaders have measured.
    pub(in crate::box_lease) again: HashMap<LeaseId, GivenTerms>,
    /// The epoch of the leader that decided last.
    pub(in crate::box_lease) led: Epoch,
    /// The clocks of that leader's machine when it began.
    pub(in crate::box_lease) led_on: Option<LeaderMachine>,
    /// The newest version of the cluster's settings that set each pool, also removed ones.
    pub(in crate::box_lease) put_by_settings: BTreeMap<PoolName, u64>,
    /// The pool whose rows are being restored from a snapshot.
    pub(in crate::box_lease) thawing: Option<PoolName>,
}

/// The record of a removed pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedPool {
    /// The last drawn token.
    pub last_token: FenceToken,
    /// The ids that were in use.
    pub slots: Option<Slots>,
}

/// The grant of a named request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedRequest {
    /// The idempotency key of the request.
    pub request: RequestId,
    /// Its leases, live and remembered.
    pub leases: Vec<LeaseId>,
}

/// A live or ended lease.
#[derive(Clone, Debug)]
pub enum FoundLease<'a> {
    /// The lease is live.
    Live(&'a Arc<Lease>),
    /// The lease has ended.
    Ended(&'a EndedLease),
    /// It never existed, or is forgotten.
    Unknown,
}

impl BoxTable {
    /// The epoch of the leader that decided last.
    pub fn led(&self) -> Epoch {
        self.led
    }

    /// The highest token that was drawn in any pool, including removed ones.
    pub fn highest_token(&self) -> FenceToken {
        let pools = self.pools.values().map(|pool| pool.last_token);
        let gone = self.dropped_pools.values().map(|left| left.last_token);
        pools.chain(gone).max().unwrap_or_default()
    }

    /// Whether the last token of the pool is recorded, also of a removed pool.
    pub fn knows_tokens_of(&self, pool: &PoolName) -> bool {
        self.pools.contains_key(pool) || self.dropped_pools.contains_key(pool)
    }

    /// Whether this version of the cluster's settings, or a later one, has set the pool.
    pub fn is_put_by_settings(&self, pool: &PoolName, version: u64) -> bool {
        self.put_by_settings.get(pool).is_some_and(|by| *by >= version)
    }

    /// All pools, by name.
    pub fn pools(&self) -> &BTreeMap<PoolName, Pool> {
        &self.pools
    }

    /// The pool of this name.
    pub fn pool(&self, name: &PoolName) -> Result<&Pool, BoxRefusal> {
        self.pools.get(name).ok_or_else(|| BoxRefusal::NoPool { pool: name.clone() })
    }

    pub(in crate::box_lease) fn pool_mut(
        &mut self,
        name: &PoolName,
    ) -> Result<&mut Pool, BoxRefusal> {
        self.pools.get_mut(name).ok_or_else(|| BoxRefusal::NoPool { pool: name.clone() })
    }

    /// The live or ended lease of this id.
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

    /// The live lease of this token that its holder knows, or why there is none. A token of another lease has
    /// its own error, even if the lease has ended.
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

    /// The grant of a request of this name.
    pub fn granted_to(&self, request: RequestId) -> Option<&GrantedRequest> {
        self.requests.get(&request.name())
    }

    /// The ended leases that are still remembered.
    pub fn ended(&self) -> &BoundedLog<EndedLease> {
        &self.ended
    }

    /// Other events of boxes that are still remembered.
    pub fn box_log(&self) -> &BoundedLog<BoxLogEntry> {
        &self.box_log
    }

    /// The lease that a box has, if any.
    pub fn lease_of(&self, pool: &PoolName, number: BoxNumber) -> Option<&Arc<Lease>> {
        use super::pools::pool::BoxState::{Leased, Preparing};
        match self.pools.get(pool)?.find(number)?.state {
            Preparing { lease } | Leased { lease } => self.leases.get(&lease),
            _ => None,
        }
    }

    pub(in crate::box_lease) fn ended_at(&self, number: u64) -> Option<&EndedLease> {
        let (found, ended) = self.ended.oldest_from(number).next()?;
        (found == number).then_some(ended)
    }
}

/// The piece as readers share it: they read it while it changes.
#[derive(Clone, Debug, Default)]
pub struct SharedTable(Arc<RwLock<BoxTable>>);

impl SharedTable {
    /// Locks the table for reading. Hold it only for a moment, because events wait for it.
    pub fn read(&self) -> RwLockReadGuard<'_, BoxTable> {
        // A panic during a change ends the process.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::box_lease) fn write(&self) -> RwLockWriteGuard<'_, BoxTable> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl From<BoxTable> for SharedTable {
    fn from(table: BoxTable) -> Self {
        SharedTable(Arc::new(RwLock::new(table)))
    }
}
