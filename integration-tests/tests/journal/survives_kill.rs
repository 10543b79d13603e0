//! Kills the process at any moment. No acknowledged commit is lost, and no commit is applied in part.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use actix::Actor;
use reelyard_core::event::PieceId;
use reelyard_integration_tests::probes::journal_probe::{
    Books, ProbeActor, ReadAccounts, small_snapshots,
};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, NoPeers};

const ROUNDS: usize = 24;
/// A slow machine needs more rounds for the same coverage.
const MOST_ROUNDS: usize = 10 * ROUNDS;
/// The longest time from the start of the process to its kill. The kill can come while it opens the store,
/// rebuilds, writes, or takes a snapshot.
const LONGEST_ROUND: Duration = Duration::from_millis(350);

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged: Vec<u64> = Vec::new();
    let mut snapshots = BTreeSet::new();
    let (mut next, mut round) = (0, 0);
    while round < ROUNDS || acknowledged.len() <= 100 || snapshots.len() <= 2 {
        // A slow machine needs longer until its first write.
        let longest = LONGEST_ROUND.mul_f64(1.0 + (round / ROUNDS) as f64);
        acknowledged.extend(write_and_kill(dir.path(), next, longest));
        let (books, snapshot) = reopened(dir.path());
        books.assert_whole();
        let there: BTreeSet<u64> = books.taken.iter().copied().collect();
        let lost: Vec<_> = acknowledged.iter().filter(|id| !there.contains(id)).collect();
        assert!(lost.is_empty(), "round {round} lost {lost:?}");
        next = there.last().map_or(0, |last| last + 1);
        snapshots.extend(snapshot);
        round += 1;
        let seen = (acknowledged.len(), snapshots.len());
        assert!(round < MOST_ROUNDS, "{seen:?} acknowledged and snapshots in all these rounds");
    }
}

/// Returns the ids that were acknowledged before the writer was killed.
fn write_and_kill(dir: &Path, first: u64, longest: Duration) -> Vec<u64> {
    let mut writer = Command::new(env!("CARGO_BIN_EXE_journal_writer"))
        .arg(dir)
        .arg(first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + longest.mul_f64(fastrand::f64());
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let (sender, printed) = mpsc::channel();
    let reader = thread::spawn(move || {
        // All output before the kill counts. A line is one write to the pipe and is never torn.
        for id in lines.map_while(Result::ok).filter_map(|line| line.parse::<u64>().ok()) {
            sender.send(id).unwrap();
        }
    });
    let mut acknowledged = Vec::new();
    loop {
        match printed.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(id) => acknowledged.push(id),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => panic!("the writer ended by itself"),
        }
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    reader.join().unwrap();
    acknowledged.extend(printed);
    acknowledged
}

fn reopened(dir: &Path) -> (Arc<Books>, Option<u64>) {
    on_a_system(async {
        let settings = small_snapshots(dir, 1);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
        let probe = ProbeActor::new(journal.clone()).start();
        let mut leadership = journal.leadership();
        leadership.wait_for(|now| now.epoch().is_some()).await.unwrap();
        let view = probe.send(ReadAccounts).await.unwrap();
        let snapshot = journal.status().snapshot;
        journal.stop().await;
        (view.books, snapshot)
    })
}
