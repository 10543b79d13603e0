//! Many clients that request, wait, cancel, release and lose boxes, over restarts and with failing hosts.
//! Every wait ends once, no box is lost, and no box has two holders.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use reelyard_boxes::box_lease::{
    Acquisition, BoxError, BoxLeaseRequest, BoxLeaseSettings, BoxPhase, Lease, PoolSpec,
    PoolStatus, Priority,
};
use reelyard_core::clock::Clock;
use reelyard_core::event::RequestId;
use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually_some};
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ask, host, p, pool, seconds,
};
use reelyard_protocol::boxes::{HookAnswer, HookKind, HookOutput, PoolName};

const STEPS: usize = 400;

struct Crowd {
    yard: BoxYard,
    dice: fastrand::Rng,
    waiting: Vec<Acquisition>,
    held: Vec<Arc<Lease>>,
    /// The highest token that any client received, by pool.
    tokens: BTreeMap<PoolName, u64>,
    began: usize,
    ended: usize,
    left: usize,
    names: u64,
}

fn spec(hosted: bool) -> PoolSpec {
    PoolSpec {
        host: hosted.then(|| host(1)),
        grace: seconds(1),
        queue_limit: 6,
        quota: 4,
        clean_attempts: 3,
        ..PoolSpec::of(0, 4)
    }
}

impl Crowd {
    async fn step(&mut self) {
        match self.dice.u32(..100) {
            0..35 => self.ask(),
            35..45 => drop_one(&mut self.waiting, &mut self.dice).map_or((), |()| self.left += 1),
            45..70 => self.give_back().await,
            70..75 => self.renew().await,
            75..85 => self.yard.advance(Duration::from_millis(self.dice.u64(..20_000))).await,
            85..90 => {
                let kind = if self.dice.bool() { HookKind::Init } else { HookKind::Cleanup };
                let answer = match self.dice.bool() {
                    true => HookAnswer::Failed { output: HookOutput::cut("no") },
                    false => HookAnswer::Silent { why: "no answer".to_owned() },
                };
                self.yard.hosts.answer(kind, [answer]);
            }
            _ => self.yard.look().await,
        }
        self.collect();
        self.check().await;
    }

    fn ask(&mut self) {
        let pool = if self.dice.bool() { p() } else { pool("q") };
        self.names += 1;
        // Some repeat a request of other clients, which may still wait or have an answer.
        let name = self.dice.u64(self.names.saturating_sub(3)..=self.names);
        let count = 1 + self.dice.u32(..2);
        let wait = self.dice.u64(..30);
        let request = RequestId::of(&format!("{pool} {name}"), &[1]);
        let ask = BoxLeaseRequest {
            pool,
            count: 1 + u32::from(name.is_multiple_of(5)),
            ttl: Some(seconds(1 + self.dice.u64(..30))),
            priority: Priority::try_from(i64::from(count)).unwrap(),
            request: (!name.is_multiple_of(3)).then_some(request),
            ..ask(&format!("h{}", name % 7), wait)
        };
        self.waiting.push(self.yard.acquire(ask));
        self.began += 1;
    }

    /// Collects the answers that have arrived.
    fn collect(&mut self) {
        let mut waiting = Vec::new();
        for mut acquisition in std::mem::take(&mut self.waiting) {
            match (&mut acquisition).now_or_never() {
                None => waiting.push(acquisition),
                Some(answer) => {
                    self.ended += 1;
                    match answer {
                        Ok(grant) => grant
                            .leases
                            .into_iter()
                            .for_each(|lease| self.record_lease(lease.lease)),
                        Err(BoxError::Journal(error)) => panic!("{error}"),
                        Err(_) => {}
                    }
                }
            }
        }
        self.waiting = waiting;
    }

    fn record_lease(&mut self, lease: Arc<Lease>) {
        // A repeated request gets the same answer.
        if let Some(known) = self.held.iter_mut().find(|known| known.id == lease.id) {
            assert_eq!((known.token, known.number), (lease.token, lease.number));
            return;
        }
        let highest = self.tokens.entry(lease.pool.clone()).or_default();
        *highest = lease.token.0.max(*highest);
        self.held.push(lease);
    }

    async fn give_back(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let lease = self.held.swap_remove(self.dice.usize(..self.held.len()));
        match self.yard.release(&lease).await {
            Ok(()) => assert!(self.yard.verify(&lease).is_err()),
            // It has ended or ends now: the answer says which.
            Err(_) => self.yard.look().await,
        }
    }

    async fn renew(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let lease = self.held[self.dice.usize(..self.held.len())].clone();
        let before = self.yard.verify(&lease).is_ok();
        let renewed = self.yard.renew(&lease).await.is_ok();
        assert!(before || !renewed, "an ended lease is not renewed");
    }

    /// Checks that no box has two holders and that each box has a state.
    async fn check(&mut self) {
        let live: Vec<_> =
            self.held.iter().filter(|lease| self.yard.verify(lease).is_ok()).collect();
        let boxes: BTreeSet<_> = live.iter().map(|lease| (&lease.pool, lease.number)).collect();
        assert_eq!(boxes.len(), live.len(), "a box is in two hands");
        for pool in self.yard.views.pools() {
            assert_eq!(pool.counts.all(), 4);
        }
    }

    async fn restart(mut self, dir: &std::path::Path, clock: &Clock) -> Crowd {
        let hosts = self.yard.hosts.clone();
        self.yard.journal.stop().await;
        // Each wait ends, with a grant or with the end of this leader's term.
        for acquisition in std::mem::take(&mut self.waiting) {
            self.ended += 1;
            if let Ok(grant) = acquisition.await {
                grant.leases.into_iter().for_each(|lease| self.record_lease(lease.lease));
            }
        }
        let yard = BoxYard::open_with(dir, clock, BoxLeaseSettings::default(), hosts).await;
        Crowd { yard, ..self }
    }

    /// Whether no request waits and every box is free or in quarantine.
    fn is_over(&self) -> bool {
        let idle = |pool: &PoolStatus| {
            pool.counts.of(BoxPhase::Free) + pool.counts.of(BoxPhase::Quarantined)
        };
        let pools = self.yard.views.pools();
        self.waiting.is_empty() && pools.iter().all(|pool| idle(pool) == pool.counts.all())
    }

    /// Releases all leases and cancels all waits. Then every box is free or in quarantine.
    async fn end(mut self) {
        let until = Instant::now() + PATIENCE;
        while !self.is_over() {
            assert!(Instant::now() < until, "never over: {:?}", self.yard.views.pools());
            self.collect();
            while !self.held.is_empty() {
                self.give_back().await;
            }
            self.yard.advance(seconds(5)).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let view = eventually_some("no client waits", || {
            let view = self.yard.views.view();
            std::future::ready((view.waiters == 0).then_some(view))
        })
        .await;
        assert!(view.queues.values().all(|queue| queue.waiting == 0));
        assert_eq!(self.began, self.ended + self.left, "each wait ends once");
        for pool in [p(), pool("q")] {
            let status = self.yard.views.pool(&pool).unwrap();
            assert!(status.last_token.0 >= self.tokens.get(&pool).copied().unwrap_or(0));
            let ended: u64 = status.totals.ended.iter().sum();
            assert_eq!(status.totals.granted, ended, "a lease was lost");
        }
        self.yard.close().await;
    }
}

fn drop_one(waiting: &mut Vec<Acquisition>, dice: &mut fastrand::Rng) -> Option<()> {
    if waiting.is_empty() {
        return None;
    }
    drop(waiting.swap_remove(dice.usize(..waiting.len())));
    Some(())
}

async fn crowd(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(spec(true)).await;
    yard.put_as(pool("q"), spec(false)).await.unwrap();
    let mut crowd = Crowd {
        yard,
        dice: fastrand::Rng::with_seed(seed),
        waiting: Vec::new(),
        held: Vec::new(),
        tokens: BTreeMap::new(),
        began: 0,
        ended: 0,
        left: 0,
        names: 0,
    };
    for step in 0..STEPS {
        crowd.step().await;
        if step % 150 == 149 {
            crowd = crowd.restart(dir.path(), &clock).await;
        }
    }
    assert!(crowd.ended > STEPS / 10, "only {} waits ended", crowd.ended);
    crowd.end().await;
}

#[actix::test]
async fn no_box_and_no_waiter_is_lost_in_a_crowd() {
    for seed in 1..=4 {
        crowd(seed).await;
    }
}
