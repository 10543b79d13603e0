//! A process that tests kill. It commits transfers from several tasks and prints the id of each acknowledged
//! one.
//!
//! `journal_writer DIR FIRST_ID` writes until it is killed. `journal_writer DIR poison` commits an event that
//! panics in `apply`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::{Actor, Addr};
use anyhow::{Context, bail};
use reelyard_core::event::PieceId;
use reelyard_integration_tests::probes::journal_probe::{
    CommitEvents, ProbeActor, ProbeEvent, request_of, small_snapshots, transfer,
};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, NoPeers};

/// Enough tasks for several commits in one entry.
const TASKS: usize = 6;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, what] = arguments.as_slice() else {
        bail!("usage: journal_writer DIR FIRST_ID|poison");
    };
    on_a_system(async {
        let settings = small_snapshots(Path::new(dir), 1);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await?;
        let probe = ProbeActor::new(journal.clone()).start();
        let mut leadership = journal.leadership();
        leadership.wait_for(|now| now.epoch().is_some()).await?;
        if what == "poison" {
            let message = CommitEvents { request: request_of(0), events: vec![ProbeEvent::Poison] };
            let answer = probe.send(message).await;
            bail!("a poisoned event was answered: {answer:?}");
        }
        let next = Arc::new(AtomicU64::new(what.parse().context("FIRST_ID")?));
        let writers = (0..TASKS).map(|_| write(probe.clone(), next.clone()));
        futures::future::try_join_all(writers).await.map(drop)
    })
}

async fn write(probe: Addr<ProbeActor>, next: Arc<AtomicU64>) -> anyhow::Result<()> {
    loop {
        let id = next.fetch_add(1, Ordering::Relaxed);
        let message = CommitEvents { request: request_of(id), events: transfer(id, 1) };
        probe.send(message).await??;
        let mut acknowledged = std::io::stdout().lock();
        writeln!(acknowledged, "{id}")?;
        acknowledged.flush()?;
    }
}
