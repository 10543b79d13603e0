//! Commits of the journal with an answer after the sync, in comparison with redis with `appendfsync always`.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix::{Actor, Addr};
use anyhow::Result;
use reelyard_core::event::PieceId;
use reelyard_integration_tests::probes::journal_probe::{
    CommitEvents, ProbeActor, ProbeEvent, request_of,
};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};

use super::joined_journals::JoinedJournals;
use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::redis::Redis;

/// The number of alternating runs. The best one counts, because noise only slows a run down.
const ROUNDS: usize = 5;

/// The duration of each round.
const SPAN: Duration = Duration::from_secs(2);

/// The number of redis commands in a round, with one client and with many.
const SETS: [usize; 2] = [5_000, 80_000];

/// The number of parallel clients in the second case.
const CLIENTS: usize = 256;

/// The size of an event, and of a value in redis.
const BYTES: usize = 100;

/// Measures one client, then many, then many at the leader of three journals.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir()?;
    let redis = Redis::start(dir.path(), &[])?;
    let [(one, redis_one), (many, redis_many)] = on_a_system(async {
        let settings = JournalOptions::alone(dir.path().join("journal"), 1);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await?;
        let probe = ProbeActor::new(journal.clone()).start();
        journal.leadership().wait_for(|now| now.epoch().is_some()).await?;
        let next = Arc::new(AtomicU64::new(0));
        let mut best = [(0.0_f64, 0.0_f64); 2];
        for _ in 0..ROUNDS {
            for ((clients, sets), best) in [1, CLIENTS].into_iter().zip(SETS).zip(&mut best) {
                let client = || commit_until(probe.clone(), next.clone());
                let ours = commits_per_second(clients, client).await?;
                let theirs = redis.sets_per_second(clients, sets, BYTES)?;
                *best = (best.0.max(ours), best.1.max(theirs));
            }
        }
        journal.stop().await;
        anyhow::Ok(best)
    })?;
    let three = commits_of_three(dir.path())?;
    let peer = "redis, appendfsync always";
    Ok(vec![
        BenchFigure::new("journal, one client", one, "commits/s", FigureTarget::AtLeast(1_800.0))
            .beside(peer, redis_one),
        BenchFigure::new(
            format!("journal, {CLIENTS} commits in flight"),
            many,
            "events/s",
            FigureTarget::AtLeast(60_000.0),
        )
        .beside(peer, redis_many),
        BenchFigure::new(
            format!("three journals over TCP, {CLIENTS} commits in flight"),
            three,
            "events/s",
            FigureTarget::AtLeast(50_000.0),
        )
        .beside("one journal", many),
    ])
}

/// Commits per second at the leader of three journals. Each one is on the disks of two of them.
fn commits_of_three(dir: &Path) -> Result<f64> {
    on_a_system(async {
        let joined = JoinedJournals::open(dir).await?;
        let probe = joined.leader().await?;
        let next = Arc::new(AtomicU64::new(0));
        let mut best = 0.0_f64;
        for _ in 0..ROUNDS {
            let client = || commit_until(probe.clone(), next.clone());
            best = best.max(commits_per_second(CLIENTS, client).await?);
        }
        joined.stop().await;
        Ok(best)
    })
}

async fn commits_per_second<F>(clients: usize, client: impl Fn() -> F) -> Result<f64>
where
    F: Future<Output = Result<u64>>,
{
    let began = Instant::now();
    let done = futures::future::try_join_all((0..clients).map(|_| client())).await?;
    Ok(done.iter().sum::<u64>() as f64 / began.elapsed().as_secs_f64())
}

async fn commit_until(probe: Addr<ProbeActor>, next: Arc<AtomicU64>) -> Result<u64> {
    let until = Instant::now() + SPAN;
    let mut done = 0;
    while Instant::now() < until {
        let request = request_of(next.fetch_add(1, Ordering::Relaxed));
        let events = vec![ProbeEvent::Ballast(vec![7; BYTES])];
        probe.send(CommitEvents { request, events }).await??;
        done += 1;
    }
    Ok(done)
}
