//! Three BoxLeaseActors on three journals over a network in memory. The leader decides, and after a change
//! leases and tokens continue from the same state.

use std::time::Duration;

use reelyard_boxes::box_lease::{
    BoxError, BoxLeaseRequest, BoxLeaseSettings, PoolSpec, VerifyLease,
};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::fakes::memory_hub::{MemoryHub, NODES};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ScriptedHosts, ask, nth_token, one, p, release_of, seconds,
};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::JournalOptions;
use reelyard_replication::CommitError;

/// How far the clock of each node is ahead.
const AHEAD_MS: [i64; 3] = [0, 300, -300];

/// The node that leads in an epoch after `epoch`.
async fn leader(yards: &[BoxYard], epoch: u64) -> usize {
    eventually_some("one leads", || async {
        let epochs = yards.iter().map(|yard| yard.views.view().epoch.map_or(0, |epoch| epoch.0));
        let (node, newest) = epochs.enumerate().max_by_key(|&(_, epoch)| epoch)?;
        (newest > epoch).then_some(node)
    })
    .await
}

#[test]
fn leases_and_tokens_continue_under_the_next_leader_and_waits_end() {
    let dirs = NODES.map(|_| tempfile::tempdir().unwrap());
    on_a_system(async {
        let (hub, clock) = (MemoryHub::default(), Clock::manual(START));
        let mut yards = Vec::new();
        for (node, dir) in NODES.into_iter().zip(&dirs) {
            let alone = JournalOptions {
                commit_timeout: Duration::from_secs(20),
                ..JournalOptions::alone(dir.path(), node)
            };
            let journal = hub.open(alone, PieceId::Boxes).await;
            let hosts = ScriptedHosts::default();
            yards.push(BoxYard::start(journal, &clock, BoxLeaseSettings::default(), hosts));
        }
        let old = leader(&yards, 0).await;
        yards[old].put(PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, 2) }).await;
        let request = Some(RequestId::of("n", b"one"));
        let named = BoxLeaseRequest { request, ..ask("a", 0) };
        let lease = one(yards[old].acquire(named.clone()).await);
        let other = yards[old].take("b").await;
        for yard in &yards {
            // Followers show the same state and decide nothing.
            eventually("all know of it", || yard.verify(&lease).is_ok()).await;
        }
        let follower = (old + 1) % 3;
        let refused = yards[follower].acquire(ask("c", 0)).await;
        assert!(
            matches!(refused, Err(BoxError::Journal(CommitError::NotLeader { .. }))),
            "{refused:?}"
        );
        let waiting = yards[old].acquire(ask("c", 600));
        yards[old].until_waiting(1).await;
        let epoch = yards[old].views.view().epoch.unwrap().0;
        hub.isolate(NODES[old]);
        let new = leader(&yards, epoch).await;
        assert_eq!(waiting.await, Err(BoxError::LeaderChanged));
        // The next leader gives the same answer, and the next token.
        assert_eq!(one(yards[new].acquire(named).await), lease);
        yards[new].release(&other).await.unwrap();
        let next = yards[new].take("d").await;
        assert_eq!((next.token, next.number), (nth_token(3), other.number));
        yards[new].advance(seconds(59)).await;
        assert_eq!(yards[new].verify(&lease), Ok(()));
        hub.heal();
        eventually("the old leader knows of it", || yards[old].verify(&next).is_ok()).await;
        let late = release_of(&other);
        assert!(yards[old].send(late).await.is_err());
        let granted: Vec<_> =
            yards.iter().map(|yard| yard.views.pool(&p()).unwrap().totals.granted).collect();
        assert_eq!(granted, [3, 3, 3]);
        for yard in &yards {
            yard.journal.stop().await;
        }
    });
}

#[test]
fn changes_of_the_leader_keep_no_lease_alive() {
    let dirs = NODES.map(|_| tempfile::tempdir().unwrap());
    on_a_system(async {
        let hub = MemoryHub::default();
        // Each machine has clocks of its own, and none is right.
        let clocks = AHEAD_MS.map(|ahead| Clock::manual(Millis(START.0 + ahead)));
        let mut yards = Vec::new();
        for ((node, dir), clock) in NODES.into_iter().zip(&dirs).zip(&clocks) {
            let alone = JournalOptions::alone(dir.path(), node);
            let journal = hub.open(alone, PieceId::Boxes).await;
            let hosts = ScriptedHosts::default();
            yards.push(BoxYard::start(journal, clock, BoxLeaseSettings::default(), hosts));
        }
        let advance = |by| {
            for clock in &clocks {
                clock.advance(by);
            }
        };
        let first = leader(&yards, 0).await;
        let mut leads = first;
        yards[leads].put(PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, 2) }).await;
        let lease = yards[leads].take("a").await;
        let verify = VerifyLease { lease: lease.id, token: lease.token };
        // The last change is in the second between the known end and the end of the lease.
        for passed in [20_000, 20_000, 19_500, 800] {
            advance(Duration::from_millis(passed));
            // On a busy machine the leader may have no quorum for a moment.
            let epoch = eventually_some("the lead is handed over", || async {
                let epoch = yards[leads].views.view().epoch?.0;
                yards[leads].journal.hand_over(None).await.ok().map(|_| epoch)
            })
            .await;
            leads = leader(&yards, epoch).await;
            assert!(yards[leads].send(verify).await.is_ok(), "{passed}");
        }
        // One clock bound after the known end, by the clock of the last leader.
        let left = 700 + AHEAD_MS[first] - AHEAD_MS[leads];
        advance(Duration::from_millis(left.unsigned_abs() - 1));
        assert!(yards[leads].send(verify).await.is_ok());
        advance(Duration::from_millis(1));
        assert!(yards[leads].send(verify).await.is_err());
        yards[leads].look().await;
        eventually("it has ended", || yards[leads].verify(&lease).is_err()).await;
        for yard in &yards {
            yard.journal.stop().await;
        }
    });
}
