//! A node loses its power during each flush of a work of the cluster, and comes back.

use fastrand::Rng;
use reelyard_journal::{Condition, check};

use super::*;

/// The most flushes that one of these works may have. Otherwise the test would not end.
const MOST_FLUSHES: u64 = 60;

/// A work that changes the store beside the log of new commits.
#[derive(Clone, Copy, Debug)]
enum StoreWork {
    /// A follower that was away gets a snapshot.
    Install,
    /// A former leader drops entries that no quorum has.
    Truncation,
    /// A follower writes a snapshot, and drops the entries before it.
    Purge,
    /// The same on the leader.
    PurgeByLeader,
}

/// A cluster whose next commit has this id.
struct WorkingCluster {
    cluster: JournalCluster,
    next: u64,
    rng: Rng,
}

impl WorkingCluster {
    async fn commit(&mut self, ballast: usize) {
        self.cluster.commit(self.next, ballast).await;
        self.next += 1;
    }

    fn journal(&self, node: u64) -> &Journal {
        &self.cluster.members[&node].journal
    }

    /// Brings a node into the state before the work, and returns it.
    async fn prepare(&mut self, work: StoreWork) -> u64 {
        let (leader, _) = self.cluster.leader(|_, _| true).await;
        let follower = leader % 3 + 1;
        match work {
            StoreWork::Install => {
                self.cluster.hub.isolate(follower);
                let left_at = self.journal(follower).status().last_log.unwrap();
                while self.journal(leader).status().snapshot.unwrap_or(0) < left_at + 15 {
                    self.commit(2_000).await;
                }
            }
            StoreWork::Truncation => {
                self.cluster.hub.isolate(leader);
                let before = self.journal(leader).status().last_log;
                let lost =
                    CommitEvents { request: request_of(1 << 40), events: transfer(1 << 40, 1) };
                self.cluster.members[&leader].probe.do_send(lost);
                eventually_some("the isolated leader writes an entry", || async {
                    (self.journal(leader).status().last_log > before).then_some(())
                })
                .await;
                self.commit(0).await;
                return leader;
            }
            StoreWork::Purge => {}
            StoreWork::PurgeByLeader => return leader,
        }
        follower
    }

    /// Lets the work happen, until all nodes have everything or the disk of `node` has stopped. Answers whether it has.
    async fn happens(&mut self, work: StoreWork, node: u64) -> bool {
        self.cluster.hub.heal();
        let stopped = self.cluster.members[&node].disk.clone();
        if matches!(work, StoreWork::Purge | StoreWork::PurgeByLeader) {
            for _ in 0..3 {
                self.commit(8_000).await;
            }
        }
        // The work may go on after the nodes agree. A further commit comes after it.
        for _ in 0..2 {
            tokio::select! {
                biased;
                () = eventually("the disk stops", || stopped.is_waited_for()) => return true,
                _ = self.cluster.agreed() => {}
            }
            self.commit(0).await;
        }
        stopped.is_waited_for()
    }

    /// Restarts a node whose disk has stopped, with a state that its disk may hold.
    async fn restart(&mut self, node: u64) {
        let image = tempfile::tempdir().unwrap();
        let member = self.cluster.members.remove(&node).unwrap();
        member.disk.lose_power(image.path(), &mut self.rng);
        // Nobody hears the old process any more.
        self.cluster.hub.isolate(node);
        member.disk.stop(false);
        member.journal.stop().await;
        let report = check(image.path(), None).unwrap();
        assert_eq!(report.condition, Condition::Whole, "{report:?}");
        let again = start(&self.cluster.hub, node, image).await;
        self.cluster.hub.heal();
        assert!(again.journal.caught_up(PieceId::Probe).await, "its owner comes back");
        self.cluster.members.insert(node, again);
    }
}

fn survives_a_loss_of_power_at_each_flush(work: StoreWork) {
    let seed = std::env::var("REELYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("REELYARD_SEED={seed}");
    on_a_system(async move {
        let cluster = JournalCluster::found().await;
        let mut working = WorkingCluster { cluster, next: 0, rng: Rng::with_seed(seed) };
        working.commit(0).await;
        let mut flushes = 0;
        loop {
            working.cluster.agreed().await;
            let node = working.prepare(work).await;
            let MemberJournal { disk, dir, .. } = &working.cluster.members[&node];
            disk.stop_after_flushes(flushes, dir.path());
            if !working.happens(work, node).await {
                // The store is flushed once more when it closes.
                working.cluster.members[&node].disk.stop(false);
                break;
            }
            working.restart(node).await;
            let views = working.cluster.agreed().await;
            assert_same(&views);
            let there = &views[0].books.taken;
            let lost: Vec<u64> = (0..working.next).filter(|id| !there.contains(id)).collect();
            assert!(lost.is_empty(), "{work:?}, flush {flushes}: {lost:?} were acknowledged");
            flushes += 1;
            assert!(flushes < MOST_FLUSHES, "{work:?} goes on without end");
        }
        println!("{work:?}: {flushes} flushes");
        // Otherwise the test checks too little.
        assert!(flushes >= 4, "{work:?} had only {flushes} flushes");
        working.cluster.stop().await;
    });
}

#[test]
fn a_node_may_lose_its_power_while_it_installs_a_snapshot() {
    survives_a_loss_of_power_at_each_flush(StoreWork::Install);
}

#[test]
fn a_node_may_lose_its_power_while_it_truncates_its_log() {
    survives_a_loss_of_power_at_each_flush(StoreWork::Truncation);
}

#[test]
fn a_node_may_lose_its_power_while_it_purges_its_log() {
    survives_a_loss_of_power_at_each_flush(StoreWork::Purge);
    survives_a_loss_of_power_at_each_flush(StoreWork::PurgeByLeader);
}
