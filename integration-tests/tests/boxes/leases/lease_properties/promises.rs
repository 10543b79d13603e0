//! The invariants of the table after each step.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_boxes::box_lease::{BoxPhase, BoxRefusal, BoxState};
use reelyard_protocol::boxes::BoxNumber;

use super::world::{KnownLease, LeaseWorld};

impl LeaseWorld {
    pub fn check(&self) {
        let table = self.table.read();
        let (mut leases, mut draining) = (BTreeSet::new(), 0);
        for (name, pool) in table.pools() {
            let (mut counts, mut slots) = (BTreeMap::new(), BTreeSet::new());
            for (number, record) in pool.boxes_from(BoxNumber(0)) {
                *counts.entry(record.state.phase()).or_insert(0) += 1;
                draining += u64::from(record.state.phase() == BoxPhase::Draining);
                assert!(record.slot.is_none_or(|slot| slots.insert(slot)), "an id is in two boxes");
                assert!(record.retiring || pool.spec().holds(number));
                if let BoxState::Preparing { lease } | BoxState::Leased { lease } = record.state {
                    assert!(leases.insert(lease), "a lease has two boxes");
                    let lease = table.live(lease).unwrap();
                    assert_eq!((&lease.pool, lease.number), (name, number));
                    assert_eq!(lease.is_held(), record.state.phase() == BoxPhase::Leased);
                }
            }
            for phase in BoxPhase::ALL {
                let count = counts.get(&phase).copied().unwrap_or(0);
                assert_eq!(pool.counts().of(phase), count, "{phase:?}");
            }
            let remaining = pool.boxes_from(BoxNumber(0)).filter(|(_, record)| !record.retiring);
            let size = if pool.goes() { 0 } else { pool.spec().size };
            assert_eq!(remaining.count() as u32, size);
            assert!(!pool.goes() || pool.counts().all() > 0, "it is gone with its last box");
            let mut held: BTreeMap<_, u32> = BTreeMap::new();
            for lease in table.leases().filter(|lease| lease.pool == *name) {
                *held.entry(lease.holder.clone()).or_default() += 1;
            }
            for (holder, count) in held {
                assert_eq!(pool.held_by(&holder), count);
            }
        }
        // A live lease has its box, and every box in use has a live lease.
        assert!(table.leases().all(|lease| leases.contains(&lease.id)));
        let live = self.known_leases.iter().filter(|known_lease| known_lease.ended.is_none());
        assert!(
            live.clone().all(|known_lease| leases.contains(&known_lease.id)),
            "a lease was lost"
        );
        assert_eq!(live.count(), leases.len());
        assert_eq!(self.began, self.cleaned + draining, "each cleaning ends once");
        for known_lease in &self.known_leases {
            let lease = table.held(known_lease.id, known_lease.token);
            assert!(known_lease.ended.is_none() || lease.is_err());
            assert!(
                lease.is_err() || table.lease_of(&known_lease.pool, known_lease.number).is_some()
            );
        }
    }

    /// Checks the answer to a holder that renews or releases a lease.
    pub fn check_call(
        &self,
        known_lease: &KnownLease,
        foreign: bool,
        refusal: Option<&BoxRefusal>,
    ) {
        let before = &self.known_leases[known_lease.id.0 as usize];
        let expected = match before.ended.filter(|_| known_lease.ended.is_some()) {
            _ if refusal == Some(&BoxRefusal::UnknownLease) => {
                assert!(known_lease.ended.is_some(), "a live lease is known");
                return;
            }
            _ if foreign => Some(BoxRefusal::WrongToken),
            Some(how) => Some(BoxRefusal::of_end(how, None)),
            None if known_lease.until.is_none() => Some(BoxRefusal::NotReady),
            None => refusal.filter(|refusal| matches!(refusal, BoxRefusal::BadTtl { .. })).cloned(),
        };
        assert_eq!(refusal, expected.as_ref(), "{known_lease:?}");
    }
}
