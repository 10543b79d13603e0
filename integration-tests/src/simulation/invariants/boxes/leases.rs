//! A box has one holder, by the committed events and by the answers that holders got:
//!
//! - No box is granted while a lease of it is live.
//! - The fencing tokens of a pool only grow.
//! - A lease expires only after the end that an answer promised to its holder. The wall clocks of the nodes must be
//!   within the clock bound.
//! - A lease that was promised is never taken back as not taken.
//! - A repeated request gets the same leases, unless no holder ever got them.

use std::collections::BTreeMap;

use reelyard_boxes::box_lease::{BoxEvent, BoxOutcome, NewGrant};
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, LeaseId, PoolName};

/// The name of the invariant in a violation.
pub const NAME: &str = "leases";

/// The drift of a machine: its clock runs faster by at most one part in this number.
const DRIFT: u64 = 1000;

/// The judge's own record of leases.
#[derive(Clone, Debug, Default)]
pub struct LeaseRecord {
    /// The live lease of each box.
    live: BTreeMap<(PoolName, BoxNumber), LeaseId>,
    /// The highest token of each pool.
    tokens: BTreeMap<PoolName, FenceToken>,
    /// The end of each lease that its holder knows, in virtual milliseconds.
    promised: BTreeMap<LeaseId, u64>,
    /// The leases of each request that was granted.
    granted: BTreeMap<RequestId, Vec<LeaseId>>,
    /// The number of leases that expired.
    pub expired: u64,
    /// Whether the wall clocks of nodes were ever further apart than the clock bound. Then a new leader can
    /// be wrong about the ends of leases.
    pub clocks_were_apart: bool,
}

impl LeaseRecord {
    /// The number of leases that ever were granted to a request.
    pub fn grants(&self) -> u64 {
        self.granted.len() as u64
    }

    /// The boxes with a live lease.
    pub fn leased(&self) -> impl Iterator<Item = &(PoolName, BoxNumber)> {
        self.live.keys()
    }

    /// Records that an answer promised a lease to its holder for `left` more milliseconds.
    pub fn promise(&mut self, now: u64, lease: LeaseId, left: u64) {
        let until = now + left.saturating_sub(left / DRIFT + 1);
        let promised = self.promised.entry(lease).or_default();
        *promised = until.max(*promised);
    }

    /// Records the first effect of an event.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn apply(
        &mut self,
        now: u64,
        event: &BoxEvent,
        outcome: &BoxOutcome,
    ) -> Result<(), String> {
        match (event, outcome) {
            (BoxEvent::Granted(grant), BoxOutcome::Granted { first }) => self.grant(grant, *first),
            (event, BoxOutcome::Ended { leases }) => {
                for lease in leases {
                    self.end(now, event, *lease)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn grant(&mut self, grant: &NewGrant, first: FenceToken) -> Result<(), String> {
        let highest = self.tokens.entry(grant.pool.clone()).or_default();
        if first <= *highest {
            return Err(format!("{} gives token {first:?} after {highest:?}", grant.pool));
        }
        *highest = FenceToken(first.0 + grant.leases.len() as u64 - 1);
        for (lease, number) in &grant.leases {
            let before = self.live.insert((grant.pool.clone(), *number), *lease);
            if let Some(before) = before {
                return Err(format!("{lease} gets {number:?}, which {before} has"));
            }
        }
        let Some(request) = grant.request else { return Ok(()) };
        let leases: Vec<LeaseId> = grant.leases.iter().map(|(lease, _)| *lease).collect();
        let before = self.granted.insert(request, leases).unwrap_or_default();
        match before.iter().find(|lease| self.promised.contains_key(lease)) {
            Some(lease) => Err(format!("{request} is granted again; its holder got {lease}")),
            None => Ok(()),
        }
    }

    fn end(&mut self, now: u64, event: &BoxEvent, lease: LeaseId) -> Result<(), String> {
        self.live.retain(|_, live| *live != lease);
        let promised = self.promised.get(&lease).copied();
        match (event, promised) {
            (BoxEvent::TermsPassed { .. }, promised) => {
                self.expired += 1;
                match promised.filter(|until| now < *until && !self.clocks_were_apart) {
                    Some(until) => Err(format!("{lease} expires at {now}, promised until {until}")),
                    None => Ok(()),
                }
            }
            (BoxEvent::NotTaken { .. }, Some(_)) => {
                Err(format!("{lease} is taken back as not taken, but its holder got it"))
            }
            _ => Ok(()),
        }
    }
}
