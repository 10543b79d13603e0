//! A million shares that expire: the delay of each reclaim, durable, in comparison with Redis.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_core::clock::{Clock, Millis};
use reelyard_integration_tests::rigs::catalog::catalog_input::media_name;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_integration_tests::rigs::stores::share_store::ShareStore;
use reelyard_shares::share_expiry::{
    Effort, LAG_STEPS, Lags, RootName, ShareExpirySettings, ShareId, ShareLookup, SharePath,
    SharesWithin,
};

use crate::figure::{BenchFigure, FigureTarget};
use crate::peers::redis::Redis;
use crate::usage;

const SHARES: u32 = 1_000_000;

/// The period in which they expire at random times.
const SPREAD: Duration = Duration::from_secs(10);

/// The number of shares that expire among many that do not.
const FEW: u32 = 1000;

/// The longest time for the creation of a million shares before the first one expires.
const MAKING: Duration = Duration::from_secs(40);

/// The longest time that the test waits for Redis.
const REDIS_PATIENCE: Duration = Duration::from_secs(30);

/// The time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(180);

/// The duration of the observation of an idle actor.
const IDLE: Duration = Duration::from_secs(10);

/// Measures the delay of shares, and of Redis' keys.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let dir = tempfile::tempdir_in(std::env::current_dir()?)?;
    let redis = redis_over_a_while(&dir.path().join("redis"))?;
    let peer = "Redis, effort 10, appendfsync always";
    let mut figures = Vec::new();
    for effort in [Effort::MOST, Effort::LEAST] {
        let number = effort.get();
        let ours = on_a_system(over_a_while(&dir.path().join(number.to_string()), effort))?;
        // With the lowest effort it must be as fast as Redis with the highest.
        let wanted = |most| match effort {
            Effort::MOST => FigureTarget::AtMost(most),
            _ => FigureTarget::AtMostTimesPeer(1.0),
        };
        let what =
            format!("{SHARES} shares due within {SPREAD:?}, durable, effort {number}: lag, p50");
        figures.push(BenchFigure::new(what, ours.p50, "ms", wanted(10.0)).beside(peer, redis.p50));
        figures
            .push(BenchFigure::new("… p99", ours.p99, "ms", wanted(100.0)).beside(peer, redis.p99));
    }
    let few = redis_few(&dir.path().join("redis-few"))?;
    figures.extend(on_a_system(many_at_once(&dir.path().join("at-once"), few))?);
    Ok(figures)
}

/// The median and the 99th percentile of the delay, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Lateness {
    p50: f64,
    p99: f64,
}

/// Random deadlines within [`SPREAD`].
fn spread_out(first: Millis) -> Result<impl Iterator<Item = Millis>> {
    let mut random = fastrand::Rng::with_seed(1);
    let spread = u64::try_from(SPREAD.as_millis())?;
    Ok((0..SHARES).map(move |_| first.after(Duration::from_millis(random.u64(0..spread)))))
}

/// A few deadlines at equal distances.
fn few_from(first: Millis) -> impl Iterator<Item = Millis> {
    (0..FEW).map(move |number| first.after(SPREAD * number / FEW / 2))
}

fn redis_over_a_while(dir: &Path) -> Result<Lateness> {
    let redis = Redis::start_expiring(dir)?;
    let first = Clock::system().now().after(MAKING);
    redis.set_keys(spread_out(first)?)?;
    ensure!(Clock::system().now() < first, "making them took too long to measure anything");
    let lags = redis.lags(SHARES as usize, MAKING + REDIS_PATIENCE)?;
    let last = first.after(SPREAD);
    Ok(of_keys(lags, SHARES as usize, Clock::system().now().since(last)))
}

fn redis_few(dir: &Path) -> Result<Lateness> {
    let redis = Redis::start_expiring(dir)?;
    let far = Clock::system().now().after(Duration::from_secs(3600));
    redis.set_keys((0..SHARES).map(|_| far))?;
    let first = Clock::system().now().after(Duration::from_secs(1));
    redis.set_keys(few_from(first))?;
    let lags = redis.lags(FEW as usize, REDIS_PATIENCE)?;
    let last = first.after(SPREAD);
    Ok(of_keys(lags, FEW as usize, Clock::system().now().since(last)))
}

/// The delay of keys. Keys without a notification count with `later_than`, the delay of the last deadline at
/// the end of the measurement. Their true delay is larger.
fn of_keys(mut lags: Vec<Duration>, keys: usize, later_than: Duration) -> Lateness {
    lags.sort_unstable();
    let part = |part: usize| {
        let lag = lags.get((keys * part).div_ceil(100).saturating_sub(1));
        lag.unwrap_or(&later_than).as_secs_f64() * 1e3
    };
    Lateness { p50: part(50), p99: part(99) }
}

fn settings(effort: Effort) -> Result<ShareExpirySettings> {
    Ok(ShareExpirySettings {
        roots: BTreeSet::from([RootName::new("media")?]),
        notice_before: None,
        effort,
        ..ShareExpirySettings::default()
    })
}

async fn open(dir: &Path, effort: Effort) -> Result<ShareStore> {
    ShareStore::open(dir, settings(effort)?).await
}

/// Creates shares with these deadlines. The time for that does not count here.
async fn create(
    place: &ShareStore,
    deadlines: impl Iterator<Item = Millis>,
) -> Result<Vec<ShareId>> {
    let path = |number: usize| format!("films/{:03}/{}", number % 500, media_name(number));
    let shares = deadlines.enumerate().map(|(number, deadline)| (path(number), deadline));
    place.create(&RootName::new("media")?, shares).await
}

async fn all_gone(place: &ShareStore) -> Result<()> {
    until(|| place.views.view().shares == 0).await
}

async fn over_a_while(dir: &Path, effort: Effort) -> Result<Lateness> {
    let place = open(dir, effort).await?;
    let first = Clock::system().now().after(MAKING);
    create(&place, spread_out(first)?).await?;
    ensure!(Clock::system().now() < first, "making them took too long to measure anything");
    all_gone(&place).await?;
    let late = lateness(&place.views.view().lags, &Lags::default())?;
    place.stop().await;
    Ok(late)
}

/// Measures a million shares at one instant, the delay of other work meanwhile, and a few deadlines before
/// them. Also measures the idle load and the time of a restart.
async fn many_at_once(dir: &Path, redis: Lateness) -> Result<Vec<BenchFigure>> {
    let place = open(dir, Effort::MOST).await?;
    // By then the work of the start is over.
    tokio::time::sleep(IDLE).await;
    let idle_without = idle().await;
    // These deadlines are later than all other measurements.
    let all_at = Clock::system().now().after(MAKING * 3);
    let ids = create(&place, (0..SHARES).map(|_| all_at)).await?;
    let before = place.views.view().lags;
    let first = Clock::system().now().after(Duration::from_secs(1));
    create(&place, few_from(first)).await?;
    until(|| place.views.view().shares == u64::from(SHARES)).await?;
    let few = lateness(&place.views.view().lags, &before)?;

    // By then the memory of the creation is free, and the idle snapshot exists.
    tokio::time::sleep(IDLE * 2).await;
    let idle = idle().await;
    place.stop().await;

    let began = Instant::now();
    let place = open(dir, Effort::MOST).await?;
    ensure!(matches!(place.views.find(ids[0]), ShareLookup::Live(_)), "a share was lost");
    let restarted = began.elapsed();

    let left = all_at.since(Clock::system().now());
    ensure!(!left.is_zero(), "it came due before it could be measured");
    tokio::time::sleep(left).await;
    let mut reads = Vec::new();
    // On a schedule: requests that would have been sent while another one waited count too.
    let mut planned = Instant::now();
    let patience = planned + PATIENCE;
    while place.views.view().shares > 0 {
        ensure!(Instant::now() < patience, "they are never reclaimed");
        tokio::time::sleep_until(planned.into()).await;
        let root = RootName::new("media")?;
        let path = SharePath::root();
        place.expiry.send(SharesWithin { root, path, after: None, most: 1 }).await?;
        reads.push(planned.elapsed());
        planned += Duration::from_millis(2);
    }
    let took = Clock::system().now().since(all_at);
    place.stop().await;
    reads.sort_unstable();
    let read = reads.get(reads.len() * 99 / 100).context("nothing was read meanwhile")?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let peer = format!("Redis, effort 10, what it reported within {REDIS_PATIENCE:?}");
    Ok(vec![
        BenchFigure::new(
            format!("{SHARES} due in the same millisecond: all reclaimed, durable"),
            took.as_secs_f64(),
            "s",
            FigureTarget::AtMost(5.0),
        ),
        BenchFigure::new(
            "… a question to the actor meanwhile, p99",
            ms(*read),
            "ms",
            FigureTarget::AtMost(50.0),
        ),
        BenchFigure::new(
            format!("{FEW} due among {SHARES} that are not: lag, p99"),
            few.p99,
            "ms",
            FigureTarget::AtMost(50.0),
        )
        .beside(peer, redis.p99),
        BenchFigure::new(
            format!("idle with {SHARES} shares that are not due, journal and all: of a core"),
            idle * 100.0,
            "%",
            FigureTarget::AtMost(0.1),
        ),
        BenchFigure::new("… without any share", idle_without * 100.0, "%", FigureTarget::Nothing),
        BenchFigure::new(
            format!("restart with {SHARES} shares, until the first answer"),
            restarted.as_secs_f64(),
            "s",
            FigureTarget::AtMost(3.0),
        ),
    ])
}

/// The share of one core that this process uses while it is idle.
async fn idle() -> f64 {
    let before = usage::cpu_of_this_process();
    tokio::time::sleep(IDLE).await;
    let used = usage::cpu_of_this_process().saturating_sub(before);
    used.as_secs_f64() / IDLE.as_secs_f64()
}

/// The delays between two readings, as the upper ends of their histogram steps.
fn lateness(lags: &Lags, before: &Lags) -> Result<Lateness> {
    let counts = lags.counts.iter().zip(before.counts).map(|(now, before)| now - before);
    let counts: Vec<u64> = counts.collect();
    let all: u64 = counts.iter().sum();
    ensure!(all > 0, "nothing was reclaimed");
    let part = |part: u64| {
        let mut seen = 0;
        let step = counts.iter().position(|count| {
            seen += count;
            seen * 100 >= all * part
        });
        // The delay beyond the last step is unknown.
        step.and_then(|step| LAG_STEPS.get(step)).map_or(f64::INFINITY, |ms| *ms as f64)
    };
    Ok(Lateness { p50: part(50), p99: part(99) })
}

async fn until(mut holds: impl FnMut() -> bool) -> Result<()> {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.context("nothing happens any more")
}
