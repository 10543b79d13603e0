//! The journal on disks that lose power and on damaged disks: every acknowledged commit is there, or the
//! journal reports the loss.
//!
//! To repeat a failed case, set its seed: `REELYARD_SEED=17`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{Actor, Addr};
use fastrand::Rng;
use reelyard_core::event::PieceId;
use reelyard_integration_tests::probes::journal_power::{Plug, copy_tree, damage};
use reelyard_integration_tests::probes::journal_probe::{
    Books, CommitEvents, ProbeActor, ProbeEvent, ReadAccounts, request_of, small_snapshots,
    transfer,
};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal as journal;
use reelyard_journal::{Condition, Journal, JournalOptions, NoPeers, OpenError, StoreObserver};

const POWER_LOSSES: usize = 16;
const DAMAGES: usize = 40;
const WRITERS: u64 = 5;

fn seed() -> u64 {
    let seed = std::env::var("REELYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("REELYARD_SEED={seed}");
    seed
}

async fn open(dir: &Path, plug: Option<Arc<Plug>>) -> Result<(Journal, Addr<ProbeActor>), String> {
    let observer = plug.map(|plug| plug as Arc<dyn StoreObserver>);
    let settings = JournalOptions { observer, ..small_snapshots(dir, 1) };
    let opened = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await;
    let journal = opened.map_err(|error: OpenError| error.to_string())?;
    let probe = ProbeActor::new(journal.clone()).start();
    let mut leadership = journal.leadership();
    let why = tokio::select! {
        biased;
        why = journal.failed() => why,
        led = leadership.wait_for(|now| now.epoch().is_some()) => match led {
            Ok(_) => return Ok((journal, probe)),
            Err(error) => error.to_string(),
        },
        () = tokio::time::sleep(PATIENCE) => panic!("the journal neither leads nor fails"),
    };
    journal.stop().await;
    Err(why)
}

/// The commits that were acknowledged so far.
#[derive(Clone, Default)]
struct Acknowledged(Arc<Mutex<BTreeSet<u64>>>);

impl Acknowledged {
    fn so_far(&self) -> BTreeSet<u64> {
        self.0.lock().unwrap().clone()
    }

    fn check(&self, books: &Books, when: &str) {
        missing(&self.so_far(), books, when);
    }
}

fn missing(acknowledged: &BTreeSet<u64>, books: &Books, when: &str) {
    books.assert_whole();
    let there: BTreeSet<u64> = books.taken.iter().copied().collect();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{when}: {lost:?} were acknowledged and are lost");
}

/// Commits transfers from `first` on until the test stops it. Each writer has its own range of ids.
async fn write(
    probe: Addr<ProbeActor>,
    first: u64,
    acknowledged: Acknowledged,
    until: Arc<Mutex<bool>>,
) {
    let mut id = first;
    while !*until.lock().unwrap() {
        let mut events = transfer(id, 1);
        if id.is_multiple_of(7) {
            events.insert(1, ProbeEvent::Ballast(vec![id as u8; 3000]));
        }
        let message = CommitEvents { request: request_of(id), events };
        match probe.send(message).await {
            Ok(Ok(_)) => drop(acknowledged.0.lock().unwrap().insert(id)),
            Ok(Err(_)) | Err(_) => return,
        }
        id += WRITERS;
    }
}

#[test]
fn every_acknowledged_commit_survives_a_power_loss() {
    let mut rng = Rng::with_seed(seed());
    let dir = tempfile::tempdir().unwrap();
    let place = |round: usize| dir.path().join(round.to_string());
    let acknowledged = Acknowledged::default();
    let (mut snapshots, mut syncs) = (0, 0);
    std::fs::create_dir(place(0)).unwrap();
    for round in 0..POWER_LOSSES {
        let (here, next) = (place(round), place(round + 1));
        let taken = on_a_system(async {
            let plug = Plug::of(&here);
            let (journal, probe) = open(&here, Some(plug.clone())).await.unwrap();
            let books = probe.send(ReadAccounts).await.unwrap().books;
            acknowledged.check(&books, &format!("power loss {round}"));
            let first =
                books.taken.iter().max().map_or(0, |last| last + 1).next_multiple_of(WRITERS);
            let stop = Arc::new(Mutex::new(false));
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let write =
                        write(probe.clone(), first + writer, acknowledged.clone(), stop.clone());
                    tokio::spawn(write)
                })
                .collect();
            // Stops after a random number of flushes, at any point of the current work.
            let wanted = rng.u64(1..60);
            while plug.syncs() < wanted {
                tokio::time::sleep(Duration::from_micros(rng.u64(1..1500))).await;
            }
            // First the acknowledged ids, then the state of the disk: the disk is the later of the two.
            let answered = acknowledged.so_far();
            let mut chance = rng.fork();
            let image = next.clone();
            let pulled = plug.clone();
            tokio::task::spawn_blocking(move || pulled.pull(&image, &mut chance)).await.unwrap();
            *stop.lock().unwrap() = true;
            for writer in writers {
                writer.await.unwrap();
            }
            snapshots += usize::from(journal.status().snapshot.is_some());
            syncs += plug.syncs();
            journal.stop().await;
            answered
        });
        // Commits with an answer after the power loss are not in the image.
        *acknowledged.0.lock().unwrap() = taken;
        std::fs::remove_dir_all(here).unwrap();
    }
    let last = place(POWER_LOSSES);
    let report = journal::check(&last, None).unwrap();
    assert_eq!(report.condition, Condition::Whole, "{report:?}");
    let books = on_a_system(async {
        let (journal, probe) = open(&last, None).await.unwrap();
        let books = probe.send(ReadAccounts).await.unwrap().books;
        journal.stop().await;
        books
    });
    acknowledged.check(&books, "the end");
    // Otherwise the test checks too little.
    assert!(books.taken.len() > 50, "only {} transfers after {syncs} flushes", books.taken.len());
    assert!(snapshots > 0, "no snapshot was taken");
}

#[test]
fn a_damaged_store_is_reported_and_never_silently_shortened() {
    let mut rng = Rng::with_seed(seed());
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    let acknowledged = written(&whole);
    let (mut result, mut unharmed) = (0, 0);
    for round in 0..DAMAGES {
        let here = dir.path().join(round.to_string());
        copy_tree(&whole, &here);
        let done = damage(&here, &mut rng);
        let when = format!("damage {round}, {done:?}");
        let report = journal::check(&here, None).unwrap();
        let opened = on_a_system(async {
            let (journal, probe) = open(&here, None).await?;
            let books = probe.send(ReadAccounts).await.unwrap().books;
            journal.stop().await;
            Ok::<_, String>(books)
        });
        match opened {
            Ok(books) => {
                missing(&acknowledged, &books, &when);
                unharmed += 1;
            }
            Err(why) => {
                assert_ne!(report.condition, Condition::Whole, "{when}: refused with: {why}");
                assert!(why.contains("store"), "{when}: {why}");
                result += 1;
            }
        }
        std::fs::remove_dir_all(here).unwrap();
    }
    // Otherwise the test checks too little.
    assert!(result > 0 && unharmed > 0, "{result} were reported and {unharmed} did no harm");
}

/// A store with snapshots, a log after them, and only acknowledged commits.
fn written(dir: &Path) -> BTreeSet<u64> {
    on_a_system(async {
        let (journal, probe) = open(dir, None).await.unwrap();
        let mut id = 0_u64;
        // Some entries after a snapshot.
        while journal.status().snapshot.is_none() || !id.is_multiple_of(100) {
            let message = CommitEvents { request: request_of(id), events: transfer(id, 1) };
            probe.send(message).await.unwrap().unwrap();
            id += 1;
        }
        journal.stop().await;
        (0..id).collect()
    })
}
