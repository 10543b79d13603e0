//! The table under test, and the knowledge of its holders and of this test.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reelyard_boxes::box_lease::{
    BoxEvent, BoxOutcome, BoxPhase, BoxRefusal, HoldLimit, LeaseEnd, LeaseTerms, SharedTable,
    SlotRests,
};
use reelyard_core::clock::{ClockReading, Millis};
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, LeaseId, PoolName, SlotId};
use reelyard_replication::Piece;

use super::REST;

/// A lease as its holder knows it.
#[derive(Clone, Debug)]
pub struct KnownLease {
    pub id: LeaseId,
    pub pool: PoolName,
    pub number: BoxNumber,
    pub token: FenceToken,
    /// The deadline that the holder received.
    pub until: Option<Millis>,
    pub ended: Option<LeaseEnd>,
    pub request: Option<RequestId>,
}

#[derive(Default)]
pub struct LeaseWorld {
    pub table: SharedTable,
    /// The table of another node that never started from a snapshot.
    pub other: SharedTable,
    pub terms: LeaseTerms,
    pub rests: HashMap<PoolName, SlotRests>,
    pub wall: i64,
    pub passed: u64,
    pub known_leases: Vec<KnownLease>,
    /// The earliest end of each lease, by the monotonic clock.
    pub lasts: HashMap<LeaseId, u64>,
    /// The highest token so far, by pool.
    pub tokens: BTreeMap<PoolName, u64>,
    /// The time at which each id was last in use.
    pub slots_ended: HashMap<(PoolName, SlotId), u64>,
    /// The numbers of started and ended cleanings.
    pub began: u64,
    pub cleaned: u64,
}

pub fn name(pool: usize) -> PoolName {
    PoolName::new(["p", "q"][pool]).unwrap()
}

pub fn rows(table: &SharedTable) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    table.freeze().write(&mut |row| rows.push(row.to_vec()));
    rows
}

/// The state of each box, for checks of its transitions.
pub type BoxStates = BTreeMap<(PoolName, BoxNumber), (BoxPhase, Option<SlotId>)>;

impl LeaseWorld {
    pub fn now(&self) -> Millis {
        Millis(1_000_000 + self.wall)
    }

    pub fn reading(&self) -> ClockReading {
        ClockReading { wall: self.now(), monotonic: Duration::from_millis(self.passed) }
    }

    pub fn box_states(&self) -> BoxStates {
        let table = self.table.read();
        let of = |name: &PoolName| {
            let boxes = table.pools()[name].boxes_from(BoxNumber(0));
            let of_box = |(number, record): (BoxNumber, &reelyard_boxes::box_lease::BoxRecord)| {
                ((name.clone(), number), (record.state.phase(), record.slot))
            };
            boxes.map(of_box).collect::<Vec<_>>()
        };
        table.pools().keys().flat_map(of).collect()
    }

    /// Applies an event and checks the general invariants.
    pub fn apply(&mut self, event: &BoxEvent) -> Result<BoxOutcome, BoxRefusal> {
        let (before, box_states) = (rows(&self.table), self.box_states());
        let result = self.table.apply(self.now(), event);
        assert_eq!(self.other.apply(self.now(), event), result, "another node says so: {event:?}");
        if result.is_err() {
            assert_eq!(rows(&self.table), before, "refused, it changed something: {event:?}");
            return result;
        }
        if let Ok(BoxOutcome::Ended { leases }) = &result {
            self.ended(leases, event);
        }
        self.moved(&box_states, event);
        for name in [name(0), name(1)] {
            let next = self
                .table
                .read()
                .pools()
                .get(&name)
                .and_then(|pool| Some(pool.slots()?.next_rest_number()));
            if let Some(next) = next {
                let now = self.reading().monotonic;
                self.rests.entry(name).or_default().begin(next, REST, now);
            }
        }
        result
    }

    pub fn ended(&mut self, leases: &[LeaseId], event: &BoxEvent) {
        let how = match event {
            BoxEvent::Released { .. } => LeaseEnd::Released,
            BoxEvent::Expired { .. } | BoxEvent::TermsPassed { .. } => LeaseEnd::Expired,
            BoxEvent::Revoked { .. } => LeaseEnd::Revoked,
            BoxEvent::NotTaken { .. } => LeaseEnd::NotTaken,
            BoxEvent::InitFailed { .. } => LeaseEnd::InitFailed,
            other => panic!("nothing ends by {other:?}"),
        };
        for id in leases {
            let now = self.now();
            let known_lease =
                self.known_leases.iter_mut().find(|known_lease| known_lease.id == *id).unwrap();
            assert_eq!(known_lease.ended, None, "it ended twice");
            known_lease.ended = Some(how);
            match event {
                BoxEvent::Expired { .. } => {
                    assert!(known_lease.until.is_some_and(|until| now >= until), "before its time");
                }
                BoxEvent::TermsPassed { .. } => {
                    assert!(self.lasts.get(id).is_some_and(|at| self.passed >= *at), "too early");
                }
                _ => {}
            }
            self.terms.remove(*id);
        }
    }

    /// Checks the transitions of boxes.
    pub fn moved(&mut self, before: &BoxStates, event: &BoxEvent) {
        use BoxPhase::{Draining, Free, Leased, Preparing, Quarantined};
        let after = self.box_states();
        for (key, (was, slot)) in before {
            let is = after.get(key).map(|(is, _)| *is);
            let is_logical =
                self.table.read().pools().get(&key.0).is_none_or(|p| p.spec().is_logical());
            if *was == Draining && is != Some(Draining) {
                self.cleaned += 1;
                let ends = matches!(event, BoxEvent::Cleaned { .. } | BoxEvent::Quarantined { .. });
                assert!(ends, "{key:?} was cleaned by {event:?}");
            }
            match (was, is) {
                (Leased | Preparing, Some(Free) | None) => {
                    assert!(is_logical, "{key:?} by {event:?}")
                }
                (Quarantined, Some(Free)) => {
                    assert!(matches!(event, BoxEvent::Unquarantined { .. }) && is_logical);
                }
                (Quarantined, Some(Leased | Preparing)) | (_, Some(Leased | Preparing))
                    if !matches!(was, Free | Leased | Preparing) =>
                {
                    panic!("{key:?} went from {was:?} to {is:?}");
                }
                _ => {}
            }
            let slot_now = after.get(key).and_then(|(_, slot)| *slot);
            if let Some(slot) = slot.filter(|_| slot_now != *slot) {
                self.slots_ended.insert((key.0.clone(), slot), self.passed);
            }
        }
        for (key, (is, slot)) in &after {
            let was = before.get(key);
            if *is == Draining && was.is_none_or(|(was, _)| *was != Draining) {
                self.began += 1;
            }
            let drawn = slot.filter(|slot| was.is_none_or(|(_, was)| *was != Some(*slot)));
            if let Some(slot) = drawn {
                let ended = self.slots_ended.get(&(key.0.clone(), slot));
                let rested =
                    ended.is_none_or(|ended| ended + REST.as_millis() as u64 <= self.passed);
                assert!(rested, "{slot} of {key:?} was drawn before its rest was over");
            }
        }
    }

    pub fn lease(&self, place: usize) -> Option<KnownLease> {
        (!self.known_leases.is_empty())
            .then(|| self.known_leases[place % self.known_leases.len()].clone())
    }

    /// The leases in the table, except those that no client received.
    pub fn remembered(&self) -> impl Iterator<Item = &KnownLease> {
        self.known_leases.iter().filter(|known_lease| {
            let known =
                !matches!(self.table.read().live(known_lease.id), Err(BoxRefusal::UnknownLease));
            known && known_lease.ended.is_none_or(|how| !how.reached_no_client())
        })
    }

    pub fn start_term(&mut self, id: LeaseId) {
        let (now, table) = (self.reading(), self.table.clone());
        let table = table.read();
        let Ok(lease) = table.live(id) else { return };
        if lease.is_held() {
            let ends = now.monotonic.saturating_add(lease.term);
            self.lasts.insert(id, u64::try_from(ends.as_millis()).unwrap());
            self.terms.start(id, lease.term, HoldLimit::of(lease, None), now);
        }
    }

    pub fn trace(&mut self, id: LeaseId, until: Millis) {
        self.known_leases[id.0 as usize].until = Some(until);
        self.start_term(id);
    }
}
