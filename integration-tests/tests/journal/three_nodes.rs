//! Three journals in one process over a network in memory: the leader changes under load.

mod clocks;
mod lead;
mod lost_power;
mod snapshots;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use actix::{Actor, Addr};
use reelyard_core::boot::BootId;
use reelyard_core::clock::{Clock, ClockReading, MachineClocks, Millis};
use reelyard_core::cluster_time::ClusterTime;
use reelyard_core::event::{Epoch, PieceId};
use reelyard_integration_tests::fakes::memory_hub::{MemoryHub, NODES, SnapshotFault};
use reelyard_integration_tests::fakes::stoppable_disk::StoppableDisk;
use reelyard_integration_tests::probes::journal_probe::{
    AccountsView, CommitEvents, ProbeActor, ProbeEvent, ReadAccounts, request_of, small_snapshots,
    transfer,
};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_journal::{Journal, JournalOptions};
use reelyard_replication::CommitError;
use tempfile::TempDir;

struct MemberJournal {
    journal: Journal,
    probe: Addr<ProbeActor>,
    disk: Arc<StoppableDisk>,
    machine: Arc<ShiftedMachine>,
    /// A clock that is never behind the cluster.
    in_cluster: Clock,
    dir: TempDir,
}

/// A machine whose wall clock is wrong by some milliseconds.
#[derive(Default)]
struct ShiftedMachine(AtomicI64);

impl MachineClocks for ShiftedMachine {
    fn reading(&self) -> ClockReading {
        let ClockReading { wall, .. } = Clock::system().reading();
        let wall = Millis(wall.0 + self.0.load(Ordering::SeqCst));
        ClockReading { wall, monotonic: Clock::system().uptime() }
    }

    fn boot(&self) -> BootId {
        Clock::system().boot()
    }
}

struct JournalCluster {
    hub: MemoryHub,
    members: BTreeMap<u64, MemberJournal>,
}

impl JournalCluster {
    async fn found() -> JournalCluster {
        JournalCluster::found_in(NODES.map(|_| tempfile::tempdir().unwrap())).await
    }

    async fn found_in(dirs: [TempDir; NODES.len()]) -> JournalCluster {
        let hub = MemoryHub::default();
        let mut members = BTreeMap::new();
        for (node, dir) in NODES.into_iter().zip(dirs) {
            members.insert(node, start(&hub, node, dir).await);
        }
        JournalCluster { hub, members }
    }

    /// The node that leads in the newest epoch, once `wanted` accepts one.
    async fn leader(&self, wanted: impl Fn(u64, Epoch) -> bool) -> (u64, Epoch) {
        eventually_some("a node leads", || async {
            let leading = self.members.iter().filter_map(|(&node, member)| {
                let epoch = member.journal.leadership().borrow().epoch()?;
                Some((node, epoch))
            });
            leading.filter(|&(node, epoch)| wanted(node, epoch)).max_by_key(|&(_, epoch)| epoch)
        })
        .await
    }

    /// Commits transfer `id` on any leader until it is acknowledged.
    async fn commit(&self, id: u64, ballast: usize) {
        eventually_some("a commit is acknowledged", || async {
            let mut events = transfer(id, 1);
            events.push(ProbeEvent::Ballast(vec![0; ballast]));
            for member in self.members.values() {
                let message = CommitEvents { request: request_of(id), events: events.clone() };
                match member.probe.send(message).await.unwrap() {
                    Ok(outcomes) => return (outcomes.len() == 3).then_some(()),
                    Err(CommitError::TooLarge { .. } | CommitError::Stopped) => unreachable!(),
                    Err(_) => {}
                }
            }
            None
        })
        .await;
    }

    async fn look(&self, node: u64) -> AccountsView {
        self.members[&node].probe.send(ReadAccounts).await.unwrap()
    }

    /// Waits until every node has applied everything, and returns the state of each.
    async fn agreed(&self) -> Vec<AccountsView> {
        eventually_some("every node has applied everything", || async {
            let all = self.members.values().map(|member| member.journal.status());
            let last: Vec<_> = all.map(|status| (status.last_log, status.applied)).collect();
            let newest = last.iter().map(|&(log, _)| log).max()?;
            last.iter().all(|&pair| pair == (newest, newest)).then_some(())
        })
        .await;
        futures::future::join_all(self.members.keys().map(|node| self.look(*node))).await
    }

    async fn stop(&self) {
        futures::future::join_all(self.members.values().map(|member| member.journal.stop())).await;
    }
}

async fn start(hub: &MemoryHub, node: u64, dir: TempDir) -> MemberJournal {
    let disk = Arc::new(StoppableDisk::default());
    let machine = Arc::new(ShiftedMachine::default());
    let (clock, cluster_time) = (Clock::of_machine(machine.clone()), ClusterTime::default());
    let in_cluster = clock.clone().in_cluster(Arc::new(cluster_time.clone()));
    let alone = JournalOptions {
        observer: Some(disk.clone()),
        clock,
        cluster_time,
        commit_timeout: Duration::from_secs(2),
        ..small_snapshots(dir.path(), node)
    };
    let journal = hub.open(alone, PieceId::Probe).await;
    let probe = ProbeActor::new(journal.clone()).start();
    MemberJournal { journal, probe, disk, machine, in_cluster, dir }
}

fn assert_same(views: &[AccountsView]) {
    for view in views {
        view.books.assert_whole();
        assert_eq!(view.books, views[0].books, "two nodes hold different state");
        assert!(view.led.is_sorted(), "epochs went back: {:?}", view.led);
    }
}

/// openraft waits one heartbeat for the answer to a call.
#[test]
fn commits_pass_when_an_answer_takes_three_heartbeats() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let leader = cluster.leader(|_, _| true).await;
        cluster.hub.set_way(Duration::from_millis(140));
        for id in 0..5 {
            cluster.commit(id, 10_000).await;
        }
        futures::future::join_all((5..25).map(|id| cluster.commit(id, 10_000))).await;
        assert_eq!(cluster.leader(|_, _| true).await, leader, "no other leader was elected");
        assert_same(&cluster.agreed().await);
        cluster.stop().await;
    });
}

#[test]
fn acknowledged_commits_are_on_all_nodes_once_and_in_order() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let next = Cell::new(0);
        let done = Cell::new(false);
        let acknowledged = RefCell::new(Vec::new());
        let writer = || async {
            while !done.get() {
                let id = next.replace(next.get() + 1);
                cluster.commit(id, 0).await;
                acknowledged.borrow_mut().push(id);
            }
        };
        let leaders = RefCell::new(BTreeMap::new());
        let changes = async {
            let (mut leader, mut epoch) = cluster.leader(|_, _| true).await;
            for _ in 0..4 {
                leaders.borrow_mut().insert(epoch, leader);
                let so_far = acknowledged.borrow().len();
                eventually_some("commits continue", || async {
                    (acknowledged.borrow().len() >= so_far + 50).then_some(())
                })
                .await;
                cluster.hub.isolate(leader);
                let (old, before) = (leader, epoch);
                (leader, epoch) = cluster.leader(|node, epoch| node != old && epoch > before).await;
                eventually_some("the isolated node notices that it leads no more", || async {
                    let leads = cluster.members[&old].journal.leadership().borrow().epoch();
                    leads.is_none().then_some(())
                })
                .await;
                assert_eq!(cluster.look(old).await.epoch, None);
                cluster.hub.heal();
            }
            done.set(true);
        };
        futures::join!(changes, writer(), writer(), writer(), writer());

        let views = cluster.agreed().await;
        assert_same(&views);
        let there = &views[0].books.taken;
        assert!(acknowledged.borrow().iter().all(|id| there.contains(id)), "a commit was lost");
        assert_eq!(there.len(), next.get() as usize);
        for (epoch, leader) in leaders.borrow().iter() {
            for (node, view) in NODES.iter().zip(&views) {
                assert!(node == leader || !view.led.contains(epoch), "two leaders in {epoch}");
            }
        }
        cluster.stop().await;
    });
}

#[test]
fn without_a_quorum_a_leader_never_hangs_and_commits_are_repeatable() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (old, _) = cluster.leader(|_, _| true).await;
        cluster.commit(0, 0).await;
        cluster.hub.isolate(old);
        let message = CommitEvents { request: request_of(1), events: transfer(1, 1) };
        let answer = cluster.members[&old].probe.send(message).await.unwrap();
        assert_eq!(answer, Err(CommitError::Unknown { request: request_of(1) }));

        cluster.leader(|node, _| node != old).await;
        let message = CommitEvents { request: request_of(1), events: transfer(1, 1) };
        let answer = cluster.members[&old].probe.send(message).await.unwrap();
        assert_eq!(answer, Err(CommitError::NotLeader { leader: None }));
        cluster.hub.heal();
        cluster.commit(1, 0).await;
        let views = cluster.agreed().await;
        assert_same(&views);
        assert_eq!(views[0].books.taken, vec![0, 1]);
        assert!(views.iter().all(|view| view.in_flight == 0));
        cluster.stop().await;
    });
}

#[test]
fn a_node_that_is_cut_off_confirms_no_read() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let second = Duration::from_secs(1);
        let (leader, _) = cluster.leader(|_, _| true).await;
        cluster.commit(0, 0).await;
        for member in cluster.members.values() {
            let journal = &member.journal;
            let index = journal.read_index(3 * second).await.unwrap();
            assert!(journal.until_shown(index, 3 * second).await.unwrap() >= index);
            let taken = member.probe.send(ReadAccounts).await.unwrap().books.taken.clone();
            assert_eq!(taken, [0]);
        }
        let is_current = |journal: &Journal| journal.staleness().is_some_and(|age| age < second);
        for follower in NODES.into_iter().filter(|node| *node != leader) {
            let journal = &cluster.members[&follower].journal;
            eventually_some("the follower hears its leader", || async {
                (is_current(journal) && !journal.certainly_leads()).then_some(())
            })
            .await;
            assert_eq!(journal.until_shown(9000, Duration::ZERO).await.unwrap_err().wanted, 9000);
        }
        let leading = &cluster.members[&leader].journal;
        eventually_some("the leader is certain", || async {
            (leading.certainly_leads() && leading.staleness() == Some(Duration::ZERO)).then_some(())
        })
        .await;
        cluster.hub.isolate(leader);
        let refused = leading.read_index(second / 2).await;
        assert!(matches!(refused, Err(CommitError::NotLeader { .. })), "{refused:?}");
        eventually_some("the former leader knows that it is old", || async {
            let is_old = leading.staleness().is_some_and(|age| age > second);
            (is_old && !leading.certainly_leads()).then_some(())
        })
        .await;
        cluster.commit(1, 0).await;
        cluster.hub.heal();
        let index = eventually_some("a read is confirmed again", || async {
            leading.read_index(second).await.ok()
        })
        .await;
        leading.until_shown(index, 3 * second).await.unwrap();
        assert_eq!(cluster.look(leader).await.books.taken, [0, 1]);
        cluster.stop().await;
    });
}

#[test]
fn a_leader_with_a_full_disk_hands_over() {
    let dirs = NODES.map(|_| tempfile::tempdir().unwrap());
    // The reserve of a journal has 64 MiB.
    let disks: Vec<SmallDisk> = dirs.iter().map(|dir| SmallDisk::mount(dir.path(), 128)).collect();
    on_a_system(async {
        let cluster = JournalCluster::found_in(dirs).await;
        let (old, _) = cluster.leader(|_, _| true).await;
        let know = |is_full: bool| {
            let followers = cluster.members.iter().filter(|(node, _)| **node != old);
            followers.filter(|(_, member)| member.journal.leader_disk_full() == is_full).count()
        };
        assert_eq!(know(false), 2);
        disks.iter().for_each(SmallDisk::fill);
        eventually_some("both followers know it", || async { (know(true) == 2).then_some(()) })
            .await;
        assert!(!cluster.members[&old].journal.leader_disk_full(), "it follows nobody");
        for (_, disk) in NODES.iter().zip(&disks).filter(|(node, _)| **node != old) {
            disk.clear();
        }
        cluster.leader(|node, _| node != old).await;
        cluster.commit(0, 0).await;
        eventually_some("all know that there is room", || async {
            let mut journals = cluster.members.values().map(|member| &member.journal);
            journals.all(|journal| !journal.leader_disk_full()).then_some(())
        })
        .await;
        cluster.stop().await;
    });
}

#[test]
fn a_leader_whose_disk_hangs_stops_deciding() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (old, _) = cluster.leader(|_, _| true).await;
        cluster.commit(0, 0).await;
        let hanging = &cluster.members[&old];
        hanging.disk.stop(true);
        let message = CommitEvents { request: request_of(1), events: transfer(1, 1) };
        hanging.probe.do_send(message);
        cluster.leader(|node, _| node != old).await;
        // Its raft node waits for the disk and reports nothing new.
        eventually_some("the old leader stops deciding", || async {
            hanging.journal.leadership().borrow().epoch().is_none().then_some(())
        })
        .await;
        hanging.disk.stop(false);
        cluster.commit(2, 0).await;
        assert_same(&cluster.agreed().await);
        cluster.stop().await;
    });
}

#[test]
fn a_cluster_that_restarts_completely_continues_in_a_newer_epoch() {
    on_a_system(async {
        let mut cluster = JournalCluster::found().await;
        for id in 0..20 {
            cluster.commit(id, 100).await;
        }
        let before = cluster.agreed().await;
        cluster.stop().await;
        for node in NODES {
            let MemberJournal { dir, .. } = cluster.members.remove(&node).unwrap();
            cluster.members.insert(node, start(&cluster.hub, node, dir).await);
        }
        cluster.commit(20, 0).await;
        let after = cluster.agreed().await;
        assert_same(&after);
        assert_eq!(after[0].books.taken, (0..=20).collect::<Vec<_>>());
        let newest = |views: &[AccountsView]| views.iter().flat_map(|view| view.led.clone()).max();
        assert!(newest(&after) >= newest(&before));
        cluster.stop().await;
    });
}
