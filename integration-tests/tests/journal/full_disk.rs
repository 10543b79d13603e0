//! The journal on a disk that is really full. Its content is readable, new commits are refused, and it
//! resumes without help once there is space.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{Actor, Addr};
use reelyard_core::event::PieceId;
use reelyard_integration_tests::probes::journal_probe::{
    CommitEvents, ProbeActor, ProbeEvent, ReadAccounts, request_of, transfer,
};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::small_disk::{SmallDisk, fill};
use reelyard_journal::{Journal, JournalOptions, NoPeers, OpenError, StoreObserver};
use reelyard_replication::CommitError;

const DISK_MEBIBYTES: u64 = 48;
const RESERVE: u64 = 12 << 20;

async fn open(
    dir: &Path,
    observer: Option<Arc<dyn StoreObserver>>,
) -> Result<(Journal, Addr<ProbeActor>), OpenError> {
    let settings = JournalOptions { reserve: RESERVE, observer, ..JournalOptions::alone(dir, 1) };
    let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await?;
    let probe = ProbeActor::new(journal.clone()).start();
    let mut leadership = journal.leadership();
    leadership.wait_for(|now| now.epoch().is_some()).await.unwrap();
    Ok((journal, probe))
}

async fn commit(probe: &Addr<ProbeActor>, id: u64) -> Result<(), CommitError> {
    let mut events = transfer(id, 1);
    events.push(ProbeEvent::Ballast(vec![id as u8; 10_000]));
    probe.send(CommitEvents { request: request_of(id), events }).await.unwrap().map(drop)
}

async fn taken(probe: &Addr<ProbeActor>) -> BTreeSet<u64> {
    let books = probe.send(ReadAccounts).await.unwrap().books;
    books.assert_whole();
    books.taken.iter().copied().collect()
}

/// Commits repeatedly until the journal accepts it.
async fn commits_again(probe: &Addr<ProbeActor>, id: u64) {
    eventually_some("there is room again", || async { commit(probe, id).await.ok() }).await;
}

#[test]
fn a_full_disk_stops_writing_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), DISK_MEBIBYTES);
    on_a_system(async {
        let (journal, probe) = open(dir.path(), None).await.unwrap();
        for id in 0..20 {
            commit(&probe, id).await.unwrap();
        }
        assert_eq!(journal.disk_full(), None);
        disk.fill();
        let why = eventually_some("it is noticed", || async { journal.disk_full() }).await;
        assert!(why.contains("full") && why.contains("make room for at least"), "{why}");
        let refused = commit(&probe, 20).await.unwrap_err();
        assert!(matches!(refused, CommitError::DiskFull { .. }), "{refused}");
        assert_eq!(taken(&probe).await, (0..20).collect());
        // It still leads, and its reserve is unused.
        assert!(journal.leadership().borrow().epoch().is_some());
        assert_eq!(journal.status().disk_reserve, RESERVE);
        disk.clear();
        commits_again(&probe, 21).await;
        assert!(journal.status().refused_disk_full > 0);
        journal.stop().await;

        let (journal, probe) = open(dir.path(), None).await.unwrap();
        assert_eq!(taken(&probe).await, (0..20).chain([21]).collect());
        journal.stop().await;
    });
}

/// Another program that uses all space at the moment at which a write becomes durable.
#[derive(Debug)]
struct Greedy {
    dir: PathBuf,
    armed: AtomicBool,
}

impl StoreObserver for Greedy {
    fn store_synced(&self) {
        if self.armed.swap(false, Ordering::Relaxed) {
            fill(&self.dir);
        }
    }

    fn mark_synced(&self) {}
}

#[test]
fn writes_in_progress_on_a_full_disk_are_finished_with_the_reserve() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), DISK_MEBIBYTES);
    let greedy = Arc::new(Greedy { dir: dir.path().to_owned(), armed: AtomicBool::new(false) });
    on_a_system(async {
        let (journal, probe) = open(dir.path(), Some(greedy.clone())).await.unwrap();
        let (mut done, mut unsure) = (BTreeSet::new(), BTreeSet::new());
        greedy.armed.store(true, Ordering::Relaxed);
        // Commits that arrive before the full disk is noticed.
        let commits = (0..600).map(|id| {
            let probe = &probe;
            async move { (id, commit(probe, id).await) }
        });
        for (id, answer) in futures::future::join_all(commits).await {
            match answer {
                Ok(()) => drop(done.insert(id)),
                Err(CommitError::DiskFull { .. } | CommitError::Busy { .. }) => {}
                // A slow machine may not know the outcome in time, while the store is opened again.
                Err(CommitError::Unknown { .. }) => drop(unsure.insert(id)),
                Err(error) => panic!("{error}"),
            }
        }
        // The write in progress, and the commits that waited for it.
        assert!(done.len() + unsure.len() > 1, "only {} were taken", done.len() + unsure.len());
        let is_whole = |held: &BTreeSet<u64>, done: &BTreeSet<u64>| {
            held.is_superset(done) && held.difference(done).all(|id| unsure.contains(id))
        };
        let status = journal.status();
        assert_eq!((status.failure, status.disk_reserve), (None, 0));
        assert!(is_whole(&taken(&probe).await, &done));
        disk.clear();
        commits_again(&probe, 1000).await;
        done.insert(1000);
        eventually_some("the reserve is made again", || async {
            (journal.status().disk_reserve == RESERVE).then_some(())
        })
        .await;
        journal.stop().await;
        let (journal, probe) = open(dir.path(), None).await.unwrap();
        let held = taken(&probe).await;
        assert!(is_whole(&held, &done), "{} were finished", held.len());
        journal.stop().await;
    });
}

#[test]
fn a_journal_on_a_full_disk_is_readable_and_resumes_with_space() {
    let dir = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(dir.path(), DISK_MEBIBYTES);
    on_a_system(async {
        let (journal, probe) = open(dir.path(), None).await.unwrap();
        for id in 0..20 {
            commit(&probe, id).await.unwrap();
        }
        journal.stop().await;
        disk.fill();

        let (journal, probe) = open(dir.path(), None).await.unwrap();
        assert_eq!(taken(&probe).await, (0..20).collect());
        let refused = commit(&probe, 20).await.unwrap_err();
        assert!(matches!(refused, CommitError::DiskFull { .. }), "{refused}");
        disk.clear();
        commits_again(&probe, 20).await;
        journal.stop().await;

        // Without a reserve the journal refuses to start and says what to do.
        disk.clear();
        std::fs::remove_file(dir.path().join("reserve")).unwrap();
        disk.fill();
        let refused = open(dir.path(), None).await.map(drop).unwrap_err();
        assert!(matches!(refused, OpenError::Full { .. }), "{refused}");
        assert!(refused.to_string().contains("Make room"), "{refused}");
        disk.clear();
        let (journal, probe) = open(dir.path(), None).await.unwrap();
        assert_eq!(taken(&probe).await, (0..=20).collect());
        journal.stop().await;
    });
}
