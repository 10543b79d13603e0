//! The effect of each step.

use std::collections::BTreeSet;
use std::time::Duration;

use reelyard_boxes::box_lease::{
    BoxEvent, BoxOutcome, BoxState, BoxTable, HoldLimit, NewGrant, PoolSpec, SlotRange,
};
use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{
    BoxNumber, FenceToken, Holder, HookOutput, LeaseId, PoolName, SlotId,
};
use reelyard_replication::Piece;

use super::REST;
use super::op::{LeaseStep, LeaseStepKind};
use super::world::{KnownLease, LeaseWorld, name, rows};

impl LeaseWorld {
    fn grant(&mut self, pool: usize, boxes: &[u32], ttl: u64, holder: usize, request: Option<u64>) {
        let first = self.known_leases.len() as u128;
        let leases =
            boxes.iter().zip(first..).map(|(number, id)| (LeaseId(id), BoxNumber(*number)));
        let leases: Vec<_> = leases.collect();
        let now = self.reading().monotonic;
        let rests = self.rests.entry(name(pool)).or_default();
        rests.look(REST, now);
        let term = Duration::from_millis(ttl);
        // One of each of two names, to check that another request of the same name is distinguished.
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
                .any(|known_lease| known_lease.request.map(RequestId::name) == Some(request.name()))
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
            self.known_leases.push(KnownLease {
                id,
                pool,
                number,
                token,
                until,
                ended: None,
                request,
            });
            self.start_term(id);
        }
    }

    pub fn step(&mut self, op: &LeaseStep) {
        match op {
            LeaseStep::Put { pool, first, size, kind, grace } => {
                let host = (*kind == LeaseStepKind::Hosted)
                    .then(|| "10.0.0.1:80".parse::<HostAddr>().unwrap());
                let range = SlotRange { first: SlotId(10 + first), count: 1 + size, rest: REST };
                let spec = PoolSpec {
                    host,
                    slots: (*kind == LeaseStepKind::Slots).then_some(range),
                    grace: Duration::from_millis(u64::from(*grace) * 5),
                    quota: 3,
                    ..PoolSpec::of(*first, *size)
                };
                let _ = self.apply(&BoxEvent::PoolPut { pool: name(*pool), spec: Box::new(spec) });
            }
            LeaseStep::Remove(pool) => {
                drop(self.apply(&BoxEvent::PoolRemoved { pool: name(*pool) }))
            }
            LeaseStep::Grant { pool, boxes, ttl, holder, request } => {
                self.grant(*pool, boxes, *ttl, *holder, *request);
            }
            LeaseStep::Clean { .. }
            | LeaseStep::Quarantine { .. }
            | LeaseStep::Unquarantine(..)
            | LeaseStep::Reconcile(..) => {
                self.upkeep(op);
            }
            LeaseStep::Recheck(pool) => drop(self.apply(&BoxEvent::Recheck { pool: name(*pool) })),
            LeaseStep::Forget(most) => {
                let (ended_before, box_log_before) = {
                    let table = self.table.read();
                    let next = (table.ended().next(), table.box_log().next());
                    (next.0.saturating_sub(*most), next.1.saturating_sub(*most))
                };
                self.apply(&BoxEvent::Forgot { ended_before, box_log_before }).unwrap();
            }
            LeaseStep::Wait(ms) => {
                self.passed += ms;
                self.wall += i64::try_from(*ms).unwrap();
            }
            LeaseStep::Set(ms) => self.wall += ms,
            LeaseStep::Restart => self.restart(),
            of_leases => self.lease_op(of_leases),
        }
    }

    fn lease_op(&mut self, op: &LeaseStep) {
        let ids = |places: &[usize], world: &Self| -> Vec<LeaseId> {
            places.iter().filter_map(|place| Some(world.lease(*place)?.id)).collect()
        };
        match op {
            LeaseStep::Prepare(place) => {
                let Some(KnownLease { id, .. }) = self.lease(*place) else { return };
                let term = Duration::from_millis(30);
                if let Ok(BoxOutcome::Prepared { expires_at }) =
                    self.apply(&BoxEvent::Prepared { leases: vec![id], term })
                {
                    self.trace(id, expires_at);
                }
            }
            LeaseStep::InitFail(place) => {
                let Some(KnownLease { id, .. }) = self.lease(*place) else { return };
                let _ =
                    self.apply(&BoxEvent::InitFailed { lease: id, output: HookOutput::cut("no") });
            }
            LeaseStep::Renew { lease, ttl, foreign } => {
                let Some(known_lease) = self.lease(*lease) else { return };
                let token = FenceToken(known_lease.token.0 + u64::from(*foreign));
                let term = Duration::from_millis(*ttl);
                let result = self.apply(&BoxEvent::Renewed { lease: known_lease.id, token, term });
                self.check_call(&known_lease, *foreign, result.as_ref().err());
                if let Ok(BoxOutcome::Renewed { expires_at, .. }) = result {
                    self.trace(known_lease.id, expires_at);
                }
            }
            LeaseStep::Release { lease, foreign } => {
                let Some(known_lease) = self.lease(*lease) else { return };
                let token = FenceToken(known_lease.token.0 + u64::from(*foreign));
                let result = self.apply(&BoxEvent::Released { lease: known_lease.id, token });
                self.check_call(&known_lease, *foreign, result.as_ref().err());
            }
            LeaseStep::Expire(place) => {
                let output = self.lease(*place);
                let output: Vec<LeaseId> =
                    output.iter().map(|known_lease| known_lease.id).collect();
                let over: Vec<LeaseId> =
                    std::iter::from_fn(|| self.terms.take_due(self.reading())).collect();
                let renewals = |id: LeaseId| {
                    let table = self.table.read();
                    table.live(id).map_or(0, |lease| lease.renewals)
                };
                let with_renewals = |ids: &[LeaseId]| -> Vec<_> {
                    ids.iter().map(|id| (*id, renewals(*id))).collect()
                };
                let (early, due) = (with_renewals(&output), with_renewals(&over));
                // First the decision of an older version, then the present one.
                self.apply(&BoxEvent::Expired { leases: early }).unwrap();
                self.apply(&BoxEvent::TermsPassed { leases: due }).unwrap();
                for id in over {
                    self.terms.put_back(id);
                }
            }
            LeaseStep::Revoke(places) => {
                let (leases, by) = (ids(places, self), "an operator".to_owned());
                let _ = self.apply(&BoxEvent::Revoked { leases, by, reason: None });
            }
            LeaseStep::NotTaken(places) => {
                let leases = ids(places, self);
                let _ = self.apply(&BoxEvent::NotTaken { leases });
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn upkeep(&mut self, op: &LeaseStep) {
        let number = |number: &u32| BoxNumber(*number);
        let cleaning = |world: &Self, pool: &PoolName, number: BoxNumber| {
            let table = world.table.read();
            match table.pools().get(pool)?.find(number)?.state.clone() {
                BoxState::Draining(draining) => Some((draining.cleaning, draining.failures)),
                _ => None,
            }
        };
        let event = match op {
            LeaseStep::Clean { pool, number: place, fails, stale } => {
                let (pool, number) = (name(*pool), number(place));
                let (cleaning, failures) = cleaning(self, &pool, number).unwrap_or((1, 0));
                let cleaning = cleaning + u64::from(*stale);
                let output = HookOutput::cut("something");
                match fails {
                    true => BoxEvent::CleanFailed {
                        pool,
                        number,
                        cleaning,
                        attempt: failures + 1,
                        output,
                    },
                    false => BoxEvent::Cleaned { pool, number, cleaning, output: None },
                }
            }
            LeaseStep::Quarantine { pool, number: place, cleaning: of_cleaning } => {
                let (pool, number) = (name(*pool), number(place));
                let cleaning = cleaning(self, &pool, number).map(|(cleaning, _)| cleaning);
                let cleaning = cleaning.filter(|_| *of_cleaning);
                let (output, by) = (HookOutput::cut("dirty"), None);
                BoxEvent::Quarantined { pool, number, cleaning, output, by }
            }
            LeaseStep::Unquarantine(pool, place) => {
                let by = "an operator".to_owned();
                BoxEvent::Unquarantined { pool: name(*pool), number: number(place), by }
            }
            LeaseStep::Reconcile(pool, clean, dirty) => BoxEvent::Reconciled {
                pool: name(*pool),
                clean: clean.iter().map(number).collect(),
                dirty: dirty.iter().map(|place| (number(place), HookOutput::cut("dirt"))).collect(),
            },
            other => unreachable!("{other:?}"),
        };
        let _ = self.apply(&event);
    }

    /// Restarts the node from a snapshot, without its memory.
    fn restart(&mut self) {
        let written = rows(&self.table);
        let mut thawed = self.table.emptied();
        for row in &written {
            thawed.thaw(row).unwrap();
        }
        assert_eq!(rows(&thawed), written);
        for known_lease in &self.known_leases {
            let request = |table: &BoxTable| {
                let granted =
                    known_lease.request.and_then(|request| table.granted_to(request).cloned());
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
            let hold = HoldLimit::of(&lease, None);
            if lease.is_held() {
                self.terms.start(lease.id, lease.term, hold, now);
                let ends = now.monotonic.saturating_add(lease.term);
                self.lasts.insert(lease.id, u64::try_from(ends.as_millis()).unwrap());
            }
        }
        for name in [name(0), name(1)] {
            let next = self
                .table
                .read()
                .pools()
                .get(&name)
                .and_then(|pool| Some(pool.slots()?.next_rest_number()));
            if let Some(next) = next {
                self.rests.entry(name).or_default().begin(next, REST, now.monotonic);
            }
        }
    }
}
