//! A million shares: their memory, the speed of reclaim, and the time of a restart.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::Actor;
use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::PieceId;
use reelyard_integration_tests::rigs::catalog::catalog_input::media_name;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_replication::Piece;
use reelyard_shares::share_expiry::{
    AT_ONCE, CreateShare, Deadline, Effort, ExpiryTimerWheel, NewShare, RootName, ShareDueKey,
    ShareEvent, ShareExpiry, ShareExpirySettings, ShareId, ShareKind, ShareLifetime, ShareLimits,
    ShareOwner, SharePath, ShareTable, ShareTerms, ShareViewHandle,
};

use crate::figure::{BenchFigure, FigureTarget};
use crate::usage;

const SHARES: u32 = 1_000_000;
const FIRST: u32 = 100_000;
const NOW: Millis = Millis(1_800_000_000_000);
/// The number of shares that the actor creates.
const AT_THE_ACTOR: u32 = 200_000;
const CLIENTS: usize = 64;

/// Measures memory, reclaim and thaw of a table, and the rate at which an actor with a journal creates and
/// reclaims.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let mut figures = of_the_table()?;
    figures.extend(on_a_system(at_the_actor())?);
    Ok(figures)
}

fn of_the_table() -> Result<Vec<BenchFigure>> {
    let mut table = ShareTable::default();
    create(&mut table, 0..FIRST)?;
    let before = usage::memory_of(std::process::id())?;
    let began = Instant::now();
    create(&mut table, FIRST..SHARES)?;
    let created = began.elapsed();
    let grown = usage::memory_of(std::process::id())? - before;
    let began = Instant::now();
    let frozen = table.freeze();
    let froze = began.elapsed();
    let mut rows = Vec::new();
    frozen.write(&mut |row| rows.push(row.to_vec()));
    let began = Instant::now();
    let mut thawed = table.emptied();
    for row in &rows {
        thawed.thaw(row)?;
    }
    let thaw = began.elapsed();
    ensure!(thawed.len() == u64::from(SHARES), "{} shares were thawed", thawed.len());
    drop((table, rows));
    let reclaim = reclaim_all(&mut thawed)?;
    let each = |took: Duration, count: u32| took.as_secs_f64() * 1e6 / f64::from(count);
    let per_share = grown as f64 / f64::from(SHARES - FIRST);
    let ms = |took: Duration| took.as_secs_f64() * 1e3;
    Ok(vec![
        BenchFigure::new("memory of one more share", per_share, "B", FigureTarget::AtMost(250.0)),
        BenchFigure::new(
            "… creating it, in the table alone",
            each(created, SHARES - FIRST),
            "us",
            FigureTarget::Nothing,
        ),
        BenchFigure::new(
            format!("{SHARES} shares due at once, each in timer and table"),
            each(reclaim, SHARES),
            "us",
            FigureTarget::AtMost(3.0),
        ),
        BenchFigure::new(
            format!("{SHARES} shares frozen"),
            ms(froze),
            "ms",
            FigureTarget::AtMost(10.0),
        ),
        BenchFigure::new("… and thawed", ms(thaw), "ms", FigureTarget::AtMost(1500.0)),
    ])
}

fn create(table: &mut ShareTable, numbers: std::ops::Range<u32>) -> Result<()> {
    let owner = Some(ShareOwner::new("somebody@example.org")?);
    for number in numbers {
        let path = format!("films/{:03}/{}", number % 500, media_name(number as usize));
        let new = NewShare {
            id: ShareId::random()?,
            root: RootName::new("media")?,
            path: SharePath::new(path)?,
            kind: ShareKind::File,
            deadline: Deadline::at(NOW.after(Duration::from_millis(u64::from(number % 10_000)))),
            noticed: true,
            owner: owner.clone(),
            terms: ShareTerms::default(),
            room: ShareLimits::default(),
        };
        table.apply(NOW, &ShareEvent::Created(Box::new(new)))?;
    }
    Ok(())
}

fn reclaim_all(table: &mut ShareTable) -> Result<Duration> {
    let (mut timer, then) = (ExpiryTimerWheel::default(), NOW.after(Duration::from_secs(10)));
    let began = Instant::now();
    timer.start(ShareDueKey::from(Millis(i64::MIN)));
    loop {
        let ids = timer.due(then, AT_ONCE, table);
        if ids.is_empty() {
            break;
        }
        table.apply(then, &ShareEvent::Reclaimed { ids })?;
    }
    let took = began.elapsed();
    ensure!(table.is_empty(), "{} shares are left", table.len());
    Ok(took)
}

async fn at_the_actor() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let journal = JournalOptions::alone(dir.path(), 1);
    let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await?;
    let (views, clock) = (ShareViewHandle::default(), Clock::manual(NOW));
    let settings = ShareExpirySettings {
        roots: BTreeSet::from([RootName::new("media")?]),
        effort: Effort::MOST,
        ..ShareExpirySettings::default()
    };
    let expiry = ShareExpiry::new(settings, clock.clone(), journal.clone(), views.clone()).start();
    until(|| views.view().epoch.is_some()).await?;
    let began = Instant::now();
    let (mut asked, mut under_way) = (0, FuturesUnordered::new());
    loop {
        while asked < AT_THE_ACTOR && under_way.len() < CLIENTS {
            let path = format!("films/{:03}/{}", asked % 500, media_name(asked as usize));
            under_way.push(expiry.send(CreateShare {
                root: RootName::new("media")?,
                path: SharePath::new(path)?,
                kind: ShareKind::File,
                looked: None,
                lifetime: ShareLifetime::Ttl(Duration::from_secs(60)),
                owner: None,
                terms: ShareTerms::default(),
                asked_by: "a bench".to_owned(),
                request: None,
            }));
            asked += 1;
        }
        match under_way.next().await {
            Some(created) => drop(created??),
            None => break,
        }
    }
    let created = began.elapsed();
    let began = Instant::now();
    clock.advance(Duration::from_secs(60));
    until(|| views.view().shares == 0).await?;
    let reclaimed = began.elapsed();
    journal.stop().await;
    let rate = |took: Duration| f64::from(AT_THE_ACTOR) / took.as_secs_f64();
    Ok(vec![
        BenchFigure::new(
            format!("shares created at the actor, durable, {CLIENTS} clients"),
            rate(created),
            "/s",
            FigureTarget::AtLeast(30_000.0),
        ),
        BenchFigure::new(
            format!("{AT_THE_ACTOR} of them due at once and reclaimed, durable"),
            rate(reclaimed),
            "/s",
            FigureTarget::AtLeast(200_000.0),
        ),
    ])
}

async fn until(mut holds: impl FnMut() -> bool) -> Result<()> {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.context("nothing happens any more")
}
