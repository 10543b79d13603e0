//! Whatever is asked for, in whatever order, whenever the node starts anew and however its clock is set:
//! the table of boxes keeps its promises.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use proptest::prelude::*;
use reelyard_actors::box_lease::{
    BoxEvent, BoxNumber, BoxOutcome, BoxPhase, BoxRefusal, BoxState, BoxTable, FenceToken, Hold,
    Holder, LeaseEnd, LeaseId, NewGrant, PoolName, PoolSpec, Rests, Said, SharedTable, SlotId,
    SlotRange, Terms,
};
use reelyard_actors::clock::{Millis, Reading};
use reelyard_actors::event::RequestId;
use reelyard_actors::host::HostAddr;
use reelyard_actors::journal::Piece;

const REST: Duration = Duration::from_millis(40);

/// What happens next. Leases are named by their places in the order of their grants, boxes by number.
#[derive(Clone, Debug)]
enum Op {
    Put {
        pool: usize,
        first: u32,
        size: u32,
        kind: Kind,
        grace: bool,
    },
    Remove(usize),
    Grant {
        pool: usize,
        boxes: Vec<u32>,
        ttl: u64,
        holder: usize,
        request: Option<u64>,
    },
    Prepare(usize),
    InitFail(usize),
    Renew {
        lease: usize,
        ttl: u64,
        foreign: bool,
    },
    Release {
        lease: usize,
        foreign: bool,
    },
    /// Whatever is due ends; and one that need not be due is said to be.
    Expire(usize),
    Revoke(Vec<usize>),
    NotTaken(Vec<usize>),
    /// A cleaning ends: the present one, or another one.
    Clean {
        pool: usize,
        number: u32,
        fails: bool,
        stale: bool,
    },
    Quarantine {
        pool: usize,
        number: u32,
        cleaning: bool,
    },
    Unquarantine(usize, u32),
    Recheck(usize),
    Reconcile(usize, Vec<u32>, Vec<u32>),
    Forget(u64),
    Wait(u64),
    Set(i64),
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Logical,
    Hosted,
    Slots,
}

fn op() -> impl Strategy<Value = Op> {
    let kind = prop_oneof![Just(Kind::Logical), Just(Kind::Hosted), Just(Kind::Slots)];
    let (pool, number, lease) = (0..2_usize, 0..6_u32, 0..30_usize);
    let numbers = prop::collection::vec(0..6_u32, 1..3);
    prop_oneof![
        3 => (pool.clone(), 0..3_u32, 0..5_u32, kind, any::<bool>())
            .prop_map(|(pool, first, size, kind, grace)| Op::Put { pool, first, size, kind, grace }),
        1 => pool.clone().prop_map(Op::Remove),
        10 => (pool.clone(), numbers.clone(), 1..60_u64, 0..3_usize, proptest::option::of(0..4_u64))
            .prop_map(|(pool, boxes, ttl, holder, request)| Op::Grant { pool, boxes, ttl, holder, request }),
        4 => lease.clone().prop_map(Op::Prepare),
        1 => lease.clone().prop_map(Op::InitFail),
        2 => (lease.clone(), 0..60_u64, any::<bool>())
            .prop_map(|(lease, ttl, foreign)| Op::Renew { lease, ttl, foreign }),
        4 => (lease.clone(), prop::bool::weighted(0.2))
            .prop_map(|(lease, foreign)| Op::Release { lease, foreign }),
        3 => lease.clone().prop_map(Op::Expire),
        1 => prop::collection::vec(lease.clone(), 1..3).prop_map(Op::Revoke),
        1 => prop::collection::vec(lease, 1..3).prop_map(Op::NotTaken),
        6 => (pool.clone(), number.clone(), prop::bool::weighted(0.3), prop::bool::weighted(0.2))
            .prop_map(|(pool, number, fails, stale)| Op::Clean { pool, number, fails, stale }),
        1 => (pool.clone(), number.clone(), any::<bool>())
            .prop_map(|(pool, number, cleaning)| Op::Quarantine { pool, number, cleaning }),
        1 => (pool.clone(), number).prop_map(|(pool, number)| Op::Unquarantine(pool, number)),
        1 => pool.clone().prop_map(Op::Recheck),
        3 => (pool, numbers.clone(), numbers)
            .prop_map(|(pool, clean, dirty)| Op::Reconcile(pool, clean, dirty)),
        1 => (0..20_u64).prop_map(Op::Forget),
        4 => (0..40_u64).prop_map(Op::Wait),
        1 => (-100..100_i64).prop_map(Op::Set),
        1 => Just(Op::Restart),
    ]
}

/// A lease, as its holder knows of it.
#[derive(Clone, Debug)]
struct Told {
    id: LeaseId,
    pool: PoolName,
    number: BoxNumber,
    token: FenceToken,
    /// Until when it was told to last.
    until: Option<Millis>,
    ended: Option<LeaseEnd>,
    request: Option<RequestId>,
}

#[derive(Default)]
struct World {
    table: SharedTable,
    /// The same on another node, which never began from a snapshot.
    other: SharedTable,
    terms: Terms,
    rests: HashMap<PoolName, Rests>,
    wall: i64,
    passed: u64,
    told: Vec<Told>,
    /// The highest token ever, by pool.
    tokens: BTreeMap<PoolName, u64>,
    /// When the use of each id ended.
    slots_ended: HashMap<(PoolName, SlotId), u64>,
    /// How many cleanings began and ended.
    began: u64,
    cleaned: u64,
}

fn name(pool: usize) -> PoolName {
    PoolName::new(["p", "q"][pool]).unwrap()
}

fn rows(table: &SharedTable) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    table.freeze().write(&mut |row| rows.push(row.to_vec()));
    rows
}

/// Where a box stands, and what of it is to be checked when it changes.
type Standings = BTreeMap<(PoolName, BoxNumber), (BoxPhase, Option<SlotId>)>;

impl World {
    fn now(&self) -> Millis {
        Millis(1_000_000 + self.wall)
    }

    fn reading(&self) -> Reading {
        Reading { wall: self.now(), monotonic: Duration::from_millis(self.passed) }
    }

    fn standings(&self) -> Standings {
        let table = self.table.read();
        let of = |name: &PoolName| {
            let boxes = table.pools()[name].boxes_from(BoxNumber(0));
            let of_box = |(number, record): (BoxNumber, &reelyard_actors::box_lease::BoxRecord)| {
                ((name.clone(), number), (record.state.phase(), record.slot))
            };
            boxes.map(of_box).collect::<Vec<_>>()
        };
        table.pools().keys().flat_map(of).collect()
    }

    /// Applies an event, and checks what goes for all of them.
    fn apply(&mut self, event: &BoxEvent) -> Result<BoxOutcome, BoxRefusal> {
        let (before, standings) = (rows(&self.table), self.standings());
        let result = self.table.apply(self.now(), event);
        assert_eq!(self.other.apply(self.now(), event), result, "another node says so: {event:?}");
        if result.is_err() {
            assert_eq!(rows(&self.table), before, "refused, it changed something: {event:?}");
            return result;
        }
        if let Ok(BoxOutcome::Ended { leases }) = &result {
            self.ended(leases, event);
        }
        self.moved(&standings, event);
        for name in [name(0), name(1)] {
            let next = self
                .table
                .read()
                .pools()
                .get(&name)
                .and_then(|pool| Some(pool.slots()?.next_rest()));
            if let Some(next) = next {
                let now = self.reading().monotonic;
                self.rests.entry(name).or_default().begin(next, REST, now);
            }
        }
        result
    }

    fn ended(&mut self, leases: &[LeaseId], event: &BoxEvent) {
        let how = match event {
            BoxEvent::Released { .. } => LeaseEnd::Released,
            BoxEvent::Expired { .. } => LeaseEnd::Expired,
            BoxEvent::Revoked { .. } => LeaseEnd::Revoked,
            BoxEvent::NotTaken { .. } => LeaseEnd::NotTaken,
            BoxEvent::InitFailed { .. } => LeaseEnd::InitFailed,
            other => panic!("nothing ends by {other:?}"),
        };
        for id in leases {
            let now = self.now();
            let told = self.told.iter_mut().find(|told| told.id == *id).unwrap();
            assert_eq!(told.ended, None, "it ended twice");
            told.ended = Some(how);
            if how == LeaseEnd::Expired {
                assert!(told.until.is_some_and(|until| now >= until), "before its time");
            }
            self.terms.remove(*id);
        }
    }

    /// Checks how boxes changed.
    fn moved(&mut self, before: &Standings, event: &BoxEvent) {
        use BoxPhase::{Draining, Free, Leased, Preparing, Quarantined};
        let after = self.standings();
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

    fn lease(&self, place: usize) -> Option<Told> {
        (!self.told.is_empty()).then(|| self.told[place % self.told.len()].clone())
    }

    fn grant(&mut self, pool: usize, boxes: &[u32], ttl: u64, holder: usize, request: Option<u64>) {
        let first = self.told.len() as u128;
        let leases =
            boxes.iter().zip(first..).map(|(number, id)| (LeaseId(id), BoxNumber(*number)));
        let leases: Vec<_> = leases.collect();
        let now = self.reading().monotonic;
        let rests = self.rests.entry(name(pool)).or_default();
        rests.look(REST, now);
        let term = Duration::from_millis(ttl);
        // One of each of two names, to see that another request of the same name is told apart.
        let request = request.map(|n| RequestId::of(&format!("r{}", n % 2), &[n as u8]));
        let grant = NewGrant {
            pool: name(pool),
            leases: leases.clone(),
            holder: Holder::new(&format!("h{holder}")).unwrap(),
            ttl: term,
            term,
            request,
            rested_before: rests.before(),
        };
        if let Some(request) = request
            && self
                .remembered()
                .any(|told| told.request.map(RequestId::name) == Some(request.name()))
        {
            let result = self.apply(&BoxEvent::Granted(Box::new(grant)));
            assert!(result.is_err(), "it was granted twice");
            return;
        }
        let Ok(BoxOutcome::Granted { first }) = self.apply(&BoxEvent::Granted(Box::new(grant)))
        else {
            return;
        };
        let highest = self.tokens.entry(name(pool)).or_default();
        assert!(first.0 > *highest, "a token did not grow");
        *highest = first.0 + leases.len() as u64 - 1;
        for ((id, number), token) in leases.into_iter().zip(first.0..) {
            let until = self.table.read().live(id).unwrap().expires_at;
            let (pool, token) = (name(pool), FenceToken(token));
            self.told.push(Told { id, pool, number, token, until, ended: None, request });
            self.note_term(id);
        }
    }

    /// The leases of which the table knows, but for those that nobody was told of.
    fn remembered(&self) -> impl Iterator<Item = &Told> {
        self.told.iter().filter(|told| {
            let known = !matches!(self.table.read().live(told.id), Err(BoxRefusal::UnknownLease));
            known && told.ended.is_none_or(|how| !how.was_never_told())
        })
    }

    fn note_term(&mut self, id: LeaseId) {
        let (now, table) = (self.reading(), self.table.clone());
        let table = table.read();
        let Ok(lease) = table.live(id) else { return };
        if let Some(told) = lease.expires_at {
            self.terms.note(id, lease.term, told, Hold { granted: lease.granted, most: None }, now);
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Put { pool, first, size, kind, grace } => {
                let host =
                    (*kind == Kind::Hosted).then(|| "10.0.0.1:80".parse::<HostAddr>().unwrap());
                let range = SlotRange { first: SlotId(10 + first), count: 1 + size, rest: REST };
                let spec = PoolSpec {
                    host,
                    slots: (*kind == Kind::Slots).then_some(range),
                    grace: Duration::from_millis(u64::from(*grace) * 5),
                    quota: 3,
                    ..PoolSpec::of(*first, *size)
                };
                let _ = self.apply(&BoxEvent::PoolPut { pool: name(*pool), spec: Box::new(spec) });
            }
            Op::Remove(pool) => drop(self.apply(&BoxEvent::PoolRemoved { pool: name(*pool) })),
            Op::Grant { pool, boxes, ttl, holder, request } => {
                self.grant(*pool, boxes, *ttl, *holder, *request);
            }
            Op::Clean { .. } | Op::Quarantine { .. } | Op::Unquarantine(..) | Op::Reconcile(..) => {
                self.care(op);
            }
            Op::Recheck(pool) => drop(self.apply(&BoxEvent::Recheck { pool: name(*pool) })),
            Op::Forget(most) => {
                let (ended_before, care_before) = {
                    let table = self.table.read();
                    let next = (table.ended().next(), table.care().next());
                    (next.0.saturating_sub(*most), next.1.saturating_sub(*most))
                };
                self.apply(&BoxEvent::Forgot { ended_before, care_before }).unwrap();
            }
            Op::Wait(ms) => {
                self.passed += ms;
                self.wall += i64::try_from(*ms).unwrap();
            }
            Op::Set(ms) => self.wall += ms,
            Op::Restart => self.restart(),
            of_leases => self.lease_op(of_leases),
        }
    }

    fn lease_op(&mut self, op: &Op) {
        let ids = |places: &[usize], world: &Self| -> Vec<LeaseId> {
            places.iter().filter_map(|place| Some(world.lease(*place)?.id)).collect()
        };
        match op {
            Op::Prepare(place) => {
                let Some(Told { id, .. }) = self.lease(*place) else { return };
                let term = Duration::from_millis(30);
                if let Ok(BoxOutcome::Prepared { expires_at }) =
                    self.apply(&BoxEvent::Prepared { leases: vec![id], term })
                {
                    self.tell(id, expires_at);
                }
            }
            Op::InitFail(place) => {
                let Some(Told { id, .. }) = self.lease(*place) else { return };
                let _ = self.apply(&BoxEvent::InitFailed { lease: id, said: Said::cut("no") });
            }
            Op::Renew { lease, ttl, foreign } => {
                let Some(told) = self.lease(*lease) else { return };
                let token = FenceToken(told.token.0 + u64::from(*foreign));
                let term = Duration::from_millis(*ttl);
                let result = self.apply(&BoxEvent::Renewed { lease: told.id, token, term });
                self.check_call(&told, *foreign, result.as_ref().err());
                if let Ok(BoxOutcome::Renewed { expires_at, .. }) = result {
                    self.tell(told.id, expires_at);
                }
            }
            Op::Release { lease, foreign } => {
                let Some(told) = self.lease(*lease) else { return };
                let token = FenceToken(told.token.0 + u64::from(*foreign));
                let result = self.apply(&BoxEvent::Released { lease: told.id, token });
                self.check_call(&told, *foreign, result.as_ref().err());
            }
            Op::Expire(place) => {
                let said = self.lease(*place);
                let mut over: Vec<LeaseId> = said.iter().map(|told| told.id).collect();
                over.extend(std::iter::from_fn(|| self.terms.take_due(self.reading())));
                let renewals = |id: LeaseId| {
                    let table = self.table.read();
                    table.live(id).map_or(0, |lease| lease.renewals)
                };
                let leases: Vec<_> = over.iter().map(|id| (*id, renewals(*id))).collect();
                self.apply(&BoxEvent::Expired { leases }).unwrap();
                for id in over {
                    self.terms.put_back(id);
                }
            }
            Op::Revoke(places) => {
                let (leases, by) = (ids(places, self), "an operator".to_owned());
                let _ = self.apply(&BoxEvent::Revoked { leases, by, reason: None });
            }
            Op::NotTaken(places) => {
                let leases = ids(places, self);
                let _ = self.apply(&BoxEvent::NotTaken { leases });
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// What a holder is told of a lease that it renews or gives back.
    fn check_call(&self, told: &Told, foreign: bool, refusal: Option<&BoxRefusal>) {
        let before = &self.told[told.id.0 as usize];
        let expected = match before.ended.filter(|_| told.ended.is_some()) {
            _ if refusal == Some(&BoxRefusal::UnknownLease) => {
                assert!(told.ended.is_some(), "a live lease is known");
                return;
            }
            _ if foreign => Some(BoxRefusal::WrongToken),
            Some(how) => Some(BoxRefusal::of_end(how, None)),
            None if told.until.is_none() => Some(BoxRefusal::NotReady),
            None => refusal.filter(|refusal| matches!(refusal, BoxRefusal::BadTtl { .. })).cloned(),
        };
        assert_eq!(refusal, expected.as_ref(), "{told:?}");
    }

    fn tell(&mut self, id: LeaseId, until: Millis) {
        self.told[id.0 as usize].until = Some(until);
        self.note_term(id);
    }

    fn care(&mut self, op: &Op) {
        let number = |number: &u32| BoxNumber(*number);
        let cleaning = |world: &Self, pool: &PoolName, number: BoxNumber| {
            let table = world.table.read();
            match table.pools().get(pool)?.find(number)?.state.clone() {
                BoxState::Draining(draining) => Some((draining.cleaning, draining.failures)),
                _ => None,
            }
        };
        let event = match op {
            Op::Clean { pool, number: place, fails, stale } => {
                let (pool, number) = (name(*pool), number(place));
                let (cleaning, failures) = cleaning(self, &pool, number).unwrap_or((1, 0));
                let cleaning = cleaning + u64::from(*stale);
                let said = Said::cut("something");
                match fails {
                    true => BoxEvent::CleanFailed {
                        pool,
                        number,
                        cleaning,
                        attempt: failures + 1,
                        said,
                    },
                    false => BoxEvent::Cleaned { pool, number, cleaning, said: None },
                }
            }
            Op::Quarantine { pool, number: place, cleaning: of_cleaning } => {
                let (pool, number) = (name(*pool), number(place));
                let cleaning = cleaning(self, &pool, number).map(|(cleaning, _)| cleaning);
                let cleaning = cleaning.filter(|_| *of_cleaning);
                let (said, by) = (Said::cut("dirty"), None);
                BoxEvent::Quarantined { pool, number, cleaning, said, by }
            }
            Op::Unquarantine(pool, place) => {
                let by = "an operator".to_owned();
                BoxEvent::Unquarantined { pool: name(*pool), number: number(place), by }
            }
            Op::Reconcile(pool, clean, dirty) => BoxEvent::Reconciled {
                pool: name(*pool),
                clean: clean.iter().map(number).collect(),
                dirty: dirty.iter().map(|place| (number(place), Said::cut("dirt"))).collect(),
            },
            other => unreachable!("{other:?}"),
        };
        let _ = self.apply(&event);
    }

    /// The node starts anew: from a snapshot, with nothing in memory.
    fn restart(&mut self) {
        let written = rows(&self.table);
        let mut thawed = self.table.emptied();
        for row in &written {
            thawed.thaw(row).unwrap();
        }
        assert_eq!(rows(&thawed), written);
        for told in &self.told {
            let request = |table: &BoxTable| {
                let granted = told.request.and_then(|request| table.granted_to(request).cloned());
                granted.map(|granted| {
                    (granted.request, granted.leases.into_iter().collect::<BTreeSet<_>>())
                })
            };
            assert_eq!(request(&thawed.read()), request(&self.table.read()));
        }
        self.table = thawed;
        self.terms.clear();
        self.rests.clear();
        let live: Vec<_> = self.table.read().leases().cloned().collect();
        let now = self.reading();
        for lease in live {
            let hold = Hold { granted: lease.granted, most: None };
            if let Some(told) = lease.expires_at {
                self.terms.note_again(lease.id, lease.term, told, hold, now);
            }
        }
        for name in [name(0), name(1)] {
            let next = self
                .table
                .read()
                .pools()
                .get(&name)
                .and_then(|pool| Some(pool.slots()?.next_rest()));
            if let Some(next) = next {
                self.rests.entry(name).or_default().begin(next, REST, now.monotonic);
            }
        }
    }

    fn check(&self) {
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
            let lasting = pool.boxes_from(BoxNumber(0)).filter(|(_, record)| !record.retiring);
            let size = if pool.goes() { 0 } else { pool.spec().size };
            assert_eq!(lasting.count() as u32, size);
            assert!(!pool.goes() || pool.counts().all() > 0, "it is gone with its last box");
            let mut held: BTreeMap<_, u32> = BTreeMap::new();
            for lease in table.leases().filter(|lease| lease.pool == *name) {
                *held.entry(lease.holder.clone()).or_default() += 1;
            }
            for (holder, count) in held {
                assert_eq!(pool.held_by(&holder), count);
            }
        }
        // A lease that is live has its box, and no box has one that is not.
        assert!(table.leases().all(|lease| leases.contains(&lease.id)));
        let live = self.told.iter().filter(|told| told.ended.is_none());
        assert!(live.clone().all(|told| leases.contains(&told.id)), "a lease was lost");
        assert_eq!(live.count(), leases.len());
        assert_eq!(self.began, self.cleaned + draining, "each cleaning ends once");
        for told in &self.told {
            let lease = table.held(told.id, told.token);
            assert!(told.ended.is_none() || lease.is_err());
            assert!(lease.is_err() || table.lease_of(&told.pool, told.number).is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_keeps_its_promises(ops in prop::collection::vec(op(), 1..120)) {
        let mut world = World::default();
        for pool in 0..2 {
            let kind = if pool == 0 { Kind::Hosted } else { Kind::Slots };
            world.step(&Op::Put { pool, first: 0, size: 4, kind, grace: false });
            world.step(&Op::Reconcile(pool, vec![0, 1, 2, 3], vec![]));
        }
        for op in &ops {
            world.step(op);
            world.check();
        }
        assert_eq!(rows(&world.table), rows(&world.other), "nodes differ");
        // Once time has passed everything that nobody renews has ended.
        world.step(&Op::Wait(10_000));
        let preparing: Vec<usize> = (0..world.told.len()).collect();
        preparing.into_iter().for_each(|place| world.step(&Op::Prepare(place)));
        world.step(&Op::Wait(10_000));
        world.step(&Op::Expire(0));
        world.check();
        prop_assert!(world.told.iter().all(|told| told.ended.is_some()));
    }
}
