//! The journal of a single node.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr};
use reelyard_core::event::{Epoch, PieceId, RequestId};
use reelyard_integration_tests::probes::journal_probe::{
    AccountsPiece, CLOSED, Closed, CommitEvents, CommitInOrder, CommitItself, ProbeActor,
    ProbeEvent, ReadAccounts, request_of, transfer,
};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{
    Condition, Journal, JournalOptions, NoPeers, OpenError, StoreObserver, accept_loss, check, skip,
};
use reelyard_replication::{CommitError, ENTRY_EVENTS, Leadership, ReplicaHandle};

async fn open(dir: &Path) -> Journal {
    let settings = JournalOptions::alone(dir, 1);
    Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap()
}

async fn leading(journal: &Journal) -> Epoch {
    let mut leadership = journal.leadership();
    leadership.wait_for(|now| now.epoch().is_some()).await.unwrap().epoch().unwrap()
}

/// An owner, once the journal leads.
async fn owner_of(journal: &Journal) -> Addr<ProbeActor> {
    let probe = ProbeActor::new(journal.clone()).start();
    leading(journal).await;
    probe
}

async fn opened(dir: &Path) -> (Journal, Addr<ProbeActor>) {
    let journal = open(dir).await;
    let probe = owner_of(&journal).await;
    (journal, probe)
}

async fn commit(probe: &Addr<ProbeActor>, id: u64) {
    let message = CommitEvents { request: request_of(id), events: transfer(id, 5) };
    let outcomes = probe.send(message).await.unwrap().unwrap();
    assert_eq!(outcomes.len(), 2);
}

#[test]
fn commits_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        for id in 0..10 {
            commit(&probe, id).await;
        }
        let before = probe.send(ReadAccounts).await.unwrap();
        before.books.assert_whole();
        assert_eq!(before.books.taken, (0..10).collect::<Vec<_>>());
        assert_eq!(before.books.balances, [(1, -50), (2, 50)].into());
        journal.stop().await;
        assert_eq!(*journal.leadership().borrow(), Leadership::Stopped);

        let (journal, probe) = opened(dir.path()).await;
        let after = probe.send(ReadAccounts).await.unwrap();
        assert_eq!(after.books, before.books);
        commit(&probe, 10).await;
        journal.stop().await;
    });
}

#[test]
fn a_skipped_entry_is_applied_by_no_owner_and_commits_go_on() {
    let [dir, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    on_a_system(async {
        let mut last = Vec::new();
        for (dir, first) in [(&dir, 0), (&other, 10)] {
            let journal = open(dir.path()).await;
            let probe = ProbeActor::new(journal.clone()).start();
            leading(&journal).await;
            for id in first..first + 3 {
                commit(&probe, id).await;
                last.push(journal.status().applied.unwrap());
            }
            journal.stop().await;
        }
        let [_, poison, _, ..] = last[..] else { unreachable!() };
        let absent = skip(dir.path(), None, (poison + 9, "apply panics")).unwrap_err();
        assert!(absent.to_string().contains("has no entry"), "{absent}");
        assert!(skip(dir.path(), None, (0, "apply panics")).is_err(), "it has no events");
        skip(dir.path(), None, (poison, "apply panics")).unwrap();
        let skipped = check(dir.path(), None).unwrap().skipped;
        assert_eq!((skipped[0].index, &*skipped[0].reason), (poison, "apply panics"));

        let journal = open(dir.path()).await;
        let probe = ProbeActor::new(journal.clone()).start();
        leading(&journal).await;
        commit(&probe, 3).await;
        let books = probe.send(ReadAccounts).await.unwrap().books;
        books.assert_whole();
        assert_eq!(books.taken, [0, 2, 3]);
        // Other nodes learn it.
        let (log, entries) = journal.skipped_entries();
        assert!(log.contains(&poison) && log.end > journal.status().applied.unwrap(), "{log:?}");
        assert_eq!(entries, [(poison, skipped[0].checksum)]);
        journal.stop().await;
        // The other log has another entry at this index.
        std::fs::copy(dir.path().join("skipped"), other.path().join("skipped")).unwrap();
        let journal = open(other.path()).await;
        let probe = ProbeActor::new(journal.clone()).start();
        let mut leadership = journal.leadership();
        leadership.wait_for(|now| *now == Leadership::Stopped).await.unwrap();
        assert!(probe.send(ReadAccounts).await.unwrap().books.taken.len() < 3);
        journal.stop().await;
    });
}

#[test]
fn a_repeated_request_gets_the_same_answer_even_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        let mut events = transfer(7, 5);
        events.push(ProbeEvent::Take { id: 8, account: CLOSED, amount: 1 });
        let again = || CommitEvents { request: request_of(7), events: events.clone() };
        let first = probe.send(again()).await.unwrap().unwrap();
        assert_eq!(first, vec![Ok(0), Ok(1), Err(Closed(CLOSED))]);
        assert_eq!(probe.send(again()).await.unwrap().unwrap(), first);
        journal.stop().await;

        let (journal, probe) = opened(dir.path()).await;
        assert_eq!(probe.send(again()).await.unwrap().unwrap(), first);
        let view = probe.send(ReadAccounts).await.unwrap();
        assert_eq!(view.books.taken, vec![7]);
        journal.stop().await;
    });
}

#[test]
fn commits_enter_the_log_in_the_order_of_their_decisions() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        let list = |id| CommitEvents { request: request_of(id), events: transfer(id, 1) };
        probe.send(CommitInOrder((0..100).map(list).collect())).await.unwrap().unwrap();
        let view = probe.send(ReadAccounts).await.unwrap();
        assert_eq!(view.books.taken, (0..100).collect::<Vec<_>>());
        journal.stop().await;
    });
}

#[test]
fn a_store_is_open_in_one_process_and_one_node() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let journal = open(dir.path()).await;
        let again = |node| {
            let settings = JournalOptions::alone(dir.path(), node);
            Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe])
        };
        let refused = again(1).await.map(drop).unwrap_err();
        assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
        journal.stop().await;
        let refused = again(2).await.map(drop).unwrap_err();
        assert!(matches!(refused, OpenError::AnotherNode { found: 1, asked: 2, .. }), "{refused}");
        again(1).await.unwrap().stop().await;
    });
}

#[test]
fn an_owner_with_oversized_events_is_named_and_others_continue() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        assert!(journal.stuck().is_empty());
        let large = CommitItself(vec![ProbeEvent::Ballast(vec![0; 33_000])]);
        let refused = probe.send(large).await.unwrap().unwrap_err();
        assert!(matches!(refused, CommitError::TooLarge { events: 1, .. }), "{refused}");
        let stuck = journal.stuck();
        assert!(stuck.len() == 1 && stuck[0].contains("Probe"), "{stuck:?}");
        assert!(stuck[0].contains("do not fit one journal entry"), "{stuck:?}");
        let small = CommitEvents { request: request_of(0), events: transfer(0, 1) };
        probe.send(small).await.unwrap().unwrap();
        journal.stop().await;
    });
}

#[test]
fn a_list_over_the_entry_limit_is_refused_and_fits_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        let events: Vec<ProbeEvent> = (0..400).flat_map(|id| transfer(id, 1)).collect();
        let whole = CommitEvents { request: request_of(0), events: events.clone() };
        let refused = probe.send(whole).await.unwrap().unwrap_err();
        assert!(matches!(refused, CommitError::TooLarge { events: 800, .. }), "{refused}");
        let large = CommitEvents {
            request: request_of(1),
            events: vec![ProbeEvent::Ballast(vec![0; 33_000])],
        };
        let refused = probe.send(large).await.unwrap().unwrap_err();
        assert!(matches!(refused, CommitError::TooLarge { events: 1, .. }), "{refused}");
        assert_eq!(probe.send(ReadAccounts).await.unwrap().in_flight, 0);
        assert!(journal.stuck().is_empty(), "only the request that is too large is refused");

        for (part, events) in ReplicaHandle::<AccountsPiece>::parts(events).into_iter().enumerate()
        {
            assert!(events.len() <= ENTRY_EVENTS);
            let request = RequestId::from_text(&format!("part {part}"));
            probe.send(CommitEvents { request, events }).await.unwrap().unwrap();
        }
        let view = probe.send(ReadAccounts).await.unwrap();
        view.books.assert_whole();
        assert_eq!(view.books.taken.len(), 400);
        journal.stop().await;
    });
}

/// A disk whose writes take longer than a leader may be silent.
#[derive(Debug)]
struct SlowDisk;

impl StoreObserver for SlowDisk {
    fn store_synced(&self) {
        std::thread::sleep(Duration::from_millis(300));
    }

    fn mark_synced(&self) {}
}

#[test]
fn a_slow_disk_does_not_depose_the_only_node() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let settings = JournalOptions {
            heartbeat: Duration::from_millis(10),
            election: (Duration::from_millis(30), Duration::from_millis(60)),
            observer: Some(Arc::new(SlowDisk)),
            ..JournalOptions::alone(dir.path(), 1)
        };
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = owner_of(&journal).await;
        let mut leadership = journal.leadership();
        leadership.mark_unchanged();
        for id in 0..3 {
            commit(&probe, id).await;
        }
        assert!(!leadership.has_changed().unwrap());
        journal.stop().await;
    });
}

#[test]
fn a_full_queue_is_refused_with_a_time_to_ask_again() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        // A slow disk delays accepted commits, but they succeed.
        let settings = JournalOptions {
            commit_timeout: Duration::from_secs(60),
            ..JournalOptions::alone(dir.path(), 1)
        };
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = owner_of(&journal).await;
        // Each commit fills an entry, and all of them exceed the limit of waiting commits.
        let commits = (0..600).map(|id| {
            let events = vec![ProbeEvent::Ballast(vec![0; 30_000])];
            probe.send(CommitEvents { request: request_of(id), events })
        });
        let answers = futures::future::join_all(commits).await;
        let busy = answers.iter().filter(|answer| match answer.as_ref().unwrap() {
            Ok(_) => false,
            Err(CommitError::Busy { retry_after }) => !retry_after.is_zero(),
            Err(error) => panic!("{error}"),
        });
        let refused = busy.count() as u64;
        let status = journal.status();
        assert!(refused > 0, "{status:?}");
        assert_eq!((status.refused_busy, status.commits), (refused, 600 - refused));
        assert_eq!(status.queued, 0);
        journal.stop().await;
    });
}

#[test]
fn a_truncated_store_is_not_opened_unless_the_loss_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        commit(&probe, 0).await;
        journal.stop().await;
        let older = dir.path().join("older");
        copy(&dir.path().join("sled"), &older);

        let (journal, probe) = opened(dir.path()).await;
        commit(&probe, 1).await;
        journal.stop().await;
        std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
        std::fs::rename(older, dir.path().join("sled")).unwrap();

        let settings = JournalOptions::alone(dir.path(), 1);
        let refused = Journal::open(settings.clone(), Arc::new(NoPeers), &[PieceId::Probe]).await;
        let refused = refused.map(drop).unwrap_err();
        assert!(matches!(refused, OpenError::Lost { missing: 1.., .. }), "{refused}");
        let report = accept_loss(dir.path(), None).unwrap();
        assert_eq!(report.condition, Condition::Lost);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = owner_of(&journal).await;
        assert_eq!(probe.send(ReadAccounts).await.unwrap().books.taken, vec![0]);
        journal.stop().await;
        // After acceptance the store is like any other.
        open(dir.path()).await.stop().await;
    });
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn events_without_an_owner_are_never_skipped() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        commit(&probe, 0).await;
        journal.stop().await;

        let settings = JournalOptions::alone(dir.path(), 1);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Tasks]).await.unwrap();
        let why = journal.failed().await;
        assert!(why.contains("piece Probe, which no actor of this process owns"), "{why}");
        assert_eq!(journal.status().failure, Some(why));
        assert_eq!(*journal.leadership().borrow(), Leadership::Stopped);
        journal.stop().await;
    });
}

#[test]
fn commits_that_come_together_share_entries_and_flushes() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let (journal, probe) = opened(dir.path()).await;
        let commits = (0..500).map(|id| {
            probe.send(CommitEvents { request: request_of(id), events: transfer(id, 1) })
        });
        for answer in futures::future::join_all(commits).await {
            answer.unwrap().unwrap();
        }
        let status = journal.status();
        assert_eq!((status.commits, status.events), (500, 1000));
        assert!(status.entries < 100, "{status:?}");
        assert!(status.flushes < 150, "{status:?}");
        assert_eq!((status.queued, status.unknown, status.refused_busy), (0, 0, 0));
        journal.stop().await;
    });
}

#[test]
fn a_snapshot_replaces_the_log_once_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let settings = JournalOptions {
            snapshot_log_bytes: 100_000,
            // Longer than a commit takes on a busy machine.
            snapshot_when_quiet: Duration::from_millis(300),
            ..JournalOptions::alone(dir.path(), 1)
        };
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = owner_of(&journal).await;
        for id in 0..12 {
            let mut events = transfer(id, 1);
            events.push(ProbeEvent::Ballast(vec![0; 1000]));
            probe.send(CommitEvents { request: request_of(id), events }).await.unwrap().unwrap();
        }
        eventually_some("a snapshot", || async { journal.status().snapshot }).await;
        eventually_some("the log takes no memory", || async {
            (journal.status().log_bytes < 2_000).then_some(())
        })
        .await;
        journal.stop().await;
    });
}

#[test]
fn snapshots_bound_the_log_and_a_restart_begins_from_one() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let small = || JournalOptions {
            snapshot_log_bytes: 20_000,
            keep_entries: 0,
            ..JournalOptions::alone(dir.path(), 1)
        };
        let journal = Journal::open(small(), Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = owner_of(&journal).await;
        let mut id = 0;
        while journal.status().snapshot.is_none_or(|index| index < 100) {
            let mut events = transfer(id, 1);
            events.push(ProbeEvent::Ballast(vec![0; 1000]));
            probe.send(CommitEvents { request: request_of(id), events }).await.unwrap().unwrap();
            id += 1;
        }
        let status = journal.status();
        assert!(status.snapshot_bytes > 0, "{status:?}");
        journal.stop().await;

        let journal = Journal::open(small(), Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = owner_of(&journal).await;
        let view = probe.send(ReadAccounts).await.unwrap();
        view.books.assert_whole();
        assert_eq!(view.books.taken, (0..id).collect::<Vec<_>>());
        journal.stop().await;
        let other_pieces = Journal::open(small(), Arc::new(NoPeers), &[PieceId::Tasks]).await;
        let refused = other_pieces.map(drop).unwrap_err().to_string();
        assert!(refused.contains("holds piece 255"), "{refused}");

        let journal = Journal::open(small(), Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let _probe = ProbeActor::new(journal.clone()).start();
        leading(&journal).await;
        let index = journal.status().snapshot.unwrap();
        eventually_some("only the log behind the snapshot is kept", || async {
            // A complete segment of entries of this size would be a megabyte.
            (index >= 100 && journal.status().log_bytes < 200_000).then_some(())
        })
        .await;
        journal.stop().await;
    });
}
