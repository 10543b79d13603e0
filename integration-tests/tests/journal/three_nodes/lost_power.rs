//! The power of a cluster fails during each flush of a change of its stores. A quorum of its nodes comes back, and has
//! everything that was acknowledged.
//!
//! The nodes of a test go on meanwhile. So each change happens once, and the images of all failures are started
//! afterwards, several at a time.

use std::future::Future;

use futures::StreamExt;
use reelyard_core::cluster_id::StoreId;
use reelyard_integration_tests::fakes::cluster_power::{ClusterPower, PowerFailure};
use reelyard_journal::{Condition, MemberChange, MemberChangeError, StoreIdentity, check};
use reelyard_replication::MemberRecord;

use super::*;

/// How many images of a cluster run at a time.
const AT_ONCE: usize = 10;

/// The commit of a cluster that came back.
const AFTERWARDS: u64 = 1 << 41;

/// A cluster whose next commit has this id.
struct WorkingCluster {
    cluster: JournalCluster,
    power: ClusterPower,
    next: u64,
    /// The voters before the next change.
    voters: Vec<u64>,
}

impl WorkingCluster {
    async fn found() -> WorkingCluster {
        let seed = std::env::var("REELYARD_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
        println!("REELYARD_SEED={seed}");
        let (cluster, power) = (JournalCluster::found().await, ClusterPower::new(seed));
        let mut working = WorkingCluster { cluster, power, next: 0, voters: NODES.to_vec() };
        working.commits(1, 0).await;
        working.cluster.agreed().await;
        for node in NODES {
            working.plug_in(node);
        }
        working
    }

    fn plug_in(&self, node: u64) {
        let MemberJournal { disk, dir, .. } = &self.cluster.members[&node];
        disk.observe(self.power.plug_in(node, dir.path()));
    }

    async fn commits(&mut self, count: u64, ballast: usize) {
        for _ in 0..count {
            self.cluster.commit(self.next, ballast).await;
            self.power.acknowledged(self.next);
            self.next += 1;
        }
    }

    fn journal(&self, node: u64) -> &Journal {
        &self.cluster.members[&node].journal
    }

    /// Waits until all nodes have everything, also the work after that.
    async fn settles(&mut self) {
        for _ in 0..2 {
            self.cluster.agreed().await;
            self.commits(1, 0).await;
        }
        self.cluster.agreed().await;
    }

    /// A node writes a snapshot, and drops the entries before it.
    async fn purge(&mut self, node: u64) -> Vec<PowerFailure> {
        // A log keeps its last entries.
        self.commits(12, 0).await;
        let before = self.journal(node).status().snapshot;
        self.power.fail_at_flushes_of(&[node], &NODES);
        while self.journal(node).status().snapshot == before {
            self.commits(1, 8_000).await;
        }
        self.settles().await;
        self.power.failures()
    }

    /// A follower that was away gets a snapshot.
    async fn install(&mut self, leader: u64, follower: u64) -> Vec<PowerFailure> {
        self.cluster.hub.isolate(follower);
        let left_at = self.journal(follower).status().last_log.unwrap();
        while self.journal(leader).status().snapshot.unwrap_or(0) < left_at + 40 {
            self.commits(1, 2_000).await;
        }
        let installs = self.cluster.look(follower).await.installs;
        self.power.fail_at_flushes_of(&[follower], &NODES);
        self.cluster.hub.heal();
        self.settles().await;
        assert!(self.cluster.look(follower).await.installs > installs, "it was given no snapshot");
        self.power.failures()
    }

    /// A former leader drops an entry that no quorum has.
    async fn truncate(&mut self, leader: u64) -> Vec<PowerFailure> {
        self.cluster.hub.isolate(leader);
        let before = self.journal(leader).status().last_log;
        let lost = CommitEvents { request: request_of(1 << 40), events: transfer(1 << 40, 1) };
        self.cluster.members[&leader].probe.do_send(lost);
        eventually("the isolated leader writes an entry", || {
            self.journal(leader).status().last_log > before
        })
        .await;
        self.commits(1, 0).await;
        self.power.fail_at_flushes_of(&[leader], &NODES);
        self.cluster.hub.heal();
        self.settles().await;
        self.power.failures()
    }

    /// Starts a node that the cluster has admitted.
    async fn joins(&mut self, number: u64, joiner: StoreIdentity) {
        let dir = tempfile::tempdir().unwrap();
        let cluster = self.cluster.members.values().next().unwrap().journal.identity().cluster;
        let joined = StoreIdentity { member: Some((cluster, number)), ..joiner };
        joined.write(dir.path()).unwrap();
        let member = start(&self.cluster.hub, number, dir).await;
        self.cluster.members.insert(number, member);
        self.plug_in(number);
    }

    /// Changes the members once. After each failure of the power the same change is made again.
    async fn change(&mut self, step: MemberStep, (pair, outcome): (&[u64; 2], MemberOutcome)) {
        self.commits(1, 0).await;
        let flushing: Vec<u64> = pair.iter().copied().chain(step.newcomer()).collect();
        self.power.fail_at_flushes_of(&flushing, pair);
        step.take(&self.cluster).await;
        self.commits(1, 0).await;
        if let MemberStep::Change(
            MemberChange::Remove { number } | MemberChange::Replace { old: number, .. },
        ) = step
        {
            self.cluster.members.remove(&number).unwrap().journal.stop().await;
        }
        self.settles().await;
        let before = &std::mem::replace(&mut self.voters, outcome.voters.to_vec());
        let again = &step;
        come_back(&format!("{step:?}"), self.power.failures(), move |cluster| async move {
            eventually_some("the cluster ends the change that it began, or has none", || async {
                let voters = cluster.voters().await;
                (voters == *before || voters == outcome.voters).then_some(())
            })
            .await;
            // A node that gets a vote is in few images: a change that did not begin waits for it.
            if again.newcomer().is_none() || cluster.voters().await == outcome.voters {
                again.take(&cluster).await;
                assert_eq!(cluster.voters().await, outcome.voters);
            }
            // No number is given twice.
            let newcomer = MemberStep::admit(&StoreIdentity::joiner().unwrap());
            assert_eq!(newcomer.take(&cluster).await, Some(outcome.numbers_given + 1));
            cluster
        })
        .await;
    }
}

impl JournalCluster {
    /// The voters that the leader knows. While a change is half done, those before and after it.
    async fn voters(&self) -> Vec<u64> {
        let (leader, _) = self.leader(|_, _| true).await;
        let members = self.members[&leader].journal.members().into_iter();
        members.filter(|member| member.is_voter).map(|member| member.number).collect()
    }
}

/// The members after a step.
#[derive(Clone, Copy)]
struct MemberOutcome {
    voters: &'static [u64],
    numbers_given: u64,
}

/// One change of the members.
#[derive(Debug)]
enum MemberStep {
    Admit(MemberRecord),
    Change(MemberChange),
}

impl MemberStep {
    fn admit(joiner: &StoreIdentity) -> MemberStep {
        let store: Option<StoreId> = Some(joiner.store);
        MemberStep::Admit(MemberRecord { store, ..MemberRecord::default() })
    }

    /// The node that gets a vote.
    fn newcomer(&self) -> Option<u64> {
        use MemberChange::{Promote, Replace};
        match self {
            MemberStep::Change(Promote { number } | Replace { new: number, .. }) => Some(*number),
            _ => None,
        }
    }

    /// Makes the change on any leader until it is made, and answers the number of a new member.
    async fn take(&self, cluster: &JournalCluster) -> Option<u64> {
        eventually_some("the members are changed", || async {
            let (leader, _) = cluster.leader(|_, _| true).await;
            let journal = &cluster.members[&leader].journal;
            let taken = match self {
                MemberStep::Admit(record) => journal.admit(record.clone()).await.map(Some),
                MemberStep::Change(change) => {
                    journal.change_members(change.clone()).await.map(|()| None)
                }
            };
            match (taken, self) {
                (Ok(number), _) => Some(number),
                // It was removed before the power failed.
                (
                    Err(MemberChangeError::NoMember(gone)),
                    MemberStep::Change(MemberChange::Remove { number }),
                ) if gone == *number => Some(None),
                (
                    Err(
                        MemberChangeError::NotLeader { .. }
                        | MemberChangeError::InProgress
                        // Its journal is starting.
                        | MemberChangeError::NoQuorum { .. }
                        | MemberChangeError::Silent(_),
                    ),
                    _,
                ) => None,
                (Err(error), _) => panic!("{self:?}: {error}"),
            }
        })
        .await
    }
}

/// Starts the images of each failure, lets their cluster do `more`, and checks its state.
async fn come_back<F: Future<Output = JournalCluster>>(
    what: &str,
    failures: Vec<PowerFailure>,
    more: impl Fn(JournalCluster) -> F,
) {
    println!("{what}: {} flushes", failures.len());
    // Otherwise the test checks too little, or goes on without end.
    assert!((3..60).contains(&failures.len()), "{what}: {} flushes", failures.len());
    let all = futures::stream::iter(failures.into_iter().enumerate());
    let more = &more;
    all.for_each_concurrent(AT_ONCE, |(flush, failure)| async move {
        let PowerFailure { flushing, images, acknowledged } = failure;
        let case = format!("{what}, flush {flush} of node {flushing}");
        let image = images[&flushing].path().to_owned();
        let report = tokio::task::spawn_blocking(move || check(&image, None)).await.unwrap();
        let report = report.unwrap();
        assert_eq!(report.condition, Condition::Whole, "{case}: {report:?}");
        let (hub, mut members) = (MemoryHub::quick(), BTreeMap::new());
        for (node, image) in images {
            members.insert(node, start(&hub, node, image).await);
        }
        let cluster = more(JournalCluster { hub, members }).await;
        cluster.commit(AFTERWARDS, 0).await;
        let views = cluster.agreed().await;
        assert_same(&views);
        let there = &views[0].books.taken;
        let lost: Vec<&u64> = acknowledged.iter().filter(|id| !there.contains(id)).collect();
        assert!(lost.is_empty(), "{case}: {lost:?} were acknowledged");
        cluster.stop().await;
    })
    .await;
}

#[test]
fn a_quorum_comes_back_from_lost_power_at_each_flush() {
    on_a_system(async {
        let mut working = WorkingCluster::found().await;
        let (leader, _) = working.cluster.leader(|_, _| true).await;
        let follower = leader % 3 + 1;
        let alone = |cluster| async { cluster };
        let failures = working.purge(follower).await;
        come_back("a follower purges its log", failures, alone).await;
        let failures = working.purge(leader).await;
        come_back("a leader purges its log", failures, alone).await;
        let failures = working.install(leader, follower).await;
        come_back("a follower installs a snapshot", failures, alone).await;
        let failures = working.truncate(leader).await;
        come_back("a former leader truncates its log", failures, alone).await;
        working.cluster.stop().await;
    });
}

/// The images are of two voters, which are a quorum before, during and after each of these changes. At a flush of a node
/// that gets a vote, its image is there too.
#[test]
fn members_are_changed_whole_although_the_power_fails_at_each_flush() {
    on_a_system(async {
        let mut working = WorkingCluster::found().await;
        // The last founder leads.
        let pair = [3, 2];
        let to = |voters, numbers_given| (&pair, MemberOutcome { voters, numbers_given });
        let change = MemberStep::Change;
        // Without the third founder the pair is a quorum also beside one newcomer.
        change(MemberChange::Remove { number: 1 }).take(&working.cluster).await;
        working.cluster.members.remove(&1).unwrap().journal.stop().await;
        working.voters = vec![2, 3];
        let fourth = StoreIdentity::joiner().unwrap();
        working.change(MemberStep::admit(&fourth), to(&[2, 3], 4)).await;
        working.joins(4, fourth).await;
        working.change(change(MemberChange::Promote { number: 4 }), to(&[2, 3, 4], 4)).await;
        let fifth = StoreIdentity::joiner().unwrap();
        let number = MemberStep::admit(&fifth).take(&working.cluster).await;
        assert_eq!(number, Some(5));
        working.joins(5, fifth).await;
        let replaced = MemberChange::Replace { old: 4, new: 5 };
        working.change(change(replaced), to(&[2, 3, 5], 5)).await;
        working.change(change(MemberChange::Remove { number: 5 }), to(&[2, 3], 5)).await;
        working.cluster.stop().await;
    });
}
