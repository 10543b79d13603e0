//! A node that ran alone becomes the first of three, and members come and go.

use std::collections::BTreeMap;
use std::time::Duration;

use actix::{Actor, Addr};
use reelyard_core::call_version::CALL_VERSION;
use reelyard_core::cluster_id::StoreId;
use reelyard_core::event::PieceId;
use reelyard_integration_tests::fakes::memory_hub::MemoryHub;
use reelyard_integration_tests::probes::journal_probe::{
    CommitEvents, ProbeActor, ReadAccounts, request_of, small_snapshots, transfer,
};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{
    BackupError, Journal, JournalOptions, MemberChange, MemberChangeError, OpenError,
    RestoredMembers, StoreIdentity, back_up, check, restore,
};
use reelyard_replication::{MemberRecord, NodeIdentity};
use tempfile::TempDir;

struct GrowingCluster {
    hub: MemoryHub,
    members: BTreeMap<u64, (Journal, Addr<ProbeActor>, TempDir)>,
    commits: u64,
}

fn record(store: StoreId) -> MemberRecord {
    MemberRecord {
        store: Some(store),
        cluster_address: "hub".to_owned(),
        ..MemberRecord::default()
    }
}

impl GrowingCluster {
    async fn alone() -> GrowingCluster {
        let mut cluster =
            GrowingCluster { hub: MemoryHub::default(), members: BTreeMap::new(), commits: 0 };
        cluster.start(1, tempfile::tempdir().unwrap()).await;
        cluster
    }

    async fn start(&mut self, node: u64, dir: TempDir) {
        let options = JournalOptions {
            heartbeat: Duration::from_millis(100),
            election: (Duration::from_millis(600), Duration::from_millis(1200)),
            ..small_snapshots(dir.path(), node)
        };
        let journal = self.hub.open_member(options, PieceId::Probe).await;
        let probe = ProbeActor::new(journal.clone()).start();
        self.members.insert(node, (journal, probe, dir));
    }

    fn journal(&self, node: u64) -> &Journal {
        &self.members[&node].0
    }

    async fn leads(&self) {
        eventually("node 1 leads", || self.journal(1).leadership().borrow().epoch().is_some())
            .await;
    }

    /// This many voters, and one more node that has all commits and no vote.
    async fn with_voters(count: u64) -> Self {
        let mut cluster = GrowingCluster::alone().await;
        cluster.leads().await;
        for number in 2..=count + 1 {
            assert_eq!(cluster.join().await, number);
            cluster.has_all(number).await;
        }
        for number in 2..=count {
            cluster.change(MemberChange::Promote { number }).await.unwrap();
        }
        cluster
    }

    /// Commits on node 1 without a second try: no commit may be refused.
    async fn commit(&mut self) {
        self.commits += 1;
        let id = self.commits;
        let message = CommitEvents { request: request_of(id), events: transfer(id, 1) };
        self.members[&1].1.send(message).await.unwrap().unwrap();
    }

    async fn join(&mut self) -> u64 {
        let dir = tempfile::tempdir().unwrap();
        let joiner = StoreIdentity::joiner().unwrap();
        let number = self.admit(joiner.store).await;
        let cluster = self.journal(1).identity().cluster;
        let joined = StoreIdentity { member: Some((cluster, number)), ..joiner };
        joined.write(dir.path()).unwrap();
        self.start(number, dir).await;
        number
    }

    /// Waits until a node has all commits and all changes of the members.
    async fn has_all(&self, node: u64) {
        let probe = &self.members[&node].1;
        eventually_some("the node has applied everything", || async {
            let own = probe.send(ReadAccounts).await.unwrap();
            let first = self.members[&1].1.send(ReadAccounts).await.unwrap();
            let applied = |node| self.journal(node).status().applied;
            (own.books == first.books && applied(node) >= applied(1)).then_some(())
        })
        .await;
    }

    /// The outcome of a change at the node that leads. Under load another one can lead at any time.
    async fn change(&self, change: MemberChange) -> Result<(), MemberChangeError> {
        eventually_some("a leader decides", || async {
            match self.leading()?.change_members(change.clone()).await {
                Err(MemberChangeError::NotLeader { .. } | MemberChangeError::InProgress) => None,
                decided => Some(decided),
            }
        })
        .await
    }

    /// The number that the leader gives.
    async fn admit(&self, store: StoreId) -> u64 {
        eventually_some("a leader admits it", || async {
            self.leading()?.admit(record(store)).await.ok()
        })
        .await
    }

    /// Commits at any leader.
    async fn commit_anywhere(&mut self) {
        self.commits += 1;
        let id = self.commits;
        eventually_some("a leader commits", || async {
            let leads = |node: &&(Journal, Addr<ProbeActor>, TempDir)| {
                node.0.leadership().borrow().epoch().is_some()
            };
            let (_, probe, _) = self.members.values().find(leads)?;
            let message = CommitEvents { request: request_of(id), events: transfer(id, 1) };
            probe.send(message).await.unwrap().ok()
        })
        .await;
    }

    async fn has_voters(&self, expected: &[u64]) {
        eventually("the first node knows the voters", || voters(self.journal(1)) == expected).await;
    }

    fn leading(&self) -> Option<&Journal> {
        let mut journals = self.members.values().map(|(journal, ..)| journal);
        journals.find(|journal| journal.leadership().borrow().epoch().is_some())
    }

    async fn stop(&self) {
        for (journal, _, _) in self.members.values() {
            journal.stop().await;
        }
    }
}

#[test]
fn a_node_alone_becomes_the_first_of_three_without_a_refused_commit() {
    on_a_system(async {
        let mut cluster = GrowingCluster::alone().await;
        cluster.leads().await;
        for _ in 0..50 {
            cluster.commit().await;
        }
        for expected in [2, 3] {
            assert_eq!(cluster.join().await, expected);
            cluster.commit().await;
            cluster.has_all(expected).await;
            let promoted =
                cluster.journal(1).change_members(MemberChange::Promote { number: expected });
            promoted.await.unwrap();
            cluster.commit().await;
        }
        assert_eq!(voters(cluster.journal(1)), [1, 2, 3]);
        // The first of three is away, and another one leads: the newcomers remember everything.
        cluster.hub.isolate(1);
        eventually("another node leads", || {
            [2, 3].iter().any(|node| cluster.journal(*node).leadership().borrow().epoch().is_some())
        })
        .await;
        cluster.hub.rejoin(1);
        cluster.has_all(2).await;
        cluster.has_all(3).await;
        cluster.stop().await;
    });
}

fn voters(journal: &Journal) -> Vec<u64> {
    let members = journal.members().into_iter();
    members.filter(|member| member.is_voter).map(|member| member.number).collect()
}

#[test]
fn a_lost_voter_is_replaced_by_a_learner_in_one_step() {
    on_a_system(async {
        let mut cluster = GrowingCluster::with_voters(3).await;
        cluster.hub.isolate(3);
        let replace = |old, new| MemberChange::Replace { old, new };
        assert_eq!(cluster.change(replace(3, 5)).await, Err(MemberChangeError::NoMember(5)));
        assert_eq!(cluster.change(replace(3, 3)).await, Err(MemberChangeError::SameMember(3)));
        // A member that has never answered does not have the log.
        let store = StoreIdentity::joiner().unwrap().store;
        assert_eq!(cluster.admit(store).await, 5);
        assert_eq!(cluster.change(replace(4, 5)).await, Err(MemberChangeError::NoVote(4)));
        // The numbers are confused.
        assert_eq!(cluster.change(replace(4, 3)).await, Err(MemberChangeError::NoVote(4)));
        for _ in 0..1100 {
            cluster.commit_anywhere().await;
        }
        for change in [replace(3, 5), MemberChange::Promote { number: 5 }] {
            let behind = cluster.change(change).await;
            let is_behind = matches!(behind, Err(MemberChangeError::Behind { number: 5, entries }) if entries > 1000);
            assert!(is_behind, "{behind:?}");
        }
        cluster.has_all(4).await;
        assert_eq!(cluster.change(replace(3, 4)).await, Ok(()));
        cluster.has_voters(&[1, 2, 4]).await;
        // The answer was lost, and the operator repeats the command.
        assert_eq!(cluster.change(replace(3, 4)).await, Ok(()));
        // Of two voters one leaves, and the other one has a vote already.
        assert_eq!(cluster.change(replace(2, 4)).await, Ok(()));
        cluster.has_voters(&[1, 4]).await;
        cluster.commit_anywhere().await;
        // No number is given twice, also if the last one has left.
        for _ in 0..2 {
            // The answer to the first removal was lost.
            assert_eq!(cluster.change(MemberChange::Remove { number: 5 }).await, Ok(()));
        }
        let never = cluster.change(MemberChange::Remove { number: 9 }).await;
        assert_eq!(never, Err(MemberChangeError::NoMember(9)));
        assert_eq!(cluster.admit(StoreId::from(7)).await, 6);
        // A node that follows passes the request on.
        let number = eventually_some("a follower admits a node", || async {
            let leads = |number: u64| cluster.journal(number).leadership().borrow().epoch();
            let follower = [1, 4].into_iter().find(|number| leads(*number).is_none())?;
            cluster.journal(follower).admit(record(StoreId::from(8))).await.ok()
        });
        assert_eq!(number.await, 7);
        // A connection of a node that was removed may still be open.
        let text = record(StoreId::from(9)).stored_text();
        let admit = [&[CALL_VERSION, 10, u8::try_from(text.len()).unwrap()], text.as_bytes()];
        let answer = eventually_some("a leader answers", || async {
            Some(cluster.leading()?.answer(3, &admit.concat()).await)
        });
        let why = String::from_utf8_lossy(&answer.await).into_owned();
        assert!(why.contains("node 3 is no member of this cluster"), "{why}");
        cluster.stop().await;
    });
}

/// The calls of a node that gets none arrive, and say nothing about the way to it.
#[test]
fn a_change_needs_new_answers_of_those_that_vote_afterwards() {
    on_a_system(async {
        let mut cluster = GrowingCluster::with_voters(3).await;
        // It has just answered, and is lost before its first vote.
        cluster.hub.isolate(4);
        let silent = Err(MemberChangeError::Silent(4));
        assert_eq!(cluster.change(MemberChange::Promote { number: 4 }).await, silent);
        assert_eq!(cluster.change(MemberChange::Replace { old: 3, new: 4 }).await, silent);
        let (leader, deaf) = match cluster.leading().unwrap().identity().number {
            1 => (1, 3),
            number => (number, 1),
        };
        let third = 6 - leader - deaf;
        cluster.hub.deafen(deaf);
        let no_quorum = |voters: usize, silent: &[u64]| {
            Err(MemberChangeError::NoQuorum { voters, silent: silent.to_vec() })
        };
        let remove = |number| MemberChange::Remove { number };
        assert_eq!(cluster.change(remove(third)).await, no_quorum(2, &[deaf]));
        let replace = MemberChange::Replace { old: third, new: 4 };
        let mut both = [deaf, 4];
        both.sort_unstable();
        assert_eq!(cluster.change(replace).await, no_quorum(3, &both));
        assert_eq!(cluster.change(remove(deaf)).await, Ok(()));
        cluster.commit_anywhere().await;
        cluster.stop().await;
    });
}

#[test]
fn a_follower_that_moved_gives_the_leader_its_address() {
    on_a_system(async {
        let mut cluster = GrowingCluster::alone().await;
        cluster.leads().await;
        assert_eq!(cluster.join().await, 2);
        cluster.has_all(2).await;
        let known = |at: u64, of: u64| {
            let members = cluster.journal(at).members().into_iter();
            members.filter(|member| member.number == of).map(|member| member.record).next()
        };
        let before = known(1, 2).unwrap();
        eventually("the node knows the members", || known(2, 2).is_some()).await;
        let another = cluster.journal(2).keep_record(record(StoreId::from(9))).await;
        assert!(another.is_err() && known(1, 2).as_ref() == Some(&before), "{another:?}");
        // The leader cannot call it any more.
        cluster.hub.deafen(2);
        let moved = MemberRecord {
            cluster_address: "elsewhere".to_owned(),
            format_level: before.format_level + 1,
            ..before
        };
        let unanswered = cluster.journal(2).keep_record(moved.clone()).await;
        assert!(unanswered.is_err(), "its answer does not arrive");
        eventually("the leader knows the address", || known(1, 2).as_ref() == Some(&moved)).await;
        cluster.hub.heal();
        eventually("so does the node itself", || known(2, 2).as_ref() == Some(&moved)).await;
        assert_eq!(cluster.journal(2).keep_record(moved.clone()).await, Ok(()));
        let own = MemberRecord { api_address: "http://here".to_owned(), ..known(1, 1).unwrap() };
        assert_eq!(cluster.journal(1).keep_record(own.clone()).await, Ok(()));
        assert_eq!(known(1, 1), Some(own));
        cluster.stop().await;
    });
}

#[test]
fn a_learner_is_no_part_of_a_quorum_and_never_leads() {
    on_a_system(async {
        let mut cluster = GrowingCluster::alone().await;
        cluster.leads().await;
        assert_eq!(cluster.join().await, 2);
        cluster.has_all(2).await;
        cluster.journal(1).change_members(MemberChange::Promote { number: 2 }).await.unwrap();
        assert_eq!(cluster.join().await, 3);
        cluster.has_all(3).await;
        let second = Duration::from_secs(1);
        let knows_quorum = || cluster.journal(3).since_quorum().is_some_and(|since| since < second);
        eventually("the learner knows that the leader has a quorum", knows_quorum).await;
        // The leader and the learner hear each other, and are no quorum of two voters.
        cluster.hub.isolate(2);
        let message = CommitEvents { request: request_of(999), events: transfer(999, 1) };
        cluster.members[&1].1.do_send(message);
        eventually("the leader without its voter stops leading", || {
            cluster.journal(1).leadership().borrow().epoch().is_none()
        })
        .await;
        eventually("the learner, which hears the leader, knows that", || {
            let journal = cluster.journal(3);
            journal.since_quorum().is_some_and(|since| since > second)
                && journal.leader_silence() < second
        })
        .await;
        let books = cluster.members[&3].1.send(ReadAccounts).await.unwrap().books;
        assert!(!books.taken.contains(&999), "no quorum has it");
        let learner = cluster.journal(3).status();
        assert!(learner.leading.is_none() && learner.last_log > learner.applied, "{learner:?}");
        // Nor does it lead when the leader is away, or help the other voter to lead.
        cluster.hub.isolate(1);
        cluster.hub.rejoin(2);
        let refused = cluster.hub.refused_calls(2);
        eventually("the other voter has asked for votes in vain", || {
            cluster.hub.refused_calls(2) >= refused + 3
        })
        .await;
        for node in [2, 3] {
            let status = cluster.journal(node).status();
            assert_eq!((status.leading, status.term), (None, learner.term));
        }
        cluster.hub.rejoin(1);
        cluster.has_all(2).await;
        cluster.stop().await;
    });
}

/// The machines of the others are gone, with their disks.
#[test]
fn a_backup_of_one_of_three_forms_a_new_cluster_alone() {
    on_a_system(async {
        let mut cluster = GrowingCluster::with_voters(3).await;
        for _ in 0..5 {
            cluster.commit_anywhere().await;
        }
        let before = cluster.journal(1).identity();
        cluster.has_all(2).await;
        cluster.stop().await;
        let (saved, restored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = saved.path().join("saved");
        back_up(cluster.members[&2].2.path(), &file, None).unwrap();
        cluster.members.clear();
        let refused = restore(&file, restored.path(), RestoredMembers::Kept);
        assert!(matches!(refused, Err(BackupError::OneOfSeveral)), "{refused:?}");
        let alone = restore(&file, restored.path(), RestoredMembers::Alone).unwrap();
        assert!(alone.is_alone);
        assert_eq!(check(restored.path(), None).unwrap().voters, [2]);
        cluster.start(2, restored).await;
        eventually("node 2 leads alone", || cluster.leading().is_some()).await;
        let books = cluster.members[&2].1.send(ReadAccounts).await.unwrap().books;
        assert_eq!(books.taken.len() as u64, cluster.commits);
        // The former members are refused: their cluster is another one.
        assert_ne!(cluster.journal(2).identity().cluster, before.cluster);
        cluster.commit_anywhere().await;
        // Nodes join, and no number is given twice.
        let store = StoreIdentity::joiner().unwrap().store;
        assert_eq!(cluster.admit(store).await, 5);
        cluster.stop().await;
    });
}

#[test]
fn no_number_is_given_twice() {
    on_a_system(async {
        let mut cluster = GrowingCluster::alone().await;
        cluster.leads().await;
        assert_eq!(cluster.join().await, 2);
        let journal = cluster.journal(1).clone();
        // The answer to a join was lost: the same store gets the same number.
        let NodeIdentity { store, .. } = cluster.journal(2).identity();
        assert_eq!(journal.admit(record(store)).await, Ok(2));
        journal.change_members(MemberChange::Remove { number: 2 }).await.unwrap();
        assert_eq!(journal.admit(record(StoreId::from(7))).await, Ok(3));
        let last = journal.change_members(MemberChange::Remove { number: 1 }).await;
        assert_eq!(last, Err(MemberChangeError::LastVoter(1)));
        let unknown = journal.change_members(MemberChange::Promote { number: 2 }).await;
        assert_eq!(unknown, Err(MemberChangeError::NoMember(2)));
        cluster.stop().await;
    });
}

#[test]
fn a_store_opens_only_for_its_node_and_only_whole() {
    on_a_system(async {
        let mut cluster = GrowingCluster::alone().await;
        cluster.leads().await;
        cluster.commit().await;
        let (journal, _, dir) = cluster.members.remove(&1).unwrap();
        let identity = journal.identity();
        journal.stop().await;
        let open = |node| {
            let options = small_snapshots(dir.path(), node);
            Journal::open(options, cluster.hub.transport(node), &[PieceId::Probe])
        };
        let other = open(2).await.map(drop);
        assert!(
            matches!(other, Err(OpenError::AnotherNode { found: 1, asked: 2, .. })),
            "{other:?}"
        );
        let again = open(1).await.unwrap();
        assert_eq!(again.identity(), identity);
        again.stop().await;
        // The data is gone, and the identity is still there: the node would vote without its memory.
        std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
        std::fs::remove_file(dir.path().join("mark")).unwrap();
        let emptied = open(1).await.map(drop);
        assert!(matches!(emptied, Err(OpenError::NoMark { .. })), "{emptied:?}");
        // A node that has no answer to its wish to join does not start.
        StoreIdentity::joiner().unwrap().write(dir.path()).unwrap();
        let waiting = open(1).await.map(drop);
        assert!(matches!(waiting, Err(OpenError::NotJoined { .. })), "{waiting:?}");
    });
}
