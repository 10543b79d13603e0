//! Limits the concurrent archives, in total and per address, so that slow clients of one address
//! cannot block all others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::access::refusal::LinkRefusal;
use reelyard_core::address_range::caller_network;

/// The slots for archives. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ArchiveLimiter(Arc<ArchiveLimiterState>);

struct ArchiveLimiterState {
    most: usize,
    most_of_one: usize,
    /// Proxies, which have no limit per address.
    trusted: Vec<IpAddr>,
    taken: Mutex<ArchiveSlotCounts>,
}

#[derive(Default)]
struct ArchiveSlotCounts {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// The slot of one archive. Released when it is dropped.
pub(crate) struct ArchiveSlot {
    limiter: ArchiveLimiter,
    /// None for an archive that another node passes on: that node limits its visitors.
    network: Option<IpAddr>,
}

/// Why no slot is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoArchiveSlot {
    /// All slots are in use.
    Busy,
    /// This address uses its largest number of slots.
    OfAddress,
}

impl ArchiveLimiter {
    /// Creates `most` slots. One address that is not `trusted` gets at most `most_of_one`.
    pub(crate) fn new(most: usize, most_of_one: usize, trusted: Vec<IpAddr>) -> Self {
        ArchiveLimiter(Arc::new(ArchiveLimiterState {
            most,
            most_of_one,
            trusted,
            taken: Mutex::default(),
        }))
    }

    /// Takes a slot for `client`.
    pub(crate) fn acquire(&self, client: IpAddr) -> Result<ArchiveSlot, NoArchiveSlot> {
        let (network, mut taken) = (caller_network(client), self.taken());
        let of_network = taken.by_network.get(&network).copied().unwrap_or(0);
        if of_network >= self.0.most_of_one && !self.0.trusted.contains(&client) {
            return Err(NoArchiveSlot::OfAddress);
        }
        if taken.all >= self.0.most {
            return Err(NoArchiveSlot::Busy);
        }
        taken.all += 1;
        taken.by_network.insert(network, of_network + 1);
        Ok(ArchiveSlot { limiter: self.clone(), network: Some(network) })
    }

    /// Takes a slot for another node. None if all slots are in use.
    pub(crate) fn acquire_for_node(&self) -> Option<ArchiveSlot> {
        let mut taken = self.taken();
        if taken.all >= self.0.most {
            return None;
        }
        taken.all += 1;
        Some(ArchiveSlot { limiter: self.clone(), network: None })
    }

    fn taken(&self) -> MutexGuard<'_, ArchiveSlotCounts> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ArchiveSlot {
    fn drop(&mut self) {
        let mut taken = self.limiter.taken();
        taken.all = taken.all.saturating_sub(1);
        let Some(network) = self.network else { return };
        if let Some(of_network) = taken.by_network.get_mut(&network) {
            *of_network = of_network.saturating_sub(1);
            if *of_network == 0 {
                taken.by_network.remove(&network);
            }
        }
    }
}

impl From<NoArchiveSlot> for LinkRefusal {
    fn from(why: NoArchiveSlot) -> Self {
        match why {
            NoArchiveSlot::Busy => {
                LinkRefusal::NotNow("too many archives are being made".to_owned())
            }
            NoArchiveSlot::OfAddress => LinkRefusal::TooManyArchives,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn one_address_leaves_turns_for_others_and_gives_its_own_back() {
        let turns = ArchiveLimiter::new(3, 2, vec![ip(9)]);
        let first = [turns.acquire(ip(1)).ok(), turns.acquire(ip(1)).ok()];
        assert!(first.iter().all(Option::is_some));
        assert_eq!(turns.acquire(ip(1)).err(), Some(NoArchiveSlot::OfAddress));
        let other = turns.acquire(ip(2));
        assert!(other.is_ok());
        assert_eq!(turns.acquire(ip(3)).err(), Some(NoArchiveSlot::Busy));
        assert!(turns.acquire_for_node().is_none(), "another node takes no more than the rest");
        drop(other);
        let for_node = turns.acquire_for_node();
        assert!(for_node.is_some());
        assert_eq!(turns.acquire(ip(3)).err(), Some(NoArchiveSlot::Busy));
        drop((first, for_node));
        assert!(turns.taken().by_network.is_empty());
        let all: Vec<_> = (0..3).filter_map(|_| turns.acquire(ip(9)).ok()).collect();
        assert_eq!(all.len(), 3, "a proxy speaks for many");
    }
}
